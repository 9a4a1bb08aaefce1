#include "src/uplink/courier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "src/uplink/uplink_fixture.h"

namespace vesta::uplink {
namespace {

const Delivery kTaken = {};

Delivery Away(uint64_t retry_after_ms = 0) {
  return {.verdict = Verdict::kLater, .retry_after_ms = retry_after_ms, .message = "nobody there"};
}
Delivery Refused() { return {.verdict = Verdict::kRefused, .message = "not this one"}; }

class CourierTest : public UplinkTest {
 protected:
  void SetUp() override {
    UplinkTest::SetUp();
    options_.now_mono_ms = [this] { return now_ms_; };
    options_.chance = [this] { return chance_; };
    spool_options_.now_boot_ms = [this] { return now_ms_; };
    spool_options_.now_unix_ms = [this] { return now_ms_; };
    spool_options_.boot_id = "boot";
  }
  void TearDown() override {
    courier_.reset();
    UplinkTest::TearDown();
  }
  // As a process that begins.
  void Start(bool has_spool = true) {
    courier_.reset();
    traffic_ = std::make_unique<Traffic>(options_.queue_bytes_max);
    courier_ =
        std::make_unique<Courier>(options_, sink_, has_spool ? OpenSpool() : nullptr, *traffic_);
  }
  bool Push(uint64_t number) { return traffic_->Push(std::make_unique<Parcel>(MakeBatch(number))); }
  void PushNumbers(uint64_t first, uint64_t last) {
    for (uint64_t number = first; number <= last; ++number) {
      EXPECT_TRUE(Push(number));
      courier_->Round();
      ExpectBalance(State());
    }
  }
  UplinkState State() const { return traffic_->State(now_ms_); }
  // Rounds as the thread makes them, until the time is over.
  void Run(uint64_t ms) {
    const int64_t end_ms = now_ms_ + static_cast<int64_t>(ms);
    while (now_ms_ < end_ms) {
      const auto wait_ms = static_cast<int64_t>(courier_->Round());
      ExpectBalance(State());
      now_ms_ = std::min(now_ms_ + wait_ms, end_ms);
    }
    courier_->Round();
  }
  bool HasSpoolFiles() const {
    for (const auto& entry : std::filesystem::directory_iterator(spool_options_.folder)) {
      if (entry.path().extension() == ".spool") return true;
    }
    return false;
  }

  int64_t now_ms_ = 1'000'000;
  double chance_ = 0;
  std::unique_ptr<Traffic> traffic_;
  std::unique_ptr<Courier> courier_;
};

std::vector<uint64_t> Range(uint64_t first, uint64_t last) {
  std::vector<uint64_t> numbers;
  for (uint64_t number = first; number <= last; ++number) numbers.push_back(number);
  return numbers;
}

TEST_F(CourierTest, WhileTheSinkAnswersNothingTouchesTheDisk) {
  Start();
  PushNumbers(1, 5);
  EXPECT_EQ(sink_.Numbers(), Range(1, 5));
  EXPECT_FALSE(HasSpoolFiles());
  const UplinkState state = State();
  EXPECT_EQ(state.acknowledged, 15u);
  EXPECT_EQ(state.queue.received, 15u);
  EXPECT_EQ(state.spool.kept, 15u);
  EXPECT_EQ(DetailOf(state, "spool_written"), 0u);
  EXPECT_TRUE(notices_.empty());
}

TEST_F(CourierTest, ABatchTravelsWithTheBookAsItIs) {
  Start();
  PushNumbers(1, 2);
  const book::Book book = sink_.last_book();
  ASSERT_EQ(book.stages.size(), 3u);
  EXPECT_EQ(book.stages[0].name, "batch");
  EXPECT_EQ(book.stages[1].name, "queue");
  EXPECT_EQ(book.stages[1].received, 3u);
  EXPECT_EQ(book.stages[2].name, "spool");
  EXPECT_TRUE(book.stages[2].Balances());
  EXPECT_NE(sink_.seen().back().plain.find("vesta.book"), std::string::npos);
}

TEST_F(CourierTest, WhileItIsAwayAllGoesToTheSpoolAndFollowsInOrder) {
  sink_.answer = [](const Parcel&) { return Away(); };
  Start();
  PushNumbers(1, 6);
  EXPECT_EQ(sink_.attempts(), 1u);
  EXPECT_EQ(State().spool_waiting, 21u);
  EXPECT_EQ(State().last_error, "nobody there");
  EXPECT_FALSE(State().is_answering);
  EXPECT_TRUE(HasSpoolFiles());
  sink_.answer = nullptr;
  Run(5'000);
  EXPECT_EQ(sink_.Numbers(), Range(1, 6));
  EXPECT_FALSE(sink_.seen().front().is_fresh);
  EXPECT_FALSE(HasSpoolFiles());
  EXPECT_EQ(State().acknowledged, 21u);
  EXPECT_TRUE(State().is_answering);
  EXPECT_EQ(State().last_error, "");
  ASSERT_EQ(notices_.size(), 2u);
  EXPECT_NE(notices_[0].find("cannot deliver: nobody there"), std::string::npos);
  EXPECT_NE(notices_[1].find("delivers again"), std::string::npos);
}

TEST_F(CourierTest, WhatIsSpooledIsPackedAgainstTheFirstOfItsFile) {
  sink_.answer = [](const Parcel&) { return Away(); };
  Start();
  std::vector<uint64_t> written;
  for (int i = 0; i < 4; ++i) {
    traffic_->Push(std::make_unique<Parcel>(MakeBatch(3, 200)));
    courier_->Round();
    written.push_back(DetailOf(State(), "spool_written_bytes"));
  }
  EXPECT_LT(written[3] - written[0], written[0]);
  sink_.answer = nullptr;
  Run(5'000);
  const auto seen = sink_.seen();
  ASSERT_EQ(seen.size(), 4u);
  for (const FakeSink::Seen& one : seen) {
    EXPECT_NE(one.plain.find("function_with_a_name_" + std::to_string(199 * 7919)),
              std::string::npos);
    EXPECT_EQ(one.id, "agent/boot/3");
  }
}

TEST_F(CourierTest, WhatGoesToTheSpoolHasItsBookToo) {
  sink_.answer = [](const Parcel&) { return Away(); };
  Start();
  PushNumbers(1, 3);
  sink_.answer = nullptr;
  Run(5'000);
  const auto seen = sink_.seen();
  ASSERT_EQ(seen.size(), 3u);
  for (const FakeSink::Seen& one : seen) {
    EXPECT_NE(one.plain.find(R"("name":"batch")"), std::string::npos);
    EXPECT_NE(one.plain.find(R"("name":"spool")"), std::string::npos);
  }
}

TEST_F(CourierTest, ASinkThatComesAndGoesDoesNotFillTheLog) {
  bool is_away = false;
  sink_.answer = [&](const Parcel&) { return is_away ? Away() : kTaken; };
  Start();
  for (uint64_t i = 0; i < 120; ++i) {  // ten minutes
    is_away = !is_away;
    Push(1);
    Run(5'000);
  }
  EXPECT_LE(notices_.size(), 22u);
  EXPECT_GE(notices_.size(), 10u);
  is_away = true;
  notices_.clear();
  Push(1);
  Run(1'700'000);
  EXPECT_GE(notices_.size(), 2u);  // it lasts
  EXPECT_LE(notices_.size(), 4u);
}

TEST_F(CourierTest, PausesGrowAndAreCutByChance) {
  sink_.answer = [](const Parcel&) { return Away(); };
  Start();
  PushNumbers(1, 1);
  EXPECT_EQ(State().next_attempt_ms, 1'000u);
  std::vector<uint64_t> pauses;
  for (int i = 0; i < 8; ++i) {
    Run(State().next_attempt_ms);
    pauses.push_back(State().next_attempt_ms);
  }
  EXPECT_EQ(pauses,
            (std::vector<uint64_t>{2'000, 4'000, 8'000, 16'000, 32'000, 60'000, 60'000, 60'000}));
  EXPECT_EQ(sink_.attempts(), 9u);
  chance_ = 0.5;
  Run(State().next_attempt_ms);
  EXPECT_EQ(State().next_attempt_ms, 45'000u);
}

TEST_F(CourierTest, TheSinkSaysHowLongToLeaveItAlone) {
  sink_.answer = [](const Parcel&) { return Away(25'000); };
  Start();
  PushNumbers(1, 1);
  EXPECT_EQ(State().next_attempt_ms, 25'000u);
  Run(24'999);
  EXPECT_EQ(sink_.attempts(), 1u);
  Run(1);
  EXPECT_EQ(sink_.attempts(), 2u);
  sink_.answer = [](const Parcel&) { return Away(100'000'000); };
  Run(25'000);
  EXPECT_EQ(State().next_attempt_ms, options_.retry_after_ms_max);
}

TEST_F(CourierTest, CatchingUpIsSlowAndTheNewestIsSeenSoon) {
  options_.catch_up_requests_per_s = 2;
  sink_.answer = [](const Parcel&) { return Away(); };
  Start();
  PushNumbers(1, 30);
  sink_.answer = nullptr;
  now_ms_ += State().next_attempt_ms;
  ASSERT_TRUE(Push(31));
  courier_->Round();
  EXPECT_EQ(sink_.Numbers().front(), 31u);
  const size_t at_once = sink_.Numbers().size();
  EXPECT_LE(at_once, 4u);
  for (uint64_t second = 1; second <= 5; ++second) {
    Run(1'000);
    ASSERT_TRUE(Push(31 + second));
    courier_->Round();
    EXPECT_EQ(sink_.Numbers().back() == 31 + second ||
                  sink_.Numbers()[sink_.Numbers().size() - 2] == 31 + second,
              true);
    EXPECT_LE(sink_.Numbers().size(), at_once + 3 * second + 1);
    EXPECT_GE(sink_.Numbers().size(), at_once + 3 * second - 1);
  }
  Run(30'000);
  std::vector<uint64_t> old;
  for (const uint64_t number : sink_.Numbers()) {
    if (number <= 30) old.push_back(number);
  }
  EXPECT_EQ(old, Range(1, 30));
  EXPECT_EQ(State().spool_waiting, 0u);
}

TEST_F(CourierTest, CatchingUpKeepsToItsBytes) {
  sink_.answer = [](const Parcel&) { return Away(); };
  Start();
  PushNumbers(1, 20);
  const uint64_t bytes = DetailOf(State(), "spool_waiting_bytes");
  sink_.answer = nullptr;
  options_.catch_up_bytes_per_s = bytes / 20;
  options_.catch_up_requests_per_s = 1'000;
  Start();
  Run(10'000);
  EXPECT_GT(sink_.Numbers().size(), 5u);
  EXPECT_LT(sink_.Numbers().size(), 18u);
  Run(15'000);
  EXPECT_EQ(sink_.Numbers(), Range(1, 20));
}

TEST_F(CourierTest, AnotherProcessGoesOn) {
  sink_.answer = [](const Parcel&) { return Away(); };
  Start();
  PushNumbers(1, 4);
  Start();
  EXPECT_EQ(DetailOf(State(), "spool_found"), 10u);
  EXPECT_EQ(State().spool.received, 10u);
  EXPECT_EQ(State().queue.received, 0u);
  sink_.answer = nullptr;
  PushNumbers(5, 5);
  Run(3'000);
  EXPECT_EQ(State().acknowledged, 15u);
  std::vector<uint64_t> numbers = sink_.Numbers();
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(numbers, Range(1, 5));
}

TEST_F(CourierTest, WhatIsRefusedForGoodIsOutOfTheWayAndCounted) {
  sink_.answer = [](const Parcel& parcel) { return parcel.samples() == 2 ? Refused() : kTaken; };
  Start();
  PushNumbers(1, 3);
  EXPECT_EQ(sink_.Numbers(), (std::vector<uint64_t>{1, 3}));
  EXPECT_EQ(DroppedOf(State().spool, "refused"), 2u);
  sink_.answer = [](const Parcel&) { return Away(); };
  PushNumbers(4, 6);
  sink_.answer = [](const Parcel& parcel) { return parcel.samples() == 5 ? Refused() : kTaken; };
  Run(3'000);
  EXPECT_EQ(sink_.Numbers(), (std::vector<uint64_t>{1, 3, 4, 6}));
  EXPECT_EQ(DroppedOf(State().spool, "refused"), 7u);
  EXPECT_EQ(State().spool_waiting, 0u);
  EXPECT_TRUE(State().is_answering);
  const auto told = std::count_if(notices_.begin(), notices_.end(), [](const std::string& line) {
    return line.find("refused for good: not this one") != std::string::npos;
  });
  EXPECT_EQ(told, 1);
}

TEST_F(CourierTest, WhatIsRejectedOfABatchIsCountedWayByWay) {
  sink_.answer = [](const Parcel&) {
    return Delivery{.samples_rejected = 1, .message = "one is bad"};
  };
  Start();
  PushNumbers(3, 3);
  EXPECT_EQ(State().acknowledged, 2u);
  EXPECT_EQ(DroppedOf(State().spool, "rejected"), 1u);
  sink_.answer = [](const Parcel&) { return Away(); };
  PushNumbers(4, 4);
  sink_.answer = [](const Parcel&) { return Delivery{.samples_rejected = 100}; };
  Run(2'000);
  EXPECT_EQ(State().acknowledged, 2u);
  EXPECT_EQ(DroppedOf(State().spool, "rejected"), 5u);
}

TEST_F(CourierTest, OneBatchThatTheSinkAlwaysFailsOnIsGivenUp) {
  bool is_away = true;
  sink_.answer = [&](const Parcel& parcel) {
    if (is_away) return Away();
    if (parcel.samples() != 1) return kTaken;
    return Delivery{.verdict = Verdict::kLater, .may_be_the_parcel = true, .message = "HTTP 500"};
  };
  Start();
  PushNumbers(1, 2);
  is_away = false;
  Run(300'000);
  EXPECT_EQ(sink_.Numbers(), std::vector<uint64_t>{});  // nothing else was taken meanwhile
  for (uint64_t number = 3; number < 30; ++number) {
    Push(number);
    Run(60'000);
  }
  EXPECT_EQ(DroppedOf(State().spool, "refused"), 1u);
  EXPECT_EQ(State().spool_waiting, 0u);
  EXPECT_EQ(sink_.Numbers().size(), 28u);
}

TEST_F(CourierTest, LateNamesTakeTheSameWay) {
  sink_.answer = [](const Parcel&) { return Away(); };
  Start();
  PushNumbers(1, 1);
  traffic_->Push(std::make_unique<Parcel>(MakeSymbols(2)));
  courier_->Round();
  sink_.answer = nullptr;
  traffic_->Push(std::make_unique<Parcel>(MakeSymbols(3)));
  Run(3'000);
  const auto seen = sink_.seen();
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(State().acknowledged, 1u);
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(),
                          [](const FakeSink::Seen& one) { return !one.is_batch; }),
            2);
}

TEST_F(CourierTest, WithoutASpoolWhatDoesNotFitTheQueueIsLost) {
  options_.queue_bytes_max = 300'000;
  sink_.answer = [](const Parcel&) { return Away(); };
  Start(false);
  uint64_t lost = 0;
  for (uint64_t number = 1; number <= 40; ++number) {
    if (!Push(number)) lost += number;
    courier_->Round();
    ExpectBalance(State());
  }
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(DroppedOf(State().queue, "queue_full"), lost);
  EXPECT_LE(State().queue_bytes, options_.queue_bytes_max);
  sink_.answer = nullptr;
  Run(2'000);
  EXPECT_EQ(State().acknowledged, 820 - lost);
  ExpectBalance(State());
}

TEST_F(CourierTest, OneThatIsLargerThanTheQueueIsTakenWhenNothingElseWaits) {
  options_.queue_bytes_max = 100;
  Start();
  EXPECT_TRUE(Push(1));
  EXPECT_FALSE(Push(2));
  courier_->Round();
  EXPECT_TRUE(Push(3));
  courier_->Round();
  EXPECT_EQ(sink_.Numbers(), (std::vector<uint64_t>{1, 3}));
}

TEST_F(CourierTest, ADamagedSpoolCostsWhatWasDamaged) {
  sink_.answer = [](const Parcel&) { return Away(); };
  Start();
  PushNumbers(1, 3);
  courier_.reset();
  const std::string path = spool_options_.folder + "/0000000000000001.spool";
  std::string bytes;
  {
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  bytes[128 + 88 + 40] = static_cast<char>(bytes[128 + 88 + 40] ^ 1);  // in the first payload
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  Start();
  sink_.answer = nullptr;
  Run(3'000);
  // The others refer to it.
  EXPECT_EQ(DroppedOf(State().spool, "damaged"), 6u);
  EXPECT_EQ(State().acknowledged, 0u);
  EXPECT_FALSE(notices_.empty());
  PushNumbers(4, 4);
  EXPECT_EQ(State().acknowledged, 4u);
}

TEST_F(CourierTest, ABatchThatIsTooLargeForTheSpoolIsLostForThat) {
  spool_options_.bytes_max = 64 << 10;
  spool_options_.record_bytes_max = 2'000;
  sink_.answer = [](const Parcel&) { return Away(); };
  Start();
  traffic_->Push(std::make_unique<Parcel>(MakeBatch(7, 3'000)));
  courier_->Round();
  ExpectBalance(State());
  EXPECT_EQ(DroppedOf(State().spool, "too_large"), 7u);
}

TEST_F(CourierTest, AtTheEndItDeliversWhatThereIsTimeFor) {
  Start();
  Push(1);
  Push(2);
  sink_.answer = [this](const Parcel&) {
    now_ms_ += 600;
    return kTaken;
  };
  courier_->Finish(1'000);
  ExpectBalance(State());
  EXPECT_EQ(sink_.Numbers(), Range(1, 1));
  EXPECT_EQ(State().spool_waiting, 2u);
  sink_.answer = nullptr;
  Start();
  Run(1'000);
  EXPECT_EQ(sink_.Numbers(), Range(1, 2));
}

TEST_F(CourierTest, AtTheEndWithoutASpoolTheRestIsLostForThat) {
  Start(false);
  sink_.answer = [](const Parcel&) { return Away(); };
  PushNumbers(1, 3);
  traffic_->RequestStop();
  courier_->Finish(1'000);
  ExpectBalance(State());
  EXPECT_EQ(DroppedOf(State().spool, "stopped"), 6u);
  EXPECT_EQ(sink_.attempts(), 2u);  // one more was tried
}

}  // namespace
}  // namespace vesta::uplink
