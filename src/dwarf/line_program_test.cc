#include "src/dwarf/line_program.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/dwarf/dwarf_image_for_test.h"
#include "src/dwarf/unit_reader.h"

namespace vesta::dwarf {
namespace {

struct Shape {
  uint16_t version = 4;
  uint8_t instruction_bytes = 1;
  uint8_t operations_max = 1;
  uint8_t line_range = 14;
  uint8_t opcode_base = 13;
  std::string lengths = std::string("\0\1\1\1\1\0\0\0\1\0\0\1", 12);
  uint8_t offset_bytes = 4;
};

std::string OldFiles() {
  return Text("sub") + Text("/absolute/") + U8(0) +          // directories 1, 2
         Text("a.c") + Uleb(0) + Uleb(0) + Uleb(0) +         // 1
         Text("../b.h") + Uleb(1) + Uleb(0) + Uleb(0) +      // 2
         Text("c.h") + Uleb(2) + Uleb(0) + Uleb(0) +         // 3
         Text("/d.h") + Uleb(1) + Uleb(0) + Uleb(0) +        // 4
         Text("e.h") + Uleb(9) + Uleb(0) + Uleb(0) + U8(0);  // 5: no such directory
}

std::string NewFiles() {
  return U8(1) + Uleb(kContentPath) + Uleb(kFormLineStrp) + Uleb(2) + U32(0) + U32(6) + U8(3) +
         Uleb(kContentPath) + Uleb(kFormString) + Uleb(kContentDirectoryIndex) + Uleb(kFormUdata) +
         Uleb(5) + Uleb(kFormData16) + Uleb(3) +         // with a checksum
         Text("a.c") + Uleb(0) + std::string(16, 'm') +  // 0
         Text("b.h") + Uleb(1) + std::string(16, 'm') +  // 1
         Text("/d.h") + Uleb(1) + std::string(16, 'm');  // 2
}

std::string LineTableBytes(const Shape& shape, const std::string& files,
                           const std::string& program) {
  std::string header = U8(shape.instruction_bytes);
  if (shape.version >= 4) header += U8(shape.operations_max);
  header += U8(1) + U8(0xfb) + U8(shape.line_range) + U8(shape.opcode_base) +  // line base -5
            shape.lengths.substr(0, shape.opcode_base - 1u) + files;
  std::string body = U16(shape.version);
  if (shape.version >= 5) body += U8(8) + U8(0);
  body += Fixed(header.size(), shape.offset_bytes) + header + program;
  return (shape.offset_bytes == 8 ? U32(0xffffffff) : "") + Fixed(body.size(), shape.offset_bytes) +
         body;
}

std::string SetAddress(uint64_t address) { return U8(0) + Uleb(9) + U8(2) + U64(address); }
const std::string kEnd = std::string("\0\1\1", 3);
std::string AdvancePc(uint64_t by) { return U8(kLineAdvancePc) + Uleb(by); }
std::string AdvanceLine(int64_t by) { return U8(kLineAdvanceLine) + Sleb(by); }
std::string SetFile(uint64_t file) { return U8(kLineSetFile) + Uleb(file); }
const std::string kCopy = U8(kLineCopy);

struct Read {
  Unit unit;
  ReaderStats stats;
};

Read ReadLines(const std::string& line) {
  DwarfImage image;
  image.line = line;
  image.line_str = Text("/comp") + Text("inc");
  image.AddUnit({}, UnitEntry({}, {{kAtStmtList, kFormSecOffset, U32(0), 0, ""},
                                   {kAtCompDir, kFormString, Text("/comp"), 0, ""}}));
  UnitReader reader(image.View());
  Read read;
  EXPECT_TRUE(reader.Next(read.unit));
  read.stats = reader.stats();
  return read;
}

// "address file:line", and "address end".
std::vector<std::string> Rows(const Unit& unit) {
  std::vector<std::string> rows;
  for (const LineRow& row : unit.lines) {
    char address[32];
    std::snprintf(address, sizeof(address), "%llx ", static_cast<unsigned long long>(row.address));
    const std::string file = row.file == kNone ? "?" : unit.files.at(row.file);
    rows.push_back(address + (row.end_sequence ? "end" : file + ":" + std::to_string(row.line)));
  }
  return rows;
}

std::vector<std::string> RowsOf(const Shape& shape, const std::string& program) {
  const Read read =
      ReadLines(LineTableBytes(shape, shape.version >= 5 ? NewFiles() : OldFiles(), program));
  EXPECT_EQ(read.stats.line_damaged_count, 0u);
  return Rows(read.unit);
}

using Texts = std::vector<std::string>;

TEST(LineProgram, AllVersionsCountFilesAndJoinPathsTheirWay) {
  std::string program = SetAddress(0x1000);
  for (const uint64_t file : {1u, 2u, 3u, 4u, 5u, 0u, 6u}) {
    program += SetFile(file) + kCopy + AdvancePc(1);
  }
  program += kEnd;
  for (const uint16_t version : {uint16_t{2}, uint16_t{3}, uint16_t{4}}) {
    Shape shape;
    shape.version = version;
    EXPECT_EQ(RowsOf(shape, program),
              (Texts{"1000 /comp/a.c:1", "1001 /comp/sub/../b.h:1", "1002 /absolute/c.h:1",
                     "1003 /d.h:1", "1004 /comp/e.h:1", "1005 ?:1", "1007 end"}));
  }
  program = SetAddress(0x1000);
  for (const uint64_t file : {1u, 0u, 2u, 3u}) program += SetFile(file) + kCopy + AdvancePc(1);
  program += kEnd;
  Shape shape;
  shape.version = 5;
  for (const uint8_t offset_bytes : {uint8_t{4}, uint8_t{8}}) {
    shape.offset_bytes = offset_bytes;
    std::string files = NewFiles();
    if (offset_bytes == 8) files.replace(4, 8, U64(0) + U64(6));
    const Read read = ReadLines(LineTableBytes(shape, files, program));
    EXPECT_EQ(Rows(read.unit), (Texts{"1000 /comp/inc/b.h:1", "1001 /comp/a.c:1", "1002 /d.h:1",
                                      "1003 ?:1", "1004 end"}));
  }
}

TEST(LineProgram, EachOpcodeMovesAsTheStandardSays) {
  const std::string program = SetAddress(0x1000) + AdvanceLine(9) + kCopy +  // 10
                              U8(13 + 14 * 2 + 8) +                          // +2, +3: 13
                              U8(kLineConstAddPc) + kCopy +                  // +17, same line
                              U8(kLineFixedAdvancePc) + U16(0x100) + AdvanceLine(-3) + kCopy +
                              U8(kLineSetColumn) + Uleb(300) + U8(kLineNegateStmt) +
                              U8(kLineSetBasicBlock) + U8(kLineSetPrologueEnd) +
                              U8(kLineSetEpilogueBegin) + U8(kLineSetIsa) + Uleb(300) + U8(0) +
                              Uleb(3) + U8(4) + Uleb(300) +         // discriminator
                              U8(0) + Uleb(4) + U8(0x80) + "abc" +  // somebody's own
                              U8(13) +                              // +0, -5
                              AdvancePc(0x10) + kEnd;
  EXPECT_EQ(RowsOf({}, program),
            (Texts{"1000 /comp/a.c:10", "1002 /comp/a.c:13", "1113 /comp/a.c:5", "1123 end"}));
}

TEST(LineProgram, OpcodesNobodyKnowsAreSkippedByTheirLengths) {
  Shape shape;
  shape.opcode_base = 15;
  shape.lengths += std::string("\2\0", 2);
  const std::string program = SetAddress(0x1000) + U8(13) + Uleb(300) + Uleb(7) + U8(14) + kCopy +
                              U8(15 + 14 + 6) + AdvancePc(1) + kEnd;
  EXPECT_EQ(RowsOf(shape, program), (Texts{"1000 /comp/a.c:1", "1001 /comp/a.c:2", "1002 end"}));
  shape = {};
  shape.opcode_base = 10;  // as before version 3: 10 is a special opcode
  EXPECT_EQ(RowsOf(shape, SetAddress(0x1000) + U8(10 + 6) + AdvancePc(1) + kEnd),
            (Texts{"1000 /comp/a.c:2", "1001 end"}));
}

TEST(LineProgram, WideInstructionsAdvanceByOperations) {
  Shape shape;
  shape.instruction_bytes = 16;
  shape.operations_max = 3;
  const std::string program = SetAddress(0x1000) + kCopy + AdvancePc(2) + AdvanceLine(1) + kCopy +
                              AdvancePc(1) + AdvanceLine(1) + kCopy + AdvancePc(4) +
                              AdvanceLine(1) + kCopy + AdvancePc(2) + kEnd;
  EXPECT_EQ(RowsOf(shape, program),
            (Texts{"1000 /comp/a.c:2", "1010 /comp/a.c:3", "1020 /comp/a.c:4", "1030 end"}));
}

TEST(LineProgram, FilesCanBeDefinedOnTheWay) {
  const std::string define = U8(3) + Text("late.h") + Uleb(1) + Uleb(0) + Uleb(0);
  const std::string program = SetAddress(0x1000) + U8(0) + Uleb(define.size()) + define +
                              SetFile(6) + kCopy + AdvancePc(1) + kEnd;
  EXPECT_EQ(RowsOf({}, program), (Texts{"1000 /comp/sub/late.h:1", "1001 end"}));
}

TEST(LineProgram, OfSeveralRowsAtOneAddressTheLastHoldsAndRepeatedOnesAreLeftOut) {
  const std::string program = SetAddress(0x1000) + kCopy + AdvancePc(4) + AdvanceLine(1) + kCopy +
                              AdvanceLine(1) + kCopy + AdvancePc(4) + kCopy +  // 3 again
                              AdvancePc(4) + AdvanceLine(1) + kCopy + AdvanceLine(-1) +
                              kCopy +  // 3 after all
                              AdvancePc(4) + kEnd;
  EXPECT_EQ(RowsOf({}, program), (Texts{"1000 /comp/a.c:1", "1004 /comp/a.c:3", "1010 end"}));
}

TEST(LineProgram, SequencesOfRemovedCodeAndThoseWithoutAnEndAreLeftOut) {
  const std::string rows = kCopy + AdvancePc(4) + AdvanceLine(1) + kCopy + AdvancePc(4);
  const std::string program = SetAddress(0) + rows + kEnd + SetAddress(~uint64_t{0}) + rows + kEnd +
                              SetAddress(~uint64_t{0} - 1) + kCopy + AdvancePc(1) + kEnd + rows +
                              kEnd +  // has no address
                              SetAddress(0x2000) + rows + kEnd + SetAddress(0x3000) + rows;
  const Read read = ReadLines(LineTableBytes({}, OldFiles(), program));
  EXPECT_EQ(Rows(read.unit), (Texts{"2000 /comp/a.c:1", "2004 /comp/a.c:2", "2008 end"}));
  EXPECT_EQ(read.stats.line_damaged_count, 1u);
}

TEST(LineProgram, RowsThatGoBackAreSorted) {
  const std::string program = SetAddress(0x1008) + kCopy + SetAddress(0x1000) + AdvanceLine(1) +
                              kCopy + AdvancePc(8) + AdvanceLine(1) + kCopy + AdvancePc(8) + kEnd;
  EXPECT_EQ(RowsOf({}, program), (Texts{"1000 /comp/a.c:2", "1008 /comp/a.c:3", "1010 end"}));
  // The end lies before all rows.
  EXPECT_EQ(RowsOf({}, SetAddress(0x1008) + kCopy + SetAddress(0x1000) + kEnd), Texts());
}

TEST(LineProgram, PathsLongerThanAnySystemTakesAreLeftOut) {
  for (const size_t length : {size_t{4000}, size_t{5000}}) {
    const std::string files =
        U8(0) + Text(std::string(length, 'x')) + U8(0) + U8(0) + U8(0) + U8(0);
    const Read read =
        ReadLines(LineTableBytes({}, files, SetAddress(0x1000) + kCopy + AdvancePc(1) + kEnd));
    ASSERT_EQ(read.unit.lines.size(), 2u);
    EXPECT_EQ(read.unit.lines[0].file == kNone, length == 5000);
    EXPECT_EQ(read.stats.truncated_count, length == 5000 ? 1u : 0u);
  }
}

TEST(LineProgram, DamagedTablesAreCountedAndTheUnitStays) {
  Shape no_range;
  no_range.line_range = 0;
  Shape new_version;
  new_version.version = 6;
  const std::string no_bytes = U8(0) + Uleb(0) + U8(0) + Uleb(1u << 30);  // a billion of nothing
  Shape v5;
  v5.version = 5;
  for (const std::string& line :
       {std::string(), LineTableBytes(no_range, OldFiles(), kEnd),
        LineTableBytes(new_version, OldFiles(), kEnd), LineTableBytes(v5, no_bytes, kEnd),
        LineTableBytes({}, OldFiles(), SetAddress(0x1000) + U8(kLineFixedAdvancePc))}) {
    const Read read = ReadLines(line);
    EXPECT_TRUE(read.unit.lines.empty());
    EXPECT_EQ(read.stats.line_damaged_count, 1u);
    EXPECT_EQ(read.stats.unit_count, 1u);
  }
}

TEST(LineProgram, CutOrChangedBytesAreReadWithoutHarm) {
  const std::string program = SetAddress(0x1000) + kCopy + AdvancePc(4) + AdvanceLine(1) + kCopy +
                              U8(200) + SetFile(2) + U8(100) + AdvancePc(4) + kEnd;
  Shape v5;
  v5.version = 5;
  for (const std::string& good :
       {LineTableBytes({}, OldFiles(), program), LineTableBytes(v5, NewFiles(), program)}) {
    for (size_t i = 0; i < good.size(); ++i) {
      ReadLines(good.substr(0, i));
      for (const int bit : {0, 1, 4, 7}) {
        std::string changed = good;
        changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
        const Read read = ReadLines(changed);
        for (size_t r = 1; r < read.unit.lines.size(); ++r) {
          const LineRow& before = read.unit.lines[r - 1];
          EXPECT_TRUE(before.end_sequence || before.address < read.unit.lines[r].address);
        }
        EXPECT_TRUE(read.unit.lines.empty() || read.unit.lines.back().end_sequence);
      }
    }
  }
}

}  // namespace
}  // namespace vesta::dwarf
