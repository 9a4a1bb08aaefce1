#include "src/object/init_code.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "src/object/elf_image_for_test.h"
#include "src/object/unwind_row.h"

namespace vesta::object {
namespace {

constexpr uint64_t kVaddr = 0x2000;

// The rows of an image whose .init is this code.
std::vector<RowRange> RangesOf(const std::vector<uint8_t>& code) {
  ElfImage image;
  const uint64_t at = image.Add(code);
  const std::string names("\0.init\0.shstrtab\0", 17);
  const uint64_t names_at = image.AddText(names);
  Elf64_Shdr init = SectionHeader(1, SHT_PROGBITS, at, code.size());
  init.sh_addr = kVaddr;
  image.SetSections({SectionHeader(0, SHT_NULL, 0, 0), init,
                     SectionHeader(7, SHT_STRTAB, names_at, names.size())});
  image.header().e_shstrndx = 2;
  const base::MemorySource source(image.bytes());
  const auto elf = ElfFile::Parse(source);
  EXPECT_TRUE(elf.ok());
  return elf.ok() ? InitCodeRanges(*elf, source) : std::vector<RowRange>{};
}

// Words from the stack pointer to the frame address, by offset from the start of the section.
std::vector<int> WordsAt(const std::vector<uint8_t>& code) {
  std::vector<int> words(code.size(), 0);
  for (const RowRange& range : RangesOf(code)) {
    for (uint64_t vaddr = range.start_vaddr; vaddr < range.end_vaddr; ++vaddr) {
      words.at(vaddr - kVaddr) = static_cast<int>(range.row_bits >> ABI_ROW_OPERAND_SHIFT);
    }
  }
  return words;
}

TEST(InitCodeTest, FollowsThePrologueOfGlibc) {
  EXPECT_EQ(WordsAt({0x48, 0x83, 0xec, 0x08, 0x90, 0x48, 0x83, 0xc4, 0x08, 0xc3}),
            std::vector<int>({1, 1, 1, 1, 2, 2, 2, 2, 2, 1}));
}

TEST(InitCodeTest, FollowsABranchTarget) {
  EXPECT_EQ(WordsAt({0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08, 0xc3}),
            std::vector<int>({1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 1}));
}

TEST(InitCodeTest, FollowsThePrologueOfMusl) {
  EXPECT_EQ(WordsAt({0x50, 0x90, 0x58, 0xc3}), std::vector<int>({1, 2, 2, 1}));
}

TEST(InitCodeTest, ClaimsNothingOfOtherCode) {
  EXPECT_TRUE(RangesOf({0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3}).empty());
  EXPECT_TRUE(RangesOf({0x48, 0x83, 0xec, 0x08}).empty()) << "no epilogue";
  EXPECT_TRUE(RangesOf({0xc3}).empty());
  EXPECT_TRUE(RangesOf({}).empty());
}

TEST(InitCodeTest, IsPartOfTheTableOfThisProgram) {
  const auto source = base::FileSource::Open("/proc/self/exe");
  ASSERT_TRUE(source.ok());
  const auto elf = ElfFile::Parse(**source);
  ASSERT_TRUE(elf.ok());
  const Section* const init = elf->FindSection(".init");
  ASSERT_NE(init, nullptr);
  const auto table = BuildUnwindTable(*elf, **source);
  ASSERT_TRUE(table.ok());
  const auto row = LookupRow(table->words, init->vaddr);
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->kind, uint32_t{ABI_ROW_SP});
  EXPECT_EQ(row->operand, 1u);
}

}  // namespace
}  // namespace vesta::object
