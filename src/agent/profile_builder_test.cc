#include "src/agent/profile_builder.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "test/support/fake_proc.h"
#include "test/support/small_elf.h"

namespace vesta::agent {
namespace {

constexpr uint64_t kBase = 0x7f0000000000;
constexpr uint64_t kGeneratedBase = 0x100000;

// Names every address "jit_<address>", so that what it was asked for shows; for some processes only
// certain ones.
class EchoRuntime final : public runtime::Runtime {
 public:
  std::string_view name() const override { return "echo"; }
  std::optional<std::string> Detect(const runtime::ImageFacts&) const override { return ""; }
  base::Result<runtime::KernelPart> Prepare(const runtime::ProcessKey&,
                                            const runtime::ImageFacts&) override {
    return runtime::KernelPart{};
  }
  void Remember(const runtime::ProcessKey&, std::span<const uint64_t>) override {}
  base::Result<std::vector<runtime::FrameNames>> Name(const runtime::ProcessKey& process,
                                                      std::span<const uint64_t> frames) override {
    asked_pid = process.pid;
    std::vector<runtime::FrameNames> names(frames.size());
    const auto known = known_addresses.find(process.pid);
    for (size_t i = 0; i < frames.size(); ++i) {
      if (known != known_addresses.end() && known->second.count(frames[i]) == 0) continue;
      std::string named = "jit_" + std::to_string(frames[i]) + name_end;
      if (known != known_addresses.end()) named += " of " + std::to_string(process.pid);
      names[i].push_back({0, {{{named, "", "", 0, 0}}}});
      for (const uint64_t time_mono_ns : moved_mono_ns) {
        names[i].push_back(
            {time_mono_ns, {{{named + " from " + std::to_string(time_mono_ns), "", "", 0, 0}}}});
      }
    }
    return names;
  }
  void Forget(uint32_t) override {}

  std::string name_end;
  std::vector<uint64_t> moved_mono_ns;  // when all code became another
  uint32_t asked_pid = 0;
  std::map<uint32_t, std::set<uint64_t>> known_addresses;  // by pid
};

class ProfileBuilderTest : public testing::Test {
 protected:
  ProfileBuilderTest() {
    test::FakeProcess& process = proc_.processes[10];
    process.comm = "server";
    process.exe = "/opt/server";
    process.environ = std::string("OTEL_SERVICE_NAME=checkout\0", 27);
    process.mappings.push_back(
        {kBase, kBase + 0x1000, 0x1000, "/opt/server",
         proc_.NewFile(test::MakeSmallElf({{0x1000, 0x1000, 0x800, true}}, "\xab\xcd"))});
    process.mappings.push_back({kGeneratedBase, kGeneratedBase + 0x1000, 0, "", nullptr});
    processes_.Scan();
    task_ = processes_.TaskOf({10, 0, 0, proc_.now_mono_ns, "server"});
    for (const process::Mapping& mapping : processes_.Find(10)->mappings.all()) {
      if (mapping.start == kBase) server_ = mapping.image;
      if (mapping.start == kGeneratedBase) generated_ = mapping.image;
    }
  }

  void Add(std::vector<profile::Frame> leaf_first, abi_stop_reason reason, uint64_t value) {
    aggregator_.Add(aggregator_.InternThread(task_.value(), 10, 11, "worker"), leaf_first, reason,
                    value);
  }
  profile::Profile Build() {
    RecordingFacts facts;
    facts.time_unix_ns = 1'700'000'000'000'000'000;
    facts.duration_ns = 5'000'000'000;
    facts.period_ns = 10'000'000;
    return ProfileBuilder(processes_, images_, namer_, runtime_).Build(aggregator_, facts);
  }
  static std::map<std::string, std::string> LabelsOf(const profile::Profile& profile,
                                                     size_t sample) {
    std::map<std::string, std::string> labels;
    for (const profile::Label& label : profile.labels(profile.sample_labels(sample))) {
      labels[std::string(profile.String(label.key))] =
          label.is_number() ? std::to_string(label.number)
                            : std::string(profile.String(label.text));
    }
    return labels;
  }

  test::FakeProc proc_;
  process::ImageStore images_{proc_, {}};
  naming::Namer namer_{images_, {}};
  process::ProcessTable processes_{proc_, images_, {}};
  aggregate::Aggregator aggregator_{1u << 24};
  EchoRuntime runtime_;
  process::TaskId task_;
  profile::ImageId server_;
  profile::ImageId generated_;
};

std::string NameOf(const profile::Profile& profile, profile::LocationId id) {
  const profile::Location location = profile.location(id);
  if (location.lines.empty()) return "";
  return std::string(profile.String(profile.function(location.lines[0].function).name));
}

profile::Frame Native(profile::ImageId image, uint64_t address) {
  return {address, image, profile::FrameKind::kNative, false};
}

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
