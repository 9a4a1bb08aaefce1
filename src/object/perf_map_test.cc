#include "src/object/perf_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace vesta::object {
namespace {

std::string NameAt(const PerfMap& map, uint64_t address) {
  return std::string(map.Find(address).value_or("-"));
}

TEST(PerfMapTest, NamesEveryAddressOfAFunctionAndNoOther) {
  PerfMap map;
  const std::string text = "7f0010 20 LazyCompile:*run /srv/app.js:12:3\n7f0040 10 stub\n";
  EXPECT_EQ(map.Append(text), text.size());
  EXPECT_EQ(NameAt(map, 0x7f000f), "-");
  EXPECT_EQ(NameAt(map, 0x7f0010), "LazyCompile:*run /srv/app.js:12:3");
  EXPECT_EQ(NameAt(map, 0x7f002f), "LazyCompile:*run /srv/app.js:12:3");
  EXPECT_EQ(NameAt(map, 0x7f0030), "-");
  EXPECT_EQ(NameAt(map, 0x7f0040), "stub");
  EXPECT_EQ(NameAt(map, 0x7f0050), "-");
}

TEST(PerfMapTest, LaterLineWinsWhereFunctionsOverlap) {
  PerfMap map;
  map.Append("100 100 old\n180 20 middle\n");
  EXPECT_EQ(NameAt(map, 0x17f), "old");
  EXPECT_EQ(NameAt(map, 0x180), "middle");
  EXPECT_EQ(NameAt(map, 0x1a0), "old");
  map.Append("0 1000 all\n");
  EXPECT_EQ(NameAt(map, 0x180), "all");
  EXPECT_EQ(map.function_count(), 1u);
}

TEST(PerfMapTest, UnfinishedLastLineIsLeftForTheNextRead) {
  PerfMap map;
  const std::string text = "100 10 whole\n200 10 unfini";
  EXPECT_EQ(map.Append(text), 13u);
  EXPECT_EQ(NameAt(map, 0x200), "-");
  EXPECT_EQ(map.Append("200 10 unfinished no more\n"), 26u);
  EXPECT_EQ(NameAt(map, 0x200), "unfinished no more");
  EXPECT_EQ(map.Append("300 10 no newline at all"), 0u);
}

TEST(PerfMapTest, AcceptsTheVariantsThatRuntimesWrite) {
  PerfMap map;
  map.Append("0x100 0x10 with prefix\n  200\t10\ttabs\r\nABCDEF00 1F UPPER\n\n");
  EXPECT_EQ(NameAt(map, 0x100), "with prefix");
  EXPECT_EQ(NameAt(map, 0x200), "tabs");
  EXPECT_EQ(NameAt(map, 0xabcdef1e), "UPPER");
  EXPECT_EQ(map.skipped_line_count(), 0u);
}

TEST(PerfMapTest, DamagedLinesAreSkippedAndCounted) {
  PerfMap map;
  map.Append(
      "zz 10 no number\n"
      "100\n"
      "100 10\n"
      "100 10 \n"
      "100 0 empty\n"
      "ffffffffffffffff 10 wraps around\n"
      "11112222333344445 10 more than 64 bits\n"
      "100 -10 negative\n"
      "200 10 good\n");
  EXPECT_EQ(map.skipped_line_count(), 8u);
  EXPECT_EQ(map.function_count(), 1u);
  EXPECT_EQ(NameAt(map, 0x200), "good");
}

TEST(PerfMapTest, LongNameIsCut) {
  PerfMap map;
  map.Append("100 10 " + std::string(100'000, 'x') + "\n");
  EXPECT_EQ(NameAt(map, 0x100), std::string(4096, 'x'));
}

TEST(PerfMapTest, AnyOrderAndOverlapEqualsWritingOneByOne) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    PerfMap map;
    std::map<uint64_t, std::string> expected;
    for (int part = 0; part < 3; ++part) {
      std::string text;
      for (int i = 0; i < 12; ++i) {
        const uint64_t start = random() % 64;
        const uint64_t size = 1 + random() % 24;
        const std::string name = std::to_string(part) + "_" + std::to_string(i);
        char line[64];
        std::snprintf(line, sizeof(line), "%lx %lx %s\n", start, size, name.c_str());
        text += line;
        for (uint64_t address = start; address < start + size; ++address) expected[address] = name;
      }
      map.Append(text);
    }
    for (uint64_t address = 0; address < 100; ++address) {
      const auto found = expected.find(address);
      ASSERT_EQ(NameAt(map, address), found == expected.end() ? "-" : found->second)
          << "round " << round << " address " << address;
    }
  }
}

}  // namespace
}  // namespace vesta::object
