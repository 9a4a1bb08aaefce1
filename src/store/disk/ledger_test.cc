#include "src/store/disk/ledger.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

namespace vesta::store {
namespace {

constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();

TEST(SequenceSet, NumbersThatFollowEachOtherAreOneRange) {
  SequenceSet set;
  for (const uint64_t sequence : {5u, 7u, 6u, 1u, 2u, 9u}) EXPECT_TRUE(set.Add(sequence));
  EXPECT_FALSE(set.Add(6));
  EXPECT_EQ(set.ranges(), (std::map<uint64_t, uint64_t>{{1, 2}, {5, 7}, {9, 9}}));
  EXPECT_TRUE(set.AddRange(2, 8));
  EXPECT_EQ(set.ranges(), (std::map<uint64_t, uint64_t>{{1, 9}}));
}

TEST(SequenceSet, TheLargestNumberIsOneAsAnyOther) {
  SequenceSet set;
  EXPECT_TRUE(set.Add(kLast));
  EXPECT_FALSE(set.Add(kLast));
  EXPECT_TRUE(set.Add(kLast - 1));
  EXPECT_TRUE(set.Add(0));
  EXPECT_EQ(set.ranges(), (std::map<uint64_t, uint64_t>{{0, 0}, {kLast - 1, kLast}}));
  EXPECT_TRUE(set.AddRange(0, kLast));
  EXPECT_EQ(set.ranges(), (std::map<uint64_t, uint64_t>{{0, kLast}}));
}

TEST(SequenceSet, IsASetWhateverTheOrder) {
  std::mt19937 random(7);
  SequenceSet set;
  std::set<uint64_t> expected;
  for (int i = 0; i < 2'000; ++i) {
    const uint64_t first = random() % 400;
    const uint64_t last = first + random() % 3;
    bool is_new = false;
    for (uint64_t at = first; at <= last; ++at) is_new |= expected.insert(at).second;
    ASSERT_EQ(set.AddRange(first, last), is_new);
  }
  for (uint64_t at = 0; at < 410; ++at) EXPECT_EQ(set.Contains(at), expected.contains(at)) << at;
}

Ledger Sample() {
  Ledger ledger;
  EXPECT_TRUE(ledger.Add("a", "boot", 1));
  EXPECT_TRUE(ledger.Add("a", "boot", 2));
  EXPECT_TRUE(ledger.Add("a", "other boot", 2));
  EXPECT_TRUE(ledger.Add("\"b\"", "", kLast));
  EXPECT_FALSE(ledger.Add("a", "boot", 1));
  return ledger;
}

std::string Written(const Ledger& ledger) {
  base::JsonWriter json;
  ledger.WriteJson(json);
  return json.Take();
}

TEST(Ledger, AgentsAndBootsCountApart) {
  const Ledger ledger = Sample();
  EXPECT_TRUE(ledger.Contains("a", "boot", 2));
  EXPECT_FALSE(ledger.Contains("a", "boot", 3));
  EXPECT_FALSE(ledger.Contains("a", "", 2));
  EXPECT_FALSE(ledger.Contains("aboot", "", 2));
}

TEST(Ledger, IsReadAsItWasWritten) {
  const std::string text = Written(Sample());
  EXPECT_EQ(
      text,
      R"([{"agent":"\"b\"","boot":"","sequences":[["18446744073709551615","18446744073709551615"]]},)"
      R"({"agent":"a","boot":"boot","sequences":[["1","2"]]},)"
      R"({"agent":"a","boot":"other boot","sequences":[["2","2"]]}])");
  const auto ledger = Ledger::FromJson(*base::ParseJson(text));
  ASSERT_TRUE(ledger.ok());
  EXPECT_EQ(Written(*ledger), text);
}

TEST(Ledger, MergedOnesHoldWhatBothHeld) {
  Ledger ledger = Sample();
  Ledger other;
  other.Add("a", "boot", 3);
  other.Add("c", "boot", 3);
  ledger.Merge(other);
  EXPECT_TRUE(ledger.Contains("a", "boot", 1));
  EXPECT_TRUE(ledger.Contains("a", "boot", 3));
  EXPECT_TRUE(ledger.Contains("c", "boot", 3));
  EXPECT_EQ(ledger.range_count(), 4u);
}

TEST(Ledger, OtherJsonIsRefused) {
  for (const char* text :
       {"1", "{}", "[1]", R"([{"agent":"a","boot":"b"}])",
        R"([{"agent":1,"boot":"b","sequences":[]}])",
        R"([{"agent":"a","boot":"b","sequences":[["1"]]}])",
        R"([{"agent":"a","boot":"b","sequences":[["2","1"]]}])",
        R"([{"agent":"a","boot":"b","sequences":[["1","x"]]}])",
        R"([{"agent":"a","boot":"b","sequences":[["1","18446744073709551616"]]}])"}) {
    const auto ledger = Ledger::FromJson(*base::ParseJson(text));
    ASSERT_FALSE(ledger.ok()) << text;
    EXPECT_EQ(ledger.error().code(), base::ErrorCode::kCorrupt);
  }
}

}  // namespace
}  // namespace vesta::store
