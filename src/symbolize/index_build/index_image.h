// Builds the symbol index of one image out of everything that names its code. For a process of its
// own: files are mapped, and a hostile one may take time and memory up to that process's limits.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/symbolize/debug_file/debug_files.h"

namespace vesta::symbolize {

struct IndexRequest {
  DebugFileOptions files;
  uint64_t index_memory_bytes_max = uint64_t{1} << 30;  // of what is collected for the index
  uint64_t index_bytes_max = uint64_t{1} << 30;         // of its file
  std::function<void(uint64_t done, uint64_t total)>
      progress;  // in bytes that are read; may be empty
};

// Shape: `sources` and `reasons` are for people; of `reasons` none is an error: each says what was
//        left away.
struct IndexReport {
  std::string identity;    // object::ImageIdentity of the image
  bool has_lines = false;  // from debug information or Go's table
  uint64_t unit_count = 0;
  uint64_t damaged_count = 0;    // units, and functions of Go's table, that make no sense
  uint64_t truncated_count = 0;  // units that a limit of ours cut
  uint64_t split_missing_count = 0;
  uint64_t symbol_count = 0;  // of symbol tables and stubs
  uint64_t function_count = 0;
  uint64_t debug_bytes = 0;     // of .debug_info and .debug_line, unpacked
  uint64_t unpacked_bytes = 0;  // of compressed sections
  uint64_t index_bytes = 0;
  double seconds = 0;
  uint64_t peak_bytes = 0;  // resident memory of the process, mapped files included
  std::vector<std::string> sources;
  std::vector<std::string> reasons;
};

// Writes the index to `out_fd`, an empty regular file.
// Errors: as DebugObject::OfFile when the image is no ELF file that we read; NotFound when nothing
//         names any of its code; as IndexWriter::Write; Exhausted when the file is too large.
base::Result<IndexReport> IndexImage(const base::FileSource& image, const IndexRequest& request,
                                     int out_fd);

// One line of JSON.
std::string ReportJson(const IndexReport& report);

}  // namespace vesta::symbolize
