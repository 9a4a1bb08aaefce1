// What one UTC day of a MemoryStore holds, by value and with numbers of its own.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "src/base/result.h"
#include "src/profile/profile.h"
#include "src/store/store.h"

namespace vesta::store {

// Gives equal keys the same number, counted from `first`.
template <typename Key>
class Numbered {
 public:
  explicit Numbered(uint32_t first = 0) : first_(first) {}
  // Shape: the number, and whether it is new.
  std::pair<uint32_t, bool> Number(const Key& key) {
    const auto fresh = static_cast<uint32_t>(first_ + numbers_.size());
    const auto [at, is_new] = numbers_.emplace(key, fresh);
    return {at->second, is_new};
  }

 private:
  uint32_t first_;
  std::map<Key, uint32_t> numbers_;
};

// Names that came late, by (is build id, image, address).
struct MemorySymbol {
  struct Line {
    std::string name;
    std::string system_name;
    std::string file;
    int64_t start_line = 0;
    int64_t line = 0;
    int64_t column = 0;
    auto operator<=>(const Line&) const = default;
  };
  std::vector<Line> lines;
  friend bool operator==(const MemorySymbol&, const MemorySymbol&) = default;
};
using MemorySymbols = std::map<std::tuple<bool, std::string, uint64_t>, MemorySymbol>;

// Shape: image 0 is none, node 0 the root. Copies are independent.
class MemoryDay final : public Names {
 public:
  // Numbers of a day for those of one profile, so that each stack is looked at once per batch.
  struct StackNodes {
    std::map<profile::StackId, uint32_t> node_of;
  };

  void Add(const profile::Profile& profile, profile::StackId stack, const Task& task, StoredRow row,
           StackNodes* nodes);

  // Gives all frames, those of rows that come later as well, the names that are known of them.
  void Repair(const MemorySymbols& symbols);

  std::span<const StoredRow> rows() const { return rows_; }
  std::span<const Task> tasks() const { return tasks_; }
  std::span<const uint32_t> parents() const { return parents_; }
  std::span<const uint32_t> frames() const { return node_frames_; }

  base::Result<FrameView> frame(uint32_t id) const override;
  base::Result<FunctionView> function(uint32_t id) const override;
  base::Result<ImageView> image(uint32_t id) const override;

 private:
  struct Image {
    std::string path;
    std::string build_id;
    uint64_t memory_start = 0;
    uint64_t memory_limit = 0;
    uint64_t file_offset = 0;
    auto operator<=>(const Image&) const = default;
  };
  struct Function {
    std::string name;
    std::string system_name;
    std::string file;
    int64_t start_line = 0;
    auto operator<=>(const Function&) const = default;
  };
  struct Frame {
    uint32_t image = 0;
    uint64_t address = 0;
    bool is_folded = false;
    std::vector<FrameLine> lines;
  };
  // Image, address, is_folded, lines (function, line, column).
  using FrameKey =
      std::tuple<uint32_t, uint64_t, bool, std::vector<std::tuple<uint32_t, int64_t, int64_t>>>;

  uint32_t AddImage(const profile::Profile& profile, profile::MappingId id);
  uint32_t AddFunction(const profile::Profile& profile, profile::FunctionId id);
  uint32_t NumberOf(const Function& function);
  void Repair(const MemorySymbols& symbols, Frame* frame);
  uint32_t AddFrame(const profile::Profile& profile, profile::LocationId id);
  uint32_t AddStack(const profile::Profile& profile, profile::StackId id);

  std::vector<Image> images_ = {{}};
  Numbered<Image> image_numbers_{1};
  std::vector<Function> functions_;
  Numbered<Function> function_numbers_;
  std::vector<Frame> frames_;
  Numbered<FrameKey> frame_numbers_;
  std::vector<uint32_t> parents_ = {0};
  std::vector<uint32_t> node_frames_ = {0};
  Numbered<std::pair<uint32_t, uint32_t>> node_numbers_{1};
  std::vector<Task> tasks_;
  Numbered<Task> task_numbers_;
  std::vector<StoredRow> rows_;
};

// The functions that a stack passes through, innermost first, as the table of functions counts
// them: the first stands for `self`. A function that is there twice is there twice.
base::Result<std::vector<CallableView>> CallablesOf(const Names& names,
                                                    std::span<const uint32_t> parents,
                                                    std::span<const uint32_t> frames,
                                                    uint32_t node);

}  // namespace vesta::store
