// Rows, folders and damage for the tests beside this.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "src/store/duck/duck_db.h"
#include "src/store/duck/row_columns.h"

namespace vesta::store::duck {

// A folder that goes with the test.
class TestFolder {
 public:
  TestFolder() {
    std::string name = std::filesystem::temp_directory_path() / "duck-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::unique_ptr<DuckDb> OpenTestDb(const TestFolder& folder, uint64_t memory_mb = 128) {
  auto db = DuckDb::Open({folder / "spill", memory_mb << 20, 2});
  return std::move(db).value();
}

struct RowValues {
  std::vector<uint32_t> type, series, task, stack;
  std::vector<int64_t> time, value, count;
  std::vector<float> weight;

  void Add(uint32_t type_id, uint32_t series_id, uint32_t task_id, uint32_t stack_id, int64_t at,
           int64_t sum) {
    type.push_back(type_id);
    series.push_back(series_id);
    task.push_back(task_id);
    stack.push_back(stack_id);
    time.push_back(at);
    value.push_back(sum);
    count.push_back(sum / 10);
    weight.push_back(0.5F);
  }
  void Add(const RowColumns& rows) {
    const auto append = [](auto* to, const auto& from) {
      to->insert(to->end(), from.begin(), from.end());
    };
    append(&type, rows.type);
    append(&series, rows.series);
    append(&task, rows.task);
    append(&stack, rows.stack);
    append(&time, rows.time_unix_ms);
    append(&value, rows.value);
    append(&count, rows.count);
    append(&weight, rows.weight);
  }
  RowColumns View() const {
    return {type.size(), type, series, task, stack, time, value, count, weight};
  }
  friend bool operator==(const RowValues&, const RowValues&) = default;
};

inline std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline void WriteAll(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace vesta::store::duck
