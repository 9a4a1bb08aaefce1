#include "src/store/disk/open_rows.h"

#include <algorithm>

#include "src/profile/profile.h"

namespace vesta::store {

namespace {

constexpr size_t kBlockRowsMin = 4;
constexpr size_t kBlockRowsMax = 1024;

uint64_t KeyOf(uint32_t type, uint32_t series) { return uint64_t{type} << 32 | series; }

// Rows of block number `block`.
size_t BlockRows(size_t block) {
  return block == 0 ? kBlockRowsMin
                    : std::min(kBlockRowsMin << std::min<size_t>(block - 1, 16), kBlockRowsMax);
}

void Widen(int64_t time_unix_ms, TimeRange* range) {
  range->from_unix_ms = std::min(range->from_unix_ms, time_unix_ms);
  range->to_unix_ms = std::max(range->to_unix_ms, time_unix_ms + 1);
}

}  // namespace

void RowRun::Add(const OpenRow& row) {
  if (room_ == 0) {
    block_rows_ = BlockRows(blocks_.size());
    blocks_.push_back(std::make_unique<OpenRow[]>(block_rows_));
    room_ = block_rows_;
  }
  blocks_.back()[block_rows_ - room_] = row;
  --room_;
  ++size_;
}

std::vector<std::span<const OpenRow>> RowRun::Spans() const {
  std::vector<std::span<const OpenRow>> spans;
  spans.reserve(blocks_.size());
  size_t left = size_;
  for (size_t block = 0; block < blocks_.size(); ++block) {
    const size_t rows = std::min(left, BlockRows(block));
    spans.emplace_back(blocks_[block].get(), rows);
    left -= rows;
  }
  return spans;
}

void OpenPart::Add(const duck::RowColumns& rows) {
  Run* run = nullptr;
  for (size_t row = 0; row < rows.row_count; ++row) {
    // A batch's rows are mostly of one series.
    if (run == nullptr || run->type != rows.type[row] || run->series != rows.series[row]) {
      run = &At(rows.type[row], rows.series[row]);
    }
    const int64_t time = rows.time_unix_ms[row];
    run->rows.Add({rows.value[row], rows.count[row],
                   static_cast<uint32_t>(time - day_start_unix_ms_), rows.stack[row],
                   rows.task[row], rows.weight[row]});
    run->value = profile::AddSaturating(run->value, rows.value[row]);
    run->count = profile::AddSaturating(run->count, rows.count[row]);
    Widen(time, &run->range);
    Widen(time, &range_);
  }
  rows_ += rows.row_count;
}

OpenPart::Run& OpenPart::At(uint32_t type, uint32_t series) {
  Run*& run = by_key_[KeyOf(type, series)];
  if (run == nullptr) {
    runs_.push_back(std::make_unique<Run>());
    run = runs_.back().get();
    run->type = type;
    run->series = series;
  }
  return *run;
}

}  // namespace vesta::store
