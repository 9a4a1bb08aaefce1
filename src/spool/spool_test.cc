#include "src/spool/spool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/spool/spool_fixture.h"
#include "src/spool/spool_format.h"

namespace vesta::spool {
namespace {

constexpr uint64_t kHourMs = 3'600'000;
constexpr size_t kRecordBytes = 88 + 8 + 900;  // of records 1 to 9

std::vector<uint64_t> Numbers(uint64_t first, uint64_t last) {
  std::vector<uint64_t> numbers;
  for (uint64_t number = first; number <= last; ++number) numbers.push_back(number);
  return numbers;
}

TEST_F(SpoolTest, GivesWhatItTookInOrder) {
  Open();
  EXPECT_EQ(OldestNumber(), 0u);
  AppendNumbers(1, 20);
  EXPECT_GT(Files().size(), 3u);
  EXPECT_EQ(spool_->State().waiting.records, 20u);
  EXPECT_EQ(TakeAll(), Numbers(1, 20));
  EXPECT_TRUE(Files().empty());
  const SpoolState state = spool_->State();
  EXPECT_EQ(state.appended, state.acknowledged);
  EXPECT_EQ(state.acknowledged.samples, 20 * 10 + 210u);
  EXPECT_EQ(state.disk_bytes, 0u);
  ExpectBalance();
}

TEST_F(SpoolTest, GoesOnWhereAnEarlierProcessStopped) {
  Open();
  AppendNumbers(1, 10);
  for (uint64_t number = 1; number <= 6; ++number) EXPECT_EQ(Take(), number);
  Open();
  EXPECT_EQ(spool_->State().found.records, 4u);
  EXPECT_EQ(spool_->State().found.samples, 4 * 10 + 7 + 8 + 9 + 10u);
  AppendNumbers(11, 12);
  EXPECT_EQ(TakeAll(), Numbers(7, 12));
  ExpectBalance();
  Open();
  EXPECT_EQ(spool_->State().found, Amount{});
  EXPECT_EQ(OldestNumber(), 0u);
  EXPECT_TRUE(notices_.empty()) << notices_.front();
}

TEST_F(SpoolTest, AFileThatWasReadToItsEndButNotRemovedGivesNothing) {
  Open();
  AppendNumbers(1, 3);
  const std::string path = Files().front();
  Take();
  const std::string one_read = ReadFile(path);
  EXPECT_EQ(TakeAll(), Numbers(2, 3));
  WriteFile(path, one_read);
  Open();
  EXPECT_EQ(TakeAll(), Numbers(2, 3));  // all that is not marked as read comes again
}

TEST_F(SpoolTest, BeyondItsBytesTheOldestFileGoes) {
  options_.bytes_max = 64 << 10;
  Open();
  AppendNumbers(1, 100);
  const Amount lost = Lost("bytes");
  EXPECT_GT(lost.records, 20u);
  EXPECT_EQ(lost.records + spool_->State().waiting.records, 100u);
  EXPECT_LE(spool_->State().disk_bytes, options_.bytes_max);
  uint64_t on_disk = 0;
  for (const std::string& file : Files()) on_disk += std::filesystem::file_size(file);
  EXPECT_EQ(on_disk, spool_->State().disk_bytes);
  EXPECT_EQ(TakeAll(), Numbers(lost.records + 1, 100));
  EXPECT_EQ(lost.samples, lost.records * 10 + lost.records * (lost.records + 1) / 2);
  ExpectBalance();
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_NE(notices_.front().find("is full"), std::string::npos);
}

TEST_F(SpoolTest, ARecordThatIsLargerThanAllIsRefused) {
  options_.bytes_max = 64 << 10;
  Open();
  AppendNumbers(1, 2);
  const std::string large(options_.bytes_max, 'x');
  const auto appended = spool_->Append({RecordKind::kBatch, 1, 0, large});
  ASSERT_FALSE(appended.ok());
  EXPECT_EQ(appended.error().code(), base::ErrorCode::kInvalidInput);
  EXPECT_EQ(TakeAll(), Numbers(1, 2));
  const std::string fits(options_.bytes_max - 88 - 128, 'x');
  Append(3);
  ASSERT_TRUE(spool_->Append({RecordKind::kSymbols, 1, 0, fits}).ok());
  EXPECT_EQ(Lost("bytes").records, 1u);
  ASSERT_EQ((*spool_->Oldest())->payload, fits);
  EXPECT_EQ((*spool_->Oldest())->kind, RecordKind::kSymbols);
  ExpectBalance();
}

TEST_F(SpoolTest, WhatNobodyTookInTimeGoes) {
  options_.age_ms_max = kHourMs;
  Open();
  AppendNumbers(1, 6);
  now_boot_ms_ += kHourMs / 2;
  AppendNumbers(7, 8);
  now_boot_ms_ += kHourMs / 2;
  spool_->Maintain();
  EXPECT_EQ(spool_->OldestAgeMs(), kHourMs);
  EXPECT_EQ(OldestNumber(), 1u);
  now_boot_ms_ += 1;
  spool_->Maintain();
  EXPECT_EQ(OldestNumber(), 7u);
  EXPECT_EQ(Lost("age").records, 6u);
  ExpectBalance();
}

TEST_F(SpoolTest, AClockThatIsSetMakesNothingOldOrYoung) {
  options_.age_ms_max = kHourMs;
  Open();
  Append(1);
  now_unix_ms_ += 1'000 * static_cast<int64_t>(kHourMs);
  now_boot_ms_ += 1'000;
  spool_->Maintain();
  EXPECT_EQ(spool_->OldestAgeMs(), 1'000u);
  Append(2);
  now_unix_ms_ -= 5'000 * static_cast<int64_t>(kHourMs);
  Open();  // of the same boot
  now_boot_ms_ += 1'000;
  spool_->Maintain();
  EXPECT_EQ(spool_->OldestAgeMs(), 2'000u);
  now_boot_ms_ += kHourMs;
  spool_->Maintain();
  EXPECT_EQ(OldestNumber(), 0u);
  EXPECT_EQ(Lost("age").records, 2u);
}

TEST_F(SpoolTest, OverARebootTheWallClockTellsTheAge) {
  options_.age_ms_max = kHourMs;
  Open();
  Append(1);
  now_unix_ms_ += kHourMs / 2;
  now_boot_ms_ = 10;
  options_.boot_id = "boot two";
  Open();
  EXPECT_EQ(spool_->OldestAgeMs(), kHourMs / 2);
  now_unix_ms_ += 100 * static_cast<int64_t>(kHourMs);  // set, while it runs
  now_boot_ms_ += 5;
  EXPECT_EQ(spool_->OldestAgeMs(), kHourMs / 2 + 5);
  now_unix_ms_ = 0;  // a machine without a clock of its own
  options_.boot_id = "boot three";
  Open();
  EXPECT_EQ(spool_->OldestAgeMs(), 0u);
  now_boot_ms_ += kHourMs + 1;  // a time of the future is not kept for ever either
  spool_->Maintain();
  EXPECT_EQ(Lost("age").records, 1u);
}

TEST_F(SpoolTest, ASecondOneOnTheSameFolderIsToldWhoHasIt) {
  Open();
  Append(1);
  auto second = Spool::Open(options_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code(), base::ErrorCode::kUnavailable);
  EXPECT_NE(second.error().message().find("process " + std::to_string(::getpid())),
            std::string::npos);
  EXPECT_EQ(TakeAll(), Numbers(1, 1));
}

TEST_F(SpoolTest, AFolderWithoutAParentIsAnErrorThatNamesIt) {
  options_.folder = parent_ + "/none/spool";
  const auto opened = TryOpen();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), base::ErrorCode::kNotFound);
  EXPECT_NE(opened.error().message().find(options_.folder), std::string::npos);
}

TEST_F(SpoolTest, ARecordMayReferToTheFirstOfItsFile) {
  Open();
  EXPECT_EQ(spool_->OpenFileFirst(), 0u);
  Append(1);
  const uint64_t first = spool_->OpenFileFirst();
  EXPECT_EQ(first, 1u);
  ASSERT_TRUE(TryAppend(2, first).ok());
  EXPECT_EQ(Take(), 1u);  // the file still has it
  ASSERT_EQ(OldestNumber(), 2u);
  EXPECT_EQ((*spool_->Oldest())->reference, first);
  const auto referenced = spool_->Referenced(first);
  ASSERT_TRUE(referenced.ok());
  EXPECT_EQ(*referenced, PayloadOf(1));
  EXPECT_FALSE(spool_->Referenced(first + 1).ok());
  EXPECT_EQ(Take(), 2u);
  EXPECT_FALSE(TryAppend(3, first).ok());  // that file is gone
  EXPECT_EQ(spool_->OpenFileFirst(), 0u);
  AppendNumbers(3, 6);
  EXPECT_EQ(spool_->OpenFileFirst(), 0u);  // it is full
  ExpectBalance();
}

TEST_F(SpoolTest, WhatIsDiscardedIsLostForThatReason) {
  Open();
  AppendNumbers(1, 3);
  Take();
  ASSERT_EQ(OldestNumber(), 2u);
  const uint64_t sequence = (*spool_->Oldest())->sequence;
  spool_->Discard(sequence + 1, "refused");  // not the oldest
  EXPECT_EQ(OldestNumber(), 2u);
  spool_->Discard(sequence, "refused");
  EXPECT_EQ(OldestNumber(), 3u);
  EXPECT_EQ(Lost("refused"), (Amount{1, PayloadOf(2).size(), 12}));
  ExpectBalance();
}

TEST_F(SpoolTest, ATailThatWasCutShortAtAnyByteCostsOnlyItself) {
  Open();
  AppendNumbers(1, 3);
  const std::string path = Files().front();
  const std::string whole = ReadFile(path);
  spool_.reset();
  ASSERT_EQ(whole.size(), kFileHeaderBytes + 3 * kRecordBytes);
  for (size_t size = whole.size() - 1; size >= whole.size() - kRecordBytes; --size) {
    SCOPED_TRACE(size);
    WriteFile(path, whole.substr(0, size));
    Open();
    const bool is_torn = size > whole.size() - kRecordBytes;
    const bool has_header = size >= whole.size() - kRecordBytes + kRecordHeaderBytes;
    EXPECT_EQ(Lost("torn").records, is_torn ? 1u : 0u);
    EXPECT_EQ(Lost("torn").samples, has_header ? 13u : 0u);
    Append(4);
    ExpectBalance();
    EXPECT_EQ(TakeAll(), (std::vector<uint64_t>{1, 2, 4}));
    ExpectBalance();
    EXPECT_EQ(Lost("damaged"), Amount{});
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_FALSE(notices_.empty());
}

TEST_F(SpoolTest, AFileThatWasJustBegunIsNothing) {
  Open();
  AppendNumbers(1, 4);  // fills a file
  const size_t files = Files().size();
  spool_.reset();
  FileHeader header;
  header.start = {4, 4 * 908, 4 * 10 + 10};
  const auto bytes = EncodeFileHeader(header);
  for (size_t size = 0; size <= bytes.size(); ++size) {
    WriteFile(options_.folder + "/0000000000000005.spool", std::string(bytes.data(), size));
    Open();
    EXPECT_EQ(Files().size(), files);
    EXPECT_EQ(spool_->State().waiting.records, 4u);
    EXPECT_TRUE(spool_->State().lost.empty());
    ASSERT_FALSE(HasFailure()) << size;
  }
  EXPECT_EQ(TakeAll(), Numbers(1, 4));
}

TEST_F(SpoolTest, ADamagedByteAnywhereCostsOneRecordAndTheRestIsRead) {
  Open();
  AppendNumbers(1, 9);
  const std::vector<std::string> files = Files();
  ASSERT_EQ(files.size(), 3u);
  std::vector<std::string> whole;
  for (const std::string& file : files) whole.push_back(ReadFile(file));
  spool_.reset();
  for (size_t damaged = 0; damaged < files.size(); ++damaged) {
    for (size_t offset = 0; offset < whole[damaged].size(); offset += 7) {
      SCOPED_TRACE(std::to_string(damaged) + " at " + std::to_string(offset));
      spool_.reset();
      for (size_t i = 0; i < files.size(); ++i) WriteFile(files[i], whole[i]);
      std::string bytes = whole[damaged];
      bytes[offset] = static_cast<char>(bytes[offset] ^ 0x40);
      WriteFile(files[damaged], bytes);
      Open();
      const std::vector<uint64_t> numbers = TakeAll();
      std::vector<uint64_t> expected = Numbers(1, 9);
      Amount lost;
      if (offset >= kFileHeaderBytes) {
        const uint64_t number = damaged * 4 + 1 + (offset - kFileHeaderBytes) / kRecordBytes;
        expected.erase(expected.begin() + static_cast<ptrdiff_t>(number - 1));
        lost = {1, PayloadOf(number).size(), 10 + number};
      }
      EXPECT_EQ(numbers, expected);
      Amount seen = Lost("damaged");
      seen += Lost("torn");
      EXPECT_EQ(seen.records, lost.records);
      // What the last record held is known from its header only.
      if (lost.samples != 19) {
        EXPECT_EQ(seen, lost);
      }
      ExpectBalance();
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST_F(SpoolTest, AFileThatIsGoneOrAllDamageIsALossOfExactlyWhatItHeld) {
  for (const bool is_removed : {true, false}) {
    Open();
    AppendNumbers(1, 12);
    const std::vector<std::string> files = Files();
    ASSERT_EQ(files.size(), 3u);
    if (is_removed) {
      std::filesystem::remove(files[1]);
    } else {
      WriteFile(files[1], std::string(4'000, 'x'));
    }
    Open();
    EXPECT_EQ(spool_->State().found.records, 12u);
    EXPECT_EQ(TakeAll(), (std::vector<uint64_t>{1, 2, 3, 4, 9, 10, 11, 12}));
    EXPECT_EQ(Lost("damaged"), (Amount{4, 4 * 908, 4 * 10 + 5 + 6 + 7 + 8}));
    ExpectBalance();
  }
}

TEST_F(SpoolTest, AFileThatVanishesWhileItIsOpenIsALossOfExactlyWhatItHeld) {
  Open();
  AppendNumbers(1, 8);
  Take();
  std::filesystem::remove(Files().front());
  EXPECT_EQ(TakeAll(), Numbers(5, 8));
  EXPECT_EQ(Lost("damaged").records, 3u);
  ExpectBalance();
}

TEST_F(SpoolTest, AFileThatCannotBeReadNowIsReadLater) {
  Open();
  AppendNumbers(1, 8);
  rlimit limit = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none = {0, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);  // no more descriptors
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(spool_->Oldest().ok());
  EXPECT_EQ(spool_->OldestAgeMs(), 0u);
  now_boot_ms_ += 599'999;
  EXPECT_FALSE(spool_->Oldest().ok());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(Take(), 1u);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_FALSE(spool_->Oldest().ok());
  now_boot_ms_ += 600'000;
  static_cast<void>(spool_->Oldest().ok());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(Lost("damaged").records, 3u);
  EXPECT_EQ(TakeAll(), Numbers(5, 8));
  ExpectBalance();
}

TEST_F(SpoolTest, AllThatIsDamagedAtTheEndIsSaid) {
  Open();
  AppendNumbers(1, 8);
  WriteFile(Files().back(), std::string(4'000, 'x'));
  Open();
  EXPECT_EQ(TakeAll(), Numbers(1, 4));
  EXPECT_EQ(Lost("damaged").records, 1u);  // at least
  ExpectBalance();
  EXPECT_FALSE(notices_.empty());
}

TEST_F(SpoolTest, AFileOfANewerVersionIsLeftAloneAndSaid) {
  Open();
  AppendNumbers(1, 4);
  spool_.reset();
  const std::string path = Files().front();
  std::string newer = ReadFile(path);
  newer[8] = 2;
  const auto check = static_cast<uint32_t>(CheckOf(std::string_view(newer).substr(0, 12)));
  newer.replace(12, 4, std::string(reinterpret_cast<const char*>(&check), 4));
  WriteFile(path, newer);
  Open();
  EXPECT_EQ(spool_->State().files_aside, 1u);
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_NE(notices_.front().find("newer vesta"), std::string::npos);
  AppendNumbers(5, 6);
  EXPECT_EQ(TakeAll(), Numbers(5, 6));
  EXPECT_EQ(ReadFile(path), newer);
  ExpectBalance();
  options_.bytes_max = 64 << 10;
  Open();
  for (uint64_t number = 7; Lost("bytes").records == 0; ++number) {
    Append(number);
    ASSERT_LT(number, 200u);
  }
  EXPECT_FALSE(std::filesystem::exists(path));  // it made room before any of ours did
}

TEST_F(SpoolTest, AFileOfAnotherSpoolIsLeftAlone) {
  Open();
  AppendNumbers(1, 8);
  const std::vector<std::string> files = Files();
  const std::string last = ReadFile(files.back());
  const std::string stranger = options_.folder + "/00000000000000ff.spool";
  std::filesystem::copy_file(files.front(), stranger);
  Open();
  EXPECT_EQ(spool_->State().files_aside, 1u);
  AppendNumbers(9, 9);
  EXPECT_EQ(TakeAll(), Numbers(1, 9));
  EXPECT_TRUE(std::filesystem::exists(stranger));
}

TEST_F(SpoolTest, OtherFilesInTheFolderAreNotLookedAt) {
  Open();
  Append(1);
  WriteFile(options_.folder + "/README", "x");
  std::filesystem::create_directory(options_.folder + "/0000000000000009.spool");
  Open();
  EXPECT_EQ(TakeAll(), Numbers(1, 1));
  EXPECT_TRUE(notices_.empty());
}

}  // namespace
}  // namespace vesta::spool
