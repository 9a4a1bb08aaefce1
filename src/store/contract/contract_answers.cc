#include "src/store/contract/contract_answers.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "src/profile/profile.h"

namespace vesta::store {
namespace {

using profile::AddSaturating;

base::Error BadShape(const std::string& what) {
  return base::Error(base::ErrorCode::kInternal, "the block is not as store.h says: " + what);
}

std::string Text(const Labels& labels) {
  std::string text = "{";
  for (const Label& label : labels) text += label.name + "=" + label.value + ",";
  return text + "}";
}

std::string Text(const ProfileType& type) {
  return type.type + "/" + type.unit + "/" + type.count_type + "/" + type.period_type + "/" +
         type.period_unit;
}

std::string Number(int64_t number) { return std::to_string(number); }

// The texts of one block's frames and stacks, each made once.
class StackTexts {
 public:
  StackTexts(const Names& names, std::span<const uint32_t> parent, std::span<const uint32_t> frame)
      : names_(names), parent_(parent), frame_(frame) {}

  base::Result<void> CheckShape() const {
    if (parent_.empty() || parent_.size() != frame_.size()) return BadShape("parent and frame");
    for (size_t i = 1; i < parent_.size(); ++i) {
      if (parent_[i] >= i) return BadShape("the parent of node " + std::to_string(i));
    }
    return {};
  }

  // Leaf first.
  base::Result<std::string> StackText(uint32_t node) {
    if (node >= parent_.size()) return BadShape("a node behind the last one");
    std::string text;
    for (; node != 0; node = parent_[node]) {
      ASSIGN_OR_RETURN(const std::string* const frame, FrameText(frame_[node]));
      text += *frame + " < ";
    }
    return text;
  }

 private:
  base::Result<const std::string*> FrameText(uint32_t id) {
    const auto known = frames_.find(id);
    if (known != frames_.end()) return &known->second;
    ASSIGN_OR_RETURN(const FrameView frame, names_.frame(id));
    std::string text = std::to_string(frame.address) + (frame.is_folded ? " folded" : "");
    // The lines live only until the next call of frame().
    for (const FrameLine& line : frame.lines) {
      ASSIGN_OR_RETURN(const FunctionView function, names_.function(line.function));
      text += " [" + std::string(function.name) + "|" + std::string(function.system_name) + "|" +
              std::string(function.file) + "|" + Number(function.start_line) + ":" +
              Number(line.line) + ":" + Number(line.column) + "]";
    }
    if (frame.image != 0) {
      ASSIGN_OR_RETURN(const ImageView image, names_.image(frame.image));
      text += " in " + std::string(image.path) + "|" + std::string(image.build_id) + "|" +
              std::to_string(image.memory_start) + "|" + std::to_string(image.memory_limit) + "|" +
              std::to_string(image.file_offset);
    }
    return &frames_.emplace(id, std::move(text)).first->second;
  }

  const Names& names_;
  std::span<const uint32_t> parent_;
  std::span<const uint32_t> frame_;
  std::map<uint32_t, std::string> frames_;
};

// Adds up what has the same text.
template <size_t kNumbers>
class Sums {
 public:
  void Add(const std::string& text, const std::array<int64_t, kNumbers>& numbers) {
    auto& sums = sums_[text];
    for (size_t i = 0; i < kNumbers; ++i) sums[i] = AddSaturating(sums[i], numbers[i]);
  }
  ContractAnswer Lines() const {
    ContractAnswer lines;
    for (const auto& [text, sums] : sums_) {
      std::string line = text + " :";
      bool is_empty = true;
      for (const int64_t sum : sums) {
        line += " " + Number(sum);
        is_empty = is_empty && sum == 0;
      }
      if (!is_empty) lines.push_back(std::move(line));
    }
    return lines;
  }

 private:
  std::map<std::string, std::array<int64_t, kNumbers>> sums_;
};

Regroup RegroupOf(ContractRegroup how) {
  if (how == ContractRegroup::kNone) return nullptr;
  return [how](uint32_t group, const Task& task) -> std::optional<uint32_t> {
    const auto key = how == ContractRegroup::kPid   ? size_t{task.pid}
                     : how == ContractRegroup::kTid ? size_t{task.tid}
                                                    : std::hash<std::string>()(task.thread);
    if (how != ContractRegroup::kThread && key % 5 == 3) return std::nullopt;
    return group * 4 + static_cast<uint32_t>(key % 4);
  };
}

std::string GroupText(uint32_t group) { return "group " + std::to_string(group) + " "; }

}  // namespace

std::string ContractQuestion::Text() const {
  std::string text = "[" + Number(range.from_unix_ms) + ", " + Number(range.to_unix_ms) +
                     ") step " + Number(step_ms) + " regroup " +
                     Number(static_cast<int64_t>(regroup)) + " types";
  for (const ProfileType& type : types) text += " " + type.type + "/" + type.unit;
  for (const auto& [labels, group] : groups) {
    text += " " + vesta::store::Text(labels) + "->" + std::to_string(group);
  }
  return text;
}

base::Result<ContractQuestion> AskForAll(Store& store) {
  ReadReport report;
  ASSIGN_OR_RETURN(const std::vector<SeriesTotal> all, store.Series({}, {}, &report));
  ContractQuestion question;
  std::set<ProfileType> types;
  for (const SeriesTotal& total : all) {
    types.insert(store.type(total.type));
    question.groups[store.labels(total.series)] = 0;
  }
  question.types.assign(types.begin(), types.end());
  return question;
}

base::Result<ReadRequest> RequestOf(Store& store, const ContractQuestion& question) {
  ReadReport report;
  ASSIGN_OR_RETURN(const std::vector<SeriesTotal> all, store.Series({}, {}, &report));
  ReadRequest request;
  request.range = question.range;
  request.group_count = question.group_count;
  request.regroup = RegroupOf(question.regroup);
  if (request.regroup != nullptr) request.group_count *= 4;
  std::set<TypeId> types;
  std::map<SeriesId, uint32_t> series;
  for (const SeriesTotal& total : all) {
    const ProfileType type = store.type(total.type);
    if (std::ranges::find(question.types, type) != question.types.end()) types.insert(total.type);
    const auto group = question.groups.find(store.labels(total.series));
    if (group != question.groups.end()) series[total.series] = group->second;
  }
  request.types.assign(types.begin(), types.end());
  for (const auto& [id, group] : series) request.series.push_back({id, group});
  return request;
}

base::Result<ContractAnswer> SeriesAnswer(Store& store, TimeRange range) {
  ReadReport report;
  ASSIGN_OR_RETURN(const std::vector<SeriesTotal> all, store.Series(range, {}, &report));
  ContractAnswer lines;
  std::set<std::pair<SeriesId, TypeId>> seen;
  for (const SeriesTotal& total : all) {
    if (!seen.emplace(total.series, total.type).second) return BadShape("a series twice");
    lines.push_back(Text(store.labels(total.series)) + " " + Text(store.type(total.type)) + " : " +
                    Number(total.value) + " " + Number(total.count));
  }
  std::ranges::sort(lines);
  return lines;
}

base::Result<ContractAnswer> StacksAnswer(Store& store, const ContractQuestion& question) {
  ASSIGN_OR_RETURN(const ReadRequest request, RequestOf(store, question));
  ReadReport report;
  Sums<2> sums;
  const auto add = [&](const StackBlock& block) -> base::Result<void> {
    StackTexts texts(*block.names, block.parent, block.frame);
    RETURN_IF_ERROR(texts.CheckShape());
    std::set<std::pair<uint32_t, uint32_t>> seen;
    for (const StackSum& sum : block.sums) {
      if (!seen.emplace(sum.node, sum.group).second) return BadShape("a (node, group) twice");
      if (sum.group >= request.group_count) return BadShape("a group behind the last one");
      ASSIGN_OR_RETURN(const std::string stack, texts.StackText(sum.node));
      sums.Add(GroupText(sum.group) + stack, {sum.value, sum.count});
    }
    return {};
  };
  RETURN_IF_ERROR(store.Stacks(request, &report, add));
  return sums.Lines();
}

base::Result<ContractAnswer> FunctionsAnswer(Store& store, const ContractQuestion& question) {
  ASSIGN_OR_RETURN(const ReadRequest request, RequestOf(store, question));
  ReadReport report;
  Sums<4> sums;
  const auto add = [&](const FunctionBlock& block) -> base::Result<void> {
    std::set<std::pair<uint32_t, uint32_t>> seen;
    for (const FunctionSum& sum : block.sums) {
      if (!seen.emplace(sum.callable, sum.group).second) return BadShape("a callable twice");
      if (sum.group >= request.group_count) return BadShape("a group behind the last one");
      ASSIGN_OR_RETURN(const CallableView view, block.callables->callable(sum.callable));
      sums.Add(GroupText(sum.group) + std::string(view.name) + "|" + std::string(view.image) + "|" +
                   std::string(view.file),
               {sum.self, sum.total, sum.self_count, sum.total_count});
    }
    return {};
  };
  RETURN_IF_ERROR(store.Functions(request, &report, add));
  return sums.Lines();
}

base::Result<ContractAnswer> TimelineAnswer(Store& store, const ContractQuestion& question) {
  ASSIGN_OR_RETURN(const ReadRequest request, RequestOf(store, question));
  ReadReport report;
  ASSIGN_OR_RETURN(const std::vector<TimelineCell> cells,
                   store.Timeline(request, question.step_ms, &report));
  ContractAnswer lines;
  std::set<std::pair<uint32_t, uint64_t>> seen;
  for (const TimelineCell& cell : cells) {
    if (!seen.emplace(cell.group, cell.step).second) return BadShape("a (group, step) twice");
    if (cell.value == 0 && cell.count == 0) return BadShape("a cell that is 0");
    lines.push_back(GroupText(cell.group) + "step " + std::to_string(cell.step) + " : " +
                    Number(cell.value) + " " + Number(cell.count));
  }
  std::ranges::sort(lines);
  return lines;
}

base::Result<ContractAnswer> RowsAnswer(Store& store, const ContractQuestion& question) {
  ASSIGN_OR_RETURN(const ReadRequest request, RequestOf(store, question));
  ReadReport report;
  ContractAnswer lines;
  const auto add = [&](const RowBlock& block) -> base::Result<void> {
    StackTexts texts(*block.names, block.parent, block.frame);
    RETURN_IF_ERROR(texts.CheckShape());
    for (const StoredRow& row : block.rows) {
      if (row.task >= block.tasks.size()) return BadShape("a task behind the last one");
      const Task& task = block.tasks[row.task];
      ASSIGN_OR_RETURN(const std::string stack, texts.StackText(row.node));
      std::array<char, 32> weight;
      std::snprintf(weight.data(), weight.size(), "%.9g", static_cast<double>(row.weight));
      lines.push_back(Number(row.time_unix_ms) + " " + GroupText(row.group) +
                      Text(store.labels(row.series)) + " " + Text(store.type(row.type)) + " " +
                      std::to_string(task.pid) + "/" + std::to_string(task.tid) + "/" +
                      task.thread + " " + stack + " : " + Number(row.value) + " " +
                      Number(row.count) + " x" + weight.data());
    }
    return {};
  };
  RETURN_IF_ERROR(store.Rows(request, &report, add));
  std::ranges::sort(lines);
  return lines;
}

base::Result<ContractTotals> StacksTotals(Store& store, const ContractQuestion& question) {
  ASSIGN_OR_RETURN(const ReadRequest request, RequestOf(store, question));
  ReadReport report;
  ContractTotals totals;
  RETURN_IF_ERROR(
      store.Stacks(request, &report, [&](const StackBlock& block) -> base::Result<void> {
        for (const StackSum& sum : block.sums) {
          totals.value = AddSaturating(totals.value, sum.value);
          totals.count = AddSaturating(totals.count, sum.count);
        }
        return {};
      }));
  return totals;
}

base::Result<ContractTotals> TimelineTotals(Store& store, const ContractQuestion& question) {
  ASSIGN_OR_RETURN(const ReadRequest request, RequestOf(store, question));
  ReadReport report;
  ASSIGN_OR_RETURN(const std::vector<TimelineCell> cells,
                   store.Timeline(request, question.step_ms, &report));
  ContractTotals totals;
  for (const TimelineCell& cell : cells) {
    totals.value = AddSaturating(totals.value, cell.value);
    totals.count = AddSaturating(totals.count, cell.count);
  }
  return totals;
}

base::Result<ContractTotals> RowsTotals(Store& store, const ContractQuestion& question) {
  ASSIGN_OR_RETURN(const ReadRequest request, RequestOf(store, question));
  ReadReport report;
  ContractTotals totals;
  RETURN_IF_ERROR(store.Rows(request, &report, [&](const RowBlock& block) -> base::Result<void> {
    for (const StoredRow& row : block.rows) {
      totals.value = AddSaturating(totals.value, row.value);
      totals.count = AddSaturating(totals.count, row.count);
    }
    return {};
  }));
  return totals;
}

base::Result<ContractTotals> SeriesTotals(Store& store, TimeRange range) {
  ReadReport report;
  ASSIGN_OR_RETURN(const std::vector<SeriesTotal> all, store.Series(range, {}, &report));
  ContractTotals totals;
  for (const SeriesTotal& total : all) {
    totals.value = AddSaturating(totals.value, total.value);
    totals.count = AddSaturating(totals.count, total.count);
  }
  return totals;
}

std::string Difference(const ContractAnswer& wanted, const ContractAnswer& given) {
  const auto only_in = [](const ContractAnswer& a, const ContractAnswer& b, const char* title) {
    ContractAnswer rest;
    std::ranges::set_difference(a, b, std::back_inserter(rest));
    std::string text;
    for (size_t i = 0; i < rest.size() && i < 5; ++i) {
      text += std::string(title) + rest[i].substr(0, 400) + "\n";
    }
    if (rest.size() > 5) text += "  and " + std::to_string(rest.size() - 5) + " more\n";
    return text;
  };
  return only_in(wanted, given, "  missing: ") + only_in(given, wanted, "  too much: ");
}

}  // namespace vesta::store
