#include "src/agent/runtime/code_history.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace vesta::agent::runtime {
namespace {

// "time:function ..." of one address; "-" = no function.
std::string ErasAt(const CodeHistory& history, uint64_t address) {
  const auto eras = history.Eras(std::span(&address, 1));
  std::string text;
  for (const CodeEra& era : eras.at(0)) {
    text += (text.empty() ? "" : " ") + std::to_string(era.from_mono_ns) + ":" +
            (era.range == nullptr ? "-" : std::to_string(era.range->function));
  }
  return text;
}

CodeRange Range(uint64_t start, uint64_t end, uint64_t from_mono_ns, uint64_t function) {
  return {start, end, from_mono_ns, function, start};
}

TEST(CodeHistoryTest, LaterRangeHoldsFromItsTimeOn) {
  CodeHistory history(1000, 0);
  const CodeRange first[] = {Range(100, 200, 10, 1), Range(150, 160, 20, 2)};
  history.Add(first);
  const CodeRange second[] = {Range(90, 300, 30, 3)};
  history.Add(second);
  EXPECT_EQ(ErasAt(history, 95), "30:3");
  EXPECT_EQ(ErasAt(history, 100), "10:1 30:3");
  EXPECT_EQ(ErasAt(history, 155), "10:1 20:2 30:3");
  EXPECT_EQ(ErasAt(history, 160), "10:1 30:3");
  EXPECT_EQ(ErasAt(history, 300), "");
  EXPECT_EQ(history.Find(155)->function, 3u);
}

TEST(CodeHistoryTest, WhatEndedBeforeAnyoneLookedIsForgotten) {
  CodeHistory history(1000, 25);
  const CodeRange added[] = {Range(100, 200, 10, 1), Range(100, 200, 20, 2),
                             Range(100, 200, 30, 3)};
  history.Add(added);
  EXPECT_EQ(ErasAt(history, 100), "20:2 30:3");
  EXPECT_FALSE(history.has_forgotten());
}

TEST(CodeHistoryTest, AfterTheEndOfAllNothingHolds) {
  CodeHistory history(1000, 0);
  const CodeRange first[] = {Range(100, 200, 0, 1), Range(200, 300, 0, 2)};
  history.Add(first);
  history.EndAll(50);
  EXPECT_EQ(history.Find(100), nullptr);
  EXPECT_EQ(ErasAt(history, 100), "0:1 50:-");
  const CodeRange second[] = {Range(100, 150, 60, 3)};
  history.Add(second);
  EXPECT_EQ(ErasAt(history, 100), "0:1 50:- 60:3");
  EXPECT_EQ(ErasAt(history, 250), "0:2 50:-");
  history.ForgetPast([](uint64_t function) { return function == 1; });
  EXPECT_EQ(ErasAt(history, 100), "0:1 50:- 60:3");
  EXPECT_EQ(ErasAt(history, 250), "");
}

TEST(CodeHistoryTest, FullHistoryKeepsWhatIsWantedAndWhatIsNew) {
  CodeHistory history(100, 0);
  std::vector<CodeRange> added;
  for (uint64_t i = 0; i < 1000; ++i) added.push_back(Range(i * 16, i * 16 + 16, 0, i));
  history.Add(added);
  const uint64_t wanted[] = {5 * 16 + 15, 700 * 16};
  history.Trim(wanted);
  EXPECT_TRUE(history.has_forgotten());
  EXPECT_EQ(history.range_count(), 75u);
  EXPECT_NE(history.Find(5 * 16), nullptr);
  EXPECT_NE(history.Find(700 * 16), nullptr);
  EXPECT_NE(history.Find(999 * 16), nullptr);
  EXPECT_EQ(history.Find(6 * 16), nullptr);
}

TEST(CodeHistoryTest, PastIsBounded) {
  CodeHistory history(100, 0);
  for (uint64_t time = 1; time <= 1000; ++time) {
    const CodeRange added[] = {Range(0, 16, time, time)};
    history.Add(added);
  }
  const uint64_t address = 0;
  EXPECT_LE(history.Eras(std::span(&address, 1)).at(0).size(), 101u);
  EXPECT_TRUE(history.has_forgotten());
  EXPECT_EQ(history.Find(0)->function, 1000u);
}

TEST(CodeHistoryTest, AnyOrderAndOverlapEqualsWritingOneByOne) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    CodeHistory history(100'000, 0);
    // By address: what held from when on, written one by one.
    std::map<uint64_t, std::map<uint64_t, uint64_t>> expected;
    uint64_t time = 0;
    for (int part = 0; part < 3; ++part) {
      std::vector<CodeRange> added;
      for (int i = 0; i < 12; ++i) {
        const uint64_t start = random() % 64;
        const uint64_t end = start + 1 + random() % 24;
        ++time;
        added.push_back(Range(start, end, time, time));
        for (uint64_t address = start; address < end; ++address) expected[address][time] = time;
      }
      history.Add(added);
    }
    for (uint64_t address = 0; address < 100; ++address) {
      std::string text;
      for (const auto& [from, function] : expected[address]) {
        text += (text.empty() ? "" : " ") + std::to_string(from) + ":" + std::to_string(function);
      }
      ASSERT_EQ(ErasAt(history, address), text) << "round " << round << " address " << address;
    }
  }
}

}  // namespace
}  // namespace vesta::agent::runtime
