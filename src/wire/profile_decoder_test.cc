#include "src/wire/profile_decoder.h"

#include <gtest/gtest.h>

#include "src/wire/folded_encoder.h"
#include "src/wire/gzip.h"
#include "src/wire/otlp_encoder.h"
#include "src/wire/pprof_encoder.h"
#include "test/support/synthetic_profile.h"

namespace vesta::wire {
namespace {

std::string Packed(std::string_view bytes) {
  GzipWriter gzip(1);
  gzip.Write(bytes);
  return gzip.Finish();
}

std::string ErrorOf(std::string_view bytes, const DecodeOptions& options = {}) {
  const auto result = DecodeProfile(bytes, "f", options);
  return result.ok() ? "read" : result.error().message();
}

constexpr std::string_view kList =
    "; vesta reads pprof, OTLP profiles, folded stacks, speedscope, text of perf script, "
    "perf.data, "
    "Java Flight Recorder or V8 CPU profile";

TEST(ProfileDecoderTest, FormatsAreToldByContentPackedOrNot) {
  const auto profile = test::SyntheticProfile({.seed = 9, .odd_content = false});
  const std::string texts[] = {EncodePprof(profile, {.gzip = false}), EncodeFolded(profile),
                               EncodeOtlpProfile(profile)};
  for (const std::string& text : texts) {
    const auto plain = DecodeProfile(text, "f");
    const auto packed = DecodeProfile(Packed(text), "f");
    ASSERT_TRUE(plain.ok() && packed.ok());
    EXPECT_EQ(test::DumpProfile(*plain), test::DumpProfile(*packed));
  }
  EXPECT_EQ(test::DumpProfile(*DecodeProfile(texts[0], "f")), test::DumpProfile(profile));
}

TEST(ProfileDecoderTest, ErrorsSayWhatTheFileIs) {
  const struct {
    std::string_view bytes;
    std::string message;
  } cases[] = {
      {"", "it is empty"},
      {std::string_view("\x7f\x45LF\x02\x01\x01\0", 8),
       "it is a program and no profile" + std::string(kList)},
      {std::string_view("go 1.22 trace\0\0\0", 16),
       "it is a Go execution trace and no profile; `go tool trace` reads it" + std::string(kList)},
      {std::string_view("\0\0\0\0\3\0\0\0\0\0\0\0\x10\x27\0\0\0\0\0\0", 20),
       "it is a CPU profile of gperftools in pprof's old format; `go tool pprof -proto` converts "
       "it" +
           std::string(kList)},
      {"\x28\xb5\x2f\xfd\x04", "it is packed by zstd; unpack it first" + std::string(kList)},
      {std::string_view("\xfd"
                        "7zXZ\0",
                        6),
       "it is packed by xz; unpack it first" + std::string(kList)},
      {"BZh91AY\x01", "it is packed by bzip2; unpack it first" + std::string(kList)},
      {"PK\x03\x04", "it is a zip archive; unpack it first" + std::string(kList)},
      {"<svg>\n", "it is HTML, XML or SVG, which vesta does not read" + std::string(kList)},
      {"some notes\n", "no folded stacks: line 1 does not end in a space and a whole number"},
      {"\x1f\x8b\x08", "gzip data is truncated: it ends at byte 3"},
      {std::string_view("\x0a\x7f\x03\x04", 4),
       "no valid pprof profile: its protobuf is damaged or truncated: the message at byte 1 ends "
       "too early"},
      {"{\"shared\": {\"frames\": [}",
       "speedscope: shared.frames[0] is no valid JSON: a value is missing (byte 23)"},
      {"{\"nodes\": [", "V8 CPU profile: nodes[0] is cut off: the text ends here (byte 11)"},
      {"[{\"ph\": ", "V8 CPU profile: [0].ph is cut off: the text ends here (byte 8)"},
      {"[{\"a\": 1}]", "it is JSON of a kind that vesta does not read" + std::string(kList)},
      {"{\"meta\": {}, \"threads\": []}",
       "it is a profile of the Firefox Profiler, which vesta writes and does not read" +
           std::string(kList)},
      {"\x01\x02\x03\x04", "it is in no format that vesta knows" + std::string(kList)},
  };
  for (const auto& c : cases) EXPECT_EQ(ErrorOf(c.bytes), "f: " + c.message);
  EXPECT_EQ(ErrorOf(Packed("")), "f: it is empty inside gzip");
  EXPECT_EQ(ErrorOf(Packed(Packed("a 1\n"))),
            "f: it is packed by gzip twice; unpack it first" + std::string(kList));
  EXPECT_EQ(ErrorOf("<module>;f 3\n"), "read") << "folded, although it begins like HTML";
}

TEST(ProfileDecoderTest, ForcedFormatIsTriedAndContradictionIsSaid) {
  EXPECT_EQ(ErrorOf("a;b 1\n", {.from = ProfileFormat::kFolded}), "read");
  EXPECT_EQ(ErrorOf("a 1 1.5: x 3\n", {.from = ProfileFormat::kFolded}), "read")
      << "it looks like perf script, and is folded for whoever says so";
  EXPECT_EQ(ErrorOf("a;b 1\n", {.from = ProfileFormat::kPprof}),
            "f: it is folded stacks, not pprof as --from says (no valid pprof profile: profile 0: "
            "field 12 has wire type 1)");
  EXPECT_EQ(
      ErrorOf("\x01\x02\x03\x04", {.from = ProfileFormat::kPprof}),
      "f: no valid pprof profile: its protobuf is damaged or truncated: the message at byte 0 "
      "holds a field of no known type or length");
}

TEST(ProfileDecoderTest, LimitHoldsForWhatGzipMakesOfIt) {
  const std::string packed = Packed("a;b " + std::string(100'000, ' ') + "1\n");
  EXPECT_NE(ErrorOf(packed, {.size_bytes_max = 50'000}).find("larger than"), std::string::npos);
}

}  // namespace
}  // namespace vesta::wire
