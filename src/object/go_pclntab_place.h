// Where an ELF file keeps Go's function table, and where the code starts that it speaks of.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/object/elf_file.h"
#include "src/object/go_pclntab.h"

namespace vesta::object {

struct GoPclntabPlace {
  uint64_t vaddr = 0;
  uint64_t file_offset = 0;
  uint64_t size_bytes = 0;
  uint64_t text_vaddr = 0;
};

// Cost:   a look at the sections; for a Go program whose sections do not name the table, one pass
//         over its data, at most kGoSearchBytesMax.
// Errors: NotFound when the image is no Go program; Unsupported when nothing tells where its code
//         starts.
base::Result<GoPclntabPlace> FindGoPclntab(const ElfFile& elf, const base::ByteSource& source);

inline constexpr uint64_t kGoSearchBytesMax = 256 << 20;

// What runtime.moduledata, from which a program's own runtime finds everything, starts with.
struct GoModuleData {
  static constexpr size_t kWords = 48;
  std::array<uint64_t, kWords> words{};  // as the loader will leave them; 0 also where unknown
  size_t text_word = 0;                  // the one that holds the start of the code
};

// The module data that belong to a function table of Go 1.18 or later.
// Cost:   a look at its section; before Go 1.26, which has none, a pass over the data and, in
//         position-independent programs, over the relocations.
std::optional<GoModuleData> FindGoModuleData(const ElfFile& elf, const base::ByteSource& source,
                                             uint64_t table_vaddr, uint64_t first_function_offset);

std::optional<GoVersion> GoVersionOfMagic(uint32_t magic);

}  // namespace vesta::object
