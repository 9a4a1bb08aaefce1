// Encoder and decoder of speedscope together, and each against files of others.
#include <gtest/gtest.h>

#include <map>

#include "src/base/json_reader.h"
#include "src/wire/speedscope_decoder.h"
#include "src/wire/speedscope_encoder.h"
#include "test/support/synthetic_profile.h"

namespace vesta::wire {
namespace {

using base::ErrorCode;
using profile::LocationId;
using profile::Profile;

// "label=text;root file:line@image;...;leaf" -> values.
using Stacks = std::map<std::string, std::vector<int64_t>>;

Stacks StacksOf(const Profile& profile) {
  Stacks stacks;
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    std::string text;
    for (const auto& label : profile.labels(profile.sample_labels(i)))
      text += std::string(profile.String(label.key)) + "=" +
              std::string(profile.String(label.text)) + ";";
    const auto stack = profile.stack(profile.sample_stack(i));
    for (size_t j = stack.size(); j-- > 0;) {
      const auto location = profile.location(stack[j]);
      for (size_t k = location.lines.size(); k-- > 0;) {
        const auto& function = profile.function(location.lines[k].function);
        text += profile.String(function.name);
        text += " " + std::string(profile.String(function.file));
        text += ":" + std::to_string(location.lines[k].line);
        if (location.mapping != profile::kNoMapping)
          text += "@" + std::string(profile.String(profile.mapping(location.mapping).path));
        text += ";";
      }
    }
    auto& values = stacks[text];
    const auto row = profile.sample_values(i);
    values.resize(row.size());
    for (size_t j = 0; j < row.size(); ++j) values[j] += row[j];
  }
  return stacks;
}

std::string Types(const Profile& profile) {
  std::string text;
  for (const auto& type : profile.sample_types())
    text +=
        std::string(profile.String(type.type)) + "/" + std::string(profile.String(type.unit)) + " ";
  return text;
}

std::string ErrorOf(std::string_view text) {
  const auto profile = DecodeSpeedscope(text);
  return profile.ok() ? "" : profile.error().message();
}

constexpr std::string_view kFrames =
    R"("shared":{"frames":[{"name":"a","file":"a.py","line":7},{"name":"b"},{"name":"c"}]})";

std::string File(const std::string& profiles) {
  return "{" + std::string(kFrames) + ",\"profiles\":[" + profiles + "]}";
}

std::string Sampled(const std::string& samples, const std::string& weights,
                    const std::string& unit = "none", const std::string& name = "one") {
  return R"({"type":"sampled","name":")" + name + R"(","unit":")" + unit +
         R"(","startValue":0,"endValue":9,"samples":)" + samples + R"(,"weights":)" + weights + "}";
}

std::string Evented(const std::string& events, const std::string& unit = "none") {
  return R"({"type":"evented","name":"e","unit":")" + unit +
         R"(","startValue":0,"endValue":9,"events":[)" + events + "]}";
}

std::string Open(int frame, const std::string& at) {
  return R"({"type":"O","frame":)" + std::to_string(frame) + ",\"at\":" + at + "}";
}
std::string Close(int frame, const std::string& at) {
  return R"({"type":"C","frame":)" + std::to_string(frame) + ",\"at\":" + at + "}";
}

Profile Recording() {
  Profile profile;
  profile.SetSampleTypes(
      {profile.InternValueType("samples", "count"), profile.InternValueType("cpu", "nanoseconds")});
  profile::Mapping row;
  row.path = profile.InternString("/bin/app");
  const auto app = profile.AddMapping(row);
  row.path = profile.InternString(profile::kKernelPath);
  const auto kernel = profile.AddMapping(row);
  const auto function = [&](std::string_view name, std::string_view file) {
    const auto id = profile.InternString(name);
    return profile.InternFunction({id, id, profile.InternString(file), 0});
  };
  const profile::Line main_line{function("main", "main.cc"), 12, 0};
  const profile::Line inlined[] = {{function("inner \"x\"", "a.h"), 3, 5},
                                   {function("outer", "a.cc"), 40, 0}};
  const profile::Line read_line{function("ksys_read", ""), 0, 0};
  const LocationId main_place = profile.AddLocation({app, 0x10, false, {&main_line, 1}});
  const LocationId leaf = profile.AddLocation({app, 0x20, false, inlined});
  const LocationId read = profile.AddLocation({kernel, 0x30, false, {&read_line, 1}});
  const profile::Label labels[] = {profile.TextLabel("process", "my app"),
                                   profile.NumberLabel("tid", 7)};
  const auto labelled = profile.InternLabels(labels);
  const auto add = [&](std::initializer_list<LocationId> stack, profile::LabelSetId set,
                       int64_t count) {
    const int64_t values[] = {count, count * 1001};
    profile.AddSample(profile.InternStack(stack), set, values);
  };
  add({leaf, main_place}, labelled, 3);
  add({read, leaf, main_place}, labelled, 2);
  add({main_place}, {}, 1);
  return profile;
}

TEST(SpeedscopeTest, OurOwnFilesKeepStacksTypesFilesLinesBinariesAndProcesses) {
  const auto back = DecodeSpeedscope(EncodeSpeedscope(Recording(), {.frame_per_line = true}));
  ASSERT_TRUE(back.ok()) << back.error().message();
  EXPECT_EQ(Types(*back), "samples/count cpu/nanoseconds ");
  const Stacks expected = {{"process=my app;main main.cc:12@/bin/app;outer a.cc:40@/bin/app;"
                            "inner \"x\" a.h:3@/bin/app;",
                            {3, 3003}},
                           {"process=my app;main main.cc:12@/bin/app;outer a.cc:40@/bin/app;"
                            "inner \"x\" a.h:3@/bin/app;ksys_read :0@[kernel];",
                            {2, 2002}},
                           {"main main.cc:12@/bin/app;", {1, 1001}}};
  EXPECT_EQ(StacksOf(*back), expected);
}

TEST(SpeedscopeTest, WritesOneSampledProfilePerTypeRootFirst) {
  const auto json = base::ParseJson(EncodeSpeedscope(Recording(), {.name = "a run"}));
  ASSERT_TRUE(json.ok()) << json.error().message();
  EXPECT_EQ(*json->Find("$schema")->AsString(),
            "https://www.speedscope.app/file-format-schema.json");
  EXPECT_EQ(*json->Find("name")->AsString(), "a run");
  EXPECT_EQ(json->Find("activeProfileIndex")->AsUint(), 1u);
  const auto& frames = json->Find("shared")->Find("frames")->items();
  const auto& profiles = json->Find("profiles")->items();
  ASSERT_EQ(profiles.size(), 2u);
  EXPECT_EQ(*profiles[0].Find("unit")->AsString(), "none");
  EXPECT_EQ(*profiles[1].Find("unit")->AsString(), "nanoseconds");
  EXPECT_EQ(profiles[1].Find("endValue")->AsUint(), 6006u);
  std::string names;
  for (const auto& frame : profiles[1].Find("samples")->items()[1].items())
    names += *frames[*frame.AsUint()].Find("name")->AsString() + ";";
  EXPECT_EQ(names, "my app;main;outer;inner \"x\";ksys_read;");
  EXPECT_EQ(profiles[1].Find("weights")->items()[1].AsUint(), 2002u);
}

TEST(SpeedscopeTest, AFunctionIsOneFrameWithItsFirstLineUnlessLinesAreAskedFor) {
  Profile profile;
  profile.SetSampleTypes({profile.InternValueType("samples", "count")});
  const auto name = profile.InternString("f");
  const auto f = profile.InternFunction({name, name, {}, 0});
  const auto g = profile.InternFunction({profile.InternString("g"), {}, {}, 30});
  const int64_t one = 1;
  for (const auto& [function, number] : {std::pair{f, 9}, {f, 5}, {g, 31}}) {
    const profile::Line line{function, number, 0};
    const LocationId place = profile.AddLocation({profile::kNoMapping, 0, false, {&line, 1}});
    profile.AddSample(profile.InternStack({&place, 1}), {}, {&one, 1});
  }
  EXPECT_EQ(StacksOf(*DecodeSpeedscope(EncodeSpeedscope(profile))),
            (Stacks{{"f :5;", {2}}, {"g :30;", {1}}}));
  EXPECT_EQ(StacksOf(*DecodeSpeedscope(EncodeSpeedscope(profile, {.frame_per_line = true}))),
            (Stacks{{"f :5;", {1}}, {"f :9;", {1}}, {"g :31;", {1}}}));
}

TEST(SpeedscopeTest, KeepsTheTotalsOfAnyProfile) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Profile profile =
        test::SyntheticProfile({.seed = seed, .samples = 200, .odd_content = seed % 2 == 0});
    const auto back = DecodeSpeedscope(EncodeSpeedscope(profile));
    ASSERT_TRUE(back.ok()) << back.error().message();
    EXPECT_TRUE(back->Validate().ok());
    if (seed % 2 == 0) continue;  // negative values are left out
    ASSERT_EQ(Types(*back), Types(profile));
    for (size_t type = 0; type < profile.sample_types().size(); ++type) {
      int64_t before = 0;
      int64_t after = 0;
      for (size_t i = 0; i < profile.sample_count(); ++i) before += profile.sample_values(i)[type];
      for (size_t i = 0; i < back->sample_count(); ++i) after += back->sample_values(i)[type];
      EXPECT_EQ(before, after);
    }
  }
}

TEST(SpeedscopeTest, ProfilesOfOneUnitShareATypeAndAreToldApartByALabel) {
  const auto profile =
      DecodeSpeedscope(File(Sampled("[[0,1],[0]]", "[1.5,2]", "milliseconds", "thread 1") + "," +
                            Sampled("[[0,1]]", "[0.25]", "seconds", "thread 2") + "," +
                            Sampled("[[2],[2]]", "[4,5]", "bytes", "heap")));
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  EXPECT_EQ(Types(*profile), "time/nanoseconds space/bytes ");
  EXPECT_EQ(StacksOf(*profile), (Stacks{{"profile=thread 1;a a.py:7;b :0;", {1'500'000, 0}},
                                        {"profile=thread 1;a a.py:7;", {2'000'000, 0}},
                                        {"profile=thread 2;a a.py:7;b :0;", {250'000'000, 0}},
                                        {"profile=heap;c :0;", {0, 9}}}));
  EXPECT_EQ(profile->header().duration_ns, 9'000'000'000);
  EXPECT_TRUE(profile->header().comments.empty());
}

TEST(SpeedscopeTest, EventsAreSelfTimes) {
  const auto profile = DecodeSpeedscope(File(Evented(
      Open(0, "1") + "," + Open(1, "1.5") + "," + Close(1, "3") + "," + Open(1, "3") + "," +
          Close(1, "4.25") + "," + Close(0, "4.25") + "," + Open(2, "9") + "," + Close(2, "9"),
      "microseconds")));
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  EXPECT_EQ(StacksOf(*profile), (Stacks{{"a a.py:7;", {500}}, {"a a.py:7;b :0;", {2750}}}));
}

TEST(SpeedscopeTest, RoundsOnceAndSaysSo) {
  const auto profile =
      DecodeSpeedscope(File(Sampled("[[0],[1],[2]]", "[0.0000015,1e-12,1]", "milliseconds")));
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  EXPECT_EQ(StacksOf(*profile), (Stacks{{"a a.py:7;", {2}}, {"c :0;", {1'000'000}}}));
  ASSERT_EQ(profile->header().comments.size(), 1u);
  EXPECT_EQ(profile->String(profile->header().comments[0]),
            "speedscope: 2 values were not whole numbers of their unit (nanoseconds for times) and "
            "were rounded");
}

TEST(SpeedscopeTest, LargeWholeNumbersAreExact) {
  const auto profile = DecodeSpeedscope(File(Sampled("[[0]]", "[9007199254740993]")));
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(profile->sample_values(0)[0], 9007199254740993);
}

TEST(SpeedscopeTest, TheProfileThatIsShownFirstIsTheDefaultSampleType) {
  const std::string profiles = Sampled("[[0]]", "[2]") + "," + Sampled("[[0]]", "[3]", "bytes");
  for (const auto& [shown, type] : {std::pair{"0", 0}, {"1", 1}, {"7", 1}, {"-1", 0}}) {
    const auto profile = DecodeSpeedscope("{\"activeProfileIndex\":" + std::string(shown) + "," +
                                          File(profiles).substr(1));
    ASSERT_TRUE(profile.ok()) << profile.error().message();
    EXPECT_EQ(profile->DefaultSampleTypeIndex(), static_cast<size_t>(type)) << shown;
  }
}

TEST(SpeedscopeTest, MembersMayStandInAnyOrder) {
  const std::string text =
      R"({"profiles":[{"weights":[2],"samples":[[1]],"unit":"none","type":"sampled"}],"x":{},)" +
      std::string(kFrames) + "}";
  const auto profile = DecodeSpeedscope("\xef\xbb\xbf" + text);
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  EXPECT_EQ(StacksOf(*profile), (Stacks{{"b :0;", {2}}}));
}

TEST(SpeedscopeTest, ErrorsNameTheFieldAndTheByte) {
  const std::pair<std::string, std::string> cases[] = {
      {File(Sampled("[[0],[1,3]]", "[1,1]")),
       "profiles[0].samples[1][1] is 3, but there are 3 frames (byte "},
      {File(Sampled("[[0],[-1]]", "[1,1]")), "profiles[0].samples[1][0] is negative (byte "},
      {File(Sampled("[[0],[0.5]]", "[1,1]")), "profiles[0].samples[1][0] is no whole number"},
      {File(Sampled("[[0],[1]]", "[1,-2]")), "profiles[0].weights[1] is negative (byte "},
      {File(Sampled("[[0],[1]]", "[1,NaN]")), "profiles[0].weights[1] is no valid JSON"},
      {File(Sampled("[[0],[1]]", "[1,Infinity]")), "profiles[0].weights[1] is no valid JSON"},
      {File(Sampled("[[0],[1]]", "[1,null]")), "profiles[0].weights[1] is no number"},
      {File(Sampled("[[0]]", "[1e12]", "seconds")),
       "profiles[0].weights[0] is beyond 63 bits in our unit, nanoseconds (byte "},
      {File(Sampled("[[0]]", "[1,2]")), "profiles[0]: samples and weights differ in length"},
      {File(Sampled("[[0],[1]]", "[1]")), "profiles[0]: samples and weights differ in length"},
      {File(Sampled("[]", "[]", "fortnights")), "profiles[0].unit is no unit of speedscope"},
      {File(R"({"type":"odd"})"), "profiles[0].type is neither \"sampled\" nor \"evented\""},
      {File(R"({"unit":"none"})"), "profiles[0] lacks the member \"type\""},
      {File(R"({"type":"sampled","unit":"none","samples":[]})"),
       "profiles[0] lacks the member \"weights\""},
      {File(R"({"type":"evented","unit":"none"})"), "profiles[0] lacks the member \"events\""},
      {File(R"({"type":"sampled","unit":"none","samples":[],"samples":[]})"),
       "profiles[0].samples is there twice"},
      {File(Evented(Open(0, "1") + "," + Close(1, "2"))),
       "profiles[0].events[1] closes a frame that is not the one opened last (byte "},
      {File(Evented(Close(1, "2"))), "profiles[0].events[0] closes a frame that is not"},
      {File(Evented(Open(0, "1") + "," + Open(1, "2"))),
       "profiles[0].events: 2 frames are still open at the end"},
      {File(Evented(Open(0, "1") + "," + Close(0, "0"))),
       "profiles[0].events[1] goes back in time"},
      {File(Evented(R"({"type":"O","frame":0})")), "profiles[0].events[0] lacks type, frame or at"},
      {File(Evented(R"({"type":"X"})")), "profiles[0].events[0].type is neither \"O\" nor \"C\""},
      {File(Evented(Open(8, "1"))), "profiles[0].events[0].frame is 8, but there are 3 frames"},
      {R"({"profiles":[]})", "no speedscope profile: shared.frames is missing"},
      {R"({"shared":{"frames":[]}})", "no speedscope profile: profiles is missing"},
      {R"({"shared":{"frames":{}},"profiles":[]})", "shared.frames is no array"},
      {R"({"shared":{"frames":[{"name":1}]},"profiles":[]})", "shared.frames[0].name is no string"},
      {R"([])", "the text is no object (byte 0)"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(ErrorOf(text).substr(0, message.size()), message) << ErrorOf(text);
  }
}

TEST(SpeedscopeTest, EveryTruncationIsRefused) {
  const std::string sampled = EncodeSpeedscope(Recording());
  const std::string evented = File(Evented(Open(0, "1") + "," + Close(0, "2.5")));
  for (const std::string& whole : {sampled.substr(0, sampled.find_last_of('}') + 1), evented}) {
    ASSERT_EQ(ErrorOf(whole), "");
    for (size_t size = 0; size < whole.size(); ++size) {
      const auto profile = DecodeSpeedscope(std::string_view(whole).substr(0, size));
      ASSERT_FALSE(profile.ok()) << size;
      EXPECT_EQ(profile.error().code(), ErrorCode::kCorrupt);
      EXPECT_NE(profile.error().message(), "");
    }
  }
}

TEST(SpeedscopeTest, DepthNeedsNoStackAndIsBounded) {
  constexpr int kDepth = 300'000;
  std::string events;
  for (int i = 0; i < kDepth; ++i) events += (i > 0 ? "," : "") + Open(0, "1");
  std::string deep = events;
  for (int i = 0; i < kDepth; ++i) deep += "," + Close(0, "1");
  const auto profile = DecodeSpeedscope(File(Evented(deep)));
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  EXPECT_EQ(profile->sample_count(), 0u);
  // With time between 1,000 of them the stacks would have 3 * 10^8 frames.
  std::string wide = events;
  for (int i = 0; i < 1000; ++i) wide += "," + Close(0, std::to_string(i + 2));
  for (int i = 1000; i < kDepth; ++i) wide += "," + Close(0, "1001");
  const auto refused = DecodeSpeedscope(File(Evented(wide)));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kExhausted);
  EXPECT_EQ(
      refused.error().message(),
      "profiles[0].events: the stacks are too deep: together they have more than 2^27 frames");
}

}  // namespace
}  // namespace vesta::wire
