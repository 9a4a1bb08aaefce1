// OTLP as files: pprof in and out again, files of the Collector, and how they are told.
#include "src/wire/otlp_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/base/utf8.h"
#include "src/wire/otlp_decoder.h"
#include "src/wire/otlp_encoder.h"
#include "src/wire/otlp_message_for_test.h"
#include "src/wire/pprof_decoder.h"
#include "src/wire/pprof_encoder.h"
#include "src/wire/profile_format.h"
#include "src/wire/zstd.h"
#include "test/support/synthetic_profile.h"

namespace vesta::wire {
namespace {

using otlp::IntValue, otlp::TextValue;
using profile::Profile;

constexpr uint64_t kSizeMax = uint64_t{1} << 30;

Profile Read(std::string_view bytes) {
  auto profile = DecodeOtlpFile(bytes, kSizeMax);
  EXPECT_TRUE(profile.ok()) << profile.error().message();
  if (!profile.ok()) return {};
  EXPECT_TRUE(profile->Validate().ok());
  return std::move(*profile);
}

// "sample 1 2 key=text,number key=...": the values, then the labels in an order of their own.
std::string SortedLabels(const std::string& line, size_t value_count) {
  std::vector<std::string> words;
  for (size_t at = 0; at < line.size();) {
    const size_t space = std::min(line.find(' ', at), line.size());
    words.push_back(line.substr(at, space - at));
    at = space + 1;
  }
  std::sort(words.begin() + static_cast<std::ptrdiff_t>(1 + value_count), words.end());
  std::string sorted;
  for (const std::string& word : words) sorted += word + ' ';
  return sorted;
}

// The facts of a profile but for rows of its tables that no sample has, and the order of labels.
std::string Facts(const Profile& profile) {
  std::string text = base::ToUtf8(test::DumpProfile(profile));
  // A mapping without anything is none.
  const std::string nothing = " @  0-0+0 0000";
  for (size_t at = text.find(nothing); at != std::string::npos; at = text.find(nothing))
    text.erase(at, nothing.size());
  std::string facts = text.substr(0, text.find("\ntables "));
  for (size_t at = text.find("\nsample"); at != std::string::npos;) {
    const size_t end = text.find('\n', ++at);
    const size_t next = text.find("\nsample", at);
    facts += '\n' + SortedLabels(text.substr(at, end - at), profile.sample_types().size());
    facts += text.substr(end, next - end);
    at = next;
  }
  return facts;
}

TEST(OtlpFileTest, PprofInAndOutAgainLosesNothing) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const Profile profile = test::SyntheticProfile({.seed = seed, .samples = 60});
    const Profile back = Read(EncodeOtlpProfile(profile));
    ASSERT_EQ(Facts(back), Facts(profile)) << seed;
    // And what is made of that is the same for pprof.
    const auto pprof = DecodePprof(EncodePprof(back));
    ASSERT_TRUE(pprof.ok());
    ASSERT_EQ(Facts(*pprof), Facts(profile)) << seed;
  }
}

TEST(OtlpFileTest, TheMainBinaryComesFirst) {
  Profile profile;
  profile.SetSampleTypes({profile.InternValueType("cpu", "nanoseconds")});
  for (const char* path : {"/lib/a", "/bin/main", "/lib/b"}) {
    profile::Mapping mapping;
    mapping.path = profile.InternString(path);
    profile.AddMapping(mapping);
  }
  profile.header().main_mapping = profile::MappingId{1};
  const Profile back = Read(EncodeOtlpProfile(profile));
  ASSERT_EQ(back.mapping_count(), 3u);
  EXPECT_EQ(back.String(back.mapping(profile::MappingId{0}).path), "/bin/main");
  EXPECT_EQ(back.sample_types().size(), 1u);
}

// What OTLP has no room for in one attribute: a key that comes again, units of repeated ones, text
// and number at once, rows that are there twice, types of one name.
TEST(OtlpFileTest, OddLabelsAndRowsAreKept) {
  Profile profile;
  profile.SetSampleTypes(
      {profile.InternValueType("x", "count"), profile.InternValueType("x", "count")});
  const std::vector<profile::Label> labels = {
      profile.TextLabel("key", "a"),
      profile.NumberLabel("key", 3, "bytes"),
      profile.NumberLabel("key", 0),
      {profile.InternString("both"), profile.InternString("t"), 7, profile.InternString("s")},
      {profile.InternString("united"), profile.InternString("t"), 0, profile.InternString("s")},
      profile.NumberLabel("pid", 4),
      profile.NumberLabel("process.pid", 5),
      profile.NumberLabel("tid", 6),
      profile.TextLabel("thread", "main"),
      profile.NumberLabel("bytes", -4096, "bytes")};
  const profile::LabelSetId set = profile.InternLabels(labels);
  const profile::LabelSetId none = profile.InternLabels({});
  const int64_t values[][2] = {{1, -2}, {3, 4}, {0, 0}, {5, 6}};
  profile.AppendSample({}, set, values[0]);
  profile.AppendSample({}, none, values[1]);
  profile.AppendSample({}, none, values[2]);
  profile.AppendSample({}, set, values[3]);
  const Profile back = Read(EncodeOtlpProfile(profile));
  EXPECT_EQ(Facts(back), Facts(profile));
}

TEST(OtlpFileTest, AProfileOfNothing) {
  const Profile back = Read(EncodeOtlpProfile(Profile()));
  EXPECT_EQ(back.sample_types().size(), 0u);
  EXPECT_EQ(back.sample_count(), 0u);
}

// Two profiles of a scope whose samples come in another order, one of them with fewer.
TEST(OtlpFileTest, ValuesOfSeveralProfilesComeTogether) {
  TestMessage message = ForeignCpu();
  TestMessage::Scope& scope = message.resources[0].scopes[0];
  scope.profiles[0].sample_type = message.Type("alloc_objects", "count");
  scope.profiles[0].samples = {{.stack = 1, .values = {1}}, {.stack = 2, .values = {2}}};
  scope.profiles.push_back(scope.profiles[0]);
  scope.profiles[1].sample_type = message.Type("alloc_space", "bytes");
  scope.profiles[1].samples = {{.stack = 2, .values = {200}},
                               {.stack = 1, .values = {100}},
                               {.stack = 2, .attributes = {1}, .values = {50}}};
  const Profile profile = Read(Write(message));
  ASSERT_EQ(profile.sample_types().size(), 2u);
  ASSERT_EQ(profile.sample_count(), 3u);
  const auto values = [&](size_t i) {
    return std::vector<int64_t>(profile.sample_values(i).begin(), profile.sample_values(i).end());
  };
  EXPECT_EQ(values(0), (std::vector<int64_t>{1, 100}));
  EXPECT_EQ(values(1), (std::vector<int64_t>{2, 200}));
  EXPECT_EQ(values(2), (std::vector<int64_t>{0, 50}));
}

TEST(OtlpFileTest, CountsWithAPeriodAreAlsoGivenInItsUnit) {
  TestMessage message = ForeignCpu();
  message.profile().samples = {{.stack = 1, .values = {3}}};
  message.links.push_back({std::string(16, 't'), std::string(8, '\x01')});
  message.profile().samples[0].link = 1;
  const Profile profile = Read(Write(message));
  ASSERT_EQ(profile.sample_types().size(), 2u);
  EXPECT_EQ(profile.String(profile.sample_types()[1].type), "cpu");
  EXPECT_EQ(profile.sample_values(0)[0], 3);
  EXPECT_EQ(profile.sample_values(0)[1], 150'000'000);
  EXPECT_NE(test::DumpProfile(profile).find("trace_id=74747474747474747474747474747474"),
            std::string::npos);
  EXPECT_NE(test::DumpProfile(profile).find("span_id=0101010101010101"), std::string::npos);
}

TEST(OtlpFileTest, SamplesWithTimesAreRows) {
  const Profile profile = Read(Write(ForeignCpu()));
  ASSERT_EQ(profile.sample_count(), 3u);
  ASSERT_EQ(profile.sample_types().size(), 2u);
  EXPECT_EQ(profile.sample_values(1)[0], 1);
  EXPECT_EQ(profile.sample_values(1)[1], 50'000'000);
  const std::string text = test::DumpProfile(profile);
  for (const char* label :
       {"service.name=shop,0", "pid=,42", "tid=,43", "thread=worker,0",
        "vesta.time=,1790000000001milliseconds", "vesta.time=,1790000000003milliseconds"}) {
    EXPECT_NE(text.find(label), std::string::npos) << label << " is not in\n" << text;
  }
  EXPECT_EQ(text.find("vesta.weight"), std::string::npos);
}

TEST(OtlpFileTest, ABatchOfOursKeepsWeightAndCount) {
  Profile stacks;
  batch::Batch batch;
  batch.profile = &stacks;
  batch.types = {{"wall", "nanoseconds", "", "", ""}};
  batch.series = {{{"host.name", "h"}}};
  batch.tasks = {{}};
  batch.rows = {{.stack = {}, .time_unix_ms = 5, .value = 7, .count = 3, .weight = 1.5F}};
  const std::string text = test::DumpProfile(Read(EncodeOtlp(batch, {})));
  EXPECT_NE(text.find("vesta.weight=1.5,0"), std::string::npos) << text;
  EXPECT_NE(text.find("vesta.count=,3"), std::string::npos) << text;
}

std::string Framed(const std::vector<std::string>& messages) {
  std::string file;
  for (const std::string& message : messages) {
    for (int shift = 24; shift >= 0; shift -= 8)
      file += static_cast<char>(message.size() >> shift & 0xff);
    file += message;
  }
  return file;
}

TEST(OtlpFileTest, TheFilesOfTheCollectorAreFramed) {
  const std::string one = Write(ForeignCpu(), {.dictionary_first = true});
  const std::string file = Framed({one, Zstd(one), one});
  EXPECT_EQ(SniffFormat(file).format, ProfileFormat::kOtlp);
  EXPECT_EQ(NoProfileByStart(file), "");
  const auto messages = OtlpMessages(file);
  ASSERT_TRUE(messages.ok());
  EXPECT_EQ(messages->size(), 3u);
  EXPECT_EQ(Read(file).sample_count(), 9u);
  EXPECT_EQ(DecodeOtlpFile(Framed({Zstd(one)}), 10).error().code(), base::ErrorCode::kExhausted);
  for (size_t size = 1; size < file.size(); ++size) {
    const auto cut = DecodeOtlpFile(file.substr(0, size), kSizeMax);
    EXPECT_TRUE(!cut.ok() || cut->sample_count() % 3 == 0) << size;
  }
  TestMessage values = ForeignCpu();
  for (TestMessage::Sample& sample : values.profile().samples) {
    sample.values = {1};
    sample.times = {};
  }
  EXPECT_EQ(Read(Framed({Write(values), Write(values)})).sample_count(), 4u);
}

TEST(OtlpFileTest, OneBadSampleIsSaidAndAllBadAreAnError) {
  TestMessage message = ForeignCpu();
  message.profile().samples[0] = {.stack = 99, .values = {1}};
  message.profile().samples[1] = {.stack = 1, .values = {1}};
  const Profile profile = Read(Write(message));
  EXPECT_EQ(profile.sample_count(), 1u);
  ASSERT_EQ(profile.header().comments.size(), 1u);
  EXPECT_TRUE(profile.String(profile.header().comments[0]).starts_with("1 samples were left out"));
  message.profile().samples[1].stack = 99;
  EXPECT_EQ(DecodeOtlpFile(Write(message), kSizeMax).error().code(), base::ErrorCode::kCorrupt);
  message.profile().samples = {{.stack = 99, .times = {message.profile().time}}};
  EXPECT_EQ(DecodeOtlpFile(Write(message), kSizeMax).error().code(), base::ErrorCode::kCorrupt);
}

TEST(OtlpFileTest, PprofIsNoOtlpAndOtlpIsNoPprof) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Profile profile = test::SyntheticProfile({.seed = seed});
    const std::string pprof = EncodePprof(profile, {.gzip = false});
    const std::string file = EncodeOtlpProfile(profile);
    EXPECT_TRUE(IsOtlp(file));
    EXPECT_FALSE(IsOtlp(pprof));
    EXPECT_FALSE(BeginsAsOtlp(pprof));
    for (size_t size = 20; size < file.size(); size += 61)
      EXPECT_TRUE(BeginsAsOtlp(file.substr(0, size))) << size;
    for (size_t size = 20; size < pprof.size(); size += 61)
      EXPECT_FALSE(BeginsAsOtlp(pprof.substr(0, size))) << size;
  }
}

TEST(OtlpFileTest, DamagedFilesAreErrorsAndNothingElse) {
  const Profile profile = test::SyntheticProfile({.seed = 3, .samples = 6});
  const std::string whole = EncodeOtlpProfile(profile);
  for (size_t at = 0; at < whole.size(); ++at) {
    static_cast<void>(DecodeOtlpFile(whole.substr(0, at), kSizeMax));
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ static_cast<char>(at % 2 == 0 ? 1 : 0x80));
    const auto made = DecodeOtlpFile(changed, kSizeMax);
    EXPECT_TRUE(!made.ok() || made->Validate().ok());
    static_cast<void>(DecodeOtlpSymbols(changed));
  }
}

}  // namespace
}  // namespace vesta::wire
