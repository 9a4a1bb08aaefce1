// The bytes of one file's debug information, and how split parts of it are asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace vesta::dwarf {

using Bytes = std::span<const std::byte>;

// Shape: each is the section of that name (".debug_info", or ".debug_info.dwo" of a split file),
//        decompressed and, in a relocatable file, relocated; empty where the file has none.
// Owner: the caller keeps the bytes while a reader or a string_view into them lives.
struct Sections {
  Bytes info;
  Bytes abbrev;
  Bytes line;
  Bytes str;
  Bytes line_str;
  Bytes str_offsets;
  Bytes addr;
  Bytes ranges;
  Bytes rnglists;
  // The file that .gnu_debugaltlink names (dwz), or the supplementary file of DWARF 5.
  const Sections* alternate = nullptr;
};

// Where the rest of a skeleton unit lies: its .dwo file, or its part of a .dwp package
// (SplitPackage). Names are as the unit says; the path is `dwo_name`, below `comp_dir` when it is
// relative. nullptr: not found.
// Owner: what it returns must stay valid until it is asked again or the reader ends; the bytes
//        behind it (names are views of them) as long as the Unit that Next() filled.
using SplitSource = std::function<const Sections*(std::string_view dwo_name,
                                                  std::string_view comp_dir, uint64_t dwo_id)>;

}  // namespace vesta::dwarf
