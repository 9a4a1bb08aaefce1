// Encoder and decoder of pprof together: round trips, golden bytes, hostile bytes.
#include <gtest/gtest.h>

#include <cstdio>
#include <protozero/pbf_writer.hpp>
#include <random>

#include "src/wire/gzip.h"
#include "src/wire/pprof_decoder.h"
#include "src/wire/pprof_encoder.h"
#include "test/support/synthetic_profile.h"

namespace vesta::wire {
namespace {

using profile::Profile;
using protozero::pbf_writer;
using test::DumpProfile;
using test::SyntheticProfile;

constexpr PprofEncodeOptions kPlain = {.gzip = false};

std::string ErrorOf(const base::Result<Profile>& result) {
  return result.ok() ? "no error" : result.error().message();
}

// One sample of "leaf" (inlined into "mid") under "root", each field with a value of its own.
Profile SmallProfile() {
  Profile profile;
  profile.SetSampleTypes({profile.InternValueType("cpu", "nanoseconds")});
  profile.header().period_type = profile.InternValueType("cpu", "nanoseconds");
  profile.header().period = 1000;
  profile.header().time_unix_ns = 300;
  profile.header().duration_ns = 400;
  profile::Mapping mapping;
  mapping.path = profile.InternString("/bin/a");
  mapping.build_id = profile.InternString("c0ffee");
  mapping.memory_start = 0x1000;
  mapping.memory_limit = 0x2000;
  mapping.file_offset = 0x40;
  mapping.has_functions = true;
  const auto image = profile.AddMapping(mapping);
  const auto function = [&](std::string_view name) {
    const auto id = profile.InternString(name);
    return profile.InternFunction({id, id, {}, 0});
  };
  const profile::Line leaf_lines[] = {{function("leaf"), 12, 0}, {function("mid"), 34, 5}};
  const profile::Line root_line = {function("root"), 0, 0};
  const auto leaf = profile.InternLocation({image, 0x1010, false, leaf_lines});
  const auto root = profile.InternLocation({image, 0x1020, false, {&root_line, 1}});
  const profile::Label labels[] = {profile.TextLabel("process", "a"),
                                   profile.NumberLabel("pid", 7)};
  profile.AddSample(profile.InternStack({{leaf, root}}), profile.InternLabels(labels), {{-1}});
  return profile;
}

std::string Hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    char pair[3];
    std::snprintf(pair, sizeof pair, "%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    text += pair;
  }
  return text;
}

TEST(PprofTest, GoldenBytesOfASmallProfile) {
  EXPECT_EQ(Hex(EncodePprof(SmallProfile(), kPlain)),
            // sample_type {1 cpu, 2 nanoseconds}
            "0a0408011002"
            // sample: locations 1 2; value -1; labels process = a, pid = 7
            "121c"
            "0a020102"
            "120affffffffffffffffff01"
            "1a0408081009"
            "1a04080a1807"
            // mapping 1: 0x1000-0x2000 offset 0x40, strings 3 and 4, has_functions
            "1a10"
            "0801108020188040204028033004"
            "3801"
            // location 1: mapping 1, 0x1010, lines leaf:12 and mid:34:5
            "2215"
            "080110011890202204"
            "0801100c"
            "2206080210221805"
            // location 2: mapping 1, 0x1020, line root
            "220b"
            "0802100118a02022020803"
            // functions 1 leaf, 2 mid, 3 root
            "2a06080110051805"
            "2a06080210061806"
            "2a06080310071807"
            // strings: "" cpu nanoseconds /bin/a c0ffee leaf mid root process a pid
            "3200"
            "3203637075"
            "320b6e616e6f7365636f6e6473"
            "32062f62696e2f61"
            "3206633066666565"
            "32046c656166"
            "32036d6964"
            "3204726f6f74"
            "320770726f63657373"
            "320161"
            "3203706964"
            // time 300, duration 400, period_type, period 1000
            "48ac02"
            "509003"
            "5a0408011002"
            "60e807");
}

TEST(PprofTest, RoundTripLosesNothing) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Profile profile = SyntheticProfile({.seed = seed, .samples = seed % 40});
    ASSERT_TRUE(profile.Validate().ok());
    const std::string bytes = EncodePprof(profile, kPlain);
    const auto back = DecodePprof(bytes);
    ASSERT_TRUE(back.ok()) << ErrorOf(back);
    ASSERT_TRUE(back->Validate().ok());
    ASSERT_EQ(DumpProfile(*back), DumpProfile(profile));
    // The first pass moves the main mapping to the front; from then on bytes stay equal.
    const std::string again = EncodePprof(*back, kPlain);
    ASSERT_EQ(EncodePprof(*DecodePprof(again), kPlain), again);
    if (profile.header().main_mapping == profile::kNoMapping) {
      ASSERT_EQ(again, bytes);
    }
    const auto unzipped = Gunzip(EncodePprof(profile), uint64_t{1} << 30);
    ASSERT_TRUE(unzipped.ok());
    ASSERT_EQ(*unzipped, bytes);
  }
}

TEST(PprofTest, LargeProfileIsTheSameInPiecesOf256KiB) {
  const Profile profile = SyntheticProfile({.seed = 5, .samples = 30'000, .locations = 3000});
  const std::string bytes = EncodePprof(profile, kPlain);
  ASSERT_GT(bytes.size(), size_t{512} << 10);
  const auto unzipped = Gunzip(EncodePprof(profile), uint64_t{1} << 30);
  ASSERT_TRUE(unzipped.ok());
  EXPECT_TRUE(*unzipped == bytes);
}

TEST(PprofTest, MainMappingComesFirst) {
  Profile profile = SyntheticProfile({.seed = 3, .mappings = 4, .odd_content = false});
  profile.header().main_mapping = profile::MappingId{2};
  const auto back = DecodePprof(EncodePprof(profile));
  ASSERT_TRUE(back.ok());
  std::string order;
  for (uint32_t i = 0; i < 4; ++i)
    order += std::string(profile::MappingShortName(*back, profile::MappingId{i})) + ' ';
  EXPECT_EQ(order, "lib2.so lib0.so lib1.so lib3.so ");
  EXPECT_EQ(DumpProfile(*back), DumpProfile(profile));
}

TEST(PprofTest, TruncatedAnywhereIsAnErrorOrAValidShorterProfile) {
  const std::string bytes = EncodePprof(SmallProfile(), kPlain);
  size_t accepted = 0;
  for (size_t length = 0; length < bytes.size(); ++length) {
    const auto result = DecodePprof(bytes.substr(0, length));
    if (!result.ok()) continue;
    ++accepted;
    EXPECT_TRUE(result->Validate().ok()) << length;
  }
  // Cut between two header fields it is still a whole message: the four borders behind the last
  // string, less the end itself.
  EXPECT_EQ(accepted, 4u);
  const std::string gzip = EncodePprof(SmallProfile());
  for (size_t length = 0; length < gzip.size(); ++length)
    EXPECT_FALSE(DecodePprof(gzip.substr(0, length)).ok()) << length;
}

TEST(PprofTest, FlippedBitsNeverMakeAnInvalidProfile) {
  for (const std::string& bytes :
       {EncodePprof(SmallProfile(), kPlain), EncodePprof(SmallProfile()),
        EncodePprof(SyntheticProfile({.seed = 11, .samples = 6}), kPlain)}) {
    for (size_t i = 0; i < bytes.size() * 8; ++i) {
      std::string flipped = bytes;
      flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << i % 8));
      const auto result = DecodePprof(flipped);
      EXPECT_TRUE(!result.ok() || result->Validate().ok()) << "bit " << i;
    }
  }
}

TEST(PprofTest, RandomBytesAreRefusedOrValid) {
  std::mt19937_64 random(7);
  for (size_t i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 60, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 64);
    const auto result = DecodePprof(bytes);
    EXPECT_TRUE(!result.ok() || result->Validate().ok()) << "input " << i;
  }
}

// Builds one message from (field, number) pairs.
std::string Numbers(std::initializer_list<std::pair<uint32_t, uint64_t>> fields) {
  std::string bytes;
  pbf_writer writer(bytes);
  for (const auto& [field, value] : fields) writer.add_uint64(field, value);
  return bytes;
}

// A profile of hand-made rows: sample type 1/2 and the strings "" "cpu" "ns".
class Rows {
 public:
  Rows() {
    for (const char* text : {"", "cpu", "ns"}) Text(6, text);
    Message(1, Numbers({{1, 1}, {2, 2}}));
  }
  Rows& Message(uint32_t field, const std::string& bytes) {
    pbf_writer(bytes_).add_message(field, bytes);
    return *this;
  }
  Rows& Text(uint32_t field, const std::string& text) {
    pbf_writer(bytes_).add_string(field, text);
    return *this;
  }
  Rows& Number(uint32_t field, uint64_t value) {
    pbf_writer(bytes_).add_uint64(field, value);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

TEST(PprofTest, ErrorsNameTheRowAndTheField) {
  struct Case {
    std::string bytes;
    std::string message;
  };
  std::string nested;  // location with a line that names a function
  pbf_writer(nested).add_uint64(1, 1);
  pbf_writer(nested).add_message(4, Numbers({{1, 77}}));
  std::string nameless;  // location with a line that names none
  pbf_writer(nameless).add_uint64(1, 1);
  pbf_writer(nameless).add_message(4, Numbers({{2, 5}}));
  std::string text_first;
  pbf_writer(text_first).add_string(6, "cpu");
  std::string wrong_type;
  pbf_writer(wrong_type).add_fixed64(1, 1);
  std::string label;
  pbf_writer(label).add_uint64(2, 5);
  pbf_writer(label).add_message(3, Numbers({{1, 9}}));
  const std::string whole = EncodePprof(SmallProfile(), kPlain);
  Profile timeless;
  timeless.SetSampleTypes({timeless.InternValueType("cpu", "ns")});
  timeless.AddFunction({timeless.InternString("f"), {}, {}, 0});
  const std::string timeless_bytes = EncodePprof(timeless, kPlain);
  const std::string two_profiles =
      "it holds two profiles one after the other; split it, or merge them with a tool";
  const Case cases[] = {
      {"", "it is empty"},
      {EncodePprof(Profile{}, {.gzip = true}).substr(0, 9),
       "gzip data is truncated: it ends at byte 9"},
      {"hello, world",
       "its protobuf is damaged or truncated: the message at byte 1 holds a field of no known type "
       "or length"},
      {std::string("\x82\x01\x02\x01", 4),
       "its protobuf is damaged or truncated: the message at byte 2 ends too early"},
      {Numbers({{1000, 5}}), "it has no string table"},
      {text_first, "string_table[0] is not empty"},
      {Rows().Message(3, Numbers({{2, 1}})).bytes(), "mapping 0: its id is 0"},
      {Rows().Message(5, "").bytes(), "function 0: its id is 0"},
      {Rows().Message(4, "").bytes(), "location 0: its id is 0"},
      {Rows().Message(3, Numbers({{1, 4}})).Message(3, Numbers({{1, 4}})).bytes(),
       "mapping 1: id 4 is used twice"},
      {Rows().Message(5, Numbers({{1, 1u << 30}})).Message(5, Numbers({{1, 1u << 30}})).bytes(),
       "function 1: id 1073741824 is used twice"},
      {Rows().Message(4, Numbers({{1, 4}, {2, 9}})).bytes(),
       "location 0: mapping_id 9 does not exist"},
      {Rows().Message(4, nested).bytes(), "location 0: function_id 77 does not exist"},
      {Rows().Message(4, nameless).bytes(), "location 0: function_id 0 does not exist"},
      {Rows().Message(2, Numbers({{1, 3}, {2, 5}})).bytes(),
       "sample 0: location_id 3 does not exist"},
      {Rows().Message(2, "").bytes(), "sample 0: 0 values for 1 sample types"},
      {Rows().Message(2, Numbers({{2, 5}, {2, 6}})).bytes(),
       "sample 0: 2 values for 1 sample types"},
      {Rows().Message(2, label).bytes(), "sample 0: label key is string 9 of a table of 3"},
      {Rows().Message(5, Numbers({{1, 1}, {2, ~uint64_t{0}}})).bytes(),
       "function 0: name is string -1 of a table of 3"},
      {Rows().Message(3, Numbers({{1, 1}, {6, 3}})).bytes(),
       "mapping 0: build_id is string 3 of a table of 3"},
      {Rows().Number(14, 8).bytes(), "profile 0: default_sample_type is string 8 of a table of 3"},
      {Rows().Number(13, 8).bytes(), "profile 0: comment is string 8 of a table of 3"},
      {Rows().Message(4, wrong_type).bytes(), "location 0: field 1 has wire type 1"},
      {Rows().Number(2, 8).bytes(), "profile 0: field 2 has wire type 0"},
      {whole + whole, two_profiles},
      {timeless_bytes + timeless_bytes, two_profiles},
  };
  for (const Case& c : cases) {
    const auto result = DecodePprof(c.bytes);
    const bool gzip = IsGzip(c.bytes);
    EXPECT_EQ(ErrorOf(result), (gzip ? "" : "no valid pprof profile: ") + c.message);
    EXPECT_TRUE(result.ok() || result.error().code() == base::ErrorCode::kCorrupt);
  }
}

TEST(PprofTest, TwoGzippedProfilesInOneFileAreNamedAsSuch) {
  const std::string one = EncodePprof(SmallProfile());
  EXPECT_NE(ErrorOf(DecodePprof(one + one)).find("two profiles"), std::string::npos);
}

TEST(PprofTest, ReadsUnpackedNumbersUnknownFieldsAndAnyOrder) {
  // Tables behind the samples that use them, ids that are large, numbers one by one.
  std::string bytes;
  pbf_writer writer(bytes);
  const uint64_t far = uint64_t{1} << 60;
  writer.add_message(2, Numbers({{1, far}, {1, 5}, {2, 42}, {99, 1}}));
  writer.add_message(4, Numbers({{1, far}, {2, 8}, {3, 0x10}}));
  writer.add_message(4, Numbers({{1, 5}, {3, 0x20}, {77, 3}}));
  writer.add_message(3, Numbers({{1, 8}, {5, 1}}));
  writer.add_string(200, "unknown");
  writer.add_message(1, Numbers({{1, 2}, {2, 2}}));
  for (const char* text : {"", "/bin/x", "samples"}) writer.add_string(6, text);
  const auto profile = DecodePprof(bytes);
  ASSERT_TRUE(profile.ok()) << ErrorOf(profile);
  ASSERT_EQ(profile->sample_count(), 1u);
  EXPECT_EQ(profile->sample_values(0)[0], 42);
  const auto stack = profile->stack(profile->sample_stack(0));
  ASSERT_EQ(stack.size(), 2u);
  EXPECT_EQ(profile->location(stack[0]).address, 0x10u);
  EXPECT_EQ(profile::MappingShortName(*profile, profile->location(stack[0]).mapping), "x");
  EXPECT_EQ(profile->location(stack[1]).address, 0x20u);
}

TEST(PprofTest, EqualRowsStayApart) {
  Profile profile;
  profile.SetSampleTypes({profile.InternValueType("samples", "count")});
  const auto location = profile.AddLocation({profile::kNoMapping, 1, false, {}});
  profile.AddLocation({profile::kNoMapping, 1, false, {}});
  const auto stack = profile.InternStack({{location}});
  profile.AppendSample(stack, {}, {{1}});
  profile.AppendSample(stack, {}, {{1}});
  const auto back = DecodePprof(EncodePprof(profile));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->sample_count(), 2u);
  EXPECT_EQ(back->location_count(), 2u);
}

TEST(PprofTest, RefusesMoreThanTheLimitGzipOrNot) {
  for (const bool gzip : {true, false}) {
    const std::string bytes = EncodePprof(SmallProfile(), {.gzip = gzip});
    const auto result = DecodePprof(bytes, {.decoded_bytes_max = 100});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code(), base::ErrorCode::kExhausted);
    EXPECT_NE(result.error().message().find("larger than the limit of 100 bytes"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace vesta::wire
