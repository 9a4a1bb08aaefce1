// Unwind tables of arm64 files, put together by hand: what compilers for it write and others do
// not.
#include <gtest/gtest.h>

#include <string>

#include "src/object/elf_image_for_test.h"
#include "src/object/unwind_table.h"

namespace vesta::object {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint64_t kCode = 0x10000;
constexpr uint64_t kCodeBytes = 0x100;
constexpr uint64_t kFunction = kCode + 0x40;  // has call frame information
constexpr uint64_t kFunctionBytes = 0x40;
constexpr uint64_t kFrameVaddr = 0x8000;

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Bytes Le(uint64_t value, size_t size) {
  Bytes bytes;
  for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
  return bytes;
}

Bytes Text(std::string_view text) { return {text.begin(), text.end()}; }

// One CIE (code in units of 4, data of -8, return address in column 30, CFA = sp) and one FDE.
Bytes FrameSectionOf(const std::string& augmentation, const Bytes& instructions) {
  const Bytes common = Le(0, 4) + Bytes{1} + Text(augmentation) + Bytes{0, 4, 0x78, 30, 1, 0x1b} +
                       Bytes{0x0c, 31, 0};
  Bytes bytes = Le(common.size(), 4) + common;
  const size_t id_offset = bytes.size() + 4;
  const Bytes entry = Le(id_offset, 4) + Le(kFunction - (kFrameVaddr + id_offset + 4), 4) +
                      Le(kFunctionBytes, 4) + Bytes{0} + instructions;
  return bytes + Le(entry.size(), 4) + entry;
}

struct FileOptions {
  std::string augmentation = "zR";
  Bytes instructions;
  Bytes code = Bytes(kCodeBytes);
  std::string code_section_name = ".text";
  uint64_t code_section_bytes = 0x40;
  uint64_t entry_vaddr = 0;
};

std::vector<std::byte> FileWith(const FileOptions& options) {
  ElfImage image;
  image.header().e_machine = EM_AARCH64;
  image.header().e_entry = options.entry_vaddr;
  const Bytes frames = FrameSectionOf(options.augmentation, options.instructions);
  const uint64_t code = image.Add(options.code);
  const uint64_t names = image.AddText(std::string_view("\0.eh_frame\0", 11));
  image.AddText(options.code_section_name + std::string(1, '\0'));
  const uint64_t frame = image.Add(frames);
  image.SetSegments({Segment(PT_LOAD, PF_R | PF_X, code, kCode, kCodeBytes),
                     Segment(PT_LOAD, PF_R, frame, kFrameVaddr, frames.size())});
  Elf64_Shdr frame_section = SectionHeader(1, SHT_PROGBITS, frame, frames.size());
  frame_section.sh_addr = kFrameVaddr;
  Elf64_Shdr code_section = SectionHeader(11, SHT_PROGBITS, code, options.code_section_bytes);
  code_section.sh_addr = kCode;
  code_section.sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  image.SetSections(
      {SectionHeader(0, SHT_NULL, 0, 0), frame_section, code_section,
       SectionHeader(0, SHT_STRTAB, names, 11 + options.code_section_name.size() + 1)});
  image.header().e_shstrndx = 3;
  return image.bytes();
}

// A row in words: "sp+32 pair-32", "sp+0 link", "root", "signal", "none", "unsupported",
// "rule ..." with all its fields, or "outside".
std::string Describe(std::span<const uint32_t> words, uint64_t address) {
  const auto row = LookupRow(words, address);
  if (!row.has_value()) return "outside";
  const auto number = [](int64_t value) { return std::to_string(value); };
  if (row->kind == ABI_ROW_RULE) {
    const abi_rule& r = *row->rule;
    return "rule cfa " + number(r.cfa_kind) + " r" + number(r.cfa_register) + " " +
           number(r.cfa_offset) + " fp " + number(r.fp_kind) + " " + number(r.fp_offset) + " ra " +
           number(r.ra_kind) + " " + number(r.ra_offset);
  }
  if (row->kind == ABI_ROW_SPECIAL) {
    switch (row->operand) {
      case ABI_SPECIAL_NONE:
        return "none";
      case ABI_SPECIAL_ROOT:
        return "root";
      case ABI_SPECIAL_SIGNAL:
        return "signal";
      default:
        return "unsupported";
    }
  }
  const uint32_t pair = row->operand >> ABI_ARM64_OPERAND_CFA_BITS & ABI_ARM64_OPERAND_PAIR_MASK;
  return (row->kind == ABI_ROW_SP ? "sp+" : "fp+") +
         number((row->operand & ABI_ARM64_OPERAND_CFA_MASK) * 16) +
         (pair == 0 ? " link" : " pair-" + number(pair * 16));
}

std::string DescribeAt(const FileOptions& options, uint64_t address) {
  const auto bytes = FileWith(options);
  const base::MemorySource source(bytes);
  const auto elf = ElfFile::Parse(source);
  if (!elf.ok()) return "no ELF file: " + elf.error().message();
  const auto table = BuildUnwindTable(*elf, source);
  if (!table.ok()) return "no table: " + table.error().message();
  return Describe(table->words, address);
}

// What one entry's instructions come to in its last byte.
TEST(UnwindTableArm64Test, Frames) {
  const struct {
    const char* name;
    Bytes instructions;
    std::string row;
  } cases[] = {
      {"leaf", {}, "sp+0 link"},
      {"leaf with locals", {0x41, 0x0e, 48}, "sp+48 link"},
      {"gcc: the pair at the bottom", {0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3}, "sp+32 pair-32"},
      {"clang: counts from the frame pointer",
       {0x41, 0x0c, 29, 16, 0x9e, 1, 0x9d, 2},
       "fp+16 pair-16"},
      {"epilogue", {0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x42, 0xde, 0xdd, 0x0e, 0}, "sp+0 link"},
      {"signed", {0x41, 0x2d, 0x41, 0x0e, 16, 0x9d, 2, 0x9e, 1}, "sp+16 pair-16"},
      {"signed with the address of the instruction",
       {0x41, 0x2c, 0x41, 0x0e, 16, 0x9d, 2, 0x9e, 1},
       "sp+16 pair-16"},
      {"link register said to be unchanged", {0x41, 0x08, 30}, "sp+0 link"},
      {"the largest frame that fits a row",
       {0x41, 0x0e, 0xf0, 0x3f, 0x05, 29, 0xfe, 0x07, 0x05, 30, 0xfd, 0x07},
       "sp+8176 pair-8176"},
      {"one that does not",
       {0x41, 0x0e, 0x80, 0x40, 0x05, 29, 0x80, 0x08, 0x05, 30, 0xff, 0x07},
       "rule cfa 0 r31 8192 fp 1 -8192 ra 0 -8184"},
      {"leaf that does not", {0x41, 0x0e, 0x80, 0x40}, "rule cfa 0 r31 8192 fp 0 0 ra 1 30"},
      {"64 KiB",
       {0x41, 0x0e, 0x80, 0x80, 0x04, 0x05, 29, 0x80, 0x40, 0x05, 30, 0xff, 0x3f},
       "rule cfa 0 r31 65536 fp 1 -65536 ra 2 0"},
      {"link register saved alone", {0x41, 0x0e, 16, 0x9e, 2}, "rule cfa 0 r31 16 fp 0 0 ra 0 -16"},
      {"both saved, but not side by side",
       {0x41, 0x0e, 32, 0x9d, 4, 0x9e, 1},
       "rule cfa 0 r31 32 fp 1 -32 ra 0 -8"},
      {"return address in another register",
       {0x41, 0x09, 30, 15},
       "rule cfa 0 r31 0 fp 0 0 ra 1 15"},
      {"no caller", {0x41, 0x07, 30}, "root"},
  };
  for (const auto& c : cases) {
    FileOptions options;
    options.instructions = c.instructions;
    EXPECT_EQ(DescribeAt(options, kFunction + kFunctionBytes - 1), c.row) << c.name;
  }
}

TEST(UnwindTableArm64Test, AugmentationsOfArm64) {
  FileOptions options;
  options.instructions = {0x41, 0x0e, 16, 0x9d, 2, 0x9e, 1};
  options.augmentation = "zRB";  // signed with the second key
  EXPECT_EQ(DescribeAt(options, kFunction + 4), "sp+16 pair-16");
  options.augmentation = "zRGS";  // tagged stack, signal frame
  EXPECT_EQ(DescribeAt(options, kFunction + 4), "signal");
}

TEST(UnwindTableArm64Test, StubsOfThePltLeaveTheLinkRegister) {
  const Bytes push = Le(0xa9bf7bf0, 4);  // stp x16, x30, [sp, #-16]!
  const Bytes bti = Le(0xd503245f, 4);   // bti c
  const struct {
    const char* name;
    std::string section;
    Bytes code;
    std::string at_0, at_4, at_8, at_31, at_32;
  } cases[] = {
      {"with a first stub", ".plt", push, "sp+0 link", "sp+16 link", "sp+16 link", "sp+16 link",
       "sp+0 link"},
      {"with a landing pad", ".plt", bti + push, "sp+0 link", "sp+0 link", "sp+16 link",
       "sp+16 link", "sp+0 link"},
      {"static program", ".iplt", bti, "sp+0 link", "sp+0 link", "sp+0 link", "sp+0 link",
       "sp+0 link"},
      {"any other code", ".text", push, "outside", "outside", "outside", "outside", "outside"},
  };
  for (const auto& c : cases) {
    FileOptions options;
    options.code_section_name = c.section;
    options.code = c.code + Bytes(kCodeBytes - c.code.size());
    EXPECT_EQ(DescribeAt(options, kCode), c.at_0) << c.name;
    EXPECT_EQ(DescribeAt(options, kCode + 4), c.at_4) << c.name;
    EXPECT_EQ(DescribeAt(options, kCode + 8), c.at_8) << c.name;
    EXPECT_EQ(DescribeAt(options, kCode + 31), c.at_31) << c.name;
    EXPECT_EQ(DescribeAt(options, kCode + 32), c.at_32) << c.name;
  }
}

TEST(UnwindTableArm64Test, StubsThatClaimToLieElsewhereAreCut) {
  FileOptions options;
  options.code_section_name = ".plt";
  options.code_section_bytes = kCodeBytes + 0x20;
  EXPECT_EQ(DescribeAt(options, kCode + kCodeBytes - 1), "sp+0 link");
  EXPECT_EQ(DescribeAt(options, kCode + kCodeBytes), "none");
}

TEST(UnwindTableArm64Test, SignalTrampolineAndEntryPointAreFoundByTheirCode) {
  FileOptions options;
  options.entry_vaddr = kCode + 0x80;
  options.code = Bytes(0xc4) + Le(0xd503201f, 4) +       // nop
                 Le(0xd2801168, 4) + Le(0xd4000001, 4);  // mov x8, #139; svc #0
  options.code.resize(kCodeBytes);
  EXPECT_EQ(DescribeAt(options, kCode + 0x80), "root");
  EXPECT_EQ(DescribeAt(options, kCode + 0xc6), "none");
  EXPECT_EQ(DescribeAt(options, kCode + 0xc7), "signal") << "where a return address is looked up";
  EXPECT_EQ(DescribeAt(options, kCode + 0xcf), "signal");
  EXPECT_EQ(DescribeAt(options, kCode + 0xd0), "none");
}

}  // namespace
}  // namespace vesta::object
