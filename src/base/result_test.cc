#include "src/base/result.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace vesta::base {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return Error(ErrorCode::kInvalidInput, "odd");
  return value / 2;
}

Result<int> Quarter(int value) {
  ASSIGN_OR_RETURN(const int half, Half(value));
  return Half(half);
}

TEST(ResultTest, CarriesValueOrError) {
  EXPECT_EQ(Quarter(8).value(), 2);
  const auto failed = Quarter(6);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), ErrorCode::kInvalidInput);
  EXPECT_EQ(failed.error().message(), "odd");
}

TEST(ResultTest, ContextGoesInFront) {
  const auto failed = Quarter(6).Context("halving 6 twice");
  EXPECT_EQ(failed.error().message(), "halving 6 twice: odd");
  EXPECT_TRUE(Quarter(8).Context("halving 8 twice").ok());
}

TEST(ResultTest, ErrnoBecomesCodeAndText) {
  const Error error = ErrnoError("opening /x", ENOENT);
  EXPECT_EQ(error.code(), ErrorCode::kNotFound);
  EXPECT_EQ(error.message(), "opening /x: No such file or directory");
  EXPECT_EQ(ErrnoError("writing", ENOSPC).code(), ErrorCode::kExhausted);
}

}  // namespace
}  // namespace vesta::base
