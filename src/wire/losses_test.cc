#include "src/wire/losses.h"

#include <gtest/gtest.h>

#include <array>

namespace vesta::wire {
namespace {

using profile::Profile;

Profile SmallProfile() {
  Profile profile;
  profile.SetSampleTypes(
      {profile.InternValueType("samples", "count"), profile.InternValueType("cpu", "nanoseconds")});
  profile.header().period = 10;
  profile.header().time_unix_ns = 5;
  profile.header().duration_ns = 6;
  profile.header().comments = {profile.InternString("made by hand")};
  const auto mapping = profile.AddMapping(
      {.path = profile.InternString("/bin/app"), .build_id = profile.InternString("abcd")});
  const auto main = profile.AddFunction({.name = profile.InternString("main"),
                                         .system_name = profile.InternString("main"),
                                         .file = profile.InternString("a.c"),
                                         .start_line = 3});
  const auto work = profile.AddFunction(
      {profile.InternString("work()"), profile.InternString("_Z4workv"), profile::StringId{}, 0});
  const std::array<profile::Line, 2> lines = {profile::Line{work, 0, 0}, profile::Line{main, 7, 2}};
  const auto location =
      profile.AddLocation({.mapping = mapping, .address = 0x1000, .lines = lines});
  const std::array<profile::Label, 3> labels = {profile.TextLabel("process", "app"),
                                                profile.NumberLabel("tid", 1),
                                                profile.TextLabel("thread", "main")};
  profile.AddSample(profile.InternStack(std::array{location}), profile.InternLabels(labels),
                    std::array<int64_t, 2>{1, 10});
  return profile;
}

TEST(LossesTest, OtlpHoldsAllThatIsText) {
  Profile profile = SmallProfile();
  EXPECT_TRUE(LossesOf(profile, ProfileFormat::kOtlp).empty());
  profile.InternString("caf\xe9");
  const profile::Line line = {profile::FunctionId{0}, -3, 0};
  profile.AddLocation({.lines = {&line, 1}});
  const profile::Label nameless = profile.TextLabel("", "x");
  profile.InternLabels({&nameless, 1});
  EXPECT_EQ(LossText(LossesOf(profile, ProfileFormat::kOtlp), ProfileFormat::kOtlp),
            "OTLP profiles: the bytes that are no UTF-8 of 1 name, the negative numbers of 1 line, "
            "and the labels without a name of some samples are not kept");
}

TEST(LossesTest, PprofHoldsAll) {
  EXPECT_TRUE(LossesOf(SmallProfile(), ProfileFormat::kPprof).empty());
  EXPECT_EQ(LossText({}, ProfileFormat::kPprof), "");
}

TEST(LossesTest, EachFormatNamesWhatItCannotHold) {
  const Profile profile = SmallProfile();
  EXPECT_EQ(LossText(LossesOf(profile, ProfileFormat::kFolded), ProfileFormat::kFolded),
            "folded stacks: file and line of 1 function, the linkage name of 1 function, the "
            "address of 1 place, the binary of each function, the build id of 1 binary, the labels "
            "thread and tid, the sample type cpu, the start time and duration, the sampling "
            "period, and the comment are not kept");
  EXPECT_EQ(
      LossText(LossesOf(profile, ProfileFormat::kFirefox), ProfileFormat::kFirefox),
      "Firefox Profiler: the linkage name of 1 function, the sample type cpu, and the comment "
      "are not kept");
  EXPECT_EQ(
      LossText(LossesOf(profile, ProfileFormat::kHtml,
                        {.sample_type = 1, .first_frame_labels = {"thread"}}),
               ProfileFormat::kHtml),
      "HTML: the linkage name of 1 function, the column of 1 line, the address of 1 place, the "
      "build id of 1 binary, the labels process and tid, and the sampling period are not kept");
}

TEST(LossesTest, NothingIsSaidOfWhatTheProfileLacks) {
  Profile profile;
  profile.SetSampleTypes({profile.InternValueType("samples", "count")});
  const auto function =
      profile.AddFunction({profile.InternString("f"), profile::StringId{}, profile::StringId{}, 0});
  const auto location =
      profile.AddLocation({.lines = std::array<profile::Line, 1>{profile::Line{function, 0, 0}}});
  profile.AddSample(profile.InternStack(std::array{location}), profile::LabelSetId{},
                    std::array<int64_t, 1>{-4});
  for (const FormatSpec& spec : AllFormats()) {
    if (spec.format == ProfileFormat::kSpeedscope) continue;
    EXPECT_TRUE(LossesOf(profile, spec.format).empty()) << spec.word;
  }
  EXPECT_EQ(LossText(LossesOf(profile, ProfileFormat::kSpeedscope), ProfileFormat::kSpeedscope),
            "speedscope: the negative values of 1 sample are not kept");
}

TEST(LossesTest, ManyLabelsAreCounted) {
  Profile profile;
  profile.SetSampleTypes({profile.InternValueType("samples", "count")});
  std::vector<profile::Label> labels;
  for (char c = 'a'; c < 'l'; ++c) labels.push_back(profile.TextLabel(std::string(1, c), "x"));
  profile.AddSample(profile::StackId{}, profile.InternLabels(labels), std::array<int64_t, 1>{1});
  EXPECT_EQ(LossesOf(profile, ProfileFormat::kSvg),
            std::vector<std::string>{"the labels a, b, c, d, e, f, g, h and 3 more"});
}

}  // namespace
}  // namespace vesta::wire
