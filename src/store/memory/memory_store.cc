#include "src/store/memory/memory_store.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "src/base/calendar.h"
#include "src/profile/profile.h"
#include "src/store/batch_check.h"
#include "src/store/memory/memory_day.h"
#include "src/store/read_guard.h"
#include "src/store/symbol_check.h"

namespace vesta::store {
namespace {

using base::kDayMs;
using profile::AddSaturating;

constexpr size_t kRowsBetweenChecks = 1'024;
constexpr uint64_t kSumBytes = 128;  // about what a sum costs in a map and in the answer

// Which rows of a day a request asks for, and to which group they go.
class RowChoice {
 public:
  RowChoice(const ReadRequest& request, const MemoryDay& day) : request_(request), day_(day) {
    for (const GroupedSeries& series : request.series) {
      CHECK(series.group < request.group_count);
      group_of_[series.series] = series.group;
    }
  }

  std::optional<uint32_t> GroupOf(const StoredRow& row) {
    const auto group = group_of_.find(row.series);
    const bool is_wanted =
        group != group_of_.end() && request_.range.Contains(row.time_unix_ms) &&
        std::find(request_.types.begin(), request_.types.end(), row.type) != request_.types.end();
    if (!is_wanted) return std::nullopt;
    if (request_.regroup == nullptr) return group->second;
    return Regrouped(group->second, row.task);
  }

 private:
  std::optional<uint32_t> Regrouped(uint32_t group, uint32_t task) {
    const auto key = std::pair(group, task);
    auto known = regrouped_.find(key);
    if (known == regrouped_.end()) {
      known = regrouped_.emplace(key, request_.regroup(group, day_.tasks()[task])).first;
      CHECK(!known->second || *known->second < request_.group_count);
    }
    return known->second;
  }

  const ReadRequest& request_;
  const MemoryDay& day_;
  std::map<SeriesId, uint32_t> group_of_;
  std::map<std::pair<uint32_t, uint32_t>, std::optional<uint32_t>> regrouped_;
};

// Calls visit(row, group) for each chosen row.
template <typename Visit>
base::Result<void> ForEachRow(const ReadRequest& request, const MemoryDay& day,
                              const ReadGuard& guard, const Visit& visit) {
  RowChoice choice(request, day);
  size_t looked_at = 0;
  for (const StoredRow& row : day.rows()) {
    if (++looked_at % kRowsBetweenChecks == 0) RETURN_IF_ERROR(guard.Check());
    const std::optional<uint32_t> group = choice.GroupOf(row);
    if (group) RETURN_IF_ERROR(visit(row, *group));
  }
  return {};
}

// The element of the map, which takes memory when it is new.
template <typename Map>
base::Result<typename Map::mapped_type*> SumOf(Map& sums, const typename Map::key_type& key,
                                               ReadGuard& guard) {
  const auto [at, is_new] = sums.try_emplace(key);
  if (is_new) RETURN_IF_ERROR(guard.Take(kSumBytes));
  return &at->second;
}

struct ValueCount {
  int64_t value = 0;
  int64_t count = 0;
  void Add(const StoredRow& row) {
    value = AddSaturating(value, row.value);
    count = AddSaturating(count, row.count);
  }
};

// (name, image, file) of a callable.
using CallableKey = std::tuple<std::string_view, std::string_view, std::string_view>;

class DayCallables final : public Callables {
 public:
  uint32_t Number(const CallableView& view) {
    const auto [number, is_new] = numbers_.Number({view.name, view.image, view.file});
    if (is_new) views_.push_back(view);
    return number;
  }
  base::Result<CallableView> callable(uint32_t id) const override {
    CHECK(id < views_.size());
    return views_[id];
  }

 private:
  std::vector<CallableView> views_;
  Numbered<CallableKey> numbers_;
};

}  // namespace

MemoryStore::MemoryStore(MemoryStoreOptions options) : options_(std::move(options)) {}
MemoryStore::~MemoryStore() = default;

base::Result<AppendOutcome> MemoryStore::Append(const Batch& batch) {
  RETURN_IF_ERROR(CheckBatch(batch));
  const std::lock_guard lock(mutex_);
  AppendOutcome outcome = {.rows_received = batch.rows.size()};
  if (batch.id && batches_.contains(*batch.id)) {
    outcome.rows_duplicate = outcome.rows_received;
  } else {
    KeepRows(batch, &outcome);
    if (batch.id && outcome.rows_kept > 0) batches_.insert(*batch.id);
  }
  book_.rows_received += outcome.rows_received;
  book_.rows_kept += outcome.rows_kept;
  book_.rows_overflowed += outcome.rows_overflowed;
  book_.rows_duplicate += outcome.rows_duplicate;
  book_.rows_too_old += outcome.rows_too_old;
  book_.rows_too_new += outcome.rows_too_new;
  return outcome;
}

void MemoryStore::KeepRows(const Batch& batch, AppendOutcome* outcome) {
  const std::optional<int64_t> now =
      options_.now_unix_ms ? std::optional(options_.now_unix_ms()) : std::nullopt;
  const auto is_too_old = [&](const BatchRow& row) {
    return now && options_.retention_age_ms > 0 &&
           row.time_unix_ms < *now - options_.retention_age_ms;
  };
  const auto is_too_new = [&](const BatchRow& row) {
    return now && row.time_unix_ms > *now + kDayMs;
  };
  std::vector<bool> is_used(batch.series.size());
  for (const BatchRow& row : batch.rows) {
    if (!is_too_old(row) && !is_too_new(row)) is_used[row.series] = true;
  }
  std::vector<AssignedSeries> series(batch.series.size());
  for (size_t i = 0; i < series.size(); ++i) {
    if (is_used[i]) series[i] = AssignSeries(batch.series[i]);
  }

  std::map<int64_t, MemoryDay::StackNodes> nodes;
  for (const BatchRow& row : batch.rows) {
    if (is_too_old(row) || is_too_new(row)) {
      ++(is_too_old(row) ? outcome->rows_too_old : outcome->rows_too_new);
      continue;
    }
    ++outcome->rows_kept;
    if (series[row.series].is_overflow) ++outcome->rows_overflowed;
    const StoredRow stored = {.series = series[row.series].id,
                              .type = AssignType(batch.types[row.type]),
                              .time_unix_ms = row.time_unix_ms,
                              .value = row.value,
                              .count = row.count,
                              .weight = row.weight};
    const int64_t day = base::FloorDivide(row.time_unix_ms, kDayMs);
    MutableDay(day).Add(*batch.profile, row.stack, batch.tasks[row.task], stored, &nodes[day]);
  }
  if (symbols_.empty()) return;
  for (const auto& [day, unused] : nodes) MutableDay(day).Repair(symbols_);
}

base::Result<SymbolsOutcome> MemoryStore::AppendSymbols(const SymbolBatch& batch) {
  RETURN_IF_ERROR(CheckSymbols(batch));
  const std::lock_guard lock(mutex_);
  SymbolsOutcome outcome = {.locations_received = batch.locations.size()};
  if (batch.id && !symbol_batches_.insert(*batch.id).second) {
    outcome.locations_unchanged = outcome.locations_received;
  } else {
    KeepSymbols(batch, &outcome);
  }
  if (outcome.locations_kept > 0) {
    for (const auto& [day, slot] : days_) MutableDay(day).Repair(symbols_);
  }
  symbol_book_.Add(outcome);
  return outcome;
}

void MemoryStore::KeepSymbols(const SymbolBatch& batch, SymbolsOutcome* outcome) {
  if (batch.locations.empty()) return;
  const profile::Profile& profile = *batch.profile;
  for (const profile::LocationId id : batch.locations) {
    const profile::Location location = profile.location(id);
    const PlaceVerdict verdict = JudgePlace(profile, location);
    CountVerdict(verdict, outcome);
    if (verdict != PlaceVerdict::kGood) continue;
    MemorySymbol symbol;
    for (const profile::Line& line : location.lines) {
      const profile::Function& function = profile.function(line.function);
      symbol.lines.push_back({std::string(profile.String(function.name)),
                              std::string(profile.String(function.system_name)),
                              std::string(profile.String(function.file)), function.start_line,
                              line.line, line.column});
    }
    const SymbolImage image = SymbolImageOf(profile, location);
    MemorySymbol& known = symbols_[{image.is_build_id, std::string(image.text), location.address}];
    ++(known == symbol ? outcome->locations_unchanged : outcome->locations_kept);
    known = std::move(symbol);
  }
}

MemoryStore::AssignedSeries MemoryStore::AssignSeries(const Labels& labels) {
  const Labels overflow = {{std::string(kOverflowLabel), "true"}};
  const auto known = series_ids_.find(labels);
  if (known != series_ids_.end()) return {known->second, false};
  const size_t places_taken = series_.size() - series_ids_.count(overflow);
  const bool is_overflow = labels != overflow && places_taken >= options_.series_max;
  const Labels& stored = is_overflow ? overflow : labels;
  const auto [at, is_new] =
      series_ids_.emplace(stored, SeriesId{static_cast<uint32_t>(series_.size())});
  if (is_new) series_.push_back(stored);
  return {at->second, is_overflow};
}

TypeId MemoryStore::AssignType(const ProfileType& type) {
  const auto [at, is_new] = type_ids_.emplace(type, TypeId{static_cast<uint32_t>(types_.size())});
  if (is_new) types_.push_back(type);
  return at->second;
}

MemoryDay& MemoryStore::MutableDay(int64_t day) {
  DaySlot& slot = days_[day];
  if (slot.day == nullptr) slot.day = std::make_shared<MemoryDay>();
  if (slot.is_shared) slot.day = std::make_shared<MemoryDay>(*slot.day);
  slot.is_shared = false;
  return *slot.day;
}

std::vector<std::shared_ptr<const MemoryDay>> MemoryStore::DaysIn(TimeRange range) {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const MemoryDay>> days;
  for (auto& [day, slot] : days_) {
    const int64_t start_unix_ms = day * kDayMs;
    if (start_unix_ms >= range.to_unix_ms || start_unix_ms + kDayMs <= range.from_unix_ms) continue;
    slot.is_shared = true;
    days.push_back(slot.day);
  }
  return days;
}

ProfileType MemoryStore::type(TypeId id) const {
  const std::lock_guard lock(mutex_);
  CHECK(id.value() < types_.size());
  return types_[id.value()];
}

Labels MemoryStore::labels(SeriesId id) const {
  const std::lock_guard lock(mutex_);
  CHECK(id.value() < series_.size());
  return series_[id.value()];
}

base::Result<std::vector<SeriesTotal>> MemoryStore::Series(TimeRange range,
                                                           const ReadLimits& limits,
                                                           ReadReport* /*report*/) {
  ReadGuard guard(limits);
  RETURN_IF_ERROR(guard.Check());
  const TimeRange minutes = WidenToMinutes(range);
  std::map<std::pair<SeriesId, TypeId>, ValueCount> sums;
  for (const auto& day : DaysIn(minutes)) {
    RETURN_IF_ERROR(guard.Check());
    for (const StoredRow& row : day->rows()) {
      if (!minutes.Contains(row.time_unix_ms)) continue;
      ASSIGN_OR_RETURN(ValueCount* const sum, SumOf(sums, {row.series, row.type}, guard));
      sum->Add(row);
    }
  }
  std::vector<SeriesTotal> totals;
  for (const auto& [key, sum] : sums) {
    totals.push_back(
        {.series = key.first, .type = key.second, .value = sum.value, .count = sum.count});
  }
  return totals;
}

base::Result<void> MemoryStore::Stacks(const ReadRequest& request, ReadReport* /*report*/,
                                       const Sink<StackBlock>& sink) {
  ReadGuard guard(request.limits);
  for (const auto& day : DaysIn(request.range)) {
    RETURN_IF_ERROR(guard.Check());
    std::map<std::pair<uint32_t, uint32_t>, ValueCount> sums;  // (node, group)
    const auto add = [&](const StoredRow& row, uint32_t group) -> base::Result<void> {
      ASSIGN_OR_RETURN(ValueCount* const sum, SumOf(sums, {row.node, group}, guard));
      sum->Add(row);
      return {};
    };
    RETURN_IF_ERROR(ForEachRow(request, *day, guard, add));
    std::vector<StackSum> block;
    for (const auto& [key, sum] : sums) {
      block.push_back(
          {.node = key.first, .group = key.second, .value = sum.value, .count = sum.count});
    }
    if (block.empty()) continue;
    RETURN_IF_ERROR(sink(
        {.names = day.get(), .parent = day->parents(), .frame = day->frames(), .sums = block}));
    guard.GiveBack(guard.used_bytes());
  }
  return guard.Check();
}

base::Result<void> MemoryStore::Functions(const ReadRequest& request, ReadReport* /*report*/,
                                          const Sink<FunctionBlock>& sink) {
  ReadGuard guard(request.limits);
  for (const auto& day : DaysIn(request.range)) {
    RETURN_IF_ERROR(guard.Check());
    DayCallables callables;
    std::map<std::pair<uint32_t, uint32_t>, FunctionSum> sums;  // (callable, group)
    const auto add = [&](const StoredRow& row, uint32_t group) -> base::Result<void> {
      ASSIGN_OR_RETURN(const std::vector<CallableView> passed,
                       CallablesOf(*day, day->parents(), day->frames(), row.node));
      std::set<uint32_t> counted;
      for (size_t i = 0; i < passed.size(); ++i) {
        const uint32_t id = callables.Number(passed[i]);
        ASSIGN_OR_RETURN(FunctionSum* const sum, SumOf(sums, {id, group}, guard));
        sum->callable = id;
        sum->group = group;
        if (i == 0) {
          sum->self = AddSaturating(sum->self, row.value);
          sum->self_count = AddSaturating(sum->self_count, row.count);
        }
        if (!counted.insert(id).second) continue;
        sum->total = AddSaturating(sum->total, row.value);
        sum->total_count = AddSaturating(sum->total_count, row.count);
      }
      return {};
    };
    RETURN_IF_ERROR(ForEachRow(request, *day, guard, add));
    std::vector<FunctionSum> block;
    for (const auto& [key, sum] : sums) block.push_back(sum);
    if (block.empty()) continue;
    RETURN_IF_ERROR(sink({.callables = &callables, .sums = block}));
    guard.GiveBack(guard.used_bytes());
  }
  return guard.Check();
}

base::Result<std::vector<TimelineCell>> MemoryStore::Timeline(const ReadRequest& request,
                                                              int64_t step_ms,
                                                              ReadReport* /*report*/) {
  RETURN_IF_ERROR(CheckTimeline(request.range, step_ms));
  ReadGuard guard(request.limits);
  RETURN_IF_ERROR(guard.Check());
  std::map<std::pair<uint32_t, uint64_t>, ValueCount> sums;  // (group, step)
  for (const auto& day : DaysIn(request.range)) {
    const auto add = [&](const StoredRow& row, uint32_t group) -> base::Result<void> {
      const uint64_t behind_ms = static_cast<uint64_t>(row.time_unix_ms) -
                                 static_cast<uint64_t>(request.range.from_unix_ms);
      ASSIGN_OR_RETURN(ValueCount* const sum,
                       SumOf(sums, {group, behind_ms / static_cast<uint64_t>(step_ms)}, guard));
      sum->Add(row);
      return {};
    };
    RETURN_IF_ERROR(ForEachRow(request, *day, guard, add));
  }
  std::vector<TimelineCell> cells;
  for (const auto& [key, sum] : sums) {
    cells.push_back(
        {.group = key.first, .step = key.second, .value = sum.value, .count = sum.count});
  }
  return cells;
}

base::Result<void> MemoryStore::Rows(const ReadRequest& request, ReadReport* /*report*/,
                                     const Sink<RowBlock>& sink) {
  ReadGuard guard(request.limits);
  for (const auto& day : DaysIn(request.range)) {
    RETURN_IF_ERROR(guard.Check());
    std::vector<StoredRow> rows;
    const auto add = [&](const StoredRow& row, uint32_t group) -> base::Result<void> {
      RETURN_IF_ERROR(guard.Take(sizeof(StoredRow)));
      rows.push_back(row);
      rows.back().group = group;
      return {};
    };
    RETURN_IF_ERROR(ForEachRow(request, *day, guard, add));
    if (rows.empty()) continue;
    RETURN_IF_ERROR(sink({.names = day.get(),
                          .parent = day->parents(),
                          .frame = day->frames(),
                          .tasks = day->tasks(),
                          .rows = rows}));
    guard.GiveBack(guard.used_bytes());
  }
  return guard.Check();
}

StoreStatus MemoryStore::Status() const {
  const std::lock_guard lock(mutex_);
  StoreStatus status;
  status.days = days_.size();
  status.series = series_.size();
  status.book = book_;
  status.symbols = symbol_book_;
  status.symbol_places = symbols_.size();
  for (const auto& [day, slot] : days_) {
    status.rows += slot.day->rows().size();
    for (const StoredRow& row : slot.day->rows()) {
      if (!status.range) status.range = TimeRange{row.time_unix_ms, row.time_unix_ms + 1};
      status.range->from_unix_ms = std::min(status.range->from_unix_ms, row.time_unix_ms);
      status.range->to_unix_ms = std::max(status.range->to_unix_ms, row.time_unix_ms + 1);
    }
  }
  return status;
}

}  // namespace vesta::store
