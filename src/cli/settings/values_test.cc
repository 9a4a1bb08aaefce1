#include "src/cli/settings/values.h"

#include <gtest/gtest.h>

#include <optional>

namespace vesta::cli {
namespace {

template <typename T>
std::optional<T> ValueOf(base::Result<T> result) {
  if (!result.ok()) return std::nullopt;
  return *result;
}

TEST(ValuesTest, DurationsHaveAUnit) {
  const struct {
    const char* text;
    std::optional<uint64_t> ns;
  } cases[] = {
      {"10s", 10'000'000'000},
      {"500ms", 500'000'000},
      {"5m", 300'000'000'000},
      {"1h", 3'600'000'000'000},
      {"2d", 172'800'000'000'000},
      {"1.5s", 1'500'000'000},
      {"0.0000000015s", 1},
      {"7ns", 7},
      {"3us", 3000},
      {"10", std::nullopt},
      {"s", std::nullopt},
      {"", std::nullopt},
      {"-1s", std::nullopt},
      {"1.s", std::nullopt},
      {"1 s", std::nullopt},
      {"10sec", std::nullopt},
      {"99999999999999999999s", std::nullopt},
      {"18446744073709551615d", std::nullopt},
  };
  for (const auto& c : cases) EXPECT_EQ(ValueOf(ParseDurationNs(c.text)), c.ns) << c.text;
}

TEST(ValuesTest, SizesCountIn1024s) {
  const struct {
    const char* text;
    std::optional<uint64_t> bytes;
  } cases[] = {
      {"4096", 4096},        {"64k", 65536},       {"64K", 65536},
      {"8M", 8u << 20},      {"1.5G", 1610612736}, {"1T", 1ull << 40},
      {"1kB", std::nullopt}, {"M", std::nullopt},  {"17000000T", std::nullopt},
  };
  for (const auto& c : cases) EXPECT_EQ(ValueOf(ParseSizeBytes(c.text)), c.bytes) << c.text;
}

TEST(ValuesTest, PercentagesMayHaveFractions) {
  EXPECT_EQ(ValueOf(ParseMilliPercent("10")), 10'000u);
  EXPECT_EQ(ValueOf(ParseMilliPercent("0.5%")), 500u);
  EXPECT_EQ(ValueOf(ParseMilliPercent("0.01")), 10u);
  EXPECT_EQ(ValueOf(ParseMilliPercent("0.0019")), 1u);
  EXPECT_EQ(ValueOf(ParseMilliPercent("1k")), std::nullopt);
  EXPECT_EQ(ValueOf(ParseMilliPercent("-1")), std::nullopt);
  EXPECT_EQ(ValueOf(ParseMilliPercent("%")), std::nullopt);
}

TEST(ValuesTest, CountsAndFlags) {
  EXPECT_EQ(ValueOf(ParseCount("18446744073709551615")), UINT64_MAX);
  EXPECT_EQ(ValueOf(ParseCount("18446744073709551616")), std::nullopt);
  EXPECT_EQ(ValueOf(ParseCount("0x10")), std::nullopt);
  EXPECT_EQ(ValueOf(ParseCount("")), std::nullopt);
  EXPECT_EQ(ValueOf(ParseFlag("on")), true);
  EXPECT_EQ(ValueOf(ParseFlag("no")), false);
  EXPECT_EQ(ValueOf(ParseFlag("maybe")), std::nullopt);
}

}  // namespace
}  // namespace vesta::cli
