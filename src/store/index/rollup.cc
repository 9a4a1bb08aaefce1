#include "src/store/index/rollup.h"

#include <algorithm>
#include <string>

#include "src/base/calendar.h"
#include "src/base/check.h"
#include "src/profile/id_index.h"
#include "src/profile/profile.h"
#include "src/store/index/row_index.h"

namespace vesta::store::index {
namespace {

using profile::AddSaturating;
using profile::HashWord;

void Add(const StackTotal& from, StackTotal* into) {
  into->value = AddSaturating(into->value, from.value);
  into->count = AddSaturating(into->count, from.count);
}
void Add(const MinuteTotal& from, MinuteTotal* into) {
  into->value = AddSaturating(into->value, from.value);
  into->count = AddSaturating(into->count, from.count);
}
void Add(const FunctionTotal& from, FunctionTotal* into) {
  into->self = AddSaturating(into->self, from.self);
  into->total = AddSaturating(into->total, from.total);
  into->self_count = AddSaturating(into->self_count, from.self_count);
  into->total_count = AddSaturating(into->total_count, from.total_count);
}
uint64_t Key(const StackTotal& total) { return total.node; }
uint64_t Key(const FunctionTotal& total) { return total.callable; }
int64_t Key(const MinuteTotal& total) { return total.minute; }

template <typename Total>
void SortByKey(std::vector<Total>* totals) {
  std::sort(totals->begin(), totals->end(),
            [](const Total& a, const Total& b) { return Key(a) < Key(b); });
}

// Adds up neighbours with the same key.
template <typename Total>
void Fold(std::vector<Total>* totals) {
  size_t kept = 0;
  for (const Total& total : *totals) {
    if (kept != 0 && Key((*totals)[kept - 1]) == Key(total)) {
      Add(total, &(*totals)[kept - 1]);
    } else {
      (*totals)[kept++] = total;
    }
  }
  totals->resize(kept);
}

template <typename Total>
void Merge(const std::vector<Total>& from, std::vector<Total>* into) {
  std::vector<Total> both(from.size() + into->size());
  std::merge(from.begin(), from.end(), into->begin(), into->end(), both.begin(),
             [](const Total& a, const Total& b) { return Key(a) < Key(b); });
  Fold(&both);
  *into = std::move(both);
}

// Sums by key, in order of first sight.
template <typename Total>
class SumTable {
 public:
  void Add(const Total& total) {
    const auto fresh = static_cast<uint32_t>(totals_.size());
    const auto hash_of = [](const Total& it) {
      return HashWord(1, static_cast<uint64_t>(Key(it)));
    };
    const uint32_t id = index_.FindOrInsert(
        hash_of(total), fresh, [&](uint32_t other) { return Key(totals_[other]) == Key(total); },
        [&](uint32_t other) { return hash_of(totals_[other]); });
    if (id == fresh) {
      totals_.push_back(total);
    } else {
      index::Add(total, &totals_[id]);
    }
  }
  // Sorted; the table is empty then.
  std::vector<Total> Take() {
    std::vector<Total> totals(totals_);
    SortByKey(&totals);
    totals_.clear();
    if (index_.memory_bytes() > kIndexBytesMax) index_ = {};
    index_.Clear();
    return totals;
  }

 private:
  static constexpr size_t kIndexBytesMax = 1 << 20;
  std::vector<Total> totals_;
  BareIndex index_;
};

}  // namespace

// Goes once through the tree of the stacks: a function's total is the sum of the subtrees whose
// root is the outermost one of that function on its path.
class FunctionSummer::Work {
 public:
  explicit Work(const NodeSource* source) : source_(*source) {}

  base::Result<void> Sum(std::span<const StackTotal> stacks, std::vector<FunctionTotal>* out) {
    out->clear();
    nodes_.clear();
    for (const StackTotal& stack : stacks) nodes_.push_back(stack.node);
    local_.resize(nodes_.size());
    ASSIGN_OR_RETURN(trie_, CutSubTrie(source_, nodes_, local_));
    RETURN_IF_ERROR(FindCallables(out));
    SumSubtrees(stacks);
    for (size_t i = 0; i < stacks.size(); ++i) {
      if (local_[i] == 0) continue;
      FunctionTotal& leaf = (*out)[rows_[row_begin_[local_[i]]]];
      leaf.self = AddSaturating(leaf.self, stacks[i].value);
      leaf.self_count = AddSaturating(leaf.self_count, stacks[i].count);
    }
    Walk(out);
    for (const FunctionTotal& total : *out) row_of_[total.callable] = kNoRow;
    SortByKey(out);
    return {};
  }

 private:
  // Numbers the callables of this tree, and lists those of each node.
  base::Result<void> FindCallables(std::vector<FunctionTotal>* out) {
    const size_t count = trie_.parent.size();
    rows_.clear();
    row_begin_.assign(2, 0);  // the root has none
    for (size_t i = 1; i < count; ++i) {
      ASSIGN_OR_RETURN(const auto callables, source_.frame_callables(trie_.frame[i]));
      for (const uint32_t callable : callables) {
        if (callable >= row_of_.size()) row_of_.resize(size_t{callable} + 1, kNoRow);
        uint32_t& row = row_of_[callable];
        if (row == kNoRow) {
          row = static_cast<uint32_t>(out->size());
          out->push_back({.callable = callable});
        }
        rows_.push_back(row);
      }
      row_begin_.push_back(static_cast<uint32_t>(rows_.size()));
    }
    return {};
  }

  void SumSubtrees(std::span<const StackTotal> stacks) {
    const size_t count = trie_.parent.size();
    sums_.assign(count, {});
    for (size_t i = 0; i < stacks.size(); ++i) Add(stacks[i], &sums_[local_[i]]);
    first_child_.assign(count, 0);
    next_sibling_.assign(count, 0);
    for (size_t i = count; i-- > 1;) {
      const uint32_t parent = trie_.parent[i];
      Add(sums_[i], &sums_[parent]);
      next_sibling_[i] = first_child_[parent];
      first_child_[parent] = static_cast<uint32_t>(i);
    }
  }

  void Walk(std::vector<FunctionTotal>* out) {
    on_path_.assign(out->size(), 0);
    uint32_t node = first_child_[0];
    while (node != 0) {
      for (uint32_t i = row_begin_[node]; i < row_begin_[node + 1]; ++i) {
        if (on_path_[rows_[i]]++ != 0) continue;
        FunctionTotal& total = (*out)[rows_[i]];
        total.total = AddSaturating(total.total, sums_[node].value);
        total.total_count = AddSaturating(total.total_count, sums_[node].count);
      }
      if (first_child_[node] != 0) {
        node = first_child_[node];
        continue;
      }
      while (node != 0) {
        for (uint32_t i = row_begin_[node]; i < row_begin_[node + 1]; ++i) --on_path_[rows_[i]];
        if (next_sibling_[node] != 0) {
          node = next_sibling_[node];
          break;
        }
        node = trie_.parent[node];
      }
    }
  }

  const NodeSource& source_;
  std::vector<uint32_t> row_of_;  // by callable; kNoRow outside of a call
  std::vector<uint32_t> nodes_, local_;
  SubTrie trie_;
  std::vector<uint32_t> rows_, row_begin_;  // node i has rows_[begin[i], begin[i + 1])
  std::vector<StackTotal> sums_;            // of the subtree
  std::vector<uint32_t> first_child_, next_sibling_;
  std::vector<uint32_t> on_path_;
};

FunctionSummer::FunctionSummer(const NodeSource* source) : work_(std::make_unique<Work>(source)) {}
FunctionSummer::~FunctionSummer() = default;

base::Result<void> FunctionSummer::Sum(std::span<const StackTotal> stacks,
                                       std::vector<FunctionTotal>* out) {
  return work_->Sum(stacks, out);
}

class RollupBuilder::Work {
 public:
  Work(const NodeSource* source, RollupSink sink) : functions_(source), sink_(std::move(sink)) {}

  base::Result<void> Add(const RollupRows& rows) {
    const size_t count = rows.type.size();
    CHECK(rows.series.size() == count && rows.stack.size() == count &&
          rows.time_unix_ms.size() == count && rows.value.size() == count &&
          rows.count.size() == count);
    for (size_t i = 0; i < count; ++i) {
      if (summary_.rows == 0 || rows.type[i] != summary_.type || rows.series[i] != summary_.series)
        RETURN_IF_ERROR(Begin(rows, i));
      const int64_t time = rows.time_unix_ms[i];
      const int64_t value = rows.value[i];
      const int64_t samples = rows.count[i];
      ++summary_.rows;
      summary_.value = AddSaturating(summary_.value, value);
      summary_.count = AddSaturating(summary_.count, samples);
      summary_.time_min = std::min(summary_.time_min, time);
      summary_.time_max = std::max(summary_.time_max, time);
      stacks_.Add({rows.stack[i], value, samples});
      const int64_t minute = base::FloorDivide(time, base::kMinuteMs);
      if (minute != minute_.minute) {
        FlushMinute();
        minute_.minute = minute;
      }
      index::Add(MinuteTotal{minute, value, samples}, &minute_);
      is_minute_ = true;
    }
    return {};
  }

  base::Result<void> Finish() {
    if (summary_.rows == 0) return {};
    FlushMinute();
    SeriesRollup rollup;
    rollup.summary = summary_;
    rollup.stacks = stacks_.Take();
    rollup.minutes = minutes_.Take();
    summary_.rows = 0;
    RETURN_IF_ERROR(functions_.Sum(rollup.stacks, &rollup.functions));
    return sink_(rollup);
  }

 private:
  base::Result<void> Begin(const RollupRows& rows, size_t i) {
    const auto key = std::pair(rows.type[i], rows.series[i]);
    if (has_key_ && key <= std::pair(summary_.type, summary_.series)) {
      return base::Error(base::ErrorCode::kInvalidInput,
                         "rows for a roll-up are not sorted: type " + std::to_string(key.first) +
                             ", series " + std::to_string(key.second) + " comes too late");
    }
    RETURN_IF_ERROR(Finish());
    has_key_ = true;
    summary_ = {.type = key.first,
                .series = key.second,
                .time_min = rows.time_unix_ms[i],
                .time_max = rows.time_unix_ms[i]};
    return {};
  }
  // Rows of a minute mostly stand together.
  void FlushMinute() {
    if (is_minute_) minutes_.Add(minute_);
    minute_ = {};
    is_minute_ = false;
  }

  FunctionSummer functions_;
  RollupSink sink_;
  bool has_key_ = false;
  SeriesSummary summary_;  // 0 rows = none has begun
  SumTable<StackTotal> stacks_;
  SumTable<MinuteTotal> minutes_;
  MinuteTotal minute_;
  bool is_minute_ = false;
};

RollupBuilder::RollupBuilder(const NodeSource* source, RollupSink sink)
    : work_(std::make_unique<Work>(source, std::move(sink))) {}
RollupBuilder::~RollupBuilder() = default;
base::Result<void> RollupBuilder::Add(const RollupRows& rows) { return work_->Add(rows); }
base::Result<void> RollupBuilder::Finish() { return work_->Finish(); }

void AddRollup(const SeriesRollup& from, SeriesRollup* into) {
  CHECK(from.summary.type == into->summary.type && from.summary.series == into->summary.series);
  SeriesSummary& summary = into->summary;
  summary.time_min = std::min(summary.time_min, from.summary.time_min);
  summary.time_max = std::max(summary.time_max, from.summary.time_max);
  summary.rows += from.summary.rows;
  summary.value = AddSaturating(summary.value, from.summary.value);
  summary.count = AddSaturating(summary.count, from.summary.count);
  Merge(from.stacks, &into->stacks);
  Merge(from.functions, &into->functions);
  Merge(from.minutes, &into->minutes);
}

void RemapRollup(const IdMaps& maps, SeriesRollup* rollup) {
  const auto map = [](const std::vector<uint32_t>& ids, uint32_t* id) {
    if (!ids.empty()) *id = ids[*id];
  };
  map(maps.types, &rollup->summary.type);
  map(maps.series, &rollup->summary.series);
  if (!maps.nodes.empty()) RemapNodes(maps.nodes, rollup);
  for (FunctionTotal& total : rollup->functions) map(maps.callables, &total.callable);
  SortByKey(&rollup->functions);
  Fold(&rollup->functions);
}

void RemapNodes(std::span<const uint32_t> nodes, SeriesRollup* rollup) {
  for (StackTotal& total : rollup->stacks) total.node = nodes[total.node];
  SortByKey(&rollup->stacks);
  Fold(&rollup->stacks);
}

}  // namespace vesta::store::index
