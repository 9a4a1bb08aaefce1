// Rows of a part that is not sealed yet, in memory, so that queries of the last hour need no
// database.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "src/store/duck/row_columns.h"
#include "src/store/store.h"

namespace vesta::store {

// Shape: ids are those of the volume's dictionary.
struct OpenRow {
  int64_t value = 0;
  int64_t count = 0;
  uint32_t time_in_day_ms = 0;
  uint32_t stack = 0;
  uint32_t task = 0;
  float weight = 1;
};
static_assert(sizeof(OpenRow) == 32);

// Rows that only grow and never move: what was once seen may be read while more are added.
// Shape: in blocks of 4, 4, 8, 16, ... up to 1,024 rows.
class RowRun {
 public:
  void Add(const OpenRow& row);
  size_t size() const { return size_; }
  // The rows so far. They live as long as the run.
  std::vector<std::span<const OpenRow>> Spans() const;

 private:
  std::vector<std::unique_ptr<OpenRow[]>> blocks_;
  size_t size_ = 0;
  size_t room_ = 0;  // in the last block
  size_t block_rows_ = 0;
};

// Owner: the volume's lock guards Add against all else; spans may be read without it.
// Cost:  about 32 bytes per row, up to twice that for series with few rows, and 150 per series.
class OpenPart {
 public:
  OpenPart(uint32_t id, int64_t day_start_unix_ms)
      : id_(id), day_start_unix_ms_(day_start_unix_ms) {}

  // Shape: all columns; times are of the day.
  void Add(const duck::RowColumns& rows);

  struct Run {
    uint32_t type = 0;
    uint32_t series = 0;
    int64_t value = 0;  // of all its rows
    int64_t count = 0;
    TimeRange range = {INT64_MAX, INT64_MIN};
    RowRun rows;
  };
  const std::vector<std::unique_ptr<Run>>& runs() const { return runs_; }
  uint32_t id() const { return id_; }
  int64_t day_start_unix_ms() const { return day_start_unix_ms_; }
  uint64_t rows() const { return rows_; }
  TimeRange range() const { return range_; }  // of the rows, [first, last + 1); empty = backwards

 private:
  Run& At(uint32_t type, uint32_t series);

  const uint32_t id_;
  const int64_t day_start_unix_ms_;
  uint64_t rows_ = 0;
  TimeRange range_ = {INT64_MAX, INT64_MIN};
  std::unordered_map<uint64_t, Run*> by_key_;
  std::vector<std::unique_ptr<Run>> runs_;
};

}  // namespace vesta::store
