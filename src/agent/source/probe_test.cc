#include "src/agent/source/probe.h"

#include <gtest/gtest.h>

#include <set>

namespace vesta::agent::source {
namespace {

TEST(ProbeTest, EveryFeatureSaysWhatItIsForAndHowToGetIt) {
  const Machine machine = ProbeMachine();
  EXPECT_FALSE(machine.kernel_release.empty());
  EXPECT_GT(machine.cpus_online, 0u);
  std::set<std::string> names;
  for (const Feature& feature : machine.features) {
    EXPECT_TRUE(names.insert(feature.name).second) << feature.name;
    EXPECT_FALSE(feature.meaning.empty()) << feature.name;
    EXPECT_EQ(feature.presence == Presence::kYes, feature.remedy.empty()) << feature.name;
  }
}

TEST(ProbeTest, OnlyNeededFeaturesForbidRecording) {
  Machine machine;
  machine.features.resize(2);
  machine.features[0].presence = Presence::kYes;
  machine.features[1].importance = Importance::kBetter;
  EXPECT_TRUE(machine.CanRecord());
  machine.features[1].importance = Importance::kNeeded;
  EXPECT_FALSE(machine.CanRecord());
}

}  // namespace
}  // namespace vesta::agent::source
