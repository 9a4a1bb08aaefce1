#include "src/base/byte_budget.h"

#include <gtest/gtest.h>

namespace vesta::base {
namespace {

TEST(ByteBudgetTest, APartTakesOfTheWhole) {
  ByteBudget whole(100);
  ByteBudget one(80, &whole), other(80, &whole);
  EXPECT_TRUE(one.Take(70));
  EXPECT_FALSE(one.Take(11)) << "of its own there are 10";
  EXPECT_FALSE(other.Take(31)) << "of the whole there are 30";
  EXPECT_EQ(other.used_bytes(), 0u);
  EXPECT_EQ(other.left_bytes(), 80u) << "it is the whole that was full";
  EXPECT_TRUE(other.Take(30));
  EXPECT_EQ(whole.used_bytes(), 100u);
  one.Give(70);
  EXPECT_EQ(whole.used_bytes(), 30u);
  EXPECT_EQ(one.peak_bytes(), 70u);
  EXPECT_EQ(whole.peak_bytes(), 100u);
}

TEST(ByteBudgetTest, WhoIsAloneIsNotHeldBack) {
  ByteBudget budget(100);
  {
    BudgetShare alone(budget);
    EXPECT_TRUE(alone.Grow(60));
    EXPECT_FALSE(alone.Grow(60));
    EXPECT_TRUE(alone.GrowUnlessShared(60));
    EXPECT_EQ(budget.left_bytes(), 0u);
    BudgetShare second(budget);
    EXPECT_FALSE(second.Grow(1));
    EXPECT_FALSE(second.GrowUnlessShared(1));
  }
  EXPECT_EQ(budget.used_bytes(), 0u);
}

}  // namespace
}  // namespace vesta::base
