// A store in a folder of its own, and batches to fill it with: for tests of this folder.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/store/disk/day.h"
#include "src/store/disk/disk_store.h"
#include "src/store/disk/files.h"

namespace vesta::store {

inline constexpr int64_t kTestDay = 20'000;
inline constexpr int64_t kTestNow = kTestDay * kDayMs + 12 * 3'600'000;

// The one file below the store's days with this name; "" = there is none.
inline std::string FindFile(const std::string& folder, const std::string& name) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder + "/days")) {
    if (entry.path().filename() == name) return entry.path().string();
  }
  return "";
}

inline void FlipByte(const std::string& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(0, std::ios::end);
  const auto middle = file.tellg() / 2;
  file.seekg(middle);
  const auto byte = static_cast<char>(file.get() ^ 0x55);
  file.seekp(middle);
  file.put(byte);
}

// As long as it lives, this process can open no file.
class NoDescriptors {
 public:
  NoDescriptors() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit none = before_;
    none.rlim_cur = 0;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_ = {};
};

// A profile of one stack "leaf < main" and rows of it.
class TestBatch {
 public:
  TestBatch() {
    const auto leaf = profile_.InternFunction({profile_.InternString("leaf"), {}, {}, 0});
    const auto main = profile_.InternFunction({profile_.InternString("main"), {}, {}, 0});
    std::vector<profile::LocationId> frames;
    for (const profile::FunctionId function : {leaf, main}) {
      const profile::Line line{function, 1, 0};
      frames.push_back(profile_.InternLocation(
          {profile::kNoMapping, 0x1000 + function.value(), false, {&line, 1}}));
    }
    stack_ = profile_.InternStack(frames);
    batch_.profile = &profile_;
    batch_.types = {{"cpu", "nanoseconds", "samples", "", ""}};
    batch_.series = {{{"service.name", "a"}}};
    batch_.tasks = {{1, 1, "main"}};
  }
  TestBatch(const TestBatch&) = delete;
  TestBatch& operator=(const TestBatch&) = delete;

  TestBatch& Id(uint64_t sequence) {
    batch_.id = BatchId{"agent", "boot", sequence};
    return *this;
  }
  TestBatch& Service(const std::string& name) {
    batch_.series = {{{"service.name", name}}};
    return *this;
  }
  TestBatch& Rows(size_t count, int64_t time_unix_ms, int64_t value = 10) {
    for (size_t i = 0; i < count; ++i) {
      batch_.rows.push_back({.stack = stack_,
                             .time_unix_ms = time_unix_ms + static_cast<int64_t>(i),
                             .value = value});
    }
    return *this;
  }
  // A row each for stacks of functions of their own, so that the dictionary grows.
  TestBatch& Stacks(size_t count, int64_t time_unix_ms) {
    for (size_t i = 0; i < count; ++i) {
      const auto name = profile_.InternString("function " + std::to_string(i));
      const profile::Line line{profile_.InternFunction({name, {}, {}, 0}), 1, 0};
      const auto frame =
          profile_.InternLocation({profile::kNoMapping, 0x10'000 + i, false, {&line, 1}});
      batch_.rows.push_back(
          {.stack = profile_.InternStack({{frame}}), .time_unix_ms = time_unix_ms, .value = 10});
    }
    return *this;
  }
  const Batch& get() const { return batch_; }

 private:
  profile::Profile profile_;
  profile::StackId stack_;
  Batch batch_;
};

class DiskStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "vesta_disk_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    options_.folder = pattern + "/store";
    parent_ = pattern;
    options_.maintenance_period_ms = 0;
    options_.part_rows_max = 1'000;
    options_.seal_idle_ms = 0;
    options_.now_unix_ms = [this] { return now_; };
    options_.steady_ms = [this] { return now_ - clock_error_ms_; };
    options_.disk_space = [this](const std::string&) -> base::Result<DiskSpace> { return space_; };
    options_.on_notice = [this](const std::string& sentence) { notices_.push_back(sentence); };
  }
  void TearDown() override {
    store_.reset();
    EXPECT_TRUE(RemoveAll(parent_).ok());
  }

  base::Result<void> TryOpen() {
    store_.reset();
    auto opened = DiskStore::Open(options_);
    if (!opened.ok()) return opened.error();
    store_ = *std::move(opened);
    return {};
  }
  void Open() {
    const auto opened = TryOpen();
    ASSERT_TRUE(opened.ok()) << opened.error().message();
  }
  AppendOutcome Append(const TestBatch& batch) {
    const auto outcome = store_->Append(batch.get());
    EXPECT_TRUE(outcome.ok()) << outcome.error().message();
    return outcome.ok() ? *outcome : AppendOutcome{};
  }

  ReadRequest All(TimeRange range = {}) {
    ReadRequest request;
    request.range = range;
    ReadReport report;
    const auto series = store_->Series({}, {}, &report);
    EXPECT_TRUE(series.ok()) << series.error().message();
    if (!series.ok()) return request;
    std::map<uint32_t, bool> types;
    std::map<uint32_t, bool> ids;
    for (const SeriesTotal& one : *series) {
      if (types.emplace(one.type.value(), true).second) request.types.push_back(one.type);
      if (ids.emplace(one.series.value(), true).second) request.series.push_back({one.series, 0});
    }
    return request;
  }
  // The sum of all counts by the roll-ups, and by the rows.
  int64_t StackCount(TimeRange range = {}) {
    int64_t count = 0;
    const auto done = store_->Stacks(All(range), &report_, [&](const StackBlock& block) {
      for (const StackSum& sum : block.sums) count += sum.count;
      return base::Result<void>();
    });
    EXPECT_TRUE(done.ok()) << done.error().message();
    return count;
  }
  int64_t RowCount(TimeRange range = {}) {
    int64_t count = 0;
    const auto done = store_->Rows(All(range), &report_, [&](const RowBlock& block) {
      count += static_cast<int64_t>(block.rows.size());
      return base::Result<void>();
    });
    EXPECT_TRUE(done.ok()) << done.error().message();
    return count;
  }
  void ExpectBalance() {
    const StoreStatus status = store_->Status();
    const AppendOutcome& book = status.book;
    EXPECT_EQ(book.rows_received,
              book.rows_kept + book.rows_duplicate + book.rows_too_old + book.rows_too_new);
    EXPECT_EQ(book.rows_kept, status.rows + status.rows_expired + status.rows_quarantined);
  }

  std::string parent_;
  DiskStoreOptions options_;
  int64_t now_ = kTestNow;
  int64_t clock_error_ms_ = 0;  // by which somebody has set the clock
  DiskSpace space_{1'000'000'000'000, 900'000'000'000};
  std::vector<std::string> notices_;
  std::unique_ptr<DiskStore> store_;
  ReadReport report_;
};

}  // namespace vesta::store
