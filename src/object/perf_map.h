// Names of generated code from the text that runtimes write to /tmp/perf-PID.map. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vesta::object {

// Shape:  one line per function: start (hex), size in bytes (hex), rest of the line = name.
//         Addresses are those of the process.
// Owner:  one thread; names live until the next Append.
// Cost:   24 bytes per line and the names; Append sorts only what is new.
// Source: linux tools/perf/Documentation/jit-interface.txt
class PerfMap {
 public:
  // Adds the lines of `text` and returns how many bytes it took: up to and including the last
  // newline, since the runtime may be in the middle of writing a line. Where functions overlap the
  // later line wins: code moves and its place is used again.
  size_t Append(std::string_view text);

  // Name of the function whose code covers the address. Empty when there is none.
  std::optional<std::string_view> Find(uint64_t address) const;

  size_t function_count() const { return functions_.size(); }
  uint64_t skipped_line_count() const { return skipped_line_count_; }

 private:
  struct Function {
    uint64_t start = 0;
    uint64_t end = 0;
    uint32_t name_offset = 0;
    uint32_t name_size = 0;
  };
  using Functions = std::vector<Function>;  // sorted, apart from each other

  bool AppendLine(std::string_view line, Functions& added);
  static Functions Overlay(const Functions& below, const Functions& above);
  static Functions Resolve(const Functions& in_file_order, size_t first, size_t count);

  Functions functions_;
  std::string names_;
  uint64_t skipped_line_count_ = 0;
};

}  // namespace vesta::object
