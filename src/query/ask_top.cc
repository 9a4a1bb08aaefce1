// The table of what used most: by function, file, binary or a label.
#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "src/profile/id_index.h"
#include "src/query/asking.h"
#include "src/store/callable_hash.h"

namespace vesta::query {
namespace {

constexpr size_t kSumsPerCheck = 65536;
constexpr uint64_t kBytesPerRow = sizeof(TopRow) + 64;  // with its sums and place in the table

// Sums by callable over blocks.
// Cost: names once per callable that is new, which its hash of 64 bits tells: two of a billion
//       names share one with a probability of about 3 %, of a million never.
class FunctionTop {
 public:
  base::Result<void> Add(const store::FunctionBlock& block, Asking& asking) {
    for (size_t i = 0; i < block.sums.size(); ++i) {
      if (i % kSumsPerCheck == 0) RETURN_IF_ERROR(HoldMemory(asking));
      const store::FunctionSum& sum = block.sums[i];
      ASSIGN_OR_RETURN(const uint32_t row, RowOf(*block.callables, sum.callable));
      sums_[row].self.Add({sum.self, sum.self_count});
      sums_[row].total.Add({sum.total, sum.total_count});
    }
    return HoldMemory(asking);
  }

  std::vector<TopRow> Take() {
    for (size_t row = 0; row < rows_.size(); ++row) {
      rows_[row].self = sums_[row].self;
      rows_[row].total = sums_[row].total;
    }
    return std::move(rows_);
  }

 private:
  struct Sums {
    ValueCount self;
    ValueCount total;
  };

  base::Result<void> HoldMemory(Asking& asking) {
    RETURN_IF_ERROR(asking.TakeMemory(bytes_ - held_bytes_));
    held_bytes_ = bytes_;
    return asking.CheckLimits();
  }

  base::Result<uint32_t> RowOf(const store::Callables& callables, uint32_t callable) {
    ASSIGN_OR_RETURN(uint64_t hash, callables.callable_hash(callable));
    store::CallableView view;
    if (hash == 0) {
      ASSIGN_OR_RETURN(view, callables.callable(callable));
      hash = store::CallableHash(view.name, view.image, view.file);
    }
    const auto fresh = static_cast<uint32_t>(rows_.size());
    const uint32_t row =
        index_.FindOrInsert(hash, fresh, [&](uint32_t other) { return hashes_[other] == hash; });
    if (row == fresh) {
      ASSIGN_OR_RETURN(view, callables.callable(callable));
      rows_.push_back(
          {std::string(view.name), std::string(view.image), std::string(view.file), {}, {}});
      sums_.emplace_back();
      hashes_.push_back(hash);
      bytes_ += kBytesPerRow + view.name.size() + view.image.size() + view.file.size();
    }
    return row;
  }

  std::vector<TopRow> rows_;  // their sums stand apart: most of what is added is of known ones
  std::vector<Sums> sums_;
  std::vector<uint64_t> hashes_;
  profile::IdIndex index_;
  uint64_t bytes_ = 0;  // of the rows
  uint64_t held_bytes_ = 0;
};

// Functions of a tree that share a file or a binary.
std::vector<TopRow> GroupRows(const flame::StackTree& tree, TopBy by) {
  std::vector<uint32_t> group_of(tree.functions.size(), std::numeric_limits<uint32_t>::max());
  std::unordered_map<uint32_t, uint32_t> group_of_text;
  std::vector<TopRow> rows;
  for (uint32_t i = 1; i < tree.functions.size(); ++i) {
    const flame::TreeFunction& function = tree.functions[i];
    if (function.kind == flame::FunctionKind::kProcess) continue;
    const uint32_t text = by == TopBy::kFile ? function.file : function.image;
    const auto [known, is_new] =
        group_of_text.try_emplace(text, static_cast<uint32_t>(rows.size()));
    if (is_new) rows.push_back({tree.strings[text], "", "", {}, {}});
    group_of[i] = known->second;
  }
  for (size_t type = 0; type < tree.value_types.size(); ++type) {
    const flame::FunctionSums sums =
        flame::SumGroups(tree, tree.column(type, 0), group_of, rows.size());
    const bool is_value = type + 1 == tree.value_types.size();
    for (size_t row = 0; row < rows.size(); ++row) {
      (is_value ? rows[row].self.value : rows[row].self.count) = sums.self[row];
      (is_value ? rows[row].total.value : rows[row].total.count) = sums.total[row];
    }
  }
  return rows;
}

base::Result<std::vector<TopRow>> LabelRows(Asking& asking) {
  std::unordered_map<std::string, ValueCount> sums;
  for (const PlanRead& read : asking.plan().reads) {
    ASSIGN_OR_RETURN(const std::vector<ValueCount> totals, asking.GroupTotals(read));
    for (size_t group = 0; group < totals.size(); ++group)
      sums[asking.groups()[group].values[0]].Add(totals[group]);
  }
  std::vector<TopRow> rows;
  for (const auto& [value, sum] : sums) {
    asking.AddTotal(0, sum);
    rows.push_back({value, "", "", sum, sum});
  }
  return rows;
}

void SortAndCut(const Request& request, bool by_count, TopAnswer& answer) {
  std::erase_if(answer.rows, [](const TopRow& row) {
    return row.self == ValueCount{} && row.total == ValueCount{};
  });
  const auto shown = [&](const ValueCount& sum) { return by_count ? sum.count : sum.value; };
  const auto key = [&](const TopRow& row) {
    return answer.order == TopOrder::kSelf ? std::pair(shown(row.self), shown(row.total))
                                           : std::pair(shown(row.total), shown(row.self));
  };
  const auto before = [&](const TopRow& a, const TopRow& b) {
    if (key(a) != key(b)) return key(a) > key(b);
    return std::tie(a.name, a.binary, a.file) < std::tie(b.name, b.binary, b.file);
  };
  const size_t rows_max = request.rows_max == 0 ? answer.rows.size() : request.rows_max;
  if (answer.rows.size() > rows_max) {
    const auto middle = answer.rows.begin() + static_cast<std::ptrdiff_t>(rows_max);
    std::ranges::nth_element(answer.rows, middle, before);
    for (auto row = middle; row != answer.rows.end(); ++row) answer.self_behind.Add(row->self);
    answer.rows_behind = answer.rows.size() - rows_max;
    answer.rows.erase(middle, answer.rows.end());
  }
  std::ranges::sort(answer.rows, before);
}

}  // namespace

base::Result<Answer> AskTop(Asking& asking) {
  const Request& request = asking.request();
  TopAnswer answer;
  answer.by = request.top_by;
  answer.order = request.top_order;
  answer.label = request.label;
  switch (request.top_by) {
    case TopBy::kFunction: {
      FunctionTop top;
      for (const PlanRead& read : asking.plan().reads) {
        RETURN_IF_ERROR(asking.Functions(
            read, [&](const store::FunctionBlock& block) { return top.Add(block, asking); }));
      }
      answer.rows = top.Take();
      break;
    }
    case TopBy::kFile:
    case TopBy::kBinary: {
      ASSIGN_OR_RETURN(const MadeTree made, MakeTree(asking, 0, false));
      answer.rows = GroupRows(made.tree, request.top_by);
      break;
    }
    case TopBy::kLabel: {
      ASSIGN_OR_RETURN(answer.rows, LabelRows(asking));
      break;
    }
  }
  if (request.top_by == TopBy::kFunction) {
    // Samples without a stack are of no function.
    ASSIGN_OR_RETURN(const ValueCount total, asking.TotalOfRange());
    asking.AddTotal(0, total);
  }
  SortAndCut(request, asking.plan().type.shows_count, answer);
  answer.about = asking.TakeAbout();
  return Answer(std::move(answer));
}

}  // namespace vesta::query
