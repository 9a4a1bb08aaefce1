// Batches, a sink that answers as told, and a spool in memory: for tests of this folder.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "src/spool/spool.h"
#include "src/uplink/parcel.h"
#include "src/uplink/sink.h"
#include "src/uplink/uplink.h"

namespace vesta::uplink {

// Batch number n has n samples, one of each a row.
inline std::unique_ptr<OwnedBatch> MakeBatch(uint64_t number, size_t frames = 3) {
  auto owned = std::make_unique<OwnedBatch>();
  owned->profile = std::make_unique<profile::Profile>();
  profile::Profile& profile = *owned->profile;
  std::vector<profile::LocationId> locations;
  for (size_t i = 0; i < frames; ++i) {
    const auto name = profile.InternString("function_with_a_name_" + std::to_string(i * 7919));
    const profile::Line line{profile.InternFunction({name, {}, {}, 0}), 1, 0};
    locations.push_back(
        profile.InternLocation({profile::kNoMapping, 0x1000 + i, false, {&line, 1}}));
  }
  const auto stack = profile.InternStack(locations);
  batch::Batch& batch = owned->batch;
  batch.id = batch::BatchId{"agent", "boot", number};
  batch.profile = &profile;
  batch.types = {{"cpu", "nanoseconds", "samples", "cpu", "nanoseconds"}};
  batch.series = {{{"service.name", "shop"}}};
  batch.tasks = {{1, 1, "main"}};
  for (uint64_t i = 0; i < number; ++i) {
    batch.rows.push_back({.stack = stack,
                          .time_unix_ms = 1'800'000'000'000 + static_cast<int64_t>(i),
                          .value = 10'000'000});
  }
  owned->book.stages.push_back({"batch", number, {}, number, {}});
  return owned;
}

inline std::unique_ptr<OwnedSymbols> MakeSymbols(uint64_t number) {
  auto owned = std::make_unique<OwnedSymbols>();
  owned->profile = std::make_unique<profile::Profile>();
  profile::Profile& profile = *owned->profile;
  profile::Mapping mapping;
  mapping.path = profile.InternString("/bin/shop");
  mapping.build_id = profile.InternString("0123456789abcdef0123456789abcdef01234567");
  const profile::Line line{profile.InternFunction({profile.InternString("late"), {}, {}, 0}), 1, 0};
  owned->symbols.locations.push_back(
      profile.InternLocation({profile.AddMapping(mapping), 0x1000, false, {&line, 1}}));
  owned->symbols.id = batch::BatchId{"agent", "boot", number};
  owned->symbols.profile = &profile;
  return owned;
}

// What was delivered, in order.
class FakeSink final : public Sink {
 public:
  struct Seen {
    std::string id;
    uint64_t samples = 0;
    bool is_batch = true;
    bool is_fresh = true;
    std::string plain;
  };

  Delivery Deliver(Parcel& parcel) override {
    const std::lock_guard lock(mutex_);
    ++attempts_;
    if (is_cancelled_) return {.verdict = Verdict::kLater, .message = "cancelled"};
    const Delivery delivery = answer ? answer(parcel) : Delivery{};
    if (delivery.verdict == Verdict::kDelivered) {
      last_book_ = parcel.book();
      seen_.push_back({parcel.id(), parcel.samples(), parcel.is_batch(),
                       parcel.batch() != nullptr || parcel.symbols() != nullptr, parcel.Plain()});
    }
    return delivery;
  }
  void Cancel() override {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
  }
  // Sequences of the batches that were delivered.
  std::vector<uint64_t> Numbers() const {
    const std::lock_guard lock(mutex_);
    std::vector<uint64_t> numbers;
    for (const Seen& one : seen_) {
      numbers.push_back(std::strtoull(one.id.substr(one.id.rfind('/') + 1).c_str(), nullptr, 10));
    }
    return numbers;
  }
  std::vector<Seen> seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  book::Book last_book() const {
    const std::lock_guard lock(mutex_);
    return last_book_;
  }
  uint64_t attempts() const {
    const std::lock_guard lock(mutex_);
    return attempts_;
  }
  // Set while nothing is delivered; nothing = all is taken.
  std::function<Delivery(const Parcel& parcel)> answer;

 private:
  mutable std::mutex mutex_;
  std::vector<Seen> seen_;
  book::Book last_book_;
  uint64_t attempts_ = 0;
  bool is_cancelled_ = false;
};

inline uint64_t DetailOf(const UplinkState& state, const std::string& name) {
  for (const auto& [key, value] : state.details) {
    if (key == name) return value;
  }
  ADD_FAILURE() << "no detail " << name;
  return 0;
}

inline uint64_t DroppedOf(const book::Stage& stage, const std::string& reason) {
  for (const auto& [key, value] : stage.dropped) {
    if (key == reason) return value;
  }
  return 0;
}

inline void ExpectBalance(const UplinkState& state) {
  EXPECT_TRUE(state.queue.Balances());
  EXPECT_TRUE(state.spool.Balances());
  EXPECT_EQ(state.spool.kept, state.acknowledged + state.spool_waiting);
  EXPECT_EQ(state.queue.kept + DetailOf(state, "spool_found"),
            state.spool.received + state.queue_waiting);
}

class UplinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // In memory where that is to be had: syncs to a disk take long.
    const bool has_memory = ::access("/dev/shm", W_OK) == 0;
    std::string pattern =
        (has_memory ? "/dev/shm/" : ::testing::TempDir()) + std::string("vesta_uplink_XXXXXX");
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    parent_ = pattern;
    spool_options_.folder = parent_ + "/spool";
    spool_options_.on_notice = [this](const std::string& sentence) {
      spool_notices_.push_back(sentence);
    };
    options_.on_notice = [this](const std::string& sentence) { notices_.push_back(sentence); };
  }
  void TearDown() override { std::filesystem::remove_all(parent_); }

  std::unique_ptr<spool::Spool> OpenSpool() {
    auto spool = spool::Spool::Open(spool_options_);
    EXPECT_TRUE(spool.ok()) << spool.error().message();
    return spool.ok() ? *std::move(spool) : nullptr;
  }

  std::string parent_;
  spool::SpoolOptions spool_options_;
  UplinkOptions options_;
  FakeSink sink_;
  std::vector<std::string> notices_;
  std::vector<std::string> spool_notices_;
};

}  // namespace vesta::uplink
