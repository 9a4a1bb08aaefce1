// Columns of JSON, and the shared tables of a Firefox profile: strings, libraries, functions,
// frames and stacks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/profile/id_index.h"
#include "src/profile/profile.h"

namespace vesta::wire {

// The values of one column, as JSON text without brackets.
class JsonColumn {
 public:
  JsonColumn& Int(int64_t value);
  JsonColumn& Null() { return Raw("null"); }
  JsonColumn& IntOrNull(int64_t value) { return value > 0 ? Int(value) : Null(); }
  JsonColumn& Text(std::string_view text);
  JsonColumn& Raw(std::string_view json);
  // value / 10^decimals, exactly.
  JsonColumn& Decimal(int64_t value, int decimals);
  size_t size() const { return size_; }
  const std::string& text() const { return text_; }

 private:
  void Separate() {
    if (size_++ > 0) text_ += ',';
  }
  std::string text_;
  size_t size_ = 0;
};

// Appends `"key":[..],` and at the end of a table `"length":N`.
void AppendColumn(std::string_view key, const JsonColumn& column, std::string& out);
void AppendLength(size_t length, std::string& out);

// Shape: rows in order of first sight, indices from 0; a stack's prefix stands before it.
class FirefoxTables {
 public:
  explicit FirefoxTables(const profile::Profile& profile) : profile_(profile) {}

  // The stack table's row of a stack; it has at least one frame.
  uint32_t StackOf(profile::StackId stack);
  // "libs":[..],"shared":{..}
  void Append(std::string& out) const;

  // Indices of these stand in the frame table.
  static constexpr int64_t kOther = 0;
  static constexpr int64_t kUser = 1;
  static constexpr int64_t kKernel = 2;
  static constexpr std::string_view kCategories =
      R"([{"name":"Other","color":"grey","subcategories":["Other"]},)"
      R"({"name":"User","color":"yellow","subcategories":["Other"]},)"
      R"({"name":"Kernel","color":"orange","subcategories":["Other"]}])";

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Function {
    uint32_t name;
    uint32_t file;  // kNone = unknown
    uint32_t resource;
    int64_t start_line;
    friend bool operator==(const Function&, const Function&) = default;
  };
  struct Stack {
    uint32_t prefix;
    uint32_t frame;
  };
  struct Step {
    uint32_t frame;
    uint32_t row;  // of the stack table
  };

  uint32_t StringOf(std::string_view text);
  uint32_t SourceOf(std::string_view path);
  uint32_t ResourceOf(profile::MappingId mapping);
  uint32_t FunctionOf(const profile::Location& location, const profile::Line* line);
  uint32_t AddFrame(const profile::Location& location, size_t depth, const profile::Line* line);
  const std::vector<uint32_t>& FramesOf(profile::LocationId location);
  uint32_t ChildOf(uint32_t prefix, uint32_t frame);

  const profile::Profile& profile_;
  std::unordered_map<std::string, uint32_t> string_index_;
  JsonColumn strings_;
  std::unordered_map<uint32_t, uint32_t> source_index_;  // by string
  JsonColumn source_names_;
  std::unordered_map<uint32_t, uint32_t> resource_index_;  // by mapping
  JsonColumn resource_names_;
  JsonColumn libs_;
  profile::IdIndex function_index_;
  std::vector<Function> functions_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> location_frames_;  // root first
  JsonColumn address_, inline_depth_, category_, frame_function_, line_, column_;
  profile::IdIndex stack_index_;
  std::vector<Stack> stacks_;
  std::vector<uint32_t> stack_rows_;  // by StackId; kNone = not met yet
  std::vector<Step> last_way_;        // of the stack before, root first
};

}  // namespace vesta::wire
