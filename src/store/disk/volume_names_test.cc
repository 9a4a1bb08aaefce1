// Without the hot file: what is sealed stays, what is lost is counted.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "src/store/disk/store_fixture.h"

namespace vesta::store {
namespace {

constexpr int64_t kHourMs = 3'600'000;

class NamesTest : public DiskStoreTest {
 protected:
  using Counts = std::map<std::string, int64_t>;

  void SetUp() override {
    DiskStoreTest::SetUp();
    Open();
    Append(TestBatch().Id(1).Service("a").Rows(1'000, now_ - 3 * kHourMs));
    ASSERT_TRUE(store_->Seal().ok());
    hot_before_ = parent_ + "/before";
    std::filesystem::copy_file(Folder() + "/hot.duckdb", hot_before_);
    Append(TestBatch().Id(2).Service("b").Rows(1'000, now_ - 2 * kHourMs));
    Append(TestBatch().Id(3).Service("c").Rows(10, now_));
    ASSERT_TRUE(store_->Maintain().ok());
    now_ += options_.seal_idle_ms;
    ASSERT_TRUE(store_->Maintain().ok());  // the hour of b
    ASSERT_EQ(store_->disk_status().seals, 2u);
    ASSERT_EQ(store_->disk_status().open_rows, 10u);
  }
  std::string Folder() const { return options_.folder + "/days/" + DayName(kTestDay) + "/v0001"; }
  void Kill() {
    const std::string copy = options_.folder + "_killed";
    std::filesystem::copy(options_.folder, copy, std::filesystem::copy_options::recursive);
    store_.reset();
    options_.folder = copy;
  }
  Counts Services() {
    Counts counts;
    const auto all = store_->Series({}, {}, &report_);
    EXPECT_TRUE(all.ok()) << all.error().message();
    for (const SeriesTotal& one : *all) counts[store_->labels(one.series)[0].value] += one.count;
    return counts;
  }
  // Of c all is lost. The day goes on, in the same volume, and is closed.
  void ExpectSealedRowsStay() {
    EXPECT_EQ(Services(), (Counts{{"a", 1'000}, {"b", 1'000}}));
    EXPECT_EQ(RowCount(), 2'000);
    EXPECT_EQ(store_->Status().rows_quarantined, 10u);
    ExpectBalance();
    Append(TestBatch().Id(4).Service("d").Rows(5, now_));
    EXPECT_EQ(store_->disk_status().volumes, 1u);
    const Counts counts = {{"a", 1'000}, {"b", 1'000}, {"d", 5}};
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(Services(), counts);
      ExpectBalance();
      Open();
    }
    ASSERT_TRUE(store_->Settle().ok());
    Open();
    EXPECT_EQ(Services(), counts);
    EXPECT_EQ(RowCount(), 2'005);
    EXPECT_EQ(store_->Status().rows_quarantined, 10u);
    ExpectBalance();
    for (const auto& entry : std::filesystem::directory_iterator(Folder())) {
      EXPECT_NE(entry.path().extension(), ".names");
    }
  }
  // What becomes of the hot file before the next start, and how that is told.
  void BreakHotFile(const std::function<void(const std::string& hot)>& damage) {
    Kill();
    damage(Folder() + "/hot.duckdb");
    Open();
    ASSERT_EQ(notices_.size(), 1u);
    EXPECT_NE(notices_[0].find("hot.duckdb was damaged"), std::string::npos) << notices_[0];
    EXPECT_NE(notices_[0].find("10 rows that were not sealed are lost"), std::string::npos)
        << notices_[0];
    EXPECT_EQ(store_->disk_status().files_quarantined, 1u);
    notices_.clear();
    ExpectSealedRowsStay();
    EXPECT_TRUE(notices_.empty()) << notices_.front();
  }

  std::string hot_before_;
};

TEST_F(NamesTest, AHotFileThatIsCut) {
  BreakHotFile([](const std::string& hot) { std::filesystem::resize_file(hot, 100); });
}

TEST_F(NamesTest, AHotFileOfOtherBytes) {
  BreakHotFile([](const std::string& hot) {
    std::fstream file(hot, std::ios::in | std::ios::out | std::ios::binary);
    const std::string zeros(static_cast<size_t>(std::filesystem::file_size(hot)), '\0');
    file.write(zeros.data(), static_cast<std::streamsize>(zeros.size()));
  });
}

TEST_F(NamesTest, AHotFileThatIsGone) {
  Kill();
  std::filesystem::remove(Folder() + "/hot.duckdb.wal");
  ASSERT_TRUE(std::filesystem::remove(Folder() + "/hot.duckdb"));
  Open();
  ExpectSealedRowsStay();
}

// The new names of its later rows were given other numbers, were they not kept beside the rows.
TEST_F(NamesTest, AnOlderHotFile) {
  Kill();
  std::filesystem::remove(Folder() + "/hot.duckdb.wal");
  std::filesystem::copy_file(hot_before_, Folder() + "/hot.duckdb",
                             std::filesystem::copy_options::overwrite_existing);
  Open();
  ExpectSealedRowsStay();
}

TEST_F(NamesTest, AnOlderHotFileWithRowsOfItsOwn) {
  for (const std::string end : {"", ".wal"}) {
    const std::string file = Folder() + "/hot.duckdb" + end;
    if (Exists(file)) std::filesystem::copy_file(file, parent_ + "/older" + end);
  }
  Append(TestBatch().Id(4).Service("d").Rows(1'000, now_));
  ASSERT_TRUE(store_->Maintain().ok());
  ASSERT_EQ(store_->disk_status().open_rows, 0u);
  Kill();
  for (const std::string end : {"", ".wal"}) {
    const std::string file = Folder() + "/hot.duckdb" + end;
    std::filesystem::remove(file);
    if (Exists(parent_ + "/older" + end)) {
      std::filesystem::copy_file(parent_ + "/older" + end, file);
    }
  }
  Open();
  const Counts counts = {{"a", 1'000}, {"b", 1'000}, {"c", 10}, {"d", 1'000}};
  EXPECT_EQ(Services(), counts);
  Append(TestBatch().Id(5).Service("e").Rows(5, now_ - 5 * kHourMs));
  ASSERT_TRUE(store_->Seal().ok());
  Open();
  EXPECT_EQ(Services()["e"], 5);
  ASSERT_TRUE(store_->Settle().ok());
  EXPECT_EQ(RowCount(), 3'015);
  ExpectBalance();
}

TEST_F(NamesTest, SealedRowsAreNotRemovedWithTheManifestAndTheHotFile) {
  Kill();
  for (const char* name : {"/hot.duckdb", "/hot.duckdb.wal", "/manifest.json"}) {
    std::filesystem::remove(Folder() + name);
  }
  Open();
  EXPECT_EQ(RowCount(), 0);
  const auto aside = ListFolder(options_.folder + "/quarantine");
  ASSERT_EQ(aside->size(), 1u);
  EXPECT_TRUE(Exists(options_.folder + "/quarantine/" + aside->front() + "/seg-0002.parquet"));
  EXPECT_EQ(store_->Status().rows_quarantined, 2'000u);
  ExpectBalance();
}

TEST_F(NamesTest, AFileOfNamesIsMadeAnew) {
  Kill();
  std::filesystem::resize_file(Folder() + "/seg-0001.names", 10);
  Open();
  ASSERT_TRUE(store_->Maintain().ok());
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_NE(notices_[0].find("it was made anew"), std::string::npos) << notices_[0];
  EXPECT_FALSE(Exists(Folder() + "/seg-0002.names"));  // the one has all
  notices_.clear();
  Append(TestBatch().Id(5).Service("e").Rows(1'000, now_));
  ASSERT_TRUE(store_->Seal().ok());
  Kill();
  std::filesystem::remove(Folder() + "/hot.duckdb.wal");
  ASSERT_TRUE(std::filesystem::remove(Folder() + "/hot.duckdb"));
  Open();
  EXPECT_EQ(Services(), (Counts{{"a", 1'000}, {"b", 1'000}, {"c", 10}, {"e", 1'000}}));
  ASSERT_EQ(notices_.size(), 1u);  // that it is missing
  ExpectBalance();
}

TEST_F(NamesTest, ADayWhoseRowsExpiredIsFoundWithoutItsManifest) {
  ASSERT_TRUE(store_->Settle().ok());
  options_.retention.bytes_max = store_->Status().disk_bytes - 1;
  Open();
  ASSERT_TRUE(store_->Maintain().ok());
  ASSERT_EQ(store_->Status().rows_expired, 2'010u);
  store_.reset();
  ASSERT_TRUE(std::filesystem::remove(Folder() + "/manifest.json"));
  Open();
  EXPECT_EQ(StackCount(), 2'010);
  EXPECT_EQ(store_->Status().rows_expired, 2'010u);
  ExpectBalance();
}

TEST_F(NamesTest, ADayWithoutItsManifestAndItsIndexIsMadeOfItsRows) {
  ASSERT_TRUE(store_->Settle().ok());
  store_.reset();
  ASSERT_TRUE(std::filesystem::remove(Folder() + "/manifest.json"));
  ASSERT_TRUE(std::filesystem::remove(Folder() + "/volume.idx"));
  Open();
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(StackCount(), 2'010);
  EXPECT_EQ(RowCount(), 2'010);
  ExpectBalance();
}

}  // namespace
}  // namespace vesta::store
