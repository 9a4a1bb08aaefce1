#include "src/store/disk/symbol_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "src/store/disk/files.h"
#include "src/store/disk/store_fixture.h"

namespace vesta::store {
namespace {

// Places of one image, each with a name.
class TestSymbols {
 public:
  explicit TestSymbols(const std::string& build_id = "abcd") {
    profile::Mapping mapping;
    mapping.build_id = profile_.InternString(build_id);
    mapping_ = profile_.AddMapping(mapping);
    batch_.profile = &profile_;
  }
  TestSymbols& Id(uint64_t sequence) {
    batch_.id = BatchId{"agent", "boot", sequence};
    return *this;
  }
  TestSymbols& Name(uint64_t address, const std::string& name) {
    const auto function = profile_.InternFunction({profile_.InternString(name), {}, {}, 0});
    const profile::Line line{function, 1, 0};
    batch_.locations.push_back(profile_.InternLocation({mapping_, address, false, {&line, 1}}));
    return *this;
  }
  const SymbolBatch& get() const { return batch_; }

 private:
  profile::Profile profile_;
  profile::MappingId mapping_;
  SymbolBatch batch_;
};

class SymbolFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "vesta_symbols_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    parent_ = pattern;
    options_.folder = parent_ + "/symbols";
    options_.aside_folder = parent_ + "/quarantine";
    options_.now_unix_ms = [this] { return now_; };
    options_.step = [this](std::string_view step) { steps_.emplace_back(step); };
    options_.on_notice = [this](const std::string& sentence) { notices_.push_back(sentence); };
    Open();
  }
  void TearDown() override {
    files_.reset();
    EXPECT_TRUE(RemoveAll(parent_).ok());
  }

  void Open() {
    files_.reset();
    auto opened = SymbolFiles::Open(options_);
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    files_ = *std::move(opened);
  }
  SymbolsOutcome Append(const TestSymbols& symbols) {
    const auto outcome = files_->Append(symbols.get());
    EXPECT_TRUE(outcome.ok()) << outcome.error().message();
    return outcome.ok() ? *outcome : SymbolsOutcome{};
  }
  std::string NameAt(uint64_t address, const std::string& build_id = "abcd") {
    symbols::SymbolView view = files_->View();
    const auto fact = view.Find({symbols::HashOf(SymbolImage{true, build_id}), address}, 0);
    files_->NoteDamage(view);
    return fact ? std::string(fact->lines[0].function->name) : "none";
  }
  std::vector<std::string> Files() {
    const auto names = ListFolder(options_.folder);
    return names.ok() ? *names : std::vector<std::string>{};
  }
  // Enough for several sorted files of a few hundred places.
  void AppendMany(uint64_t batches, const std::string& prefix) {
    for (uint64_t batch = 0; batch < batches; ++batch) {
      TestSymbols symbols;
      for (uint64_t i = 0; i < 100; ++i) {
        const uint64_t address = batch * 100 + i;
        symbols.Name(address, prefix + std::to_string(address));
      }
      EXPECT_EQ(Append(symbols).locations_kept, 100u);
      now_ += 1'000;
    }
  }

  std::string parent_;
  SymbolFilesOptions options_;
  int64_t now_ = kTestNow;
  std::vector<std::string> steps_;
  std::vector<std::string> notices_;
  std::unique_ptr<SymbolFiles> files_;
};

TEST_F(SymbolFilesTest, WhatIsAcknowledgedIsThereAfterAStart) {
  Append(TestSymbols().Name(16, "old").Name(32, "other"));
  EXPECT_EQ(Append(TestSymbols().Name(16, "new")).locations_kept, 1u);
  Open();
  EXPECT_EQ(NameAt(16), "new");
  EXPECT_EQ(NameAt(32), "other");
  EXPECT_EQ(NameAt(16, "other image"), "none");
  EXPECT_EQ(files_->status().places, 2u);
  EXPECT_TRUE(notices_.empty());
}

TEST_F(SymbolFilesTest, ABatchThatComesAgainTakesNothingBack) {
  TestSymbols first;
  first.Id(1).Name(16, "old");
  EXPECT_EQ(Append(first).locations_kept, 1u);
  EXPECT_EQ(Append(TestSymbols().Id(2).Name(16, "new")).locations_kept, 1u);
  for (int start = 0; start < 2; ++start) {
    EXPECT_EQ(Append(first).locations_unchanged, 1u);
    EXPECT_EQ(NameAt(16), "new");
    Open();
  }
}

// A budget of memory makes sorted files; all is found in them, and they become few.
TEST_F(SymbolFilesTest, WhatIsBeyondTheBudgetIsReadFromFiles) {
  options_.recent_bytes_max = 100'000;
  options_.cache_bytes_max = 50'000;
  Open();
  AppendMany(30, "f");
  EXPECT_GT(Files().size(), 5u);
  EXPECT_LT(files_->status().memory_bytes, 200'000u);
  AppendMany(3, "again ");
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(files_->status().places, 3'000u);
    EXPECT_EQ(NameAt(0), "again 0");
    EXPECT_EQ(NameAt(299), "again 299");
    for (uint64_t address = 300; address < 3'000; address += 7) {
      ASSERT_EQ(NameAt(address), "f" + std::to_string(address));
    }
    EXPECT_EQ(Append(TestSymbols().Name(299, "again 299").Name(500, "f500")).locations_unchanged,
              2u);
    if (step == 0) {
      ASSERT_TRUE(files_->Maintain(0, UINT64_MAX).ok());
      EXPECT_LE(Files().size(), 2u);  // and the log
    }
    if (step == 1) Open();
  }
  EXPECT_TRUE(notices_.empty());
}

TEST_F(SymbolFilesTest, BatchesAreKnownAfterTheyWereMerged) {
  options_.recent_bytes_max = 1;  // a file for each
  Open();
  std::vector<std::unique_ptr<TestSymbols>> sent;
  for (uint64_t i = 0; i < 8; ++i) {
    sent.push_back(std::make_unique<TestSymbols>());
    sent.back()->Id(i).Name(16, "name " + std::to_string(i));
    Append(*sent.back());
  }
  ASSERT_TRUE(files_->Maintain(0, UINT64_MAX).ok());
  EXPECT_LE(Files().size(), 2u);
  Open();
  for (const auto& batch : sent) EXPECT_EQ(Append(*batch).locations_unchanged, 1u);
  EXPECT_EQ(NameAt(16), "name 7");
  EXPECT_EQ(files_->status().places, 1u);
}

TEST_F(SymbolFilesTest, WhatIsOldOrTooMuchGoes) {
  options_.recent_bytes_max = 1;
  Open();
  Append(TestSymbols().Name(16, "first"));
  now_ += 1'000;
  Append(TestSymbols().Name(32, "second"));
  ASSERT_TRUE(files_->Maintain(now_ - 1'000, UINT64_MAX).ok());
  EXPECT_EQ(NameAt(16), "first");
  ASSERT_TRUE(files_->Maintain(now_, UINT64_MAX).ok());
  EXPECT_EQ(NameAt(16), "none");
  EXPECT_EQ(NameAt(32), "second");
  EXPECT_TRUE(notices_.empty());
  Append(TestSymbols().Name(48, "third"));
  ASSERT_TRUE(files_->Maintain(0, 300).ok());
  EXPECT_EQ(NameAt(32), "none");
  EXPECT_EQ(NameAt(48), "third");
  EXPECT_EQ(notices_.size(), 1u);
}

TEST_F(SymbolFilesTest, ATornRecordIsForgottenAndWritingGoesOn) {
  Append(TestSymbols().Name(16, "whole"));
  files_.reset();
  const std::string log = options_.folder + "/" + Files().front();
  std::ofstream(log, std::ios::app | std::ios::binary) << std::string(9, 'x');
  Open();
  EXPECT_TRUE(notices_.empty());
  Append(TestSymbols().Name(32, "later"));
  Open();
  EXPECT_EQ(NameAt(16), "whole");
  EXPECT_EQ(NameAt(32), "later");
  EXPECT_TRUE(notices_.empty());
}

TEST_F(SymbolFilesTest, ADamagedLogIsSetAsideAndTheRestServes) {
  for (uint64_t i = 0; i < 3; ++i) Append(TestSymbols().Name(16 * i, "f" + std::to_string(i)));
  files_.reset();
  FlipByte(options_.folder + "/" + Files().front());
  for (int start = 0; start < 2; ++start) {
    Open();
    EXPECT_EQ(NameAt(0), "f0");
    EXPECT_EQ(NameAt(16), "none");
    EXPECT_EQ(NameAt(32), "f2");
    EXPECT_EQ(notices_.size(), 1u);
  }
  EXPECT_EQ(ListFolder(options_.aside_folder)->size(), 1u);
  EXPECT_EQ(Append(TestSymbols().Name(16, "f1")).locations_kept, 1u);
}

TEST_F(SymbolFilesTest, ADamagedFileIsSetAsideAndTheRestServes) {
  options_.recent_bytes_max = 1;
  Open();
  for (uint64_t i = 0; i < 3; ++i) Append(TestSymbols().Name(16 * i, "f" + std::to_string(i)));
  const auto damage = [this](size_t file, int64_t at) {
    const std::string path = options_.folder + "/" + Files()[file];
    std::fstream bytes(path, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(at, at < 0 ? std::ios::end : std::ios::beg);
    bytes.put('\x7f');
  };
  // Files are log, run, run, run. A block is found when it is read, a directory at the start.
  files_.reset();
  damage(2, 20);
  Open();
  EXPECT_EQ(NameAt(16), "none");
  EXPECT_EQ(notices_.size(), 1u);
  EXPECT_EQ(NameAt(0), "f0");
  files_.reset();
  damage(1, -60);
  Open();
  EXPECT_EQ(NameAt(0), "none");
  EXPECT_EQ(NameAt(32), "f2");
  EXPECT_EQ(notices_.size(), 2u);
  EXPECT_EQ(ListFolder(options_.aside_folder)->size(), 2u);
  EXPECT_EQ(files_->status().files_quarantined, 1u);
}

TEST_F(SymbolFilesTest, AReadSeesWhatWasToldWhenItBegan) {
  Append(TestSymbols().Name(16, "old"));
  symbols::SymbolView view = files_->View();
  Append(TestSymbols().Name(16, "new").Name(32, "more"));
  const symbols::Hash128 image = symbols::HashOf(SymbolImage{true, "abcd"});
  EXPECT_EQ(view.Find({image, 16}, 0)->lines[0].function->name, "old");
  EXPECT_FALSE(view.Find({image, 32}, 0).has_value());
  EXPECT_TRUE(view.Find({image, 16}, 0).has_value());
}

// Those that wait for the disk together share an fsync, and nothing is lost.
TEST_F(SymbolFilesTest, ManyAppendAtOnce) {
  options_.recent_bytes_max = 50'000;
  options_.step = [](std::string_view) {};
  Open();
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this, thread] {
      for (uint64_t i = 0; i < 50; ++i) {
        const uint64_t address = thread * 1'000 + i;
        EXPECT_TRUE(files_->Append(TestSymbols().Name(address, "f").get()).ok());
        if (thread == 0 && i % 20 == 0) {
          EXPECT_TRUE(files_->Maintain(0, UINT64_MAX).ok());
        }
        EXPECT_EQ(NameAt(address), "f");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(files_->status().places, 200u);
  Open();
  EXPECT_EQ(files_->status().places, 200u);
  EXPECT_EQ(NameAt(3'049), "f");
}

}  // namespace
}  // namespace vesta::store
