#include "src/flame/sample_worth.h"

#include <gtest/gtest.h>

#include <random>

namespace vesta::flame {
namespace {

TEST(SampleWorthTest, SamplesOfEqualWeightStandForIt) {
  SampleWorth worth;
  EXPECT_EQ(worth.PerSample(true), 0) << "nothing is known";
  worth.Add(30, 3);
  worth.Add(0, 0);
  worth.Add(10'000, 1000);
  EXPECT_FALSE(worth.is_mixed());
  EXPECT_EQ(worth.PerSample(true), 10);
  EXPECT_EQ(worth.PerSample(false), 10);
}

TEST(SampleWorthTest, WhatIsNotSampledAndDiffersHasNoNoiseOfCounts) {
  SampleWorth worth;
  worth.Add(30, 3);
  worth.Add(500, 3);
  EXPECT_TRUE(worth.is_mixed());
  EXPECT_EQ(worth.PerSample(false), 0);
}

TEST(SampleWorthTest, ASumWithoutACountOrAValueLeavesTheMean) {
  SampleWorth worth;
  worth.Add(30, 3);
  worth.Add(0, 3);
  EXPECT_EQ(worth.PerSample(true), 5);
  EXPECT_EQ(worth.PerSample(false), 0);
}

TEST(SampleWorthTest, SamplesOfTwoRatesThatAreAloneInTheirSumsAreExact) {
  // 16 of weight 1, 1 of weight 16: sum(w^2) / sum(w) = (16 + 256) / 32.
  SampleWorth worth;
  for (int i = 0; i < 16; ++i) worth.Add(1, 1);
  worth.Add(16, 1);
  EXPECT_NEAR(worth.PerSample(true), 8.5, 1e-9);
}

TEST(SampleWorthTest, TwoServicesAtTwoRatesAreExactThoughTheirStacksAreHot) {
  SampleWorth worth;
  for (int i = 0; i < 5; ++i) {
    worth.Add(3200, 3200);
    worth.Add(3200, 200);
  }
  EXPECT_NEAR(worth.PerSample(true), 8.5, 1e-9);
}

// A rate that was halved again and again, hot stacks and rare ones, each with all weights.
TEST(SampleWorthTest, WeightsThatAreMixedWithinStacksAreEstimated) {
  std::mt19937_64 random(11);
  std::discrete_distribution<int> shift({16, 8, 4, 2, 1});  // equal times at each rate
  double mean_ratio = 0;
  for (int run = 0; run < 20; ++run) {
    SampleWorth worth;
    double values = 0;
    double squares = 0;
    for (int stack = 0; stack < 300; ++stack) {
      const int64_t count = 1 + 3000 / (1 + stack * stack);
      int64_t sum = 0;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t weight = int64_t{1} << shift(random);
        sum += weight;
        squares += static_cast<double>(weight * weight);
      }
      values += static_cast<double>(sum);
      worth.Add(sum, count);
    }
    const double ratio = worth.PerSample(true) / (squares / values);
    EXPECT_GT(ratio, 0.5);
    EXPECT_LT(ratio, 2.0);
    mean_ratio += ratio / 20;
  }
  EXPECT_NEAR(mean_ratio, 1, 0.15);
}

}  // namespace
}  // namespace vesta::flame
