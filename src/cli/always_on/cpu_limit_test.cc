#include "src/cli/always_on/cpu_limit.h"

#include <gtest/gtest.h>

namespace vesta::cli {
namespace {

using agent::limits::CpuGovernor;
using agent::limits::CpuReading;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr CpuGovernor::Options kLimit{.limit_milli_percent = 500, .frequency_hz = 99};

void Spend(uint32_t seconds, uint64_t used_ns_per_s, CpuReading& reading, CpuGovernor& governor) {
  for (uint32_t i = 0; i < seconds; ++i) {
    reading.time_mono_ns += kSecond;
    reading.agent_cpu_ns += used_ns_per_s;
    governor.Take(reading);
  }
}

uint64_t Detail(const CpuGovernor& governor, const std::string& name) {
  for (const auto& [detail, value] : LimitDetails(governor)) {
    if (detail == name) return value;
  }
  return ~uint64_t{0};
}

TEST(CpuLimitTest, AChangeIsOneLineWithWhatWasUsedAndWhatIsDone) {
  EXPECT_EQ(TextOf({{0, true, true}, {2, true, true}, 1234}, kLimit),
            "the profiler takes 1.23% of the CPUs, more than --cpu-limit 0.5%: "
            "24.8 samples per second now");
  EXPECT_EQ(TextOf({{2, true, true}, {1, true, true}, 100}, kLimit),
            "the profiler takes 0.1% of the CPUs, well below --cpu-limit 0.5%: "
            "49.5 samples per second now");
  EXPECT_EQ(TextOf({{6, true, true}, {6, false, true}, 900}, kLimit),
            "the profiler takes 0.9% of the CPUs, more than --cpu-limit 0.5%: "
            "1.55 samples per second now, without copies of stacks");
  EXPECT_EQ(TextOf({{6, false, true}, {6, false, false}, 900}, kLimit),
            "the profiler takes 0.9% of the CPUs, more than --cpu-limit 0.5%: "
            "nothing is sampled for a while");
  EXPECT_EQ(TextOf({{6, false, false}, {6, false, true}, 1}, kLimit),
            "the profiler takes 0.001% of the CPUs, well below --cpu-limit 0.5%: "
            "1.55 samples per second now, without copies of stacks");
}

TEST(CpuLimitTest, SaysNothingWhereTheRateWasTheOneAskedFor) {
  CpuGovernor governor(kLimit);
  CpuReading reading{.time_mono_ns = kSecond, .cpus = 2};
  governor.Take(reading);
  Spend(20, 5'000'000, reading, governor);
  EXPECT_TRUE(LimitNotes(governor).empty());
  EXPECT_EQ(Detail(governor, "cpu_limit_step_downs"), 0u);
  EXPECT_EQ(Detail(governor, "cpu_limit_ms_at_full_rate"), 20'000u);
  EXPECT_EQ(Detail(governor, "cpu_limit_ms_at_rate_1_2"), ~uint64_t{0});
}

TEST(CpuLimitTest, TheBookSaysHowOftenIsSampledNow) {
  CpuGovernor governor(kLimit);
  const auto text = [&](bool is_paused, bool is_ended) {
    return SamplingText({0, 0, {}, {}, SamplingDetails(governor, {is_paused, is_ended})});
  };
  EXPECT_EQ(text(false, false), "at 99 Hz");
  EXPECT_EQ(text(true, false), "paused: nothing is sampled (`vesta resume` ends it)");
  EXPECT_EQ(text(true, true), "ended in good order");
  EXPECT_EQ(SamplingText({}), "") << "of a recording";
  const SamplingFacts busy{.cpu_count = 2, .cpus_sampled_milli = 1980};
  EXPECT_EQ(SamplingText({0, 0, {}, {}, SamplingDetails(governor, busy)}),
            "at 99 Hz, 1.98 of 2 CPUs in use");
  CpuReading reading{.time_mono_ns = kSecond, .cpus = 2};
  governor.Take(reading);
  while (governor.step() == 0) Spend(1, 100'000'000, reading, governor);
  EXPECT_EQ(text(false, false).find(" of 99 Hz, to stay within --cpu-limit") == std::string::npos,
            false)
      << text(false, false);
  while (governor.step() + 1 < governor.step_count()) Spend(1, kSecond, reading, governor);
  EXPECT_EQ(text(false, false), "nothing is sampled for a while, to stay within --cpu-limit");
}

TEST(CpuLimitTest, SaysForHowLongAndHowFarItWentDown) {
  CpuGovernor governor(kLimit);
  CpuReading reading{.time_mono_ns = kSecond, .cpus = 2};
  governor.Take(reading);
  Spend(1, 1'200'000'000, reading, governor);  // more than the start allows: three halvings
  ASSERT_EQ(governor.step(), 3u);
  Spend(3, 0, reading, governor);
  const auto notes = LimitNotes(governor);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0],
            "to stay within --cpu-limit 0.5% fewer samples were taken for 75% of the time, each "
            "counting for more; at the least 12.4 samples per second instead of 99");
  EXPECT_EQ(Detail(governor, "cpu_limit_ms_at_rate_1_8"), 3000u);
  EXPECT_EQ(Detail(governor, "cpu_limit_ms_at_rate_1_2"), ~uint64_t{0}) << "was passed over";
}

TEST(CpuLimitTest, SaysForHowLongNothingWasSampled) {
  CpuGovernor governor(kLimit);
  CpuReading reading{.time_mono_ns = kSecond, .cpus = 2};
  governor.Take(reading);
  while (governor.step() + 1 < governor.step_count()) Spend(1, 500'000'000, reading, governor);
  Spend(2, 0, reading, governor);
  const auto notes = LimitNotes(governor);
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[1], "nothing was sampled for 2 s, to stay within --cpu-limit");
  EXPECT_EQ(Detail(governor, "cpu_limit_ms_not_sampling"), 2000u);
  EXPECT_NE(Detail(governor, "cpu_limit_ms_without_extras"), ~uint64_t{0});
}

}  // namespace
}  // namespace vesta::cli
