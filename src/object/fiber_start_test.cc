#include "src/object/fiber_start.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "src/object/elf_image_for_test.h"
#include "src/object/unwind_row.h"

namespace vesta::object {
namespace {

constexpr uint64_t kVaddr = 0x10000;
const std::vector<uint8_t> kFiberStart = {0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85,
                                          0xff, 0x74, 0x08, 0xe8, 1,    2,    3,    4,    0x48,
                                          0x89, 0xc7, 0xe8, 5,    6,    7,    8,    0xf4};

std::optional<RowRange> RangeOf(const std::vector<uint8_t>& code, size_t place,
                                uint16_t machine = EM_X86_64) {
  std::vector<uint8_t> text(place, 0x90);
  text.insert(text.end(), code.begin(), code.end());
  text.insert(text.end(), 40, 0xc3);
  ElfImage image;
  image.header().e_machine = machine;
  const uint64_t at = image.Add(text);
  image.SetSegments({Segment(PT_LOAD, PF_R | PF_X, at, kVaddr, text.size())});
  const base::MemorySource source(image.bytes());
  const auto elf = ElfFile::Parse(source);
  EXPECT_TRUE(elf.ok());
  return elf.ok() ? FiberStartRange(*elf, source) : std::nullopt;
}

TEST(FiberStartTest, IsARootFromTheByteBeforeIt) {
  // In the middle, and on both sides of a border of two reads.
  for (const size_t place : {size_t{1}, size_t{100}, size_t{(256 << 10) - 26},
                             size_t{(256 << 10) - 25}, size_t{(256 << 10) - 1}}) {
    const auto range = RangeOf(kFiberStart, place);
    ASSERT_TRUE(range.has_value()) << place;
    EXPECT_EQ(range->start_vaddr, kVaddr + place - 1);
    EXPECT_EQ(range->end_vaddr, kVaddr + place + kFiberStart.size());
    EXPECT_EQ(range->row_bits, SpecialRowBits(ABI_SPECIAL_ROOT));
  }
}

TEST(FiberStartTest, EveryOtherCodeIsLeftAlone) {
  for (const uint32_t changed : {0u, 3u, 10u, 12u, 17u, 20u, 25u}) {
    std::vector<uint8_t> code = kFiberStart;
    code[changed] ^= 1;
    EXPECT_FALSE(RangeOf(code, 100).has_value()) << changed;
  }
  const std::vector<uint8_t> cut(kFiberStart.begin(), kFiberStart.end() - 1);
  EXPECT_FALSE(RangeOf(cut, 100).has_value());
  EXPECT_FALSE(RangeOf({}, 0).has_value());
  EXPECT_FALSE(RangeOf(kFiberStart, 100, EM_AARCH64).has_value());
}

}  // namespace
}  // namespace vesta::object
