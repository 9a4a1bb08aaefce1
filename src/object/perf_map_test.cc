#include "src/object/perf_map.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace vesta::object {
namespace {

struct Parsed {
  std::vector<std::string> lines;  // "start-end name"
  uint64_t skipped = 0;
  size_t taken = 0;
};

Parsed Parse(const std::string& text) {
  Parsed parsed;
  PerfMapParser parser(text);
  while (const auto line = parser.Next()) {
    char range[64];
    std::snprintf(range, sizeof(range), "%lx-%lx ", line->start, line->end);
    parsed.lines.push_back(range + std::string(line->name));
  }
  parsed.skipped = parser.skipped_line_count();
  parsed.taken = parser.whole_lines_bytes();
  return parsed;
}

using Lines = std::vector<std::string>;

TEST(PerfMapTest, EveryLineIsAFunction) {
  const std::string text = "7f0010 20 LazyCompile:*run /srv/app.js:12:3\n7f0040 10 stub\n";
  const Parsed parsed = Parse(text);
  EXPECT_EQ(parsed.taken, text.size());
  EXPECT_EQ(parsed.lines,
            (Lines{"7f0010-7f0030 LazyCompile:*run /srv/app.js:12:3", "7f0040-7f0050 stub"}));
}

TEST(PerfMapTest, LinesSayWhereTheyLie) {
  PerfMapParser parser("\n100 10 first\nbad\n200 10 second\n");
  EXPECT_EQ(parser.Next()->line_offset, 1u);
  EXPECT_EQ(parser.Next()->line_offset, 18u);
  EXPECT_FALSE(parser.Next());
}

TEST(PerfMapTest, UnfinishedLastLineIsLeftForTheNextRead) {
  EXPECT_EQ(Parse("100 10 whole\n200 10 unfini").taken, 13u);
  EXPECT_EQ(Parse("100 10 whole\n200 10 unfini").lines, Lines{"100-110 whole"});
  EXPECT_EQ(Parse("300 10 no newline at all").taken, 0u);
  EXPECT_EQ(Parse("").taken, 0u);
}

TEST(PerfMapTest, AcceptsTheVariantsThatRuntimesWrite) {
  const Parsed parsed = Parse("0x100 0x10 with prefix\n  200\t10\ttabs\r\nABCDEF00 1F UPPER\n\n");
  EXPECT_EQ(parsed.lines,
            (Lines{"100-110 with prefix", "200-210 tabs", "abcdef00-abcdef1f UPPER"}));
  EXPECT_EQ(parsed.skipped, 0u);
}

TEST(PerfMapTest, DamagedLinesAreSkippedAndCounted) {
  const Parsed parsed = Parse(
      "zz 10 no number\n"
      "100\n"
      "100 10\n"
      "100 10 \n"
      "100 0 empty\n"
      "ffffffffffffffff 10 wraps around\n"
      "11112222333344445 10 more than 64 bits\n"
      "100 -10 negative\n"
      "200 10 good\n");
  EXPECT_EQ(parsed.skipped, 8u);
  EXPECT_EQ(parsed.lines, Lines{"200-210 good"});
}

TEST(PerfMapTest, LongNameIsCut) {
  const std::string text = std::string("100 10 ").append(1 << 20, 'x').append("\n200 10 next\n");
  PerfMapParser kept(text);
  EXPECT_EQ(kept.Next()->name, std::string(4096, 'x'));
  EXPECT_EQ(kept.Next()->name, "next");
}

}  // namespace
}  // namespace vesta::object
