#include "src/query/plan.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "src/base/calendar.h"
#include "src/query/matcher.h"
#include "src/store/read_guard.h"

namespace vesta::query {
namespace {

using base::Error;
using base::ErrorCode;
using base::kMinuteMs;
using store::ProfileType;
using store::TimeRange;

constexpr uint64_t kStepsMax = 11'000;
constexpr uint64_t kStepsWished = 240;
constexpr int64_t kNiceStepsMs[] = {
    1'000,           2'000,           5'000,           10'000,          15'000,
    30'000,          kMinuteMs,       2 * kMinuteMs,   5 * kMinuteMs,   10 * kMinuteMs,
    15 * kMinuteMs,  30 * kMinuteMs,  60 * kMinuteMs,  120 * kMinuteMs, 180 * kMinuteMs,
    360 * kMinuteMs, 720 * kMinuteMs, 1440 * kMinuteMs};
constexpr size_t kSeriesPerCheck = 1000;
constexpr std::string_view kDefaultType = "cpu";

// As it may be typed.
std::string TypedName(const ProfileType& type) {
  Selector selector;
  selector.type = type.type;
  selector.unit = type.unit;
  return SelectorText(selector);
}

std::string TypeText(const ProfileType& type) {
  std::string text = TypedName(type);
  if (!type.count_type.empty()) text += " (count: " + type.count_type + ')';
  return text;
}

std::string ListText(const std::set<ProfileType>& types) {
  std::set<std::string> texts;  // types that differ in their period only are one
  for (const ProfileType& type : types) texts.insert(TypeText(type));
  std::string text;
  for (const std::string& one : texts) text += (text.empty() ? "" : ", ") + one;
  return text.empty() ? "nothing" : text;
}

// The types that are asked for, as a test of a stored one.
struct TypeChoice {
  std::set<ProfileType> types;
  bool shows_count = false;
  bool is_there = true;  // else it is only what was asked for
};

// Where a name comes in several units: time first, as that is what a profiler's own `cpu` is in,
// then what most series have.
struct UnitRank {
  bool is_time = false;
  uint64_t series = 0;
  friend auto operator<=>(const UnitRank&, const UnitRank&) = default;
};

bool IsTimeUnit(std::string_view unit) {
  return unit == "nanoseconds" || unit == "microseconds" || unit == "milliseconds" ||
         unit == "seconds";
}

// What a side has of what its selector and ranges allow.
using TypeCounts = std::map<ProfileType, uint64_t>;  // with the number of series

TypeChoice MatchingTypes(const Selector& selector, const TypeCounts& there) {
  const auto matching = [&](std::string_view name, bool by_count) {
    TypeChoice choice{{}, by_count};
    for (const auto& [type, series] : there) {
      const bool fits =
          by_count ? type.count_type == name && (selector.unit.empty() || selector.unit == "count")
                   : type.type == name && (selector.unit.empty() || selector.unit == type.unit);
      if (fits && !name.empty()) choice.types.insert(type);
    }
    return choice;
  };
  TypeChoice choice = matching(selector.type.empty() ? kDefaultType : selector.type, false);
  if (choice.types.empty() && !selector.type.empty()) choice = matching(selector.type, true);
  if (choice.types.empty()) choice.shows_count = false;
  if (choice.types.empty() && selector.type.empty()) {
    for (const auto& [type, series] : there) choice.types.insert(type);
  }
  return choice;
}

// Leaves the types of one unit where all have one name, and says which others there are. Units that
// the other side of a comparison lacks come last.
void ChooseUnit(const TypeCounts& there, const std::set<ProfileType>& other_side,
                TypeChoice& choice, std::vector<std::string>& notes) {
  std::map<std::string, UnitRank> ranks;
  for (const ProfileType& type : choice.types) {
    ranks[type.unit].is_time = IsTimeUnit(type.unit);
    ranks[type.unit].series += there.at(type);
  }
  const auto is_on_both = [&](const std::string& unit) {
    return std::ranges::any_of(other_side,
                               [&](const ProfileType& type) { return type.unit == unit; });
  };
  const std::string* best = nullptr;
  for (const auto& [unit, rank] : ranks) {
    if (best == nullptr ||
        std::pair(is_on_both(unit), rank) > std::pair(is_on_both(*best), ranks.at(*best)))
      best = &unit;
  }
  const std::string chosen = *best;
  std::set<std::string> others;
  for (const ProfileType& type : choice.types) {
    if (type.unit != chosen) others.insert(TypedName(type));
  }
  std::erase_if(choice.types, [&](const ProfileType& type) { return type.unit != chosen; });
  std::string note = "this is " + TypedName(*choice.types.begin()) + "; there is also";
  for (const std::string& other : others) note += (note.ends_with("also") ? " " : ", ") + other;
  if (std::ranges::find(notes, note) == notes.end()) notes.push_back(std::move(note));
}

// one_unit: of a name with several units one is taken, else all.
base::Result<TypeChoice> ChooseType(const Selector& selector, const TypeCounts& there,
                                    const std::set<ProfileType>& other_side, bool one_unit,
                                    std::vector<std::string>& notes) {
  TypeChoice choice = MatchingTypes(selector, there);
  std::set<std::string> names, units;
  for (const ProfileType& type : choice.types) {
    names.insert(type.type);
    units.insert(type.unit);
  }
  if (names.size() > 1 && one_unit) {
    const std::string asked =
        selector.type.empty() ? "no type was named" : selector.type + " is not one thing here";
    return Error(ErrorCode::kInvalidInput,
                 asked + ": name one of " + ListText(choice.types) + " as TYPE:UNIT");
  }
  if (units.size() > 1 && one_unit) ChooseUnit(there, other_side, choice, notes);
  if (choice.types.empty()) {
    if (!there.empty()) {
      std::set<ProfileType> types;
      for (const auto& [type, series] : there) types.insert(type);
      notes.push_back("there is no " + selector.type + " here, but " + ListText(types));
    }
    choice.types.insert({selector.type, selector.unit, "", "", ""});
    choice.is_there = false;
  }
  return choice;
}

bool ListsAllTypes(const Request& request) {
  return (request.question == Question::kLabels || request.question == Question::kValues ||
          request.question == Question::kTypes || request.question == Question::kRows) &&
         request.selectors[0].type.empty();
}

class Planner {
 public:
  Planner(const Request& request, const Listing& listing, const store::ReadLimits& limits)
      : request_(request), listing_(listing), guard_(limits) {
    plan_.question = request.question;
    plan_.ranges = listing.ranges;
    plan_.step_ms = listing.step_ms;
  }

  base::Result<Plan> Run() {
    for (size_t side = 0; side < request_.selectors.size(); ++side)
      RETURN_IF_ERROR(SelectSeries(side));
    if (!ListsAllTypes(request_)) {
      for (size_t side = 0; side < selected_.size(); ++side) RETURN_IF_ERROR(SelectTypes(side));
    }
    ChooseGroups();
    RETURN_IF_ERROR(MakeReads());
    for (const auto& side : selected_) {
      std::set<store::SeriesId> distinct;
      for (const store::SeriesTotal& row : side) distinct.insert(row.series);
      plan_.series.push_back(distinct.size());
    }
    if (std::ranges::all_of(plan_.series, [](uint64_t count) { return count == 0; })) {
      if (plan_.notes.empty()) NoteWhyEmpty();
    } else {
      NoteUnknownGroups();
    }
    return std::move(plan_);
  }

 private:
  // Nothing at all, a label that is not there, or values that are not.
  void NoteWhyEmpty() {
    const TimeRange& range = plan_.ranges.back();
    if (listing_.series.back().empty()) {
      plan_.notes.push_back(range.from_unix_ms >= request_.now_unix_ms
                                ? "this range is in the future; times are UTC"
                                : "nothing is stored in this range: ask for another one");
      return;
    }
    for (const Matcher& matcher : request_.selectors.back().matchers) {
      if (IsTaskLabel(matcher.name) || HasLabel(matcher.name)) continue;
      plan_.notes.push_back("no series here has the label " + matcher.name +
                            ": ask for the labels that there are");
      return;
    }
    plan_.notes.push_back("no series match in this range, of " +
                          std::to_string(listing_.labels.size()) +
                          " that there are: ask for the values of the labels");
  }

  bool HasLabel(std::string_view name) const {
    return std::ranges::any_of(listing_.labels, [name](const auto& series) {
      return !LabelValue(series.second, name).empty();
    });
  }

  void NoteUnknownGroups() {
    for (const std::string& name : plan_.by) {
      if (IsTaskLabel(name) || HasLabel(name)) continue;
      plan_.notes.push_back("no series here has the label " + name);
    }
  }

  base::Result<void> SelectSeries(size_t side) {
    const Selector& selector = request_.selectors[side];
    ASSIGN_OR_RETURN(const LabelMatcher matcher, LabelMatcher::Compile(selector.matchers));
    if (matcher.asks_tasks()) plan_.by_tasks = true;
    std::map<store::SeriesId, bool> matches;
    std::vector<store::SeriesTotal> found;
    for (const store::SeriesTotal& row : listing_.series[side]) {
      const auto [known, is_new] = matches.try_emplace(row.series);
      if (is_new && matches.size() % kSeriesPerCheck == 0) RETURN_IF_ERROR(guard_.Check());
      if (is_new) known->second = matcher.MatchesSeries(listing_.labels.at(row.series));
      if (!known->second) continue;
      found.push_back(row);
    }
    std::ranges::sort(found, [](const auto& a, const auto& b) {
      return std::pair(a.series, a.type) < std::pair(b.series, b.type);
    });
    selected_.push_back(std::move(found));
    return {};
  }

  TypeCounts TypesOf(size_t side) const {
    TypeCounts there;
    for (const store::SeriesTotal& row : selected_[side]) ++there[listing_.types.at(row.type)];
    return there;
  }

  base::Result<void> SelectTypes(size_t side) {
    std::set<ProfileType> other_side;
    if (selected_.size() == 2)
      other_side = MatchingTypes(request_.selectors[1 - side], TypesOf(1 - side)).types;
    // Rows are exported whole: each has its own type.
    const bool one_unit = request_.question != Question::kRows;
    ASSIGN_OR_RETURN(const TypeChoice choice, ChooseType(request_.selectors[side], TypesOf(side),
                                                         other_side, one_unit, plan_.notes));
    RETURN_IF_ERROR(TakeType(side, choice));
    std::erase_if(selected_[side], [&](const store::SeriesTotal& row) {
      return !choice.types.contains(listing_.types.at(row.type));
    });
    return {};
  }

  base::Result<void> TakeType(size_t side, const TypeChoice& choice) {
    const ProfileType& type = *choice.types.begin();
    if (side == 0) {
      plan_.type = {type, choice.shows_count};
      return {};
    }
    if (selected_[0].empty()) plan_.type = {type, choice.shows_count};
    const ProfileType& before = plan_.type.type;
    const bool same = before.type == type.type && before.unit == type.unit &&
                      plan_.type.shows_count == choice.shows_count;
    if (same || !choice.is_there) return {};
    return Error(ErrorCode::kInvalidInput, "the sides are of different types: " + TypeText(before) +
                                               " before, " + TypeText(type) + " after");
  }

  void ChooseGroups() {
    const bool is_tree =
        request_.question == Question::kTree || request_.question == Question::kDiff ||
        request_.question == Question::kCallers || request_.question == Question::kCallees ||
        request_.question == Question::kProfile;
    if (request_.question == Question::kTop) {
      if (request_.top_by == TopBy::kLabel) plan_.by = {request_.label};
    } else if (request_.question == Question::kValues) {
      plan_.by = {request_.label};
    } else if (is_tree && !request_.by) {
      for (const auto& side : selected_) {
        for (const store::SeriesTotal& row : side) {
          if (plan_.by.empty() &&
              !LabelValue(listing_.labels.at(row.series), profile::kLabelProcess).empty())
            plan_.by = {std::string(profile::kLabelProcess)};
        }
      }
    } else if (is_tree || request_.question == Question::kSeries) {
      plan_.by = request_.by.value_or(std::vector<std::string>{});
    }
    if (std::ranges::any_of(plan_.by, IsTaskLabel)) plan_.by_tasks = true;
  }

  uint32_t GroupOf(size_t side, store::SeriesId series) {
    PlanGroup group{side, {}};
    for (const std::string& name : plan_.by) {
      group.values.emplace_back(IsTaskLabel(name) ? std::string_view()
                                                  : LabelValue(listing_.labels.at(series), name));
    }
    const auto [known, is_new] =
        groups_.try_emplace(group, static_cast<uint32_t>(plan_.groups.size()));
    if (is_new) plan_.groups.push_back(std::move(group));
    return known->second;
  }

  PlanRead ReadOf(ReadKind kind, size_t side) {
    PlanRead read{kind, plan_.ranges[side], {}, {}, 0};
    for (const store::SeriesTotal& row : selected_[side]) {
      if (std::ranges::find(read.types, row.type) == read.types.end())
        read.types.push_back(row.type);
      if (read.series.empty() || read.series.back().series != row.series)
        read.series.push_back({row.series, GroupOf(side, row.series)});
    }
    return read;
  }

  base::Result<void> MakeReads() {
    switch (request_.question) {
      case Question::kLabels:
      case Question::kTypes:
        if (plan_.by_tasks) {
          return Error(
              ErrorCode::kInvalidInput,
              "pid, tid and thread belong to single rows: ask for top or series with them");
        }
        plan_.ranges[0] = store::WidenToMinutes(plan_.ranges[0]);
        return {};
      case Question::kValues:
        if (!plan_.by_tasks) {
          plan_.ranges[0] = store::WidenToMinutes(plan_.ranges[0]);
          return {};
        }
        return MakeTotalsRead();
      case Question::kTop:
        if (request_.top_by == TopBy::kLabel) return MakeTotalsRead();
        AddRead(ReadOf(
            request_.top_by == TopBy::kFunction ? ReadKind::kFunctions : ReadKind::kStacks, 0));
        return {};
      case Question::kSeries: {
        PlanRead read = ReadOf(ReadKind::kTimeline, 0);
        read.step_ms = plan_.step_ms;
        AddRead(std::move(read));
        return {};
      }
      case Question::kRows:
        AddRead(ReadOf(ReadKind::kRows, 0));
        return {};
      case Question::kDiff:
        MakeDiffReads();
        return {};
      case Question::kTree:
      case Question::kCallers:
      case Question::kCallees:
      case Question::kLines:
      case Question::kProfile:
        AddRead(ReadOf(ReadKind::kStacks, 0));
        return {};
    }
    return {};
  }

  // Sums per group: the listing has them already, unless it was widened or tasks matter.
  base::Result<void> MakeTotalsRead() {
    if (ListsAllTypes(request_)) {
      RETURN_IF_ERROR(SelectTypes(0));
    }
    const TimeRange range = plan_.ranges[0];
    const bool is_exact = store::WidenToMinutes(range) == range && !plan_.by_tasks;
    PlanRead read = ReadOf(is_exact ? ReadKind::kTotals : ReadKind::kTimeline, 0);
    int64_t length = 0;
    if (!is_exact) {
      if (__builtin_sub_overflow(range.to_unix_ms, range.from_unix_ms, &length))
        return Error(ErrorCode::kInvalidInput, "the range is too long");
      read.step_ms = length;
    }
    AddRead(std::move(read));
    return {};
  }

  // One read for both sides where no series is on both.
  void MakeDiffReads() {
    PlanRead before = ReadOf(ReadKind::kStacks, 0);
    PlanRead after = ReadOf(ReadKind::kStacks, 1);
    std::set<store::SeriesId> mine;
    for (const store::GroupedSeries& row : before.series) mine.insert(row.series);
    const bool disjoint = std::ranges::none_of(
        after.series, [&](const store::GroupedSeries& row) { return mine.contains(row.series); });
    if (before.range == after.range && disjoint && !plan_.by_tasks && before.types == after.types) {
      before.series.insert(before.series.end(), after.series.begin(), after.series.end());
      std::ranges::sort(before.series, {}, &store::GroupedSeries::series);
      AddRead(std::move(before));
      return;
    }
    AddRead(std::move(before));
    AddRead(std::move(after));
  }

  void AddRead(PlanRead read) {
    if (!read.series.empty()) plan_.reads.push_back(std::move(read));
  }

  const Request& request_;
  const Listing& listing_;
  const store::ReadGuard guard_;
  Plan plan_;
  std::vector<std::vector<store::SeriesTotal>> selected_;  // by side
  std::map<PlanGroup, uint32_t> groups_;
};

}  // namespace

std::string_view ReadKindName(ReadKind kind) {
  switch (kind) {
    case ReadKind::kStacks:
      return "stacks";
    case ReadKind::kFunctions:
      return "functions";
    case ReadKind::kTimeline:
      return "timeline";
    case ReadKind::kTotals:
      return "totals";
    case ReadKind::kRows:
      return "rows";
  }
  return {};
}

base::Result<StepRange> ChooseSteps(TimeRange range, int64_t step_ms) {
  int64_t length = 0;
  if (__builtin_sub_overflow(range.to_unix_ms, range.from_unix_ms, &length) ||
      length > std::numeric_limits<int64_t>::max() / 4)
    return Error(ErrorCode::kInvalidInput, "the range is too long for a series over time");
  if (step_ms == 0) {
    step_ms = kNiceStepsMs[0];
    for (const int64_t nice : kNiceStepsMs) {
      if (static_cast<uint64_t>(length / step_ms) > kStepsWished) step_ms = nice;
    }
    while (static_cast<uint64_t>(length / step_ms) > kStepsWished) step_ms *= 2;
  }
  if (step_ms % kMinuteMs == 0) {
    const int64_t before = (range.from_unix_ms % step_ms + step_ms) % step_ms;
    const int64_t behind = (step_ms - (range.to_unix_ms % step_ms + step_ms) % step_ms) % step_ms;
    if (__builtin_sub_overflow(range.from_unix_ms, before, &range.from_unix_ms) ||
        __builtin_add_overflow(range.to_unix_ms, behind, &range.to_unix_ms))
      return Error(ErrorCode::kInvalidInput, "the range is too long for a series over time");
    length = range.to_unix_ms - range.from_unix_ms;
  }
  const auto count = static_cast<uint64_t>(length / step_ms + (length % step_ms != 0 ? 1 : 0));
  if (count > kStepsMax) {
    return Error(ErrorCode::kInvalidInput,
                 "step " + DurationText(step_ms) + " gives " + std::to_string(count) +
                     " steps, at most 11,000 are allowed: take a longer step or a shorter range");
  }
  return StepRange{range, step_ms};
}

base::Result<Plan> MakePlan(const Request& request, const Listing& listing,
                            const store::ReadLimits& limits) {
  CHECK(request.selectors.size() == (request.question == Question::kDiff ? 2u : 1u));
  return Planner(request, listing, limits).Run();
}

}  // namespace vesta::query
