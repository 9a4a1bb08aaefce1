#include "src/agent/unwind/rule_copy_limit.h"

#include <gtest/gtest.h>

namespace vesta::agent::unwind {
namespace {

TEST(RuleCopyLimitTest, ManyCopiesOfOneProcessStopUntilTheNextPeriod) {
  RuleCopyLimit limit;
  for (uint32_t i = 1; i < RuleCopyLimit::kCopiesPerPeriod; ++i) {
    EXPECT_TRUE(limit.Note(10, true)) << i;
  }
  EXPECT_FALSE(limit.Note(10, true));
  EXPECT_FALSE(limit.Note(10, true)) << "those that were on their way";
  EXPECT_TRUE(limit.Note(11, true)) << "others go on";
  EXPECT_EQ(limit.stopped_count(), 1u);
  EXPECT_EQ(limit.BeginPeriod(), std::vector<uint32_t>{10});
  EXPECT_TRUE(limit.Note(10, true));
  EXPECT_TRUE(limit.BeginPeriod().empty());
}

TEST(RuleCopyLimitTest, CopiesThatDoNotHelpStopSooner) {
  RuleCopyLimit limit;
  for (uint32_t i = 1; i < RuleCopyLimit::kInVainMax; ++i) EXPECT_TRUE(limit.Note(10, false));
  EXPECT_TRUE(limit.Note(10, true)) << "one that helped begins the count anew";
  for (uint32_t i = 1; i < RuleCopyLimit::kInVainMax; ++i) EXPECT_TRUE(limit.Note(10, false));
  EXPECT_FALSE(limit.Note(10, false));
  EXPECT_EQ(limit.BeginPeriod(), std::vector<uint32_t>{10});
}

}  // namespace
}  // namespace vesta::agent::unwind
