#include "src/wire/profile_format.h"

#include <gtest/gtest.h>

#include <set>

namespace vesta::wire {
namespace {

TEST(ProfileFormatTest, TableFollowsTheEnum) {
  std::set<std::string_view> words;
  for (size_t i = 0; i < AllFormats().size(); ++i) {
    const FormatSpec& spec = AllFormats()[i];
    EXPECT_EQ(static_cast<size_t>(spec.format), i);
    EXPECT_EQ(SpecOf(spec.format).word, spec.word);
    EXPECT_TRUE(words.insert(spec.word).second);
    EXPECT_TRUE(spec.readable || !spec.endings.empty()) << spec.word;
  }
}

TEST(ProfileFormatTest, NamesTellWhatToWrite) {
  const struct {
    const char* name;
    ProfileFormat format;
    bool gzip;
  } cases[] = {
      {"a.pb.gz", ProfileFormat::kPprof, true},
      {"a.pb", ProfileFormat::kPprof, false},
      {"a.pprof", ProfileFormat::kPprof, true},
      {"dir.svg/a.prof", ProfileFormat::kPprof, true},
      {"-", ProfileFormat::kPprof, true},
      {"/dev/stdout", ProfileFormat::kPprof, true},
      {"a.folded", ProfileFormat::kFolded, false},
      {"a.folded.gz", ProfileFormat::kFolded, true},
      {"a.speedscope.json", ProfileFormat::kSpeedscope, false},
      {"a.firefox.json.gz", ProfileFormat::kFirefox, true},
      {"a.profile.json", ProfileFormat::kFirefox, false},
      {"a.html", ProfileFormat::kHtml, false},
      {"a.svg", ProfileFormat::kSvg, false},
  };
  for (const auto& c : cases) {
    const auto format = FormatOfName(c.name);
    ASSERT_TRUE(format.ok()) << c.name;
    EXPECT_EQ(*format, (OutputFormat{c.format, c.gzip})) << c.name;
  }
  for (const char* name : {"a", "a.json", "a.svg.gz", "pb", "a.html.gz", "a.pprof.x", ""}) {
    const auto format = FormatOfName(name);
    ASSERT_FALSE(format.ok()) << name;
    EXPECT_EQ(format.error().code(), base::ErrorCode::kInvalidInput);
  }
  EXPECT_EQ(FormatOfName("x.txt").error().message(),
            "the name x.txt does not tell the format; let it end in .pb.gz .pprof .prof .pb "
            "(pprof), .otlp (OTLP profiles), .folded (folded stacks), .speedscope.json "
            "(speedscope), .firefox.json "
            ".profile.json (Firefox Profiler), .html (HTML) or .svg (SVG)");
}

TEST(ProfileFormatTest, WordsForceAFormat) {
  EXPECT_EQ(*FormatOfWordAndName("pprof", "-"), (OutputFormat{ProfileFormat::kPprof, true}));
  EXPECT_EQ(*FormatOfWordAndName("pprof", "x.pb"), (OutputFormat{ProfileFormat::kPprof, false}));
  EXPECT_EQ(*FormatOfWordAndName("folded", "-"), (OutputFormat{ProfileFormat::kFolded, false}));
  EXPECT_EQ(*FormatOfWordAndName("folded", "x.gz"), (OutputFormat{ProfileFormat::kFolded, true}));
  EXPECT_EQ(*FormatOfWordAndName("svg", "x.gz"), (OutputFormat{ProfileFormat::kSvg, false}));
  EXPECT_EQ(FormatOfWordAndName("jfr", "-").error().message(),
            "is not known: give pprof, otlp, folded, speedscope, firefox, html or svg");
  EXPECT_EQ(*ReadableFormatOfWord("jfr"), ProfileFormat::kJfr);
  EXPECT_EQ(ReadableFormatOfWord("svg").error().message(),
            "is not known: give pprof, otlp, folded, speedscope, perf-script, perf-data, jfr or "
            "cpuprofile");
}

TEST(ProfileFormatTest, ContentTellsWhatToRead) {
  const struct {
    std::string_view bytes;
    ProfileFormat format;
  } cases[] = {
      {"a;b 3\n", ProfileFormat::kFolded},
      {"{closure};b 3\n", ProfileFormat::kFolded},
      {"[unknown];b 3\n", ProfileFormat::kFolded},
      {"app 12 12.5: x 3\n\xff\xfe", ProfileFormat::kPerfScript},
      {"\xff\xfe"
       "a",
       ProfileFormat::kFolded},
      {std::string_view("\x0a\x04\x08\x01\x10\x02", 6), ProfileFormat::kPprof},
      // A resource with an attribute; a dictionary whose tables come last to first.
      {"\x0a\x0d\x0a\x0b\x0a\x09\x0a\x01k\x12\x04\x0a\x02xy", ProfileFormat::kOtlp},
      {std::string_view("\x12\x04\x3a\x00\x2a\x00", 6), ProfileFormat::kOtlp},
      {std::string_view("\x12\x40\x3a\x00\x2a\x00 and then it is cut", 24), ProfileFormat::kOtlp},
      {std::string_view("\x00\x00\x00\x06\x12\x04\x3a\x00\x2a\x00", 10), ProfileFormat::kOtlp},
      {"\n\n\n\n", ProfileFormat::kFolded},
      {std::string_view("PERFILE2\x68\0\0\0", 12), ProfileFormat::kPerfData},
      {std::string_view("FLR\0\0\2\0\1", 8), ProfileFormat::kJfr},
      {"{\"$schema\": \"x\"", ProfileFormat::kSpeedscope},
      {"\xef\xbb\xbf {\n \"exporter\": \"a\\\\\\\"shared\", \"shared\": {}}",
       ProfileFormat::kSpeedscope},
      {"{\"a\": {\"shared\": 1}, \"nodes\": []}", ProfileFormat::kCpuProfile},
      {"{\"startTime\":1,\"nodes\":[]}", ProfileFormat::kCpuProfile},
      {"{\"traceEvents\":[]}", ProfileFormat::kCpuProfile},
      {"[{\"ph\":\"M\"}]", ProfileFormat::kCpuProfile},
      {"# ========\n# captured on\n\nspinner   77 [001] 12.345678:  250000 cpu-clock:u: \n",
       ProfileFormat::kPerfScript},
      {"Web Content 3 12/13 1.2: cycles:\r\n", ProfileFormat::kPerfScript},
      {"    swapper     0 1.2: cycles: ffff do_idle (x)\n", ProfileFormat::kPerfScript},
      {"[stack] 5;a 1.2: 3\n", ProfileFormat::kFolded},
      {"\nw 12 \n\t            1145 leaf (/w)\n\n", ProfileFormat::kPerfScript},
      {"w\n\nw\n\t            1145 leaf\n", ProfileFormat::kPerfScript},
      {"\n\t            1145 \n", ProfileFormat::kPerfScript},
      {"  w 12      5638cd48f140 leaf (/w)\r\n", ProfileFormat::kPerfScript},
      {"     5638cd48f140 leaf\n", ProfileFormat::kPerfScript},
      {"0123456789abcdef 12\n", ProfileFormat::kFolded},
      {"a 0123456789abcdef 12\na 0123456789abcde 12\n", ProfileFormat::kFolded},
      {"\ta;b 12\n", ProfileFormat::kFolded},
      {"main;a name with \x1b[31mcolours\x1b[0m in it;and more 12\nmain;read 3\n",
       ProfileFormat::kFolded},
      {std::string_view("main;a name with a zero in it, which no text has \0 12\n", 54),
       ProfileFormat::kPprof},
      {"\x0a\x3c\x08 a message begins a pprof, be the rest of it ever so plain",
       ProfileFormat::kPprof},
      {"2\x07samples2\x05"
       "count2\x03"
       "cpu",
       ProfileFormat::kPprof},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(SpecOf(SniffFormat(c.bytes).format).word, SpecOf(c.format).word) << c.bytes;
  }
}

TEST(ProfileFormatTest, EveryCutOfAFileIsLookedAtSafely) {
  for (const std::string_view text :
       {std::string_view("{\"a\\\"\": [1, \"]\"], \"nodes\": [{}]}"),
        std::string_view("[x]: y 12/3 [00] 5.6: z:"), std::string_view("# c\n\n a 1 2.3:")}) {
    for (size_t size = 0; size <= text.size(); ++size) {
      for (size_t start = 0; start <= size; ++start) {
        SniffFormat(std::string(text.substr(start, size - start)));
      }
    }
  }
}

}  // namespace
}  // namespace vesta::wire
