#include "bench/store/fleet.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace vesta::bench {
namespace {

FleetShape SmallShape() {
  FleetShape shape;
  shape.services = 4;
  shape.pushes = 40;
  shape.start_unix_ms = 1'790'000'000'000;
  return shape;
}

std::string StackText(const profile::Profile& profile, profile::StackId stack) {
  std::string text;
  for (const profile::LocationId id : profile.stack(stack)) {
    const profile::Location location = profile.location(id);
    text += std::to_string(location.address) + "@" +
            std::string(profile.String(profile.mapping(location.mapping).path)) + ";";
  }
  return text;
}

TEST(FleetTest, EqualShapesGiveEqualPushes) {
  const Fleet one(SmallShape());
  const Fleet two(SmallShape());
  const Push a = one.MakePush(7);
  const Push b = two.MakePush(7);
  EXPECT_EQ(a.service, b.service);
  EXPECT_EQ(a.time_unix_ms, b.time_unix_ms);
  ASSERT_EQ(a.profile.sample_count(), b.profile.sample_count());
  for (size_t i = 0; i < a.profile.sample_count(); ++i) {
    EXPECT_EQ(a.profile.sample_values(i)[1], b.profile.sample_values(i)[1]);
    EXPECT_EQ(StackText(a.profile, a.profile.sample_stack(i)),
              StackText(b.profile, b.profile.sample_stack(i)));
  }
}

TEST(FleetTest, PushesLookLikeProfilesOfAFleet) {
  const Fleet fleet(SmallShape());
  std::map<std::string, std::set<std::string>> stacks;  // by service and version
  std::map<std::string, int> pushes;
  int64_t before = fleet.shape().start_unix_ms;
  uint64_t rows = 0;
  uint64_t frames = 0;
  for (uint64_t number = 0; number < fleet.shape().pushes; ++number) {
    const Push push = fleet.MakePush(number);
    EXPECT_GE(push.time_unix_ms, before);
    before = push.time_unix_ms;
    ++pushes[push.service + push.version];
    rows += push.profile.sample_count();
    ASSERT_TRUE(push.profile.Validate().ok());
    for (size_t i = 0; i < push.profile.sample_count(); ++i) {
      const profile::StackId stack = push.profile.sample_stack(i);
      stacks[push.service + push.version].insert(StackText(push.profile, stack));
      EXPECT_GE(push.profile.stack(stack).size(), 15u);
      EXPECT_LE(push.profile.stack(stack).size(), 45u);
      frames += push.profile.stack(stack).size();
    }
  }
  EXPECT_LT(before, fleet.shape().start_unix_ms + fleet.shape().duration_ms);
  EXPECT_NEAR(static_cast<double>(rows) / 40, 1000, 30);
  EXPECT_NEAR(static_cast<double>(frames) / static_cast<double>(rows), 29, 2);
  ASSERT_EQ(pushes.size(), 8u);
  for (const auto& [name, count] : pushes) EXPECT_EQ(count, 5) << name;
  // Rare stacks come with time: five pushes have more than two of them.
  for (const auto& [name, seen] : stacks) EXPECT_GT(seen.size(), 2000u) << name;
  EXPECT_NEAR(static_cast<double>(fleet.node_count()) / (4 * 3500), 4, 1.0);
}

TEST(FleetTest, VersionsDifferInAddressesAndInWhatTheyCost) {
  FleetShape shape = SmallShape();
  shape.services = 1;
  const Fleet fleet(shape);
  std::map<std::string, std::set<std::string>> names;
  std::map<std::string, std::set<std::string>> build_ids;
  for (uint64_t number = 0; number < shape.pushes; ++number) {
    const Push push = fleet.MakePush(number);
    for (uint32_t i = 0; i < push.profile.function_count(); ++i) {
      names[push.version].insert(
          std::string(push.profile.String(push.profile.function(profile::FunctionId(i)).name)));
    }
    for (uint32_t i = 0; i < push.profile.mapping_count(); ++i) {
      const auto& mapping = push.profile.mapping(profile::MappingId(i));
      if (push.profile.String(mapping.path).starts_with("/srv/")) {
        build_ids[push.version].insert(std::string(push.profile.String(mapping.build_id)));
      }
    }
  }
  ASSERT_EQ(names.size(), 2u);
  size_t only_in_one = 0;
  for (const std::string& name : names["1.8.3"]) only_in_one += names["1.9.0"].count(name) == 0;
  EXPECT_GE(only_in_one, 3u);
  EXPECT_LT(only_in_one, 60u);
  ASSERT_EQ(build_ids["1.8.3"].size(), 1u);
  EXPECT_NE(build_ids["1.8.3"], build_ids["1.9.0"]);
}

}  // namespace
}  // namespace vesta::bench
