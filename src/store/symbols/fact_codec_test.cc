#include "src/store/symbols/fact_codec.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/store/symbols/facts_for_test.h"
#include "src/store/symbols/recent_symbols.h"

namespace vesta::store::symbols {
namespace {

std::string SomeBlock() {
  GivenFacts given;
  FactWriter writer;
  writer.AddBatch(HashOf(BatchId{"agent", "boot", 7}));
  writer.Add(PlaceAt("a", 16), given.Of(1'000'000, {"inner", "outer"}));
  writer.Add(PlaceAt("a", UINT64_MAX), given.Of(999'999, {"outer"}));
  writer.Add(PlaceAt("b", 0), given.Of(UINT64_MAX, {""}));
  return writer.Finish();
}

TEST(FactCodec, GivesBackWhatWasPutIn) {
  const auto block = FactBlock::Decode(SomeBlock());
  ASSERT_TRUE(block.ok()) << block.error().message();
  const FactBlock& facts = **block;
  ASSERT_EQ(facts.batches().size(), 1u);
  EXPECT_EQ(facts.batches()[0], HashOf(BatchId{"agent", "boot", 7}));
  EXPECT_NE(facts.batches()[0], HashOf(BatchId{"agent", "boot", 8}));
  ASSERT_EQ(facts.count(), 3u);
  EXPECT_EQ(facts.place(0), PlaceAt("a", 16));
  EXPECT_EQ(Text(facts.fact(0)), "1000000 inner|inner|inner.cc:-3@7:0 outer|outer|outer.cc:-3@7:1");
  EXPECT_EQ(facts.place(1), PlaceAt("a", UINT64_MAX));
  EXPECT_EQ(Text(facts.fact(1)), "999999 outer|outer|outer.cc:-3@7:0");
  EXPECT_EQ(facts.place(2), PlaceAt("b", 0));
  EXPECT_EQ(Text(facts.fact(2)), std::to_string(UINT64_MAX) + " ||.cc:-3@7:0");
}

TEST(FactCodec, AWriterThatHasFinishedIsEmpty) {
  GivenFacts given;
  FactWriter writer;
  writer.Add(PlaceAt("a", 16), given.Of(5, {"f"}));
  const std::string first = writer.Finish();
  EXPECT_EQ(writer.count(), 0u);
  writer.Add(PlaceAt("a", 16), given.Of(5, {"f"}));
  EXPECT_EQ(writer.Finish(), first);
}

TEST(FactCodec, WhatIsCutIsDamaged) {
  const std::string whole = SomeBlock();
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const auto block = FactBlock::Decode(whole.substr(0, bytes));
    ASSERT_FALSE(block.ok()) << bytes;
    EXPECT_EQ(block.error().code(), base::ErrorCode::kCorrupt);
  }
  EXPECT_FALSE(FactBlock::Decode(whole + "x").ok());
}

TEST(FactCodec, CountsOfWhatIsNotThereTakeNoMemory) {
  for (size_t empty = 0; empty < 5; ++empty) {
    std::string bytes(empty, '\0');
    PutNumber(uint64_t{1} << 60, &bytes);
    EXPECT_FALSE(FactBlock::Decode(bytes).ok()) << empty;
  }
}

TEST(RecentSymbols, FindsTheLatestWithinARange) {
  GivenFacts given;
  RecentSymbols recent;
  const Place place = PlaceAt("a", 16);
  recent.Add(place, given.Of(10, {"first"}));
  recent.Add(place, given.Of(20, {"second"}));
  recent.Add(PlaceAt("b", 16), given.Of(30, {"other"}));
  const auto name = [&](VersionRange range) {
    const auto fact = recent.Find(place, range);
    return fact ? std::string(fact->lines[0].function->name) : "none";
  };
  EXPECT_EQ(name({}), "second");
  EXPECT_EQ(name({.until = 19}), "first");
  EXPECT_EQ(name({.until = 9}), "none");
  EXPECT_EQ(name({.after = 10}), "second");
  EXPECT_EQ(name({.after = 20}), "none");
  EXPECT_EQ(name({.after = 10, .until = 19}), "none");
  EXPECT_EQ(recent.newest(place.image), 20u);
  EXPECT_EQ(recent.newest(PlaceAt("c", 0).image), 0u);
  EXPECT_EQ(recent.place_count(), 2u);
  const auto sorted = recent.Sorted();
  ASSERT_EQ(sorted.size(), 2u);
  EXPECT_TRUE(sorted[0].first < sorted[1].first);
}

TEST(RecentSymbols, TextsAreKeptOnce) {
  RecentSymbols recent;
  const auto add = [&recent](uint64_t address) {
    GivenFacts given;  // gone afterwards
    recent.Add(PlaceAt("a", address), given.Of(1, {std::string(10'000, 'x')}));
  };
  add(1);
  const size_t one = recent.memory_bytes();
  EXPECT_GT(one, 10'000u);
  for (uint64_t address = 2; address <= 100; ++address) add(address);
  EXPECT_LT(recent.memory_bytes(), one + 99 * 400);
  EXPECT_EQ(recent.Find(PlaceAt("a", 50), {})->lines[0].function->name.size(), 10'000u);
}

}  // namespace
}  // namespace vesta::store::symbols
