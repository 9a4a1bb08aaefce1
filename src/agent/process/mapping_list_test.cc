#include "src/agent/process/mapping_list.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace vesta::agent::process {
namespace {

using Outcome = MappingList::Outcome;

Mapping Map(uint64_t start, uint64_t end, uint32_t image, uint64_t bias = 0) {
  return {start, end, bias, profile::ImageId(image)};
}

std::vector<Mapping> All(const MappingList& list) { return {list.all().begin(), list.all().end()}; }

TEST(MappingListTest, ANewMappingReplacesThePartItCovers) {
  struct Case {
    const char* what;
    Mapping added;
    std::vector<Mapping> expected;
  };
  const Case cases[] = {
      {"apart", Map(50, 60, 9), {Map(10, 20, 1), Map(30, 40, 2), Map(50, 60, 9)}},
      {"between", Map(22, 28, 9), {Map(10, 20, 1), Map(22, 28, 9), Map(30, 40, 2)}},
      {"inside: the old one is split",
       Map(12, 15, 9),
       {Map(10, 12, 1), Map(12, 15, 9), Map(15, 20, 1), Map(30, 40, 2)}},
      {"over the end", Map(15, 25, 9), {Map(10, 15, 1), Map(15, 25, 9), Map(30, 40, 2)}},
      {"over the start", Map(25, 35, 9), {Map(10, 20, 1), Map(25, 35, 9), Map(35, 40, 2)}},
      {"over two", Map(15, 35, 9), {Map(10, 15, 1), Map(15, 35, 9), Map(35, 40, 2)}},
      {"over all", Map(5, 45, 9), {Map(5, 45, 9)}},
      {"exactly one", Map(10, 20, 9), {Map(10, 20, 9), Map(30, 40, 2)}},
      {"touching another image", Map(20, 30, 9), {Map(10, 20, 1), Map(20, 30, 9), Map(30, 40, 2)}},
      {"continuing the same image", Map(20, 25, 1), {Map(10, 25, 1), Map(30, 40, 2)}},
      {"overlapping the same image", Map(15, 25, 1), {Map(10, 25, 1), Map(30, 40, 2)}},
      {"same image with another bias",
       Map(20, 25, 1, 4),
       {Map(10, 20, 1), Map(20, 25, 1, 4), Map(30, 40, 2)}},
  };
  for (const Case& c : cases) {
    MappingList list(100);
    list.Add(Map(10, 20, 1));
    list.Add(Map(30, 40, 2));
    EXPECT_EQ(list.Add(c.added), Outcome::kChanged) << c.what;
    EXPECT_EQ(All(list), c.expected) << c.what;
  }
}

TEST(MappingListTest, WhatIsThereAlreadyChangesNothing) {
  MappingList list(100);
  list.Add(Map(10, 20, 1));
  EXPECT_EQ(list.Add(Map(10, 20, 1)), Outcome::kUnchanged);
  EXPECT_EQ(list.Add(Map(12, 15, 1)), Outcome::kUnchanged);
  EXPECT_EQ(All(list), std::vector<Mapping>{Map(10, 20, 1)});
}

TEST(MappingListTest, AFullListStillForgetsWhatWasReplaced) {
  MappingList list(2);
  list.Add(Map(10, 20, 1));
  list.Add(Map(30, 40, 2));
  EXPECT_EQ(list.Add(Map(50, 60, 3)), Outcome::kFull);
  EXPECT_EQ(list.Add(Map(15, 18, 3)), Outcome::kFull);
  EXPECT_EQ(All(list), (std::vector<Mapping>{Map(10, 15, 1), Map(30, 40, 2)}));
  EXPECT_EQ(list.Add(Map(30, 40, 3)), Outcome::kChanged);
}

TEST(MappingListTest, FindsByAddress) {
  MappingList list(100);
  list.Add(Map(10, 20, 1));
  list.Add(Map(30, 40, 2));
  EXPECT_EQ(list.Find(9), nullptr);
  EXPECT_EQ(list.Find(10)->image.value(), 1u);
  EXPECT_EQ(list.Find(19)->image.value(), 1u);
  EXPECT_EQ(list.Find(20), nullptr);
  EXPECT_EQ(list.Find(39)->image.value(), 2u);
  EXPECT_EQ(list.Find(40), nullptr);
}

// Random additions against one image number per address.
TEST(MappingListTest, AgreesWithAnArrayOfAddresses) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    MappingList list(1000);
    std::vector<uint32_t> image_at(64, 0);
    for (int i = 0; i < 40; ++i) {
      const uint64_t start = random() % 60;
      const uint64_t end = std::min<uint64_t>(64, start + 1 + random() % 12);
      const uint32_t image = 1 + static_cast<uint32_t>(random() % 4);
      list.Add(Map(start, end, image));
      for (uint64_t a = start; a < end; ++a) image_at[a] = image;
      for (uint64_t a = 0; a < 64; ++a) {
        const Mapping* found = list.Find(a);
        ASSERT_EQ(found == nullptr ? 0 : found->image.value(), image_at[a]) << round << " " << a;
      }
      for (size_t m = 1; m < list.all().size(); ++m) {
        ASSERT_LE(list.all()[m - 1].end, list.all()[m].start);
        ASSERT_FALSE(list.all()[m - 1].end == list.all()[m].start &&
                     list.all()[m - 1].image == list.all()[m].image);
      }
    }
  }
}

}  // namespace
}  // namespace vesta::agent::process
