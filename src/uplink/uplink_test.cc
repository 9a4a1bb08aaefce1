// The uplink with its thread, in real time.
#include "src/uplink/uplink.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <thread>

#include "src/uplink/uplink_fixture.h"

namespace vesta::uplink {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLong{20'000};

template <typename Condition>
bool WaitFor(const Condition& condition) {
  const auto end = Clock::now() + kLong;
  while (!condition()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

TEST_F(UplinkTest, DeliversWhatSeveralThreadsPushWhileOthersLook) {
  const auto uplink = Uplink::Start(options_, sink_, OpenSpool());
  std::atomic<bool> is_over = false;
  std::thread reader([&] {
    while (!is_over) ExpectBalance(uplink->State());
  });
  std::vector<std::thread> pushers;
  for (uint64_t thread = 0; thread < 3; ++thread) {
    pushers.emplace_back([&uplink, thread] {
      for (uint64_t i = 0; i < 50; ++i) {
        while (!uplink->Push(MakeBatch(thread * 50 + i + 1))) {
        }
        if (i % 10 == 0) {
          EXPECT_TRUE(uplink->Push(MakeSymbols(1)));
        }
      }
    });
  }
  for (std::thread& pusher : pushers) pusher.join();
  EXPECT_TRUE(WaitFor([&] { return sink_.seen().size() >= 165; }));
  const UplinkState state = uplink->Stop(5'000);
  is_over = true;
  reader.join();
  ExpectBalance(state);
  EXPECT_EQ(state.acknowledged, 150u * 151 / 2);
  EXPECT_EQ(state.spool_waiting, 0u);
  EXPECT_GT(uplink->ThreadCpuNs(), 0u);
}

TEST_F(UplinkTest, GoesByTheSpoolAndComesBackWhileOthersPush) {
  std::atomic<bool> is_away = true;
  sink_.answer = [&](const Parcel&) {
    return is_away ? Delivery{.verdict = Verdict::kLater, .message = "away"} : Delivery{};
  };
  options_.pause_ms_first = 5;
  options_.pause_ms_max = 10;
  options_.catch_up_bytes_per_s = 1 << 30;
  options_.catch_up_requests_per_s = 100'000;
  const auto uplink = Uplink::Start(options_, sink_, OpenSpool());
  uint64_t number = 0;
  const auto push = [&](uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      while (!uplink->Push(MakeBatch(++number))) std::this_thread::sleep_for(milliseconds(1));
      ExpectBalance(uplink->State());
    }
  };
  for (int i = 0; i < 3; ++i) {
    is_away = true;
    push(20);
    EXPECT_TRUE(WaitFor([&] { return uplink->State().spool_waiting > 0 || !is_away; }));
    is_away = false;
    push(5);
  }
  EXPECT_TRUE(WaitFor([&] { return uplink->State().acknowledged == number * (number + 1) / 2; }));
  const UplinkState state = uplink->Stop(1'000);
  ExpectBalance(state);
  EXPECT_EQ(state.spool.dropped.size(), 0u);
  EXPECT_EQ(sink_.seen().size(), number);
}

// Waits in Deliver until it is cancelled.
class StuckSink final : public Sink {
 public:
  Delivery Deliver(Parcel&) override {
    std::unique_lock lock(mutex_);
    is_inside_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, kLong, [this] { return is_cancelled_; });
    return {.verdict = Verdict::kLater, .message = "cancelled"};
  }
  void Cancel() override {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
    changed_.notify_all();
  }
  void WaitUntilInside() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kLong, [this] { return is_inside_; }));
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_inside_ = false;
  bool is_cancelled_ = false;
};

TEST_F(UplinkTest, ASinkThatHangsKeepsNeitherThePushersNorTheEnd) {
  StuckSink sink;
  const auto uplink = Uplink::Start(options_, sink, OpenSpool());
  EXPECT_TRUE(uplink->Push(MakeBatch(1)));
  sink.WaitUntilInside();
  EXPECT_TRUE(uplink->Push(MakeBatch(2)));
  EXPECT_EQ(uplink->State().queue_waiting, 2u);
  const auto start = Clock::now();
  const UplinkState state = uplink->Stop(400);
  EXPECT_LT(Clock::now() - start, milliseconds(5'000));
  ExpectBalance(state);
  EXPECT_EQ(state.spool_waiting, 3u);
  EXPECT_EQ(DetailOf(state, "spool_written"), 3u);
}

TEST_F(UplinkTest, EndsByItselfAndKeepsWhatWaits) {
  sink_.answer = [](const Parcel&) {
    return Delivery{.verdict = Verdict::kLater, .message = "away"};
  };
  {
    const auto uplink = Uplink::Start(options_, sink_, OpenSpool());
    EXPECT_TRUE(uplink->Push(MakeBatch(4)));
  }
  EXPECT_EQ(OpenSpool()->State().found.samples, 4u);
}

}  // namespace
}  // namespace vesta::uplink
