#include "src/spool/file_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

namespace vesta::spool {
namespace {

constexpr uint64_t kRecordBytesMax = 1'000;

std::string Hex(std::string_view bytes) {
  std::string hex;
  std::array<char, 3> digits;
  for (const char byte : bytes) {
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned char>(byte));
    hex += digits.data();
  }
  return hex;
}

std::string RecordOf(const Total& before, const std::string& payload, uint64_t samples = 1) {
  RecordHeader header;
  header.before = before;
  header.samples = samples;
  header.payload_bytes = static_cast<uint32_t>(payload.size());
  header.payload_check = CheckOf(payload);
  const auto head = EncodeRecordHeader(header);
  return std::string(head.data(), head.size()) + payload;
}

std::string FileStart(const Total& start) {
  const auto head = EncodeFileHeader({start, 7});
  return {head.data(), head.size()};
}

// Payloads of all records that are found, in order.
std::vector<std::string> Payloads(const std::string& bytes, const Total& start = {}) {
  const base::MemorySource source(std::as_bytes(std::span(bytes)));
  const FileReader reader(source, kRecordBytesMax);
  std::vector<std::string> payloads;
  uint64_t offset = kFileHeaderBytes;
  Total read = start;
  while (true) {
    const auto found = reader.Next(offset, read);
    EXPECT_TRUE(found.ok());
    if (!found.ok() || !found->has_value()) return payloads;
    payloads.push_back((*found)->payload);
    offset = (*found)->end_offset();
    read = (*found)->header.after();
  }
}

TEST(SpoolFormat, IsAsTheDocumentDrawsIt) {
  EXPECT_EQ(Hex(FileStart({3, 0x1234, 500})),
            "766573746173706c010000007679d6d6"  // magic, version, check
            "03000000000000003412000000000000f4010000000000000700000000000000"  // start, boot
            "79f1f0fe14dab1f80000000000000000" +                                // check
                std::string(2 * kReadMarkBytes, '0') +
                std::string(48, '0'));
  EXPECT_EQ(Hex(RecordOf({3, 0x1234, 500}, "hello", 9)),
            "5653505205000000"                                  // magic, bytes
            "03000000000000003412000000000000f401000000000000"  // before
            "0900000000000000"                                  // samples
            "000000000000000000000000000000000000000000000000"  // times, reference
            "0100000000000000fddc625c55e855955699e431e4416f35"  // kind, checks
            "68656c6c6f");
}

TEST(FileReader, TellsOursNewerAndDamagedApart) {
  const std::string ours = FileStart({3, 5, 7});
  for (size_t size = 0; size < 56; ++size) {
    FileHeader header;
    std::optional<ReadMark> mark;
    const std::string cut = ours.substr(0, size);
    const base::MemorySource source(std::as_bytes(std::span(cut)));
    EXPECT_EQ(*FileReader(source, 1).ReadHeader(&header, &mark), FileKind::kDamaged) << size;
  }
  FileHeader header;
  std::optional<ReadMark> mark;
  const base::MemorySource source(std::as_bytes(std::span(ours)));
  EXPECT_EQ(*FileReader(source, 1).ReadHeader(&header, &mark), FileKind::kOurs);
  EXPECT_EQ(header.start, (Total{3, 5, 7}));
  EXPECT_EQ(header.boot, 7u);
  EXPECT_FALSE(mark.has_value());
}

TEST(FileReader, AReadMarkIsTakenOnlyWhole) {
  std::string bytes = FileStart({3, 5, 7});
  const auto mark_bytes = EncodeReadMark({{4, 6, 8}, 300});
  bytes.replace(kReadMarkOffset, mark_bytes.size(), mark_bytes.data(), mark_bytes.size());
  for (size_t offset = kReadMarkOffset; offset <= kReadMarkOffset + kReadMarkBytes; ++offset) {
    std::string changed = bytes;
    const bool is_damaged = offset < kReadMarkOffset + kReadMarkBytes;
    changed[offset] = static_cast<char>(changed[offset] ^ 1);
    FileHeader header;
    std::optional<ReadMark> mark;
    EXPECT_EQ(DecodeFileHeader(std::as_bytes(std::span(changed)), &header, &mark), FileKind::kOurs);
    EXPECT_EQ(mark.has_value(), !is_damaged) << offset;
    if (mark) {
      EXPECT_EQ(mark->read, (Total{4, 6, 8}));
      EXPECT_EQ(mark->offset, 300u);
    }
  }
}

TEST(FileReader, FindsTheNextRecordBehindAnything) {
  const std::string first = RecordOf({0, 0, 0}, "one");
  const std::string second = RecordOf({1, 3, 1}, "two");
  for (const size_t junk :
       {size_t{1}, size_t{100}, size_t{65'535}, size_t{65'536}, size_t{200'000}}) {
    EXPECT_EQ(Payloads(FileStart({}) + first + std::string(junk, 'V') + second),
              (std::vector<std::string>{"one", "two"}))
        << junk;
  }
  EXPECT_EQ(Payloads(FileStart({}) + "VSPRVSPR" + first + first.substr(0, 90) + second),
            (std::vector<std::string>{"one", "two"}));
}

TEST(FileReader, TakesNothingThatDoesNotGoOn) {
  const std::string first = RecordOf({0, 0, 0}, "one");
  const std::string second = RecordOf({1, 3, 1}, "two");
  EXPECT_EQ(Payloads(FileStart({}) + second + first), (std::vector<std::string>{"two"}));
  EXPECT_EQ(Payloads(FileStart({}) + first + first), (std::vector<std::string>{"one"}));
  EXPECT_EQ(Payloads(FileStart({}) + RecordOf({0, 0, 0}, std::string(kRecordBytesMax + 1, 'x'))),
            std::vector<std::string>{});
  EXPECT_EQ(Payloads(FileStart({}) + RecordOf({uint64_t{1} << 63, 0, 0}, "x")),
            std::vector<std::string>{});
  EXPECT_EQ(Payloads(FileStart({}) + RecordOf({0, 0, 0}, "x", ~uint64_t{0})),
            std::vector<std::string>{});
}

}  // namespace
}  // namespace vesta::spool
