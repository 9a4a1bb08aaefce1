#include "src/wire/perf_data.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include "src/wire/perf_file_for_test.h"

namespace vesta::wire {
namespace {

using base::ErrorCode;
using base::MemorySource;

template <typename Record>
Record ReadAs(const PerfFileForTest& file, size_t index) {
  const auto bytes = file.Bytes();
  const MemorySource source(bytes);
  const auto recording = PerfData::Open(source);
  EXPECT_TRUE(recording.ok()) << recording.error().message();
  if (!recording.ok() || index >= recording->record_count()) return Record{};
  const auto record = recording->Read(index);
  EXPECT_TRUE(record.ok()) << record.error().message();
  if (!record.ok() || !std::holds_alternative<Record>(*record)) {
    ADD_FAILURE() << "another kind of record";
    return Record{};
  }
  return std::get<Record>(*record);
}

ErrorCode OpenError(const std::vector<std::byte>& bytes) {
  const MemorySource source(bytes);
  const auto recording = PerfData::Open(source);
  EXPECT_FALSE(recording.ok());
  return recording.ok() ? ErrorCode::kInternal : recording.error().code();
}

TEST(PerfDataTest, ReadsMappings) {
  PerfFileForTest file;
  file.AddMapping(7, 0x400000, 0x1000, 0x2000, "/bin/x", 5);
  const auto mapping = ReadAs<PerfMapping>(file, 0);
  EXPECT_EQ(mapping.pid, 7u);
  EXPECT_EQ(mapping.start, 0x400000u);
  EXPECT_EQ(mapping.end, 0x401000u);
  EXPECT_EQ(mapping.file_offset, 0x2000u);
  EXPECT_EQ(mapping.inode, 99u);
  EXPECT_TRUE(mapping.executable);
  EXPECT_EQ(mapping.path, "/bin/x");
}

TEST(PerfDataTest, DataMappingsAreNotExecutable) {
  PerfFileForTest file;
  file.AddMapping(7, 0x400000, 0x1000, 0, "/bin/x", 3);
  EXPECT_FALSE(ReadAs<PerfMapping>(file, 0).executable);
}

TEST(PerfDataTest, ReadsCommForkAndLost) {
  PerfFileForTest file;
  file.AddComm(7, 8, "sleeper", true);
  file.AddFork(9, 7);
  file.AddLost(12);
  const auto comm = ReadAs<PerfComm>(file, 0);
  EXPECT_EQ(comm.pid, 7u);
  EXPECT_EQ(comm.tid, 8u);
  EXPECT_EQ(comm.comm, "sleeper");
  EXPECT_TRUE(comm.is_exec);
  const auto fork = ReadAs<PerfFork>(file, 1);
  EXPECT_EQ(fork.pid, 9u);
  EXPECT_EQ(fork.parent_pid, 7u);
  EXPECT_EQ(ReadAs<PerfLost>(file, 2).count, 12u);
}

TEST(PerfDataTest, ReadsRegistersInDwarfOrderAndTheUsedPartOfTheStack) {
  PerfFileForTest file;
  file.AddSample(7, 8, {0x11, 0x22, 0x33, 0x44});
  const auto sample = ReadAs<PerfSample>(file, 0);
  EXPECT_EQ(sample.pid, 7u);
  EXPECT_EQ(sample.tid, 8u);
  EXPECT_TRUE(sample.has_user_stack);
  // perf's order is ax, bx, cx, dx, si, di, bp, sp, ip; the test file's value is 1000 + number.
  EXPECT_EQ(sample.registers[0], 1000u);
  EXPECT_EQ(sample.registers[1], 1003u) << "rdx";
  EXPECT_EQ(sample.registers[3], 1001u) << "rbx";
  EXPECT_EQ(sample.registers[6], 1006u);
  EXPECT_EQ(sample.registers[7], 1007u);
  EXPECT_EQ(sample.registers[8], 1016u) << "r8";
  EXPECT_EQ(sample.registers[16], 1008u);
  ASSERT_EQ(sample.stack.size(), 32u) << "what was copied, not the room for it";
  uint64_t second = 0;
  std::memcpy(&second, sample.stack.data() + 8, sizeof(second));
  EXPECT_EQ(second, 0x22u);
}

TEST(PerfDataTest, ASampleOfAKernelThreadHasNoStack) {
  PerfFileForTest file;
  file.AddSample(7, 8, {});
  EXPECT_FALSE(ReadAs<PerfSample>(file, 0).has_user_stack);
}

TEST(PerfDataTest, RecordsComeInOrderOfTime) {
  PerfFileForTest file;
  file.time_ns = 500;
  file.AddFork(2, 1);
  file.time_ns = 400;
  file.AddFork(3, 1);
  EXPECT_EQ(ReadAs<PerfFork>(file, 0).pid, 3u);
  EXPECT_EQ(ReadAs<PerfFork>(file, 1).pid, 2u);
}

TEST(PerfDataTest, RecordsOfPerfItselfAreSkipped) {
  PerfFileForTest file;
  file.AddRecord(68, 0, {});  // PERF_RECORD_FINISHED_ROUND
  file.AddFork(2, 1);
  EXPECT_EQ(ReadAs<PerfFork>(file, 0).pid, 2u);
}

TEST(PerfDataTest, EventsOfSeveralKindsAreToldApartByTheirId) {
  PerfFileForTest file;
  file.AddSecondEvent();
  file.AddFork(2, 1);
  file.AddSample(7, 8, {0x11});
  EXPECT_EQ(ReadAs<PerfFork>(file, 0).pid, 2u);
  const auto sample = ReadAs<PerfSample>(file, 1);
  EXPECT_EQ(sample.tid, 8u);
  EXPECT_EQ(sample.stack.size(), 8u);
}

TEST(PerfDataTest, RefusesWhatItCannotRead) {
  PerfFileForTest compressed;
  compressed.AddRecord(81, 0, {});
  EXPECT_EQ(OpenError(compressed.Bytes()), ErrorCode::kUnsupported);

  PerfFileForTest file;
  file.AddFork(2, 1);
  auto bytes = file.Bytes();
  bytes[8] = std::byte{16};
  EXPECT_EQ(OpenError(bytes), ErrorCode::kUnsupported) << "pipe mode";
  bytes = file.Bytes();
  bytes[0] = std::byte{'X'};
  EXPECT_EQ(OpenError(bytes), ErrorCode::kInvalidInput);
  EXPECT_EQ(OpenError({}), ErrorCode::kInvalidInput);
  EXPECT_EQ(OpenError(PerfFileForTest().Bytes()), ErrorCode::kInvalidInput) << "no data";

  PerfFileForTest with_branches;
  with_branches.sample_type |= PERF_SAMPLE_BRANCH_STACK;
  with_branches.AddFork(2, 1);
  EXPECT_EQ(OpenError(with_branches.Bytes()), ErrorCode::kUnsupported);
  PerfFileForTest without_times;
  without_times.sample_type &= ~uint64_t{PERF_SAMPLE_TIME};
  without_times.AddFork(2, 1);
  EXPECT_EQ(OpenError(without_times.Bytes()), ErrorCode::kUnsupported);
}

TEST(PerfDataTest, ImpossibleSizesAreCorrupt) {
  PerfFileForTest file;
  file.AddFork(2, 1);
  const auto good = file.Bytes();
  struct Change {
    size_t offset;
    uint8_t value;
    const char* what;
  };
  const Change changes[] = {
      {16, 3, "size of an event's entry"},
      {24, 255, "place of the events"},
      {32, 1, "size of the events"},
      {40, 255, "place of the data"},
      {48, 255, "size of the data"},
      {good.size() - file.last_record_bytes() + 6, 4, "a record shorter than its header"},
      {good.size() - file.last_record_bytes() + 6, 255, "a record beyond the data"},
      {good.size() - file.last_record_bytes() + 6, 16, "a record without room for its time"},
  };
  for (const Change& change : changes) {
    auto bytes = good;
    bytes[change.offset] = std::byte{change.value};
    if (change.offset == 24 || change.offset == 40) bytes[change.offset + 2] = std::byte{255};
    EXPECT_EQ(OpenError(bytes), ErrorCode::kCorrupt) << change.what;
  }
}

TEST(PerfDataTest, ARecordThatWouldNotEndIsCorrupt) {
  PerfFileForTest file;
  file.AddRecord(68, 0, {});
  file.AddFork(2, 1);
  auto bytes = file.Bytes();
  const size_t first_record = bytes.size() - file.last_record_bytes() - 8;
  bytes[first_record + 6] = std::byte{4};  // with the next half record, it could go on
  EXPECT_EQ(OpenError(bytes), ErrorCode::kCorrupt);
}

TEST(PerfDataTest, AStackLongerThanItsRecordIsCorrupt) {
  PerfFileForTest file;
  file.AddSample(7, 8, {0x11, 0x22});
  auto bytes = file.Bytes();
  for (const size_t from_end : {40u, 8u}) {  // the size of the copy, and of its used part
    auto changed = bytes;
    changed[changed.size() - from_end] = std::byte{200};
    const MemorySource source(changed);
    const auto recording = PerfData::Open(source);
    ASSERT_TRUE(recording.ok());
    const auto record = recording->Read(0);
    ASSERT_FALSE(record.ok());
    EXPECT_EQ(record.error().code(), ErrorCode::kCorrupt);
  }
}

TEST(PerfDataTest, EveryTruncationIsAnErrorAndNoneIsReadBeyond) {
  PerfFileForTest file;
  file.AddMapping(7, 0x400000, 0x1000, 0x2000, "/bin/x", 5);
  file.AddComm(7, 8, "sleeper", true);
  file.AddSample(7, 8, {0x11, 0x22});
  const auto good = file.Bytes();
  for (size_t size = 0; size < good.size(); ++size) {
    const MemorySource source(std::span<const std::byte>(good).first(size));
    EXPECT_FALSE(PerfData::Open(source).ok()) << size;
  }
}

}  // namespace
}  // namespace vesta::wire
