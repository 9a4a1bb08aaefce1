#include "src/object/init_code.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "abi/unwind.h"
#include "src/object/unwind_row.h"

namespace vesta::object {
namespace {

constexpr uint64_t kCodeBytesMax = 4096;  // real ones have some 30
constexpr std::array<uint8_t, 4> kEndBranch = {0xf3, 0x0f, 0x1e, 0xfa};
// sub $8,%rsp and add $8,%rsp; ret. musl writes push %rax and pop %rax; ret.
constexpr std::array<uint8_t, 4> kSubtract = {0x48, 0x83, 0xec, 0x08};
constexpr std::array<uint8_t, 5> kAddReturn = {0x48, 0x83, 0xc4, 0x08, 0xc3};
constexpr std::array<uint8_t, 1> kPush = {0x50};
constexpr std::array<uint8_t, 2> kPopReturn = {0x58, 0xc3};

bool StartsWith(std::span<const std::byte> code, std::span<const uint8_t> pattern) {
  return code.size() >= pattern.size() &&
         std::equal(pattern.begin(), pattern.end(), code.begin(),
                    [](uint8_t a, std::byte b) { return std::byte{a} == b; });
}

bool EndsWith(std::span<const std::byte> code, std::span<const uint8_t> pattern) {
  return code.size() >= pattern.size() && StartsWith(code.last(pattern.size()), pattern);
}

// CFA = sp + 8 * words, frame pointer unchanged.
uint32_t StackRow(uint32_t words) { return RowBits(ABI_ROW_SP, words); }

void AddRows(uint64_t vaddr, std::span<const std::byte> code, std::vector<RowRange>& rows) {
  const size_t entry = StartsWith(code, kEndBranch) ? kEndBranch.size() : 0;
  const auto body = code.subspan(entry);
  size_t prologue = 0;
  if (StartsWith(body, kSubtract) && EndsWith(body, kAddReturn)) {
    prologue = kSubtract.size();
  } else if (StartsWith(body, kPush) && EndsWith(body, kPopReturn)) {
    prologue = kPush.size();
  } else {
    return;
  }
  const uint64_t pushed_vaddr = vaddr + entry + prologue;
  const uint64_t return_vaddr = vaddr + code.size() - 1;
  if (pushed_vaddr >= return_vaddr) return;
  rows.push_back({vaddr, pushed_vaddr, StackRow(1)});
  rows.push_back({pushed_vaddr, return_vaddr, StackRow(2)});
  rows.push_back({return_vaddr, return_vaddr + 1, StackRow(1)});
}

}  // namespace

std::vector<RowRange> InitCodeRanges(const ElfFile& elf, const base::ByteSource& source) {
  std::vector<RowRange> rows;
  if (elf.machine() != Machine::kX86_64) return rows;
  for (const char* const name : {".init", ".fini"}) {
    const Section* const section = elf.FindSection(name);
    if (section == nullptr || section->type != SHT_PROGBITS ||
        section->size_bytes > kCodeBytesMax) {
      continue;
    }
    const auto code = source.Read(section->file_offset, section->size_bytes);
    if (code.ok()) AddRows(section->vaddr, *code, rows);
  }
  return rows;
}

}  // namespace vesta::object
