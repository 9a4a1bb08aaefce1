#include "src/agent/unwind/mapping_extents.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace vesta::agent::unwind {
namespace {

TEST(MappingExtentsTest, ReusesARunOnlyAfterTheGracePeriod) {
  MappingExtents extents(16);
  const auto first = extents.Allocate(8);
  const auto second = extents.Allocate(5);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(extents.Allocate(1).has_value());
  extents.Free(*first, 8);
  EXPECT_FALSE(extents.Allocate(8).has_value());
  extents.EndGracePeriod();
  EXPECT_FALSE(extents.Allocate(8).has_value()) << "it was freed within that period";
  extents.EndGracePeriod();
  EXPECT_EQ(extents.Allocate(8), first);
}

TEST(MappingExtentsTest, SplitsLargeRunsForSmallProcesses) {
  MappingExtents extents(64);
  const auto whole = extents.Allocate(64);
  ASSERT_TRUE(whole);
  extents.Free(*whole, 64);
  extents.EndGracePeriod();
  extents.EndGracePeriod();
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(extents.Allocate(8).has_value()) << i;
  EXPECT_FALSE(extents.Allocate(1).has_value());
}

TEST(MappingExtentsTest, NeverGivesOutOverlappingRuns) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr uint32_t kEntries = 2048;
  MappingExtents extents(kEntries);
  std::vector<bool> taken(kEntries, false);
  struct Run {
    uint32_t first;
    uint32_t count;
  };
  std::vector<Run> runs;
  for (int i = 0; i < 20000; ++i) {
    if (random() % 2 == 0 || runs.empty()) {
      const auto count = static_cast<uint32_t>(1 + random() % 100);
      const auto first = extents.Allocate(count);
      if (!first) continue;
      ASSERT_LE(*first + count, kEntries);
      for (uint32_t entry = *first; entry < *first + count; ++entry) {
        ASSERT_FALSE(taken[entry]);
        taken[entry] = true;
      }
      runs.push_back({*first, count});
    } else {
      std::swap(runs[random() % runs.size()], runs.back());
      for (uint32_t entry = 0; entry < runs.back().count; ++entry) {
        taken[runs.back().first + entry] = false;
      }
      extents.Free(runs.back().first, runs.back().count);
      runs.pop_back();
      if (random() % 4 == 0) extents.EndGracePeriod();
    }
  }
}

}  // namespace
}  // namespace vesta::agent::unwind
