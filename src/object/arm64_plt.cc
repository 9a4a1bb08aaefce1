#include "src/object/arm64_plt.h"

#include <elf.h>

#include <cstring>

#include "src/base/byte_reader.h"
#include "src/object/unwind_row.h"

namespace vesta::object {
namespace {

constexpr uint64_t kHeaderBytes = 32;
constexpr uint64_t kInstructionBytes = 4;
// stp x16, x30, [sp, #-16]!: the first stub, which the others go through when a function is not
// yet bound, pushes and leaves the link register as it is.
// Source: "ELF for the Arm 64-bit Architecture", appendix; binutils, lld and gold write this.
constexpr uint32_t kPushLink = 0xa9bf7bf0;
constexpr uint32_t kUnchangedRow = RowBits(ABI_ROW_SP, 0);
constexpr uint32_t kPushedRow = RowBits(ABI_ROW_SP, 1);

// Where in the first stub the link register has been pushed; 0 when the section has no such stub.
uint64_t PushedAt(const base::ByteSource& source, const Section& section) {
  const auto code = source.Read(section.file_offset, 2 * kInstructionBytes);
  if (!code.ok()) return 0;
  base::ByteReader reader(*code);
  if (reader.Read<uint32_t>() == kPushLink) return kInstructionBytes;
  if (reader.Read<uint32_t>() == kPushLink) return 2 * kInstructionBytes;  // after a BTI
  return 0;
}

}  // namespace

std::vector<RowRange> Arm64PltRanges(const ElfFile& elf, const base::ByteSource& source) {
  std::vector<RowRange> ranges;
  if (elf.machine() != Machine::kArm64) return ranges;
  for (const Section& section : elf.sections()) {
    if ((section.flags & SHF_EXECINSTR) == 0 || section.type != SHT_PROGBITS ||
        section.size_bytes == 0 || (!section.name.starts_with(".plt") && section.name != ".iplt")) {
      continue;
    }
    const uint64_t end = section.vaddr + section.size_bytes;
    if (end <= section.vaddr) continue;
    const uint64_t pushed_at = PushedAt(source, section);
    if (pushed_at == 0 || section.size_bytes < kHeaderBytes) {
      ranges.push_back({section.vaddr, end, kUnchangedRow});
      continue;
    }
    const uint64_t stubs = section.vaddr + kHeaderBytes;
    ranges.push_back({section.vaddr, section.vaddr + pushed_at, kUnchangedRow});
    ranges.push_back({section.vaddr + pushed_at, stubs, kPushedRow});
    if (stubs < end) ranges.push_back({stubs, end, kUnchangedRow});
  }
  return ranges;
}

}  // namespace vesta::object
