#include "src/agent/limits/cpu_governor.h"

#include <gtest/gtest.h>

#include <string>

namespace vesta::agent::limits {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// What an agent costs, in ms of CPU per second.
struct Cost {
  double of_samples = 0;  // at the asked rate
  double of_extras = 0;
  double of_sampling = 0;  // whatever the rate
  double fixed = 0;        // also when nothing is sampled

  double At(const Level& level) const {
    double ms = fixed;
    if (level.sampling) ms += of_sampling + of_samples / (1 << level.rate_shift);
    if (level.sampling && level.extras) ms += of_extras;
    return ms;
  }
};

// An agent that obeys, on two CPUs.
class Simulation {
 public:
  explicit Simulation(CpuGovernor::Options options) : governor_(options) { Take(); }

  // Returns the CPU time taken, in ms.
  double Run(uint32_t seconds, const Cost& cost) {
    double taken_ms = 0;
    for (uint32_t i = 0; i < seconds; ++i) {
      const double ms = cost.At(governor_.LevelOf(governor_.step()));
      Burst(ms);
      taken_ms += ms;
      reading_.time_mono_ns += kSecond;
      Take();
    }
    return taken_ms;
  }
  // CPU time at once; two thirds of it in the kernel programs.
  void Burst(double ms) {
    const auto ns = static_cast<uint64_t>(ms * 1e6);
    reading_.program_cpu_ns += ns * 2 / 3;
    reading_.agent_cpu_ns += ns - ns * 2 / 3;
  }
  // To a time when the account is that of any later time.
  void Start() {
    Burst(800);
    Run(21, {});
    EXPECT_EQ(step(), 0u) << "reading what runs already costs no samples";
  }

  CpuGovernor& governor() { return governor_; }
  uint32_t step() const { return governor_.step(); }
  const GovernorBook& book() const { return governor_.book(); }

 private:
  void Take() {
    reading_.cpus = 2;
    governor_.Take(reading_);
  }

  CpuReading reading_{.time_mono_ns = 500 * kSecond, .agent_cpu_ns = 123, .program_cpu_ns = 456};
  CpuGovernor governor_;
};

// 1 % of two CPUs: 20 ms per second.
constexpr CpuGovernor::Options kOnePercent{.limit_milli_percent = 1000, .frequency_hz = 99};
constexpr uint32_t kNoExtras = 7;  // 99 Hz are halved six times
constexpr uint32_t kOff = 8;

TEST(CpuGovernorTest, StepsGoFromRatesToExtrasToSampling) {
  const CpuGovernor governor(kOnePercent);
  ASSERT_EQ(governor.step_count(), kOff + 1);
  const Level expected[] = {{0, true, true}, {1, true, true},  {2, true, true},
                            {3, true, true}, {4, true, true},  {5, true, true},
                            {6, true, true}, {6, false, true}, {6, false, false}};
  for (uint32_t step = 0; step < governor.step_count(); ++step) {
    const Level level = governor.LevelOf(step);
    EXPECT_EQ(level.rate_shift, expected[step].rate_shift) << step;
    EXPECT_EQ(level.extras, expected[step].extras) << step;
    EXPECT_EQ(level.sampling, expected[step].sampling) << step;
  }
}

TEST(CpuGovernorTest, ARateOfOneHasNoHalvings) {
  const CpuGovernor governor({.limit_milli_percent = 1000, .frequency_hz = 1});
  EXPECT_EQ(governor.step_count(), 3u);
  EXPECT_EQ(governor.LevelOf(1).rate_shift, 0u);
  EXPECT_FALSE(governor.LevelOf(1).extras);
}

TEST(CpuGovernorTest, SettlesWhereTheCostFits) {
  const struct {
    const char* name;
    Cost cost;
    uint32_t step;
    uint32_t seconds_max;  // to get there, from a full account
  } kCases[] = {
      {"cheap", {.of_samples = 8, .fixed = 5}, 0, 0},
      {"just below", {.of_samples = 19}, 0, 0},
      {"a bit too much: a burst for now", {.of_samples = 24}, 1, 60},
      {"three times: two halvings", {.of_samples = 60}, 2, 10},
      {"twenty times", {.of_samples = 400}, 5, 10},
      {"most of it does not depend on the rate", {.of_samples = 10, .of_extras = 15}, 1, 60},
      {"extras alone", {.of_extras = 40}, kNoExtras, 30},
      {"news of processes", {.of_sampling = 40}, kOff, 38},
      {"nothing helps", {.fixed = 40}, kOff, 38},
  };
  for (const auto& c : kCases) {
    Simulation agent(kOnePercent);
    agent.Start();
    agent.Run(60, {});
    agent.Run(c.seconds_max, c.cost);
    EXPECT_EQ(agent.step(), c.step) << c.name;
    agent.Run(10, c.cost);
    EXPECT_EQ(agent.step(), c.step) << c.name << ": it stays there";
  }
}

TEST(CpuGovernorTest, WhatTheStartDidNotUseIsNotForLater) {
  Simulation agent(kOnePercent);
  agent.Run(10, {});
  agent.Run(5, {.of_samples = 80});
  EXPECT_EQ(agent.step(), 2u);
}

TEST(CpuGovernorTest, ABurstCostsNoSamples) {
  Simulation agent(kOnePercent);
  agent.Start();
  agent.Run(60, {.of_samples = 5});
  agent.Burst(150);  // the table of a huge library
  agent.Run(30, {.of_samples = 5});
  EXPECT_EQ(agent.book().step_downs, 0u);
}

TEST(CpuGovernorTest, StepsUpSlowlyWhenTheLoadIsGone) {
  Simulation agent(kOnePercent);
  agent.Start();
  agent.Run(20, {.of_samples = 400});
  const uint32_t low = agent.step();
  ASSERT_GE(low, 4u);
  agent.Run(15, {.of_samples = 5});
  EXPECT_EQ(agent.step(), low) << "not at once";
  agent.Run(20, {.of_samples = 5});
  EXPECT_EQ(agent.step(), low - 1) << "one step, not all";
  agent.Run(low * 25, {.of_samples = 5});
  EXPECT_EQ(agent.step(), 0u);
  EXPECT_EQ(agent.book().step_ups, low);
}

TEST(CpuGovernorTest, SamplesAgainAfterItWasOff) {
  Simulation agent(kOnePercent);
  agent.Start();
  agent.Run(60, {.of_sampling = 50});
  ASSERT_EQ(agent.step(), kOff);
  agent.Run(25, {});
  EXPECT_TRUE(agent.governor().LevelOf(agent.step()).sampling);
}

TEST(CpuGovernorTest, DoesNotFollowASteadyLoadUpAndDown) {
  const struct {
    const char* name;
    Cost cost;
    uint64_t downs_per_day_max;
  } kCases[] = {
      // Proportional to the rate: one halving fits, and nothing else ever will.
      {"1.3 times", {.of_samples = 26}, 60},
      {"1.9 times", {.of_samples = 38}, 20},
      {"half of it fixed", {.of_samples = 14, .fixed = 10}, 60},
      {"off", {.of_sampling = 50}, 90},
  };
  for (const auto& c : kCases) {
    Simulation agent(kOnePercent);
    agent.Start();
    agent.Run(86'400, c.cost);
    EXPECT_LE(agent.book().step_downs, c.downs_per_day_max) << c.name;
    EXPECT_GE(agent.book().step_downs, 1u) << c.name;
  }
}

TEST(CpuGovernorTest, TheLimitHoldsInTheLongRun) {
  for (const Cost& cost : {Cost{.of_samples = 26}, Cost{.of_samples = 900}, Cost{.of_extras = 30},
                           Cost{.of_samples = 30, .of_extras = 8, .fixed = 9}}) {
    Simulation agent(kOnePercent);
    const double taken_ms = agent.Run(3600, cost);
    // At the start one second is allowed; on the way down a reading may be as long as it is.
    EXPECT_LE(taken_ms, 3600 * 20 + 1000 + 3 * cost.At(Level{}));
  }
}

TEST(CpuGovernorTest, TheWholeHostIsNoLimit) {
  Simulation agent({.limit_milli_percent = 100'000, .frequency_hz = 99});
  agent.Run(600, {.of_samples = 1990});
  EXPECT_EQ(agent.step(), 0u);
}

TEST(CpuGovernorTest, KnowsHowLongItWasAtEachStep) {
  Simulation agent(kOnePercent);
  agent.Start();
  agent.Run(100, {.of_samples = 38});
  const GovernorBook& book = agent.book();
  uint64_t sum_ns = 0;
  for (const uint64_t ns : book.ns_at_step) sum_ns += ns;
  EXPECT_EQ(sum_ns, 121 * kSecond);
  EXPECT_GT(book.ns_at_step[1], 80 * kSecond);
  EXPECT_EQ(book.ns_at_step[kOff], 0u);
}

TEST(CpuGovernorTest, RecentUseIsThatOfTheLastSeconds) {
  Simulation agent(kOnePercent);
  agent.Run(10, {.fixed = 10});
  EXPECT_NEAR(agent.governor().recent_milli_percent(), 500, 5);
  agent.Run(5, {.fixed = 4});
  EXPECT_NEAR(agent.governor().recent_milli_percent(), 200, 20);
}

TEST(CpuGovernorTest, TellsOfEachChangeOnce) {
  Simulation agent(kOnePercent);
  agent.Start();
  EXPECT_FALSE(agent.governor().TakeChange());
  agent.Run(10, {.fixed = 30});
  while (agent.step() == 0) agent.Run(1, {.fixed = 30});
  const auto down = agent.governor().TakeChange();
  ASSERT_TRUE(down);
  EXPECT_EQ(down->before.rate_shift, 0u);
  EXPECT_EQ(down->after.rate_shift, 1u);
  EXPECT_NEAR(down->used_milli_percent, 1500, 10);
  EXPECT_FALSE(agent.governor().TakeChange());
  agent.Run(25, {});
  const auto up = agent.governor().TakeChange();
  ASSERT_TRUE(up);
  EXPECT_EQ(up->before.rate_shift, 1u);
  EXPECT_EQ(up->after.rate_shift, 0u);
}

TEST(CpuGovernorTest, ATimeThatDoesNotPassChangesNothing) {
  CpuGovernor governor(kOnePercent);
  governor.Take({.time_mono_ns = kSecond, .cpus = 2});
  EXPECT_EQ(governor.Take({.time_mono_ns = kSecond, .agent_cpu_ns = 5 * kSecond, .cpus = 2}), 0u);
  EXPECT_EQ(governor.book().ns_at_step[0], 0u);
}

TEST(CpuGovernorTest, CpusThatComeRaiseTheLimit) {
  CpuGovernor governor(kOnePercent);
  CpuReading reading{.time_mono_ns = kSecond, .cpus = 64};
  governor.Take(reading);
  for (int i = 0; i < 300; ++i) {
    reading.time_mono_ns += kSecond;
    reading.agent_cpu_ns += 600'000'000;  // 0.94 % of 64 CPUs
    EXPECT_EQ(governor.Take(reading), 0u);
  }
}

}  // namespace
}  // namespace vesta::agent::limits
