#include "src/agent/stop_reason.h"

#include <gtest/gtest.h>

namespace vesta::agent {
namespace {

TEST(StopReasonTest, NamesAndCompletenessFollowTheList) {
  EXPECT_STREQ(InfoOf(ABI_STOP_ROOT).name, "root");
  EXPECT_TRUE(InfoOf(ABI_STOP_ROOT).is_complete);
  EXPECT_STREQ(InfoOf(ABI_STOP_READ_FAULT).name, "read_fault");
  EXPECT_FALSE(InfoOf(ABI_STOP_READ_FAULT).is_complete);
  EXPECT_STREQ(InfoOf(ABI_STOP_USER_32_BIT).name, "user_32_bit");
  EXPECT_STREQ(InfoOf(ABI_STOP_INTERNAL).name, "internal");
}

}  // namespace
}  // namespace vesta::agent
