#include "src/object/jitdump.h"

#include <gtest/gtest.h>

#include <vector>

#include "src/object/jitdump_for_test.h"

namespace vesta::object {
namespace {

base::MemorySource SourceOf(const std::string& bytes) {
  return base::MemorySource(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

std::vector<JitRecord> Records(const std::string& bytes) {
  const auto source = SourceOf(bytes);
  std::vector<JitRecord> records;
  const auto header = ParseJitDumpHeader(source);
  if (!header.ok()) return records;
  for (uint64_t at = header->records_offset;;) {
    const auto record = ReadJitRecord(source, at);
    if (!record.ok() || !*record) return records;
    records.push_back(**record);
    at = (*record)->end_offset;
  }
}

std::string LineAt(const std::string& bytes, const JitRecord& debug, uint64_t address) {
  const auto line = FindJitLine(SourceOf(bytes), debug, address);
  if (!line.ok()) return base::ErrorCodeName(line.error().code());
  return *line ? (*line)->file + ":" + std::to_string((*line)->line) : "-";
}

TEST(JitDumpTest, RecordsSayWhatTheRuntimeWrote) {
  JitDumpBytes dump;
  dump.Debug(5, 0x1000, {{0x1000, 3, "a.js"}});
  dump.Load(6, 0x1000, 0x20, "JS:*run");
  dump.Other(4, 24);  // unwinding information
  dump.Move(7, 0x1000, 0x3000, 0x20);
  dump.Other(3, 0);
  const auto records = Records(dump.bytes());
  ASSERT_EQ(records.size(), 5u);
  EXPECT_EQ(records[0].kind, JitRecordKind::kDebug);
  EXPECT_EQ(records[0].address, 0x1000u);
  EXPECT_EQ(records[1].kind, JitRecordKind::kLoad);
  EXPECT_EQ(records[1].time_ns, 6u);
  EXPECT_EQ(records[1].address, 0x1000u);
  EXPECT_EQ(records[1].size_bytes, 0x20u);
  EXPECT_EQ(ReadJitName(SourceOf(dump.bytes()), records[1]).value(), "JS:*run");
  EXPECT_EQ(records[2].kind, JitRecordKind::kOther);
  EXPECT_EQ(records[3].kind, JitRecordKind::kMove);
  EXPECT_EQ(records[3].old_address, 0x1000u);
  EXPECT_EQ(records[3].address, 0x3000u);
  EXPECT_EQ(records[4].kind, JitRecordKind::kClose);
  EXPECT_EQ(records[4].end_offset, dump.bytes().size());
}

TEST(JitDumpTest, HeaderTellsTheClockAndWhereRecordsStart) {
  EXPECT_FALSE(ParseJitDumpHeader(SourceOf(JitDumpBytes().bytes()))->has_arch_clock);
  const auto header = ParseJitDumpHeader(SourceOf(JitDumpBytes(1).bytes()));
  EXPECT_TRUE(header->has_arch_clock);
  EXPECT_EQ(header->pid, 12u);
  EXPECT_EQ(header->records_offset, 40u);
}

TEST(JitDumpTest, OtherFilesAndVersionsAreRefused) {
  const auto code_of = [](const std::string& bytes) {
    return ParseJitDumpHeader(SourceOf(bytes)).error().code();
  };
  EXPECT_EQ(code_of(JitDumpBytes(0, 2).bytes()), base::ErrorCode::kUnsupported);
  std::string swapped = JitDumpBytes().bytes();
  swapped.replace(0, 4, "JiTD");
  EXPECT_EQ(code_of(swapped), base::ErrorCode::kUnsupported);
  EXPECT_EQ(code_of(JitDumpBytes().bytes().substr(0, 39)), base::ErrorCode::kCorrupt);
  EXPECT_EQ(code_of(std::string(40, 'x')), base::ErrorCode::kCorrupt);
  for (const char header_bytes : {'\0', '\x27'}) {
    std::string bytes = JitDumpBytes().bytes();
    bytes[8] = header_bytes;
    EXPECT_EQ(code_of(bytes), base::ErrorCode::kCorrupt);
  }
}

TEST(JitDumpTest, LineIsThatOfTheLastEntryBefore) {
  JitDumpBytes dump;
  dump.Debug(0, 0x1000,
             {{0x1000, 3, "a.js"}, {0x1008, 4, "\xff"}, {0x1010, 9, "b.js"}, {0x1010, 5, "\xff"}});
  const JitRecord debug = Records(dump.bytes()).at(0);
  EXPECT_EQ(LineAt(dump.bytes(), debug, 0xfff), "-");
  EXPECT_EQ(LineAt(dump.bytes(), debug, 0x1000), "a.js:3");
  EXPECT_EQ(LineAt(dump.bytes(), debug, 0x100f), "a.js:4");
  EXPECT_EQ(LineAt(dump.bytes(), debug, 0x1010), "b.js:5");
}

TEST(JitDumpTest, EntriesNeedNotBeSorted) {
  JitDumpBytes dump;
  dump.Debug(0, 0x1000, {{0x1010, 5, "b.js"}, {0x1000, 3, "a.js"}});
  const JitRecord debug = Records(dump.bytes()).at(0);
  EXPECT_EQ(LineAt(dump.bytes(), debug, 0x1010), "b.js:5");
  EXPECT_EQ(LineAt(dump.bytes(), debug, 0x1004), "a.js:3");
}

TEST(JitDumpTest, MoreLinesThanTheRecordHoldsAreDamage) {
  JitDumpBytes dump;
  dump.Debug(0, 0x1000, {{0x1000, 3, "a.js"}});
  std::string bytes = dump.bytes();
  const JitRecord debug = Records(bytes).at(0);
  bytes[40 + 24] = 2;  // entries
  EXPECT_EQ(LineAt(bytes, debug, 0x1000), "corrupt");
  bytes[40 + 24] = 1;
  bytes.back() = 'x';  // a name without an end
  EXPECT_EQ(LineAt(bytes, debug, 0x1000), "corrupt");
}

TEST(JitDumpTest, LongNameIsCutAndOneWithoutAnEndIsDamage) {
  JitDumpBytes dump;
  dump.Load(0, 0x1000, 0x20, std::string(1 << 20, 'n'));
  EXPECT_EQ(ReadJitName(SourceOf(dump.bytes()), Records(dump.bytes()).at(0)).value(),
            std::string(kJitNameBytesMax, 'n'));
  JitDumpBytes no_end;
  no_end.Load(0, 0x1000, 1, "name");
  std::string bytes = no_end.bytes();
  bytes[bytes.size() - 2] = bytes[bytes.size() - 1] = 'x';
  EXPECT_FALSE(ReadJitName(SourceOf(bytes), Records(bytes).at(0)).ok());
}

TEST(JitDumpTest, DamagedRecordsEndTheFile) {
  const auto record_of = [](std::string bytes, size_t at, char value) {
    bytes[40 + at] = value;
    return ReadJitRecord(SourceOf(bytes), 40);
  };
  JitDumpBytes dump;
  dump.Load(6, 0x1000, 0x20, "run");
  ASSERT_TRUE(ReadJitRecord(SourceOf(dump.bytes()), 40).ok());
  EXPECT_FALSE(record_of(dump.bytes(), 4, 0x10).ok());  // too short for its kind
  EXPECT_FALSE(record_of(dump.bytes(), 4, 0).ok());
  JitDumpBytes wraps;
  wraps.Load(6, ~uint64_t{0}, 0x20, "run");
  EXPECT_FALSE(ReadJitRecord(SourceOf(wraps.bytes()), 40).ok());
  JitDumpBytes empty;
  empty.Load(6, 0x1000, 0, "run");
  EXPECT_EQ((*ReadJitRecord(SourceOf(empty.bytes()), 40))->kind, JitRecordKind::kOther);
}

TEST(JitDumpTest, EveryTruncationIsARecordLess) {
  JitDumpBytes dump;
  dump.Load(6, 0x1000, 0x20, "run");
  for (size_t size = 40; size < dump.bytes().size(); ++size) {
    const std::string bytes = dump.bytes().substr(0, size);
    const auto record = ReadJitRecord(SourceOf(bytes), 40);
    ASSERT_TRUE(record.ok());
    if (size < 40 + 56) {
      EXPECT_FALSE(*record) << size;
    } else {
      EXPECT_GT((*record)->end_offset, bytes.size());
    }
  }
}

}  // namespace
}  // namespace vesta::object
