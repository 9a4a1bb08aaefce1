#include "src/base/ascii.h"

#include <gtest/gtest.h>

namespace vesta::base {
namespace {

TEST(Ascii, OnlyItsLettersHaveACase) {
  EXPECT_EQ(LowerCase("AZaz@[`{09\xc4"), "azaz@[`{09\xc4");
  EXPECT_TRUE(EqualIgnoringCase("Retry-AFTER", "retry-after"));
  EXPECT_FALSE(EqualIgnoringCase("a", "ab"));
  EXPECT_FALSE(EqualIgnoringCase("@", "`"));
  EXPECT_TRUE(EqualIgnoringCase("", ""));
}

TEST(Ascii, TrimTakesWhatIsAroundAndLeavesWhatIsWithin) {
  EXPECT_EQ(Trim(" \t a \r b\r\n"), "a \r b");
  EXPECT_EQ(Trim("a"), "a");
  EXPECT_EQ(Trim(" \n"), "");
  EXPECT_EQ(Trim(""), "");
}

}  // namespace
}  // namespace vesta::base
