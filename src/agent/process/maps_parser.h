// Executable mappings out of the text of /proc/PID/maps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vesta::agent::process {

// What lies behind an executable mapping, as its name tells.
enum class MappingKind : uint8_t {
  kFile,       // also deleted or in memory: open it to see what it holds
  kAnonymous,  // generated code: no file, or one without a content of its own
  kVdso,
  kVsyscall,  // a page of the kernel's at a fixed address; not part of the process
};

// `path` without " (deleted)".
MappingKind KindOfMapping(std::string_view path);

// Takes a trailing " (deleted)" off and says whether there was one. (A file whose name really ends
// so is opened all the same: by its inode.)
bool StripDeleted(std::string& path);

struct MapsEntry {
  uint64_t start = 0;  // process addresses [start, end)
  uint64_t end = 0;
  uint64_t file_offset = 0;
  uint64_t device = 0;  // as stat(2) counts devices
  uint64_t inode = 0;
  std::string
      path;  // as the process sees it, without " (deleted)"; empty or "[...]" without a file
  bool deleted = false;
  MappingKind kind = MappingKind::kFile;
};

// Walks the text once, without copying it.
// Shape:  lines "start-end rwxp offset major:minor inode   path"; a newline in a path is written
//         \012 by the kernel. Damaged lines are skipped and counted.
// Cost:   lines that are not executable cost a search for their end.
class MapsParser {
 public:
  explicit MapsParser(std::string_view text) : text_(text) {}

  // The next executable mapping, kVsyscall left out; empty at the end.
  std::optional<MapsEntry> Next();

  // The mapping of a file, executable or not, that lies nearest below the one that Next() gave last
  // when no gap is between the two; empty when there is none.
  std::optional<MapsEntry> FileBelow() const;

  uint64_t damaged_line_count() const { return damaged_line_count_; }

 private:
  std::string_view text_;
  std::string_view file_line_;  // nearest below `run_end_`; empty = none
  uint64_t run_end_ = 0;        // end of the mappings that lie one on the other
  std::string_view file_below_;
  uint64_t damaged_line_count_ = 0;
};

}  // namespace vesta::agent::process
