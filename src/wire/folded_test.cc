// Encoder and decoder of folded stacks together.
#include <gtest/gtest.h>

#include "src/wire/folded_decoder.h"
#include "src/wire/folded_encoder.h"
#include "test/support/synthetic_profile.h"

namespace vesta::wire {
namespace {

using profile::LocationId;
using profile::Profile;

LocationId Frame(Profile& profile, std::string_view name, std::string_view path = "",
                 uint64_t address = 0) {
  profile::MappingId mapping = profile::kNoMapping;
  if (!path.empty()) {
    profile::Mapping row;
    row.path = profile.InternString(path);
    row.memory_start = 0x1000;
    row.memory_limit = 0x2000;
    row.file_offset = 0x40;
    mapping = profile.AddMapping(row);
  }
  if (name.empty()) return profile.AddLocation({mapping, address, false, {}});
  const profile::Line line{profile.InternFunction({profile.InternString(name), {}, {}, 0}), 0, 0};
  return profile.AddLocation({mapping, address, false, {&line, 1}});
}

Profile Empty() {
  Profile profile;
  profile.SetSampleTypes(
      {profile.InternValueType("samples", "count"), profile.InternValueType("cpu", "nanoseconds")});
  return profile;
}

void Add(Profile& profile, std::initializer_list<LocationId> leaf_first, int64_t count,
         std::string_view process = "") {
  profile::LabelSetId labels;
  if (!process.empty()) {
    const profile::Label label = profile.TextLabel("process", process);
    labels = profile.InternLabels({&label, 1});
  }
  const int64_t values[] = {count, count * 1000};
  profile.AddSample(profile.InternStack(leaf_first), labels, values);
}

TEST(FoldedTest, WritesRootFirstBehindTheProcessWithKernelSuffix) {
  Profile profile = Empty();
  const LocationId read = Frame(profile, "ksys_read", "[kernel]", 0xffffffff81000010);
  const LocationId leaf = Frame(profile, "leaf function");
  const LocationId root = Frame(profile, "main", "/bin/app");
  Add(profile, {leaf, root}, 3, "my app");
  Add(profile, {read, leaf, root}, 2, "my app");
  Add(profile, {root}, 1);
  EXPECT_EQ(EncodeFolded(profile),
            "my app;main;leaf function 3\n"
            "my app;main;leaf function;ksys_read_[k] 2\n"
            "main 1\n");
  EXPECT_EQ(EncodeFolded(profile, {.first_frame_labels = {}, .kernel_suffix = false}),
            "main;leaf function 3\n"
            "main;leaf function;ksys_read 2\n"
            "main 1\n");
}

TEST(FoldedTest, ChosenLabelsAndSampleTypeAreWritten) {
  Profile profile = Empty();
  const LocationId root = Frame(profile, "main", "/bin/app");
  const profile::Label labels[] = {profile.NumberLabel("pid", 12),
                                   profile.TextLabel("process", "app")};
  const int64_t values[] = {1, 1000};
  profile.AddSample(profile.InternStack({&root, 1}), profile.InternLabels(labels), values);
  Add(profile, {root}, 2);
  EXPECT_EQ(EncodeFolded(profile, {.first_frame_labels = {"process", "pid"}, .sample_type = 1}),
            "app;pid 12;main 1000\n"
            "main 2000\n");
}

TEST(FoldedTest, ReplacesWhatWouldBreakALine) {
  Profile profile = Empty();
  const LocationId odd = Frame(profile, "a;b\nc\rd\te\x7f 5");
  Add(profile, {odd}, 1, "x;y");
  EXPECT_EQ(EncodeFolded(profile), "x:y;a:b c d e  5 1\n");
}

TEST(FoldedTest, NamelessFramesShowBinaryAndOffset) {
  Profile profile = Empty();
  const LocationId in_file = Frame(profile, "", "/usr/lib/libx.so", 0x1010);
  const LocationId outside = Frame(profile, "", "/usr/lib/libx.so", 0x9000);
  const LocationId nowhere = Frame(profile, "", "", 0x7fff0010);
  Add(profile, {nowhere, outside, in_file}, 1);
  Add(profile, {}, 4);
  EXPECT_EQ(EncodeFolded(profile), "libx.so+0x50;libx.so+0x9000;0x7fff0010 1\n[no stack] 4\n");
}

TEST(FoldedTest, InlinedFunctionsAreFramesOfTheirOwn) {
  Profile profile = Empty();
  const auto function = [&](std::string_view name) {
    return profile.InternFunction({profile.InternString(name), {}, {}, 0});
  };
  const profile::Line lines[] = {{function("inner"), 0, 0}, {function("outer"), 0, 0}};
  Add(profile, {profile.AddLocation({profile::kNoMapping, 0, false, lines})}, 1);
  EXPECT_EQ(EncodeFolded(profile), "outer;inner 1\n");
}

TEST(FoldedTest, EqualLinesAreOneAndZeroIsNone) {
  Profile profile = Empty();
  const LocationId one = Frame(profile, "f", "", 1);
  const LocationId other = Frame(profile, "f", "", 2);
  const LocationId idle = Frame(profile, "idle");
  Add(profile, {one}, 1);
  Add(profile, {idle}, 0);
  Add(profile, {other}, 2);
  EXPECT_EQ(EncodeFolded(profile), "f 3\n");
}

TEST(FoldedTest, CountsSamplesWhereTheProfileHasThemElseTheDefault) {
  Profile heap;
  heap.SetSampleTypes(
      {heap.InternValueType("inuse_space", "bytes"), heap.InternValueType("alloc_space", "bytes")});
  EXPECT_EQ(FoldedSampleTypeIndex(heap), 1u);
  Profile cpu = Empty();
  EXPECT_EQ(FoldedSampleTypeIndex(cpu), 1u) << "no counts, no lines";
  Add(cpu, {Frame(cpu, "f")}, 1);
  EXPECT_EQ(FoldedSampleTypeIndex(cpu), 0u);
  EXPECT_EQ(EncodeFolded(Profile{}), "");
}

TEST(FoldedTest, ReadsAndWritesTheSameLines) {
  const std::string lines =
      "app;main;work 10\n"
      "app;main;work;read_[k] 5\n"
      "app;std::function<void (int)>::operator()(int) const 7\n"
      "app;main;main;main -3\n"
      "_[k] 1\n"
      "single 9223372036854775807\n";
  const auto profile = DecodeFolded(lines);
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  EXPECT_EQ(EncodeFolded(*profile), lines);
}

TEST(FoldedTest, RandomProfilesSurviveTheWayThroughText) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::string lines = EncodeFolded(test::SyntheticProfile({.seed = seed}));
    const auto profile = DecodeFolded(lines);
    ASSERT_TRUE(profile.ok()) << profile.error().message() << "\n" << lines;
    ASSERT_TRUE(profile->Validate().ok());
    ASSERT_EQ(EncodeFolded(*profile), lines);
  }
}

TEST(FoldedTest, ToleratesLineEndsMarksAndEmptyLines) {
  for (const std::string_view text : {"a;b 1\nc 2\n", "a;b 1\r\nc 2\r\n",
                                      "\xef\xbb\xbf"
                                      "a;b 1\nc 2",
                                      "\n\na;b 1\n  \nc 2\n\n", "a;b\t1\nc 1\nc 1\n"}) {
    const auto profile = DecodeFolded(text);
    ASSERT_TRUE(profile.ok()) << profile.error().message();
    EXPECT_EQ(EncodeFolded(*profile), "a;b 1\nc 2\n");
  }
  EXPECT_EQ(DecodeFolded("")->sample_count(), 0u);
}

TEST(FoldedTest, EmptyNamesBecomeUnknown) {
  const auto profile = DecodeFolded(";a;;b 1\n 2\n");
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(EncodeFolded(*profile), "[unknown];a;[unknown];b 1\n[no stack] 2\n");
}

TEST(FoldedTest, ErrorsNameTheLine) {
  struct Case {
    std::string_view text;
    std::string message;
  };
  const Case cases[] = {
      {"a;b 1\nabc\n", "line 2 has no count behind a space"},
      {"a;b x1\n", "line 1 does not end in a space and a whole number"},
      {"a;b 1.5\n", "line 1 does not end in a space and a whole number"},
      {"a;b 1 \n", "line 1 does not end in a space and a whole number"},
      {"\n\na 9223372036854775808\n", "line 3 has a count beyond 64 bits"},
      {std::string_view("\xff\xfe\x61\0\x20\0", 6),
       "line 1 is UTF-16; convert the file first: iconv -f UTF-16 -t UTF-8 FILE"},
  };
  for (const Case& c : cases) {
    const auto result = DecodeFolded(c.text);
    ASSERT_FALSE(result.ok()) << c.message;
    EXPECT_EQ(result.error().message(), "no folded stacks: " + c.message);
  }
}

}  // namespace
}  // namespace vesta::wire
