// Names of generated code from the text that runtimes write to /tmp/perf-PID.map. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace vesta::object {

struct PerfMapLine {
  uint64_t start = 0;  // process addresses [start, end)
  uint64_t end = 0;
  std::string_view name;   // of the text; cut at kPerfMapNameBytesMax
  size_t line_offset = 0;  // in the text
};

inline constexpr size_t kPerfMapNameBytesMax = 4096;

// Walks the text once, without copying it.
// Shape:  one line per function: start (hex), size in bytes (hex), rest of the line = name.
//         Where functions overlap the later line holds: code moves and its place is used again.
//         Damaged lines are skipped and counted. What follows the last newline is left alone, since
//         the runtime may be in the middle of writing it.
// Source: linux tools/perf/Documentation/jit-interface.txt
class PerfMapParser {
 public:
  explicit PerfMapParser(std::string_view text);

  std::optional<PerfMapLine> Next();

  // Up to and including the last newline.
  size_t whole_lines_bytes() const { return text_.size(); }
  uint64_t skipped_line_count() const { return skipped_line_count_; }

 private:
  std::string_view text_;
  size_t position_ = 0;
  uint64_t skipped_line_count_ = 0;
};

}  // namespace vesta::object
