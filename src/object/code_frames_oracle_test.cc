// Rules from machine code against call frame information: real files have both, so that the code
// is followed as if it had none, and each byte's rule is compared.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <ostream>

#include "src/object/code_frames.h"
#include "src/object/elf_file.h"
#include "src/object/unwind_row.h"
#include "src/object/unwind_table.h"

namespace vesta::object {
namespace {

struct FileCase {
  const char* path;
  bool knows_names;
  double right_min;  // of the bytes with a rule from both
  double share_min;  // of the bytes that call frame information has a rule for
};

std::ostream& operator<<(std::ostream& out, const FileCase& file) { return out << file.path; }

class CodeFramesOracleTest : public testing::TestWithParam<FileCase> {};

std::vector<uint64_t> FunctionsOf(const ElfFile& elf, const base::ByteSource& source) {
  std::vector<uint64_t> functions;
  for (const Section& section : elf.sections()) {
    if (section.type != SHT_DYNSYM) continue;
    const auto bytes = source.Read(section.file_offset, section.size_bytes);
    if (!bytes.ok()) continue;
    for (size_t i = 0; i + sizeof(Elf64_Sym) <= bytes->size(); i += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, bytes->data() + i, sizeof(symbol));
      if ((symbol.st_info & 0xf) == STT_FUNC) functions.push_back(symbol.st_value);
    }
  }
  return functions;
}

// The same caller. Compilers leave a saved register's rule until the function's end, also where it
// is back in the register: that place is below the stack pointer then.
bool SaysTheSame(uint32_t row_bits, const LookupResult& cfi) {
  const uint32_t operand = row_bits >> ABI_ROW_OPERAND_SHIFT;
  const uint32_t words = operand & ABI_OPERAND_CFA_MASK;
  const uint32_t saved = operand >> ABI_OPERAND_CFA_BITS;
  const uint32_t cfi_saved = cfi.operand >> ABI_OPERAND_CFA_BITS;
  if (words != (cfi.operand & ABI_OPERAND_CFA_MASK)) return false;
  return saved == cfi_saved || (saved == 0 && cfi.kind == ABI_ROW_SP && cfi_saved > words);
}

TEST_P(CodeFramesOracleTest, AgreesWithCallFrameInformation) {
  const auto source = base::FileSource::Open(GetParam().path);
  if (!source.ok()) GTEST_SKIP() << GetParam().path << " is not on this machine";
  const auto elf = ElfFile::Parse(**source);
  ASSERT_TRUE(elf.ok());
  const auto table = BuildUnwindTable(*elf, **source);
  ASSERT_TRUE(table.ok());
  const Section* const text = elf->FindSection(".text");
  ASSERT_NE(text, nullptr);
  auto bytes = (*source)->Read(text->file_offset, text->size_bytes);
  ASSERT_TRUE(bytes.ok());
  const CodePiece piece{text->vaddr, std::move(*bytes)};
  std::vector<uint64_t> functions;
  if (GetParam().knows_names) functions = FunctionsOf(*elf, **source);
  const CodeFrames frames = FindCodeFrames(std::span(&piece, 1), functions, elf->entry_vaddr());

  const auto has_rule = [](const std::optional<LookupResult>& row) {
    return row.has_value() && row->kind != ABI_ROW_SPECIAL;
  };
  uint64_t right = 0;
  uint64_t wrong = 0;
  uint64_t other_form = 0;  // by the other register: not compared
  uint64_t first_wrong_vaddr = 0;
  for (const RowRange& row : frames.rows) {
    for (uint64_t vaddr = row.start_vaddr; vaddr < row.end_vaddr; ++vaddr) {
      const auto cfi = LookupRow(table->words, vaddr);
      if (!has_rule(cfi)) continue;
      if (cfi->kind != (row.row_bits >> ABI_ROW_KIND_SHIFT & 3)) {
        ++other_form;
      } else if (SaysTheSame(row.row_bits, *cfi)) {
        ++right;
      } else {
        if (wrong++ == 0) first_wrong_vaddr = vaddr;
      }
    }
  }
  uint64_t described = 0;
  for (uint64_t vaddr = text->vaddr; vaddr < text->vaddr + text->size_bytes; ++vaddr) {
    described += has_rule(LookupRow(table->words, vaddr)) ? 1u : 0u;
  }
  ASSERT_GT(described, 0u);
  const auto claimed = static_cast<double>(right + wrong);
  EXPECT_GE(static_cast<double>(right) / claimed, GetParam().right_min)
      << wrong << " bytes, the first at " << std::hex << first_wrong_vaddr;
  EXPECT_GE((claimed + static_cast<double>(other_form)) / static_cast<double>(described),
            GetParam().share_min);
  std::printf("right %.5f share %.4f other form %.4f, %llu confirmed, %llu rejected\n",
              static_cast<double>(right) / claimed,
              (claimed + static_cast<double>(other_form)) / static_cast<double>(described),
              static_cast<double>(other_form) / claimed,
              static_cast<unsigned long long>(frames.confirmed_count),
              static_cast<unsigned long long>(frames.rejected_count));
}

// libc's multiplication loops have wrong call frame information, or none of their pushes. In C++,
// landing pads of exceptions are reached by no code: they stand behind calls of __cxa_throw.
INSTANTIATE_TEST_SUITE_P(
    RealFiles, CodeFramesOracleTest,
    testing::Values(FileCase{"/lib/x86_64-linux-gnu/libc.so.6", true, 0.999, 0.95},
                    FileCase{"/lib/x86_64-linux-gnu/libc.so.6", false, 0.999, 0.95},
                    FileCase{"/lib/x86_64-linux-gnu/libm.so.6", true, 0.999, 0.98},
                    FileCase{"/usr/lib/x86_64-linux-gnu/libcrypto.so.3", true, 0.999, 0.85},
                    FileCase{"/usr/bin/dash", true, 0.999, 0.95},
                    FileCase{"/usr/bin/python3", true, 0.999, 0.97},
                    FileCase{"/usr/bin/git", false, 0.999, 0.95},
                    FileCase{"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", true, 0.985, 0.88}));

}  // namespace
}  // namespace vesta::object
