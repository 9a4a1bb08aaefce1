// Every image (binary, library, vDSO, generated code) that some process maps, once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/object/elf_file.h"
#include "src/profile/frame.h"

namespace vesta::agent::process {

enum class ImageKind : uint8_t {
  kElf,        // a file, also when deleted or in memory (memfd)
  kVdso,
  kAnonymous,  // generated code of one process: image address = process address
  kUnreadable, // a file that could not be opened or is no ELF: image address = file offset
};

struct Image {
  profile::ImageId id;
  ImageKind kind = ImageKind::kElf;
  std::string path;      // as first seen, in the view of the process
  std::string identity;  // see object::ImageIdentity; empty for kAnonymous and kUnreadable
  std::string gnu_build_id;
  uint32_t owner_pid = 0;      // kAnonymous: the process
  std::string unreadable_why;  // kUnreadable: cause, for the user
  // The executable load segment(s), for pprof's mapping: lowest vaddr, its file offset, end.
  uint64_t text_vaddr = 0;
  uint64_t text_file_offset = 0;
  uint64_t text_end_vaddr = 0;
};

}  // namespace vesta::agent::process
