// A spool in a folder of its own with clocks that stand still: for tests of this folder.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/spool/spool.h"

namespace vesta::spool {

class SpoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // In memory where that is to be had: thousands of syncs to a disk take long.
    const bool has_memory = ::access("/dev/shm", W_OK) == 0;
    std::string pattern =
        (has_memory ? "/dev/shm/" : ::testing::TempDir()) + std::string("vesta_spool_XXXXXX");
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    parent_ = pattern;
    options_.folder = parent_ + "/spool";
    options_.bytes_max = 1 << 20;
    options_.file_bytes_max = 4'000;
    options_.boot_id = "boot one";
    options_.now_unix_ms = [this] { return now_unix_ms_; };
    options_.now_boot_ms = [this] { return now_boot_ms_; };
    options_.on_notice = [this](const std::string& sentence) { notices_.push_back(sentence); };
  }
  void TearDown() override {
    spool_.reset();
    std::filesystem::remove_all(parent_);
  }

  base::Result<void> TryOpen() {
    spool_.reset();
    auto opened = Spool::Open(options_);
    if (!opened.ok()) return opened.error();
    spool_ = *std::move(opened);
    return {};
  }
  void Open() {
    const auto opened = TryOpen();
    ASSERT_TRUE(opened.ok()) << opened.error().message();
  }
  static std::string PayloadOf(uint64_t number) {
    return "record " + std::to_string(number) +
           std::string(900, static_cast<char>('a' + number % 26));
  }
  // A record that says its number and holds 10 + number samples.
  base::Result<uint64_t> TryAppend(uint64_t number, uint64_t reference = 0) {
    const std::string payload = PayloadOf(number);
    return spool_->Append({RecordKind::kBatch, 10 + number, reference, payload});
  }
  void Append(uint64_t number) {
    const auto appended = TryAppend(number);
    ASSERT_TRUE(appended.ok()) << appended.error().message();
  }
  void AppendNumbers(uint64_t first, uint64_t last) {
    for (uint64_t number = first; number <= last; ++number) Append(number);
  }
  // The number of the oldest record; 0 when there is none.
  uint64_t OldestNumber() {
    const auto oldest = spool_->Oldest();
    EXPECT_TRUE(oldest.ok()) << oldest.error().message();
    if (!oldest.ok() || *oldest == nullptr) return 0;
    const uint64_t number = (*oldest)->samples - 10;
    EXPECT_EQ((*oldest)->payload, PayloadOf(number));
    return number;
  }
  // Takes the oldest record; 0 when there is none.
  uint64_t Take() {
    const uint64_t number = OldestNumber();
    if (number != 0) spool_->Acknowledge((*spool_->Oldest())->sequence);
    return number;
  }
  std::vector<uint64_t> TakeAll() {
    std::vector<uint64_t> numbers;
    while (const uint64_t number = Take()) numbers.push_back(number);
    return numbers;
  }
  void ExpectBalance() {
    const SpoolState state = spool_->State();
    Amount in = state.found;
    in += state.appended;
    Amount out = state.acknowledged;
    out += state.waiting;
    for (const auto& [reason, amount] : state.lost) out += amount;
    EXPECT_EQ(in, out) << in.records << "/" << in.bytes << "/" << in.samples << " in, "
                       << out.records << "/" << out.bytes << "/" << out.samples << " out";
  }
  Amount Lost(const std::string& reason) {
    const SpoolState state = spool_->State();
    const auto found = state.lost.find(reason);
    return found == state.lost.end() ? Amount{} : found->second;
  }

  // Spool files, oldest first.
  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(options_.folder)) {
      if (entry.path().extension() == ".spool") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  static std::string ReadFile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void WriteFile(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

  std::string parent_;
  SpoolOptions options_;
  int64_t now_unix_ms_ = 1'800'000'000'000;
  int64_t now_boot_ms_ = 1'000'000;
  std::vector<std::string> notices_;
  std::unique_ptr<Spool> spool_;
};

}  // namespace vesta::spool
