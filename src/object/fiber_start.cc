#include "src/object/fiber_start.h"

#include <string.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "abi/unwind.h"
#include "src/object/unwind_row.h"

namespace vesta::object {
namespace {

constexpr uint64_t kScanBytesMax = 16 << 20;
constexpr uint64_t kChunkBytes = 256 << 10;
// mov %rbx,%rsp; mov (%rsp),%rdi; test %rdi,%rdi; je +8; call setcontext; mov %rax,%rdi;
// call exit; hlt
constexpr std::array<uint8_t, 13> kHead = {0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24,
                                           0x48, 0x85, 0xff, 0x74, 0x08, 0xe8};
constexpr std::array<uint8_t, 4> kMiddle = {0x48, 0x89, 0xc7, 0xe8};
constexpr uint8_t kHalt = 0xf4;
constexpr size_t kMiddleOffset = 17;
constexpr size_t kHaltOffset = 25;
constexpr size_t kCodeBytes = 26;

bool IsFiberStart(std::span<const std::byte> code) {
  return code.size() >= kCodeBytes && ::memcmp(code.data(), kHead.data(), kHead.size()) == 0 &&
         ::memcmp(code.data() + kMiddleOffset, kMiddle.data(), kMiddle.size()) == 0 &&
         code[kHaltOffset] == std::byte{kHalt};
}

// Offset of the code in these bytes, after the first one.
std::optional<size_t> FindIn(std::span<const std::byte> bytes) {
  size_t from = 1;
  while (from < bytes.size()) {
    const void* const found =
        ::memmem(bytes.data() + from, bytes.size() - from, kHead.data(), kHead.size());
    if (found == nullptr) return std::nullopt;
    const auto at = static_cast<size_t>(static_cast<const std::byte*>(found) - bytes.data());
    if (IsFiberStart(bytes.subspan(at))) return at;
    from = at + 1;
  }
  return std::nullopt;
}

}  // namespace

std::optional<RowRange> FiberStartRange(const ElfFile& elf, const base::ByteSource& source) {
  if (elf.machine() != Machine::kX86_64) return std::nullopt;
  uint64_t bytes_left = kScanBytesMax;
  for (const LoadSegment& segment : elf.load_segments()) {
    if (!segment.executable) continue;
    const uint64_t size = std::min(segment.file_size_bytes, bytes_left);
    bytes_left -= size;
    std::vector<std::byte> chunk(static_cast<size_t>(std::min(size, kChunkBytes)));
    // Chunks overlap, so that code across their border is found.
    for (uint64_t at = 0; at < size; at += kChunkBytes - kCodeBytes) {
      const auto part =
          std::span(chunk).first(static_cast<size_t>(std::min<uint64_t>(chunk.size(), size - at)));
      if (!source.ReadAt(segment.file_offset + at, part).ok()) break;
      if (const auto found = FindIn(part)) {
        const uint64_t vaddr = segment.vaddr + at + *found;
        return RowRange{vaddr - 1, vaddr + kCodeBytes, SpecialRowBits(ABI_SPECIAL_ROOT)};
      }
    }
  }
  return std::nullopt;
}

}  // namespace vesta::object
