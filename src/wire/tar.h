// Several files in one: the tar archive in which stored rows are exported.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"

namespace vesta::wire {

struct TarEntry {
  std::string_view name;
  std::string_view bytes;  // of the archive
};

// Shape:  POSIX ustar: blocks of 512 bytes, a header (name, mode, size in octal, checksum, "ustar")
//         before each file, zeros up to the block's end behind it, two zero blocks at the end.
//         Equal files give equal bytes: no times, no owners.
// Source: POSIX.1-2017, pax, "ustar Interchange Format".
class TarWriter {
 public:
  // name: of 1 to 100 bytes, a relative path. size: up to 8 GiB - 1.
  void Add(std::string_view name, std::string_view bytes);
  // The whole archive; the writer is empty again.
  std::string Finish();

 private:
  std::string out_;
};

// Told by the first header: a whole one with its checksum.
bool IsTar(std::string_view bytes);

// The regular files of an archive, in order; folders and the extensions of other writers are left
// out.
// Owner:  the views are of `bytes`.
// Errors: Corrupt with the byte where it happened: a wrong checksum, a file that is cut, no end.
base::Result<std::vector<TarEntry>> ReadTar(std::string_view bytes);

}  // namespace vesta::wire
