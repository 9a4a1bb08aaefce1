#include "src/agent/profile_builder.h"

#include <gtest/gtest.h>

#include <map>

#include "test/support/builder_fixture.h"

namespace vesta::agent {
namespace {

class ProfileBuilderTest : public BuilderFixture {
 protected:
  profile::Profile Build() {
    RecordingFacts facts;
    facts.time_unix_ns = 1'700'000'000'000'000'000;
    facts.duration_ns = 5'000'000'000;
    facts.period_ns = 10'000'000;
    return ProfileBuilder(processes_, images_, namer_, runtime_).Build(aggregator_, facts);
  }
};

TEST_F(ProfileBuilderTest, ValuesAreCountsAndNanoseconds) {
  Add({Native(server_, 0x1100)}, ABI_STOP_ROOT, 1);
  Add({Native(server_, 0x1100)}, ABI_STOP_ROOT, 4);  // while ticks were four times rarer
  const profile::Profile profile = Build();
  ASSERT_TRUE(profile.Validate().ok());
  ASSERT_EQ(profile.sample_count(), 1u);
  EXPECT_EQ(profile.sample_values(0)[0], 5);
  EXPECT_EQ(profile.sample_values(0)[1], 50'000'000);
  EXPECT_EQ(profile.header().period, 10'000'000);
  EXPECT_EQ(profile.header().duration_ns, 5'000'000'000);
  EXPECT_EQ(profile.String(profile.sample_types()[profile.DefaultSampleTypeIndex()].type), "cpu");
}

TEST_F(ProfileBuilderTest, LabelsNameProcessThreadAndService) {
  Add({Native(server_, 0x1100)}, ABI_STOP_ROOT, 1);
  const profile::Profile profile = Build();
  const auto labels = LabelsOf(profile, 0);
  EXPECT_EQ(labels.at("process"), "server");
  EXPECT_EQ(labels.at("thread"), "worker");
  EXPECT_EQ(labels.at("pid"), "10");
  EXPECT_EQ(labels.at("tid"), "11");
  EXPECT_EQ(labels.at("service.name"), "checkout");
  EXPECT_EQ(labels.at("exe"), "/opt/server");
  EXPECT_EQ(labels.count("incomplete"), 0u);
}

TEST_F(ProfileBuilderTest, NamesThatAreNoUtf8AreMadeSo) {
  const auto thread =
      aggregator_.InternThread(task_.value(), 10, 12, "caf\xc3");  // cut by the kernel
  aggregator_.Add(thread, std::vector{Native(generated_, 16)}, ABI_STOP_ROOT, 1);
  runtime_.name_end = "\xff;";
  const profile::Profile profile = Build();
  EXPECT_EQ(LabelsOf(profile, 0).at("thread"), "caf\xef\xbf\xbd");
  EXPECT_EQ(NameOf(profile, profile.stack(profile.sample_stack(0)).front()), "jit_16\xef\xbf\xbd;");
}

TEST_F(ProfileBuilderTest, IncompleteStacksAreKeptAndMarked) {
  Add({Native(server_, 0x1100)}, ABI_STOP_READ_FAULT, 1);
  const profile::Profile profile = Build();
  ASSERT_EQ(profile.sample_count(), 1u);
  EXPECT_EQ(LabelsOf(profile, 0).at("incomplete"), "read_fault");
}

TEST_F(ProfileBuilderTest, MappingSpeaksInAddressesOfTheElfFile) {
  Add({Native(server_, 0x1100)}, ABI_STOP_ROOT, 1);
  const profile::Profile profile = Build();
  const profile::Location location =
      profile.location(profile.stack(profile.sample_stack(0)).front());
  EXPECT_EQ(location.address, 0x1100u);
  const profile::Mapping& mapping = profile.mapping(location.mapping);
  EXPECT_EQ(profile.String(mapping.path), "/opt/server");
  EXPECT_EQ(profile.String(mapping.build_id), "abcd");
  EXPECT_EQ(mapping.memory_start, 0x1000u);
  EXPECT_LE(mapping.memory_start, location.address);
  EXPECT_GT(mapping.memory_limit, location.address);
}

TEST_F(ProfileBuilderTest, TheProgramThatRanMostIsTheMainBinary) {
  Add({Native(generated_, kGeneratedBase + 9), Native(server_, 0x1100)}, ABI_STOP_ROOT, 1);
  const profile::Profile profile = Build();
  const profile::MappingId main = profile.header().main_mapping;
  ASSERT_NE(main, profile::kNoMapping);
  EXPECT_EQ(profile.String(profile.mapping(main).path), "/opt/server");
}

TEST_F(ProfileBuilderTest, GeneratedCodeIsNamedByItsRuntimeInOrderOfTheStack) {
  Add({Native(generated_, kGeneratedBase + 9), Native(server_, 0x1100),
       Native(generated_, kGeneratedBase + 2)},
      ABI_STOP_ROOT, 1);
  const profile::Profile profile = Build();
  EXPECT_EQ(runtime_.asked_pid, 10u);
  const auto stack = profile.stack(profile.sample_stack(0));
  ASSERT_EQ(stack.size(), 3u);
  EXPECT_EQ(NameOf(profile, stack[0]), "jit_" + std::to_string(kGeneratedBase + 9));
  EXPECT_EQ(NameOf(profile, stack[1]), "")
      << "the small file has no symbols: the frame stays, without a name";
  EXPECT_EQ(NameOf(profile, stack[2]), "jit_" + std::to_string(kGeneratedBase + 2));
}

TEST_F(ProfileBuilderTest, CodeOfAForkedProcessIsNamedByItselfThenByWhatItWasForkedFrom) {
  processes_.Apply({proc_.now_mono_ns + 1, process::ForkEvent{20, 10, 20, 10}});
  const profile::ImageId forked = processes_.GeneratedCodeOf(20, generated_);
  runtime_.known_addresses = {{20, {1, 2}}, {10, {2, 3}}};
  Add({Native(forked, 1), Native(forked, 2), Native(forked, 3), Native(forked, 4)}, ABI_STOP_ROOT,
      1);
  const profile::Profile profile = Build();
  const auto stack = profile.stack(profile.sample_stack(0));
  EXPECT_EQ(NameOf(profile, stack[0]), "jit_1 of 20");
  EXPECT_EQ(NameOf(profile, stack[1]), "jit_2 of 20") << "both wrote code there since the fork";
  EXPECT_EQ(NameOf(profile, stack[2]), "jit_3 of 10");
  EXPECT_EQ(NameOf(profile, stack[3]), "");
}

TEST_F(ProfileBuilderTest, UnmappedCodeKeepsItsAddress) {
  Add({{0xdeadbeef, profile::ImageId(), profile::FrameKind::kProcess, true}}, ABI_STOP_NO_MAPPING,
      1);
  const profile::Profile profile = Build();
  const profile::Location location =
      profile.location(profile.stack(profile.sample_stack(0)).front());
  EXPECT_EQ(location.address, 0xdeadbeefu);
  EXPECT_EQ(location.mapping, profile::kNoMapping);
}

// The same address was another function's at another time.
TEST_F(ProfileBuilderTest, GeneratedCodeHasTheNameOfItsTime) {
  runtime_.moved_mono_ns = {100, 200};
  const auto thread = aggregator_.InternThread(task_.value(), 10, 11, "worker");
  const std::vector<profile::Frame> stack = {Native(generated_, 16), Native(server_, 0x1100)};
  for (const uint32_t time_mono_ns : {50u, 99u, 100u, 250u, 250u, 250u}) {
    aggregator_.Add(thread, stack, ABI_STOP_ROOT, 2, time_mono_ns);
  }
  aggregator_.Add(thread, stack, ABI_STOP_ROOT, 5);  // as when there is no room for times
  // A stack without such code is left alone.
  aggregator_.Add(thread, std::vector{Native(server_, 0x1100)}, ABI_STOP_ROOT, 7, 50);
  const profile::Profile profile = Build();
  std::map<std::string, int64_t> values;
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    const auto frames = profile.stack(profile.sample_stack(i));
    values[NameOf(profile, frames[0])] += profile.sample_values(i)[0];
  }
  EXPECT_EQ(values, (std::map<std::string, int64_t>{
                        {"jit_16", 4}, {"jit_16 from 100", 2}, {"jit_16 from 200", 11}, {"", 7}}));
}

TEST_F(ProfileBuilderTest, PageOfOldSystemCallsIsNoUnknownPlace) {
  const auto unmapped = [](uint64_t address) {
    return profile::Frame{address, profile::ImageId(), profile::FrameKind::kProcess, true};
  };
  Add({unmapped(0xffffffffff600400)}, ABI_STOP_ROOT, 1);
  Add({unmapped(0xffffffffff601000)}, ABI_STOP_ROOT, 1);
  const profile::Profile profile = Build();
  const auto location_of = [&](size_t sample) {
    return profile.location(profile.stack(profile.sample_stack(sample))[0]);
  };
  ASSERT_NE(location_of(0).mapping, profile::kNoMapping);
  EXPECT_EQ(profile.String(profile.mapping(location_of(0).mapping).path), "[vsyscall]");
  EXPECT_EQ(location_of(1).mapping, profile::kNoMapping);
}

}  // namespace
}  // namespace vesta::agent
