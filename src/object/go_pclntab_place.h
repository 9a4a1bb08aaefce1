// Where an ELF file keeps Go's function table, and where the code starts that it speaks of.
#pragma once

#include <cstdint>
#include <optional>

#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/object/elf_file.h"
#include "src/object/go_pclntab.h"

namespace vesta::object {

struct GoPclntabPlace {
  uint64_t file_offset = 0;
  uint64_t size_bytes = 0;
  uint64_t text_vaddr = 0;
};

// Cost:   a look at the sections; for a Go program whose sections do not name the table, one pass
// over
//         its data, at most kGoSearchBytesMax.
// Errors: NotFound when the image is no Go program; Unsupported when nothing tells where its code
//         starts.
base::Result<GoPclntabPlace> FindGoPclntab(const ElfFile& elf, const base::ByteSource& source);

inline constexpr uint64_t kGoSearchBytesMax = 256 << 20;

std::optional<GoVersion> GoVersionOfMagic(uint32_t magic);

}  // namespace vesta::object
