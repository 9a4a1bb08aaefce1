#include "src/object/unwind_table.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "src/object/frame_bytes_for_test.h"

namespace vesta::object {
namespace {

using base::ErrorCode;
using base::MemorySource;

base::Result<UnwindTable> Build(const std::vector<std::byte>& file,
                                std::span<const RowRange> overrides = {}) {
  const MemorySource source(file);
  ASSIGN_OR_RETURN(const auto elf, ElfFile::Parse(source));
  return BuildUnwindTable(elf, source, overrides);
}

// A row in words: "sp+16 fp-16", "fp+16", "none", "root", "signal", "unsupported", "plt 11",
// "rule ..." with all its fields, or "outside".
std::string Describe(std::span<const uint32_t> words, uint64_t address) {
  const auto row = LookupRow(words, address);
  if (!row.has_value()) return "outside";
  const auto number = [](int64_t value) { return std::to_string(value); };
  switch (row->kind) {
    case ABI_ROW_SP:
    case ABI_ROW_FP: {
      std::string text = row->kind == ABI_ROW_SP ? "sp+" : "fp+";
      text += number((row->operand & ABI_OPERAND_CFA_MASK) * 8);
      const uint32_t saved = row->operand >> ABI_OPERAND_CFA_BITS & ABI_OPERAND_FP_MASK;
      return saved == 0 ? text : text + " fp-" + number(saved * 8);
    }
    case ABI_ROW_RULE: {
      const abi_rule& r = *row->rule;
      return "rule cfa " + number(r.cfa_kind) + " r" + number(r.cfa_register) + " " +
             number(r.cfa_offset) + " extra " + number(r.extra) + " fp " + number(r.fp_kind) + " " +
             number(r.fp_offset) + " ra " + number(r.ra_kind) + " " + number(r.ra_offset);
    }
    default:
      break;
  }
  switch (row->operand & ABI_SPECIAL_MASK) {
    case ABI_SPECIAL_NONE:
      return "none";
    case ABI_SPECIAL_ROOT:
      return "root";
    case ABI_SPECIAL_SIGNAL:
      return "signal";
    case ABI_SPECIAL_FP_SWITCH:
      return "fp switch";
    case ABI_SPECIAL_PLT:
      return "plt " + number(row->operand >> ABI_SPECIAL_PLT_SHIFT);
    default:
      return "unsupported";
  }
}

std::string DescribeOne(const FrameBytes& frames, uint64_t address) {
  const auto table = Build(FileWith(frames.bytes()));
  if (!table.ok()) return "error: " + table.error().message();
  return Describe(table->words, address);
}

TEST(UnwindTableTest, LayoutIsThatOfTheAbi) {
  FrameBytes frames;
  frames.AddCommon();
  // push rbp; mov rbp,rsp; ...; ret, over a page border.
  frames.AddFde(kCode + 0x0ff0, 0x20, {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x5b, 0x0c, 7, 8});
  const auto table = Build(FileWith(frames.bytes()));
  ASSERT_TRUE(table.ok()) << table.error().message();
  const auto& words = table->words;
  ASSERT_EQ(words.size(), 1024u);
  // Header: magic, first page, pages, index, rows, row count, rules, rule count.
  EXPECT_EQ(std::vector<uint32_t>(words.begin(), words.begin() + 8),
            (std::vector<uint32_t>{0x76753031, 0x10, 2, 8, 11, 5, 16, 0}));
  // Page index: rows before page 0x10, before page 0x11, all.
  EXPECT_EQ(std::vector<uint32_t>(words.begin() + 8, words.begin() + 11),
            (std::vector<uint32_t>{0, 3, 5}));
  const uint32_t sp8 = 1 << 14, sp16 = (2 | 2 << 12) << 14, fp16 = sp16 | 1 << 12;
  EXPECT_EQ(std::vector<uint32_t>(words.begin() + 11, words.begin() + 16),
            (std::vector<uint32_t>{0xff0 | sp8, 0xff1 | sp16, 0xff4 | fp16,
                                   // The frame pointer rule stays: nothing restored it.
                                   0x00f | (1 | 2 << 12) << 14, 0x010 | 3 << 12}));
  EXPECT_EQ(table->stats.fde_count, 1u);
  EXPECT_EQ(table->stats.row_count, 5u);
}

TEST(UnwindTableTest, RowsHoldUntilTheNextOne) {
  FrameBytes frames;
  frames.AddCommon();
  frames.AddFde(kCode + 0x10, 0x2000, {0x44, 0x0e, 16});
  const auto table = Build(FileWith(frames.bytes()));
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(Describe(table->words, kCode - 1), "outside");
  EXPECT_EQ(Describe(table->words, kCode + 0x0f), "outside");
  EXPECT_EQ(Describe(table->words, kCode + 0x10), "sp+8");
  EXPECT_EQ(Describe(table->words, kCode + 0x13), "sp+8");
  EXPECT_EQ(Describe(table->words, kCode + 0x14), "sp+16");
  EXPECT_EQ(Describe(table->words, kCode + 0x1000), "sp+16");
  EXPECT_EQ(Describe(table->words, kCode + 0x200f), "sp+16");
  EXPECT_EQ(Describe(table->words, kCode + 0x2010), "none");
  EXPECT_EQ(Describe(table->words, kCode + 0x3000), "outside");
}

// What one entry's instructions come to in its last byte.
TEST(UnwindTableTest, EveryInstruction) {
  const struct {
    const char* name;
    Bytes instructions;
    const char* expected;
  } cases[] = {
      {"nothing", {}, "sp+8"},
      {"nop", {0, 0, 0}, "sp+8"},
      {"advance_loc", {0x44, 0x0e, 24}, "sp+24"},
      {"advance_loc1", {0x02, 4, 0x0e, 24}, "sp+24"},
      {"advance_loc2", {0x03, 4, 0, 0x0e, 24}, "sp+24"},
      {"advance_loc4", {0x04, 4, 0, 0, 0, 0x0e, 24}, "sp+24"},
      {"advance_loc8", {0x1d, 4, 0, 0, 0, 0, 0, 0, 0, 0x0e, 24}, "sp+24"},
      {"advance beyond the end", {0x02, 0xff, 0x0e, 24}, "sp+8"},
      {"def_cfa", {0x0c, 6, 16}, "fp+16"},
      {"def_cfa_sf", {0x12, 6, 0x7e}, "fp+16"},
      {"def_cfa_register", {0x0d, 6}, "fp+8"},
      {"def_cfa_offset_sf", {0x13, 0x7d}, "sp+24"},
      {"offset", {0x86, 2}, "sp+8 fp-16"},
      {"offset_extended", {0x05, 6, 3}, "sp+8 fp-24"},
      {"offset_extended_sf", {0x11, 6, 4}, "sp+8 fp-32"},
      {"offset_extended_sf above the CFA",
       {0x11, 6, 0x7f},
       "rule cfa 0 r7 8 extra 0 fp 1 8 ra 0 -8"},
      {"GNU_negative_offset_extended", {0x2f, 6, 1}, "rule cfa 0 r7 8 extra 0 fp 1 8 ra 0 -8"},
      {"GNU_args_size", {0x2e, 16}, "sp+8"},
      {"GNU_window_save", {0x2d}, "sp+8"},
      {"other registers", {0x83, 2, 0x05, 40, 3, 0x08, 3, 0xc3, 0x06, 12}, "sp+8"},
      {"restore", {0x86, 2, 0xc6}, "sp+8"},
      {"restore_extended", {0x86, 2, 0x06, 6}, "sp+8"},
      {"same_value", {0x86, 2, 0x08, 6}, "sp+8"},
      {"undefined frame pointer", {0x07, 6}, "sp+8"},
      {"remember and restore, nested", {0x0a, 0x0e, 16, 0x0a, 0x0e, 24, 0x0b, 0x0b}, "sp+8"},
      {"restore the inner one only", {0x0a, 0x0e, 16, 0x0a, 0x0e, 24, 0x0b}, "sp+16"},
      {"undefined return address", {0x07, 16}, "root"},
      {"return address in rdi", {0x09, 16, 5}, "rule cfa 0 r7 8 extra 0 fp 0 0 ra 1 5"},
      {"frame pointer in a register", {0x09, 6, 3}, "unsupported"},
      {"val_offset of the frame pointer", {0x14, 6, 1}, "unsupported"},
      {"val_offset_sf of the frame pointer", {0x15, 6, 1}, "unsupported"},
      {"val_expression of the frame pointer", {0x16, 6, 2, 0x77, 8}, "unsupported"},
      {"val_offset of another register", {0x14, 3, 1}, "sp+8"},
      {"same return address", {0x08, 16}, "unsupported"},
      {"largest offset of a row", {0x0e, 0xf8, 0xff, 0x01}, "sp+32760"},
      {"larger", {0x0e, 0x80, 0x80, 0x02}, "rule cfa 0 r7 32768 extra 0 fp 0 0 ra 0 -8"},
      {"no multiple of 8", {0x0e, 12}, "rule cfa 0 r7 12 extra 0 fp 0 0 ra 0 -8"},
      {"another register", {0x0c, 10, 0}, "rule cfa 0 r10 0 extra 0 fp 0 0 ra 0 -8"},
      {"farthest frame pointer of a row", {0x86, 63}, "sp+8 fp-504"},
      {"farther", {0x86, 0x80, 1}, "rule cfa 0 r7 8 extra 0 fp 1 -1024 ra 0 -8"},
      {"offset out of reach", {0x0e, 0x80, 0x80, 0x80, 0x80, 0x10}, "unsupported"},
      {"return address elsewhere", {0x90, 3}, "rule cfa 0 r7 8 extra 0 fp 0 0 ra 0 -24"},
      {"register after an expression", {0x0e, 56, 0x0f, 3, 0x77, 8, 0x06, 0x0d, 7}, "sp+56"},
      {"offset after an expression",
       {0x0f, 3, 0x77, 8, 0x06, 0x0e, 24},
       "rule cfa 1 r7 8 extra 0 fp 0 0 ra 0 -8"},
      {"unknown instruction", {0x44, 0x0e, 24, 0x3e}, "none"},
      {"cut operand", {0x44, 0x0e}, "none"},
      {"restore_state without remember_state", {0x0b}, "none"},
      {"set_loc backwards", {0x42, 0x01, 0x10, 0, 0, 0}, "none"},
  };
  for (const auto& c : cases) {
    FrameBytes frames;
    frames.AddCommon();
    frames.AddFde(kCode + 0x40, 0x20, c.instructions);
    // Around it, so that the table has rows even when this entry is damaged.
    frames.AddFde(kCode + 0x20, 0x20, {});
    frames.AddFde(kCode + 0x1000, 0x10, {});
    EXPECT_EQ(DescribeOne(frames, kCode + 0x5f), c.expected) << c.name;
  }
}

TEST(UnwindTableTest, SetLocReadsAnAddressInTheEncodingOfItsEntry) {
  FrameBytes frames;
  const size_t common = frames.AddCommon({1, "", {}, {0x0c, 7, 8, 0x90, 1}, false});
  frames.AddEntry(Le(frames.size() + 4 - common, 4),
                  Le(kCode, 8) + Le(0x20, 8) + Bytes{0x01} + Le(kCode + 0x10, 8) + Bytes{0x0e, 16},
                  false);
  EXPECT_EQ(DescribeOne(frames, kCode + 0x0f), "sp+8");
  EXPECT_EQ(DescribeOne(frames, kCode + 0x10), "sp+16");
}

TEST(UnwindTableTest, EveryExpression) {
  const struct {
    const char* name;
    Bytes expression;  // of DW_CFA_def_cfa_expression
    const char* expected;
  } cases[] = {
      {"breg7 16", {0x77, 16}, "sp+16"},
      {"breg6 16", {0x76, 16}, "fp+16"},
      {"bregx 7 16", {0x92, 7, 16}, "sp+16"},
      {"breg7 8; plus_uconst 8", {0x77, 8, 0x23, 8}, "sp+16"},
      {"breg7 8; lit8; plus", {0x77, 8, 0x38, 0x22}, "sp+16"},
      {"breg7 16; const1u 8; minus", {0x77, 16, 0x08, 8, 0x1c}, "sp+8"},
      {"breg6 -40; deref", {0x76, 0x58, 0x06}, "rule cfa 1 r6 -40 extra 0 fp 0 0 ra 0 -8"},
      {"breg7 56; deref; plus_uconst 8",
       {0x77, 56, 0x06, 0x23, 8},
       "rule cfa 1 r7 56 extra 8 fp 0 0 ra 0 -8"},
      {"breg7 0; deref; const2u 300; plus",
       {0x77, 0, 0x06, 0x0a, 0x2c, 1, 0x22},
       "rule cfa 1 r7 0 extra 300 fp 0 0 ra 0 -8"},
      {"extra out of reach", {0x77, 0, 0x06, 0x0c, 0, 0, 1, 0, 0x22}, "unsupported"},
      {"two derefs", {0x77, 0, 0x06, 0x06}, "unsupported"},
      {"breg7 8; breg9 0; lit8; mul; plus", {0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22}, "unsupported"},
      {"cut", {0x77}, "unsupported"},
      {"plt 11", {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, "plt 11"},
      {"plt 6", {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x36, 0x2a, 0x33, 0x24, 0x22}, "plt 6"},
      {"like plt", {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x34, 0x24, 0x22}, "unsupported"},
      {"plt and more",
       {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22, 0x06},
       "unsupported"},
  };
  for (const auto& c : cases) {
    FrameBytes frames;
    frames.AddCommon();
    frames.AddFde(kCode, 0x20,
                  Bytes{0x0f, static_cast<uint8_t>(c.expression.size())} + c.expression);
    EXPECT_EQ(DescribeOne(frames, kCode + 4), c.expected) << c.name;
  }
}

TEST(UnwindTableTest, RealignedStack) {
  FrameBytes frames;
  frames.AddCommon();
  // As gcc writes it: CFA kept in memory below the frame pointer, the old one at the frame pointer.
  frames.AddFde(kCode, 0x20, {0x10, 6, 2, 0x76, 0, 0x0f, 3, 0x76, 0x58, 0x06});
  EXPECT_EQ(DescribeOne(frames, kCode), "rule cfa 1 r6 -40 extra 0 fp 2 0 ra 0 -8");
  // An expression over the CFA's own register is the same as an offset from the CFA.
  FrameBytes plain;
  plain.AddCommon();
  plain.AddFde(kCode, 0x20, {0x0e, 32, 0x10, 6, 2, 0x77, 8, 0x10, 16, 2, 0x77, 24});
  EXPECT_EQ(DescribeOne(plain, kCode), "sp+32 fp-24");
}

TEST(UnwindTableTest, EqualRulesAreKeptOnce) {
  FrameBytes frames;
  frames.AddCommon();
  for (uint64_t i = 0; i < 8; ++i) {
    const uint8_t frame_bytes = i % 2 == 0 ? 12 : 20;
    frames.AddFde(kCode + i * 64, 32, {0x0e, frame_bytes});
  }
  const auto table = Build(FileWith(frames.bytes()));
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->stats.rule_count, 2u);
  EXPECT_EQ(Describe(table->words, kCode + 64), "rule cfa 0 r7 20 extra 0 fp 0 0 ra 0 -8");
}

TEST(UnwindTableTest, EqualNeighboursAreOneRow) {
  FrameBytes frames;
  frames.AddCommon();
  for (uint64_t i = 0; i < 100; ++i) frames.AddFde(kCode + i * 16, 16, {});
  const auto table = Build(FileWith(frames.bytes()));
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->stats.row_count, 2u);
}

TEST(UnwindTableTest, OnlyWideGapsBecomeRows) {
  FrameBytes frames;
  frames.AddCommon();
  frames.AddFde(kCode + 0x00, 0x11, {});
  frames.AddFde(kCode + 0x20, 0x10, {});
  frames.AddFde(kCode + 0x40, 0x10, {});
  const auto table = Build(FileWith(frames.bytes()));
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(Describe(table->words, kCode + 0x11), "sp+8");
  EXPECT_EQ(Describe(table->words, kCode + 0x30), "none");
  EXPECT_EQ(Describe(table->words, kCode + 0x40), "sp+8");
}

TEST(UnwindTableTest, RootThatNobodyCallsIsFoundOneByteEarly) {
  FrameBytes frames;
  frames.AddCommon();
  frames.AddFde(kCode + 0x00, 0x11, {});
  frames.AddFde(kCode + 0x20, 0x10, {0x07, 16});
  frames.AddFde(kCode + 0x30, 0x10, {0x07, 16});
  frames.AddFde(kCode + 0x40, 0x10, {});
  frames.AddFde(kCode + 0x50, 0x10, {0x07, 16});
  const auto table = Build(FileWith(frames.bytes()));
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(Describe(table->words, kCode + 0x1e), "sp+8");
  EXPECT_EQ(Describe(table->words, kCode + 0x1f), "root") << "it lies between functions";
  EXPECT_EQ(Describe(table->words, kCode + 0x20), "root");
  EXPECT_EQ(Describe(table->words, kCode + 0x4f), "sp+8") << "the call may be there";
  EXPECT_EQ(Describe(table->words, kCode + 0x50), "root");
}

TEST(UnwindTableTest, EntryThatStartsLaterWinsWithinItsRange) {
  FrameBytes frames;
  frames.AddCommon();
  frames.AddFde(kCode + 0x20, 0x10, {0x0e, 24});
  frames.AddFde(kCode + 0x00, 0x80, {0x02, 0x28, 0x0e, 16});
  frames.AddFde(kCode + 0x70, 0x20, {0x0e, 32});
  const auto table = Build(FileWith(frames.bytes()));
  ASSERT_TRUE(table.ok());
  const struct {
    uint64_t offset;
    const char* expected;
  } cases[] = {{0x00, "sp+8"},  {0x1f, "sp+8"},  {0x20, "sp+24"}, {0x2f, "sp+24"}, {0x30, "sp+16"},
               {0x6f, "sp+16"}, {0x70, "sp+32"}, {0x8f, "sp+32"}, {0x90, "none"}};
  for (const auto& c : cases) {
    EXPECT_EQ(Describe(table->words, kCode + c.offset), c.expected) << c.offset;
  }
}

TEST(UnwindTableTest, EveryFormOfCommonEntry) {
  using Options = FrameBytes::CommonOptions;
  const Bytes start = {0x0c, 7, 8, 0x90, 1};
  const struct {
    const char* name;
    Options options;
    const char* expected;
  } cases[] = {
      {"version 3", {3, "zR", {0x1b}, start, false}, "sp+8"},
      {"version 4", {4, "zR", {0x1b}, start, false}, "sp+8"},
      {"version 2", {2, "zR", {0x1b}, start, false}, "error"},
      {"64-bit length", {1, "zR", {0x1b}, start, true}, "sp+8"},
      {"language data", {1, "zLR", {0x1b, 0x1b}, start, false}, "sp+8"},
      {"personality, indirect", {1, "zPLR", {0x9b, 1, 2, 3, 4, 0x1b, 0x1b}, start, false}, "sp+8"},
      {"arm64 key", {1, "zRB", {0x1b}, start, false}, "sp+8"},
      {"signal frame", {1, "zRS", {0x1b}, start, false}, "signal"},
      {"unknown letter behind", {1, "zR?", {0x1b, 7, 7}, start, false}, "sp+8"},
      {"unknown without size", {1, "R", {}, start, false}, "error"},
      {"personality beyond the size", {1, "zPR", {0x04, 1, 2}, start, false}, "error"},
      {"damaged start", {1, "zR", {0x1b}, {0x3e}, false}, "outside"},
      {"no CFA", {1, "zR", {0x1b}, {0x90, 1}, false}, "unsupported"},
      {"offset before a CFA", {1, "zR", {0x1b}, {0x0e, 8, 0x90, 1}, false}, "outside"},
      {"register before a CFA", {1, "zR", {0x1b}, {0x0d, 7, 0x90, 1}, false}, "outside"},
  };
  for (const auto& c : cases) {
    FrameBytes frames;
    frames.AddCommon(c.options);
    frames.AddFde(kCode, 0x20, {});
    EXPECT_EQ(DescribeOne(frames, kCode).substr(0, std::string(c.expected).size()), c.expected)
        << c.name;
  }
}

TEST(UnwindTableTest, EveryPointerEncoding) {
  const struct {
    uint8_t encoding;
    size_t size_bytes;
    bool from_place;
    bool is_leb;
    const char* expected;
  } cases[] = {
      {0x00, 8, false, false, "sp+8"},  {0x03, 4, false, false, "sp+8"},
      {0x04, 8, false, false, "sp+8"},  {0x0b, 4, false, false, "sp+8"},
      {0x0c, 8, false, false, "sp+8"},  {0x1b, 4, true, false, "sp+8"},
      {0x1c, 8, true, false, "sp+8"},   {0x01, 0, false, true, "sp+8"},
      {0x09, 0, false, true, "sp+8"},   {0x3b, 4, false, false, "error"},  // datarel: base unknown
      {0x9b, 4, true, false, "error"},                                     // indirect
      {0xff, 0, false, false, "error"}, {0x0d, 8, false, false, "error"},
  };
  for (const auto& c : cases) {
    FrameBytes frames;
    const size_t common = frames.AddCommon({1, "zR", {c.encoding}, {0x0c, 7, 8, 0x90, 1}, false});
    const size_t id_offset = frames.size() + 4;
    const uint64_t base = c.from_place ? kFrameVaddr + id_offset + 4 : 0;
    Bytes pointers = Le(kCode - base, c.size_bytes) + Le(0x20, c.size_bytes);
    if (c.is_leb) pointers = {0x80, 0x80, 0x04, 0x20};
    frames.AddEntry(Le(id_offset - common, 4), pointers + Bytes{0}, false);
    EXPECT_EQ(DescribeOne(frames, kCode).substr(0, std::string(c.expected).size()), c.expected)
        << static_cast<int>(c.encoding);
  }
}

TEST(UnwindTableTest, DebugFrameServesWhereThereIsNoEhFrame) {
  for (const bool is_64_bit : {false, true}) {
    FrameBytes frames;
    const size_t id_bytes = is_64_bit ? 8 : 4;
    frames.AddEntry(Le(~uint64_t{0}, id_bytes), Bytes{4, 0, 8, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1},
                    is_64_bit);
    frames.AddEntry(Le(0, id_bytes), Le(kCode, 8) + Le(0x20, 8) + Bytes{0x44, 0x0e, 16}, is_64_bit);
    FileOptions options;
    options.section_name = ".debug_frame";
    const auto table = Build(FileWith(frames.bytes(), options));
    ASSERT_TRUE(table.ok()) << table.error().message();
    EXPECT_EQ(Describe(table->words, kCode + 4), "sp+16");
  }
}

// As `ld --compress-debug-sections=zlib` stores it.
Bytes Compressed(const Bytes& plain) {
  Bytes stored = Le(1, 8) + Le(plain.size(), 8) + Le(8, 8);
  uLongf size = ::compressBound(plain.size());
  Bytes packed(size);
  EXPECT_EQ(::compress(packed.data(), &size, plain.data(), plain.size()), Z_OK);
  packed.resize(size);
  return stored + packed;
}

TEST(UnwindTableTest, CompressedDebugFrameIsRead) {
  FileOptions options;
  options.section_name = ".debug_frame";
  options.section_flags = SHF_COMPRESSED;
  const Bytes plain = DebugFrameOf({{kCode, 0x20, {0x44, 0x0e, 16}}});
  const auto table = Build(FileWith(Compressed(plain), options));
  ASSERT_TRUE(table.ok()) << table.error().message();
  EXPECT_EQ(Describe(table->words, kCode + 4), "sp+16");
  EXPECT_EQ(table->stats.eh_frame_bytes, plain.size());
  const auto damaged = Build(FileWith(plain, options));
  ASSERT_FALSE(damaged.ok()) << "it is not compressed at all";
}

TEST(UnwindTableTest, DebugFrameSpeaksOnlyWhereEhFrameDoesNot) {
  FrameBytes frames;
  frames.AddCommon();
  frames.AddFde(kCode + 0x40, 0x40, {});          // sp+8
  frames.AddFde(kCode + 0x50, 0x10, {0x0e, 24});  // inside it
  FileOptions options;
  options.debug_frame = DebugFrameOf({{kCode + 0x00, 0x20, {0x0e, 16}},
                                      {kCode + 0x30, 0x60, {0x0e, 32, 0x02, 0x55, 0x0e, 40}},
                                      {kCode + 0x48, 0x04, {0x0e, 48}},
                                      {kCode + 0x88, 0x04, {0x0e, 56}}});
  for (const bool is_compressed : {false, true}) {
    if (is_compressed) {
      options.debug_frame = Compressed(options.debug_frame);
      options.debug_frame_flags = SHF_COMPRESSED;
    }
    const auto table = Build(FileWith(frames.bytes(), options));
    ASSERT_TRUE(table.ok()) << table.error().message();
    EXPECT_FALSE(table->stats.refused_debug_frame);
    EXPECT_EQ(Describe(table->words, kCode + 0x10), "sp+16");
    EXPECT_EQ(Describe(table->words, kCode + 0x20), "none");
    EXPECT_EQ(Describe(table->words, kCode + 0x30), "sp+32");
    EXPECT_EQ(Describe(table->words, kCode + 0x40), "sp+8");
    EXPECT_EQ(Describe(table->words, kCode + 0x48), "sp+8") << "also where it starts later";
    EXPECT_EQ(Describe(table->words, kCode + 0x50), "sp+24");
    EXPECT_EQ(Describe(table->words, kCode + 0x60), "sp+8");
    EXPECT_EQ(Describe(table->words, kCode + 0x80), "sp+32") << "it goes on";
    EXPECT_EQ(Describe(table->words, kCode + 0x85), "sp+40");
    EXPECT_EQ(Describe(table->words, kCode + 0x88), "sp+56");
    EXPECT_EQ(Describe(table->words, kCode + 0x8c), "sp+40");
    EXPECT_EQ(Describe(table->words, kCode + 0x90), "none");
  }
}

TEST(UnwindTableTest, DebugFrameThatCannotBeReadCostsOnlyItself) {
  FrameBytes frames;
  frames.AddCommon();
  frames.AddFde(kCode + 0x40, 0x40, {});
  FileOptions options;
  options.debug_frame = Bytes(64, 0x55);
  options.debug_frame_flags = SHF_COMPRESSED;
  const auto table = Build(FileWith(frames.bytes(), options));
  ASSERT_TRUE(table.ok()) << table.error().message();
  EXPECT_TRUE(table->stats.refused_debug_frame);
  EXPECT_EQ(Describe(table->words, kCode + 0x40), "sp+8");
}

TEST(UnwindTableTest, HeaderLeadsToEhFrameWithoutSectionHeaders) {
  FrameBytes frames;
  frames.AddCommon();
  frames.AddFde(kCode, 0x20, {});
  frames.AddRaw(Le(0, 4));
  frames.AddFde(kCode + 0x100, 0x20, {});  // behind the end: other data of the segment
  FileOptions options;
  options.has_sections = false;
  options.has_header = true;
  const auto table = Build(FileWith(frames.bytes(), options));
  ASSERT_TRUE(table.ok()) << table.error().message();
  EXPECT_EQ(table->stats.fde_count, 1u);
  EXPECT_EQ(table->stats.fde_damaged_count, 0u);
  EXPECT_EQ(Describe(table->words, kCode), "sp+8");
}

TEST(UnwindTableTest, TerminatorInTheMiddleOfTheSectionIsPassed) {
  FrameBytes frames;
  frames.AddCommon();
  frames.AddFde(kCode, 0x20, {});
  frames.AddRaw(Le(0, 8));
  frames.AddFde(kCode + 0x100, 0x20, {});
  frames.AddRaw(Le(0, 4));
  const auto table = Build(FileWith(frames.bytes()));
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->stats.fde_count, 2u);
}

TEST(UnwindTableTest, EntryPointWithoutRulesIsARoot) {
  FrameBytes frames;
  frames.AddCommon();
  frames.AddFde(kCode + 0x100, 0x20, {});
  FileOptions options;
  options.entry_vaddr = kCode + 0x20;
  auto table = Build(FileWith(frames.bytes(), options));
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(Describe(table->words, kCode + 0x20), "root");
  EXPECT_EQ(Describe(table->words, kCode + 0x5f), "root");
  EXPECT_EQ(Describe(table->words, kCode + 0x60), "none");
  EXPECT_EQ(Describe(table->words, kCode + 0x100), "sp+8");
  options.entry_vaddr = kCode + 0xf0;
  table = Build(FileWith(frames.bytes(), options));
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(Describe(table->words, kCode + 0xff), "root");
  EXPECT_EQ(Describe(table->words, kCode + 0x100), "sp+8");
  options.entry_vaddr = kCode + 0x104;
  table = Build(FileWith(frames.bytes(), options));
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(Describe(table->words, kCode + 0x104), "sp+8");
}

TEST(UnwindTableTest, SignalReturnWithoutRulesIsFoundByItsCode) {
  const Bytes trampoline = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
  // Once in the middle, once across the border of two reads.
  for (const size_t place : {size_t{0x40}, size_t{(256 << 10) - 4}}) {
    FileOptions options;
    options.code = Bytes(place - 1, 0xf4) + Bytes{0x90} + trampoline + Bytes(300, 0xf4);
    options.entry_vaddr = kCode;
    options.has_interpreter = false;
    auto table = Build(FileWith({}, options));
    ASSERT_TRUE(table.ok()) << table.error().message();
    const uint64_t vaddr = kCode + place;
    if (place < kCodeBytes) {
      EXPECT_EQ(Describe(table->words, vaddr - 2), "root");
      EXPECT_EQ(Describe(table->words, vaddr - 1), "signal");
      EXPECT_EQ(Describe(table->words, vaddr + 8), "signal");
      EXPECT_EQ(Describe(table->words, vaddr + 9), "none");
    }
    options.has_interpreter = true;  // its libc has the trampoline
    table = Build(FileWith({}, options));
    ASSERT_TRUE(table.ok());
    EXPECT_NE(Describe(table->words, vaddr), "signal");
  }
}

TEST(UnwindTableTest, OverridesWin) {
  FrameBytes frames;
  frames.AddCommon();
  frames.AddFde(kCode, 0x40, {0x60, 0x0e, 16});
  const uint32_t fp_switch = ABI_ROW_SPECIAL << ABI_ROW_KIND_SHIFT | ABI_SPECIAL_FP_SWITCH
                                                                         << ABI_ROW_OPERAND_SHIFT;
  const uint32_t sp24 = 3 << ABI_ROW_OPERAND_SHIFT;
  const std::vector<RowRange> overrides = {
      {kCode + 0x30, kCode + 0x60, sp24},
      {kCode + 0x10, kCode + 0x28, fp_switch},
      {kCode + 0x20, kCode + 0x2c, sp24},           // begins inside the one before: the rest counts
      {kCode + 0x1000, kCode + 0x1010, fp_switch},  // far behind the last entry
      {kCode + 0x50, kCode + 0x50, fp_switch},      // empty
      {0x500, 0x600, fp_switch},                    // no code
  };
  const auto table = Build(FileWith(frames.bytes()), overrides);
  ASSERT_TRUE(table.ok());
  const struct {
    uint64_t offset;
    const char* expected;
  } cases[] = {{0x00, "sp+8"},        {0x0f, "sp+8"},        {0x10, "fp switch"},
               {0x27, "fp switch"},   {0x28, "sp+24"},       {0x2b, "sp+24"},
               {0x2c, "sp+16"},       {0x2f, "sp+16"},       {0x30, "sp+24"},
               {0x5f, "sp+24"},       {0x60, "none"},        {0xfff, "none"},
               {0x1000, "fp switch"}, {0x100f, "fp switch"}, {0x1010, "none"}};
  for (const auto& c : cases) {
    EXPECT_EQ(Describe(table->words, kCode + c.offset), c.expected) << c.offset;
  }
}

TEST(UnwindTableTest, OverridesServeAFileWithoutRules) {
  const uint32_t fp_switch = ABI_ROW_SPECIAL << ABI_ROW_KIND_SHIFT | ABI_SPECIAL_FP_SWITCH
                                                                         << ABI_ROW_OPERAND_SHIFT;
  const std::vector<RowRange> overrides = {{kCode, kCode + 0x1000, fp_switch}};
  for (const Bytes& section : {Bytes{}, Bytes(64, 0xff)}) {
    const auto table = Build(FileWith(section), overrides);
    ASSERT_TRUE(table.ok()) << table.error().message();
    EXPECT_EQ(Describe(table->words, kCode + 0xfff), "fp switch");
    EXPECT_EQ(Describe(table->words, kCode + 0x1000), "none");
  }
}

TEST(UnwindTableTest, DamagedEntryCostsOnlyItsOwnRange) {
  FrameBytes frames;
  frames.AddCommon();
  frames.AddFde(kCode, 0x20, {});
  frames.AddFde(kCode + 0x20, 0x20, {0x44, 0x0e, 16, 0x3e});  // unknown instruction
  frames.AddFde(kCode + 0x40, 0x20, {0x0e, 24});
  frames.AddFde(0x100, 0x20, {});      // no code there
  frames.AddFde(kCode + 0x60, 0, {});  // empty
  const auto table = Build(FileWith(frames.bytes()));
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(Describe(table->words, kCode + 0x1f), "sp+8");
  EXPECT_EQ(Describe(table->words, kCode + 0x20), "none");
  EXPECT_EQ(Describe(table->words, kCode + 0x3f), "none");
  EXPECT_EQ(Describe(table->words, kCode + 0x40), "sp+24");
  EXPECT_EQ(table->stats.fde_count, 2u);
  EXPECT_EQ(table->stats.fde_damaged_count, 3u);
}

TEST(UnwindTableTest, SectionWithNothingUsableIsCorrupt) {
  FrameBytes self;  // an FDE that points to itself as its CIE
  self.AddEntry(Le(4, 4), Le(kCode, 4) + Le(0x20, 4) + Bytes{0}, false);
  FrameBytes forward;  // and one that points before the section
  forward.AddEntry(Le(0x1000, 4), Le(kCode, 4) + Le(0x20, 4) + Bytes{0}, false);
  const struct {
    const char* name;
    Bytes section;
  } cases[] = {
      {"full of 0xff", Bytes(4096, 0xff)},
      {"length beyond the end", Le(1000, 4) + Bytes(20)},
      {"64-bit length beyond the end", Le(0xffffffff, 4) + Le(~uint64_t{0}, 8) + Bytes(20)},
      {"FDE is its own CIE", self.bytes()},
      {"CIE before the section", forward.bytes()}};
  for (const auto& c : cases) {
    const auto table = Build(FileWith(c.section));
    ASSERT_FALSE(table.ok()) << c.name;
    EXPECT_EQ(table.error().code(), ErrorCode::kCorrupt) << c.name;
  }
}

TEST(UnwindTableTest, FileWithoutRulesHasNoTable) {
  for (const Bytes& section : {Bytes{}, Bytes(4), Bytes(64)}) {
    const auto table = Build(FileWith(section));
    ASSERT_TRUE(table.ok());
    EXPECT_TRUE(table->words.empty());
  }
}

TEST(UnwindTableTest, OtherMachinesAreUnsupported) {
  FileOptions options;
  options.machine = EM_RISCV;
  const auto table = Build(FileWith(Bytes(4), options));
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().code(), ErrorCode::kUnsupported);
}

// A thousand entries inside one that has a long program: each piece of it runs the program again,
// and the budget ends that.
TEST(UnwindTableTest, NestingCannotMakeTheWorkQuadratic) {
  FrameBytes frames;
  frames.AddCommon();
  Bytes program(40 << 10, 0);
  frames.AddFde(kCode, kCodeBytes, program + Bytes{0x0e, 16});
  for (uint64_t i = 0; i < 1000; ++i) frames.AddFde(kCode + 8 + i * 8, 4, {0x0e, 24});
  const auto table = Build(FileWith(frames.bytes()));
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(Describe(table->words, kCode), "sp+16");
  EXPECT_EQ(Describe(table->words, kCode + 8), "sp+24");
  EXPECT_EQ(Describe(table->words, kCode + 12), "sp+16");
  EXPECT_EQ(Describe(table->words, kCode + 8 + 999 * 8), "sp+24");
  EXPECT_EQ(Describe(table->words, kCode + 8 + 999 * 8 + 4), "none");
}

FrameBytes MixedFrames() {
  FrameBytes frames;
  frames.AddCommon();
  frames.AddFde(kCode, 0x40,
                {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x44, 0x0c, 7, 8, 0x0b});
  frames.AddCommon({1, "zPLR", {0x9b, 1, 2, 3, 4, 0x1b, 0x1b}, {0x0c, 7, 8, 0x90, 1}, false});
  frames.AddFde(kCode + 0x40, 0x20, {0x0f, 4, 0x77, 8, 0x06, 0x00});
  frames.AddFde(kCode + 0x80, 0x40, {0x10, 6, 2, 0x76, 0, 0x0f, 3, 0x76, 0x58, 0x06});
  return frames;
}

// Every row of a table can be read again, whatever the bytes were.
void ExpectReadable(const UnwindTable& table) {
  EXPECT_EQ(table.words.size() % ABI_TABLE_BLOCK_WORDS, 0u);
  for (uint64_t offset = 0; offset < kCodeBytes; offset += 8) {
    const auto row = LookupRow(table.words, kCode + offset);
    if (row.has_value() && row->kind == ABI_ROW_RULE) {
      EXPECT_TRUE(row->rule.has_value());
    }
  }
}

TEST(UnwindTableTest, EveryTruncationIsSurvived) {
  for (const bool has_sections : {true, false}) {
    FileOptions options;
    options.has_sections = has_sections;
    options.has_header = true;
    const auto good = FileWith(MixedFrames().bytes(), options);
    ASSERT_TRUE(Build(good).ok());
    for (size_t size = 0; size < good.size(); ++size) {
      const auto table =
          Build(std::vector<std::byte>(good.begin(), good.begin() + static_cast<ptrdiff_t>(size)));
      if (table.ok()) ExpectReadable(*table);
    }
  }
}

TEST(UnwindTableTest, EveryFlippedByteIsSurvived) {
  const auto good = FileWith(MixedFrames().bytes());
  for (size_t position = 0; position < good.size(); ++position) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      auto bytes = good;
      bytes[position] ^= static_cast<std::byte>(flip);
      const auto table = Build(bytes);
      if (table.ok()) ExpectReadable(*table);
    }
  }
}

// musl has no call frame information of its own: its entry point and its signal trampoline are
// found all the same.
TEST(UnwindTableTest, MuslHasARootAndASignalTrampoline) {
  const auto source = base::FileSource::Open("/lib/ld-musl-x86_64.so.1");
  if (!source.ok()) GTEST_SKIP() << "musl is not on this machine";
  const auto elf = ElfFile::Parse(**source);
  ASSERT_TRUE(elf.ok());
  const auto table = BuildUnwindTable(*elf, **source);
  ASSERT_TRUE(table.ok()) << table.error().message();
  EXPECT_EQ(Describe(table->words, elf->entry_vaddr()), "root");
  size_t signal_bytes = 0;
  for (const auto& segment : elf->load_segments()) {
    if (!segment.executable) continue;
    for (uint64_t offset = 0; offset < segment.file_size_bytes; ++offset) {
      const auto row = LookupRow(table->words, segment.vaddr + offset);
      if (row.has_value() && row->kind == ABI_ROW_SPECIAL && row->operand == ABI_SPECIAL_SIGNAL) {
        ++signal_bytes;
      }
    }
  }
  EXPECT_EQ(signal_bytes, 10u);  // nop; mov $15,%rax; syscall
}

TEST(LookupRowTest, WordsThatAreNoTableHaveNoRows) {
  FrameBytes frames;
  frames.AddCommon();
  frames.AddFde(kCode, 0x20, {0x0e, 12});
  const auto table = Build(FileWith(frames.bytes()));
  ASSERT_TRUE(table.ok());
  EXPECT_FALSE(LookupRow({}, kCode).has_value());
  for (size_t word = 0; word < 14; ++word) {
    auto words = table->words;
    words[word] = 0xffffffff;
    LookupRow(words, kCode);  // any answer but a fault
  }
  auto words = table->words;
  words[0] ^= 1;
  EXPECT_FALSE(LookupRow(words, kCode).has_value());
  EXPECT_FALSE(LookupRow(std::span(table->words).first(12), kCode).has_value());
}

}  // namespace
}  // namespace vesta::object
