// Days are closed and merged only out of files that are what was written.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "src/base/byte_source.h"
#include "src/store/disk/dictionary_files.h"
#include "src/store/disk/store_fixture.h"
#include "src/store/duck/parquet_rows.h"
#include "src/store/index/index_file.h"

namespace vesta::store {
namespace {

constexpr int64_t kHourMs = 3'600'000;

// A byte in the middle of a Parquet file, which DuckDB mostly reads as another value.
void FlipByte(const std::string& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(0, std::ios::end);
  const auto middle = file.tellg() / 2;
  file.seekg(middle);
  const auto byte = static_cast<char>(file.get() ^ 0x55);
  file.seekp(middle);
  file.put(byte);
}

class CloseTest : public DiskStoreTest {
 protected:
  std::string Day() const { return options_.folder + "/days/" + DayName(kTestDay); }
  // Two sealed hours with rows of their own values.
  void SealTwoHours() {
    Open();
    Append(TestBatch().Id(1).Rows(1'000, now_ - 3 * kHourMs, 10));
    Append(TestBatch().Id(2).Rows(1'000, now_ - 2 * kHourMs, 20));
    ASSERT_TRUE(store_->Seal().ok());
    ASSERT_TRUE(Exists(Day() + "/v0001/seg-0002.parquet"));
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(store_->Maintain().ok());  // verifies all once
  }
  int64_t ValueOfAll() {
    const auto all = store_->Series({}, {}, &report_);
    EXPECT_TRUE(all.ok());
    int64_t value = 0;
    for (const SeriesTotal& one : *all) value += one.value;
    return value;
  }
  void ExpectOneHourLost() {
    EXPECT_EQ(StackCount(), 2'000);
    EXPECT_EQ(ValueOfAll(), 30'000);
    EXPECT_TRUE(report_.notes.empty()) << report_.notes.front();
    EXPECT_EQ(RowCount(), 1'000);
    ASSERT_EQ(report_.notes.size(), 1u);
    EXPECT_NE(report_.notes[0].find("1000 single rows were lost"), std::string::npos)
        << report_.notes[0];
    report_.notes.clear();
    EXPECT_EQ(store_->Status().rows_quarantined, 1'000u);
    EXPECT_EQ(ListFolder(options_.folder + "/quarantine")->size(), 1u);
    EXPECT_EQ(store_->disk_status().open_volumes, 0u);
    ExpectBalance();
  }
  // The maintenance as it runs on, also where a step fails first.
  void SettleInTheEnd() {
    for (int i = 0; i < 3 && !store_->Settle().ok(); ++i) {
    }
    ASSERT_TRUE(store_->Settle().ok());
  }
};

TEST_F(CloseTest, ASegmentThatWasDamagedSinceItWasVerifiedIsFound) {
  SealTwoHours();
  FlipByte(Day() + "/v0001/seg-0002.parquet");
  SettleInTheEnd();
  ExpectOneHourLost();
  Open();
  ExpectOneHourLost();
}

// Its checksum is right: it was written wrong.
TEST_F(CloseTest, ASegmentWhoseRowsAreNotItsSumsIsFound) {
  SealTwoHours();
  store_.reset();
  const std::string folder = Day() + "/v0001";
  std::filesystem::copy_file(folder + "/seg-0001.parquet", folder + "/seg-0002.parquet",
                             std::filesystem::copy_options::overwrite_existing);
  auto manifest = DecodeManifest(*base::ReadSmallFile(folder + "/manifest.json"));
  ASSERT_TRUE(manifest.ok());
  for (ManifestFile& file : manifest->files) {
    if (file.name == "seg-0002.parquet") file = *DescribeFile(folder, file.name);
  }
  ASSERT_TRUE(WriteFileAtomically(folder + "/manifest.json", EncodeManifest(*manifest)).ok());
  Open();
  SettleInTheEnd();
  ExpectOneHourLost();
}

// An index that is made anew of the rows that are left has sums of those only.
TEST_F(CloseTest, RowsThatNoSumHasAreMissedInEachAnswer) {
  SealTwoHours();
  FlipByte(Day() + "/v0001/seg-0002.parquet");
  SettleInTheEnd();
  store_.reset();
  ASSERT_TRUE(std::filesystem::remove(Day() + "/v0001/volume.idx"));
  Open();
  ASSERT_TRUE(store_->Maintain().ok());
  report_.notes.clear();
  EXPECT_EQ(StackCount(), 1'000);
  ASSERT_EQ(report_.notes.size(), 1u);
  EXPECT_NE(report_.notes[0].find("1000 rows were lost"), std::string::npos) << report_.notes[0];
  ExpectBalance();
}

TEST_F(CloseTest, AVolumeThatWasDamagedIsNotMerged) {
  SealTwoHours();
  ASSERT_TRUE(store_->Settle().ok());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(store_->Maintain().ok());
  Append(TestBatch().Id(3).Service("b").Rows(10, now_));
  FlipByte(Day() + "/v0001/rows.parquet");
  SettleInTheEnd();
  EXPECT_EQ(StackCount(), 2'010);
  EXPECT_EQ(RowCount(), 10);
  EXPECT_EQ(store_->Status().rows_quarantined, 2'000u);
  EXPECT_EQ(store_->disk_status().volumes, 2u);
  ExpectBalance();
}

TEST_F(CloseTest, VolumesOfADayAreMergedWithAllTheirSums) {
  SealTwoHours();
  ASSERT_TRUE(store_->Settle().ok());
  Append(TestBatch().Id(3).Service("b").Rows(10, now_));
  ASSERT_TRUE(store_->Settle().ok());
  EXPECT_EQ(store_->disk_status().volumes, 1u);
  EXPECT_EQ(StackCount(), 2'010);
  EXPECT_EQ(RowCount(), 2'010);
  EXPECT_TRUE(notices_.empty()) << notices_.front();
  ExpectBalance();
}

// Stacks that were not seen in the order of a walk, each with a value of its own.
class StackOrderTest : public CloseTest {
 protected:
  // Frames by their addresses, outermost first.
  void Push(uint64_t sequence, const std::vector<std::pair<std::vector<uint64_t>, int64_t>>& rows) {
    profile::Profile profile;
    Batch batch;
    batch.id = BatchId{"agent", "boot", sequence};
    batch.profile = &profile;
    batch.types = {{"cpu", "nanoseconds", "samples", "", ""}};
    batch.series = {{{"service.name", "a"}}};
    batch.tasks = {{1, 1, "main"}};
    for (const auto& [frames, value] : rows) {
      std::vector<profile::LocationId> stack;
      for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
        stack.push_back(profile.InternLocation({profile::kNoMapping, *frame, false, {}}));
      batch.rows.push_back(
          {.stack = profile.InternStack(stack), .time_unix_ms = now_, .value = value});
    }
    const auto appended = store_->Append(batch);
    ASSERT_TRUE(appended.ok()) << appended.error().message();
  }
  // All files have the stacks a, a;x, a;y, b, b;x in this order.
  void ExpectWalk(const std::string& folder) {
    const auto database = duck::DuckDb::Open({.temporary_folder = options_.folder + "/spill"});
    ASSERT_TRUE(database.ok()) << database.error().message();
    const auto tables = ReadDictionaryFiles(**database, folder);
    ASSERT_TRUE(tables.ok()) << tables.error().message();
    const std::string bytes = *base::ReadSmallFile(folder + "/volume.idx");
    const auto file = index::IndexFile::Open(std::as_bytes(std::span(bytes)), nullptr);
    ASSERT_TRUE(file.ok()) << file.error().message();
    const auto names = index::LoadDictionary(*file);
    ASSERT_TRUE(names.ok());
    const std::vector<uint32_t> parents = {0, 0, 1, 1, 0, 4};
    const std::vector<uint64_t> addresses = {0, 0xa, 0x1, 0x2, 0xb, 0x1};
    for (const index::Dictionary* dictionary : {&*tables, &*names}) {
      ASSERT_EQ(dictionary->node_count(), parents.size());
      for (uint32_t node = 1; node < parents.size(); ++node) {
        EXPECT_EQ(dictionary->node(node).parent, parents[node]);
        EXPECT_EQ(dictionary->frame(dictionary->node(node).frame)->address, addresses[node]);
      }
    }
    const std::vector<int64_t> values = {0, 1, 11, 12, 2, 21};
    const auto sums = file->ReadRollup(0);
    ASSERT_TRUE(sums.ok());
    ASSERT_EQ(sums->stacks.size(), values.size() - 1);
    for (const index::StackTotal& total : sums->stacks)
      EXPECT_EQ(total.value, values[total.node]) << total.node;
    const std::vector<uint32_t> types = {0};
    duck::ParquetRead read;
    read.path = folder + "/rows.parquet";
    read.types = types;
    read.every_series = true;
    size_t count = 0;
    const auto rows = duck::ReadRows(**database, read, [&](const duck::RowColumns& all) {
      for (size_t i = 0; i < all.row_count; ++i, ++count)
        EXPECT_EQ(all.value[i], values[all.stack[i]]) << all.stack[i];
      return base::Result<void>();
    });
    ASSERT_TRUE(rows.ok()) << rows.error().message();
    EXPECT_EQ(count, values.size() - 1);
  }
};

TEST_F(StackOrderTest, AClosedDayHasItsStacksInTheOrderOfAWalk) {
  Open();
  Push(1, {{{0xa}, 1}, {{0xb}, 2}, {{0xa, 0x1}, 11}, {{0xb, 0x1}, 21}, {{0xa, 0x2}, 12}});
  ASSERT_TRUE(store_->Settle().ok());
  ExpectWalk(Day() + "/v0001");
}

TEST_F(StackOrderTest, AMergedOneToo) {
  Open();
  Push(1, {{{0xa}, 1}, {{0xb}, 2}, {{0xa, 0x1}, 11}});
  ASSERT_TRUE(store_->Settle().ok());
  Push(2, {{{0xb, 0x1}, 21}, {{0xa, 0x2}, 12}});
  ASSERT_TRUE(store_->Settle().ok());
  ASSERT_EQ(store_->disk_status().volumes, 1u);
  ExpectWalk(Day() + "/v0003");
}

}  // namespace
}  // namespace vesta::store
