#include "src/flame/top_render.h"

#include <gtest/gtest.h>

#include <limits>

#include "src/flame/units.h"

namespace vesta::flame {
namespace {

TopTable SmallTable() {
  TopTable table;
  table.type = "cpu";
  table.unit = "nanoseconds";
  table.sum = 9'810'000'000;
  table.sample_count = 971;
  table.duration_ns = 10'010'000'000;
  table.rows = {{"slowValidate", "app", "", 5'030'000'000, 5'030'000'000, 0},
                {"", "libfoo.so", "", 1'200'000'000, 1'210'000'000, 18},
                {"do_syscall_64", "[kernel]", "", 300'000'000, 900'000'000, 0},
                {"main", "", "src/a/main.py", 0, 9'000'000'000, 0}};
  return table;
}

TEST(TopRenderTest, GoldenTable) {
  EXPECT_EQ(RenderTopText(SmallTable(), {.rows_max = 3, .notes = {"2 samples lost: ring full"}}),
            "cpu: 9.81s over 10.01s (0.98 CPUs), 971 samples\n"
            "2 samples lost: ring full\n"
            "\n"
            "      self   self%      total  total%  function [binary]\n"
            "     5.03s  51.27%      5.03s  51.27%  slowValidate [app]\n"
            "     1.20s  12.23%      1.21s  12.33%  (18 addresses without a name) [libfoo.so]\n"
            "     0.30s   3.06%      0.90s   9.17%  do_syscall_64 [kernel]\n"
            "... 1 more function: 0 (0.00%) self\n");
}

TEST(TopRenderTest, GoldenJson) {
  TopTable table = SmallTable();
  table.rows[0].name = "a\"b\xff";
  EXPECT_EQ(RenderTopJson(table, {.rows_max = 2, .notes = {"n"}}),
            "{\"sample_type\":{\"type\":\"cpu\",\"unit\":\"nanoseconds\"},\"total\":9810000000,"
            "\"samples\":971,\"duration_ns\":10010000000,\"time_unix_ns\":0,\"cpu_count\":0,"
            "\"notes\":[\"n\"],\"function_count\":4,\"functions\":["
            "{\"name\":\"a\\\"b\xef\xbf\xbd\",\"binary\":\"app\",\"file\":\"\","
            "\"self\":5030000000,\"total\":5030000000},"
            "{\"name\":null,\"unnamed_addresses\":18,\"binary\":\"libfoo.so\",\"file\":\"\","
            "\"self\":1200000000,\"total\":1210000000}]}\n");
}

TEST(TopRenderTest, HowManyCpusThereAreIsSaidWhereItIsKnown) {
  TopTable table = SmallTable();
  table.cpu_count = 2;
  EXPECT_EQ(RenderTopText(table).rfind("cpu: 9.81s over 10.01s (0.98 of 2 CPUs), 971 samples\n", 0),
            0u);
  EXPECT_NE(RenderTopJson(table).find("\"cpu_count\":2,"), std::string::npos);
}

TEST(TopRenderTest, WhereNoBinaryIsKnownTheFileStands) {
  TopTable table = SmallTable();
  const std::string text = RenderTopText(table);
  EXPECT_NE(text.find("  main (a/main.py)\n"), std::string::npos) << text;
  EXPECT_NE(RenderTopJson(table).find("\"binary\":\"\",\"file\":\"src/a/main.py\""),
            std::string::npos);
  const std::string_view shown[][2] = {{"main.py", "main.py"},
                                       {"/main.py", "/main.py"},
                                       {"a/main.py", "a/main.py"},
                                       {"/x/a/b.py", "a/b.py"},
                                       {"x/", "x/"},
                                       {"\x1b", "?"}};
  for (const auto& [file, label] : shown) {
    table.rows[3].file = file;
    EXPECT_NE(RenderTopText(table).find("  main (" + std::string(label) + ")\n"), std::string::npos)
        << RenderTopText(table);
  }
}

TEST(TopRenderTest, NamesAreShortenedToTheTerminalAndBinariesStay) {
  TopTable table = SmallTable();
  table.rows.resize(1);
  table.rows[0].name = "github.com/example/project/package.(*Type).Method";
  const std::string text = RenderTopText(table, {.width_columns = 72});
  // 39 columns of figures, 27 of name, 6 of binary.
  EXPECT_NE(text.find("  github.com/ex…*Type).Method [app]\n"), std::string::npos) << text;
  EXPECT_NE(RenderTopText(table).find(table.rows[0].name), std::string::npos);
}

TEST(TopRenderTest, WhatATerminalWouldObeyIsNotPrinted) {
  TopTable table = SmallTable();
  table.rows.resize(1);
  table.rows[0].name = "a\x1b[31m\n\xc2\x9b\xc3\xa4";
  table.rows[0].image = "\x07";
  EXPECT_NE(RenderTopText(table).find("  a?[31m??\xc3\xa4 [?]\n"), std::string::npos);
}

TEST(TopRenderTest, CountsAndUnknownUnitsStayWhole) {
  TopTable table;
  table.type = "alloc_objects";
  table.unit = "count";
  table.sum = 1234567;
  table.sample_count = 1;
  table.rows = {{"f", "", "", 1234567, 1234567, 0}};
  EXPECT_EQ(RenderTopText(table),
            "alloc_objects: 1234567, 1 sample\n\n"
            "      self   self%      total  total%  function [binary]\n"
            "   1234567 100.00%    1234567 100.00%  f\n");
  table.unit = "cycles";
  EXPECT_EQ(RenderTopText(table).substr(0, 33), "alloc_objects: 1234567 cycles, 1 ");
  EXPECT_EQ(RenderTopText(TopTable{}), "values: 0, 0 samples\n");
  table.type = "samples";
  table.unit = "count";
  table.duration_ns = 2'000'000'000;
  EXPECT_EQ(RenderTopText(table).substr(0, 29), "1234567 samples over 2.00s\n\n ");
}

TEST(ShortenMiddleTest, KeepsBothEndsAndWholeCharacters) {
  EXPECT_EQ(ShortenMiddle("abcdefgh", 8), "abcdefgh");
  EXPECT_EQ(ShortenMiddle("abcdefgh", 7), "abc…fgh");
  EXPECT_EQ(ShortenMiddle("abcdefgh", 6), "ab…fgh");
  EXPECT_EQ(ShortenMiddle("äöüßäöüß", 5), "äö…üß");
  EXPECT_EQ(ShortenMiddle("abc", 1), "…");
  EXPECT_EQ(ShortenMiddle("abc", 0), "");
  EXPECT_EQ(ShortenMiddle("", 0), "");
}

TEST(UnitsTest, OneValueTakesTheUnitThatSuitsIt) {
  struct Case {
    int64_t value;
    std::string_view unit;
    std::string text;
  };
  const Case cases[] = {
      {0, "nanoseconds", "0"},
      {999, "nanoseconds", "999ns"},
      {1500, "nanoseconds", "1.50us"},
      {12'345'678, "ns", "12.35ms"},
      {1'230'000'000, "nanoseconds", "1.23s"},
      {-1'230'000'000, "nanoseconds", "-1.23s"},
      {59, "seconds", "59s"},
      {7200, "seconds", "2.00hrs"},
      {1023, "bytes", "1023B"},
      {1536, "bytes", "1.50kB"},
      {512 << 20, "bytes", "512.00MB"},
      {2048, "kilobytes", "2.00MB"},
      {123456, "count", "123456"},
      {5, "", "5"},
      {std::numeric_limits<int64_t>::min(), "count", "-9223372036854775808"},
  };
  for (const Case& c : cases) EXPECT_EQ(ScaledText(c.value, c.unit), c.text);
}

TEST(UnitsTest, ATableTakesOneUnitInWhichTheSmallestValueIsStillSeen) {
  // 20 ms of 30 s still shows in seconds, 1 ms of 30 s needs milliseconds.
  EXPECT_EQ(ValueFormat("nanoseconds", 20'000'000, 30'000'000'000).Text(20'000'000), "0.02s");
  EXPECT_EQ(ValueFormat("nanoseconds", 1'000'000, 30'000'000'000).Text(1'000'000), "1.00ms");
  EXPECT_EQ(ValueFormat("count", 1, 1'000'000).Text(1'000'000), "1000000");
}

TEST(UnitsTest, PercentOfNothingIsZero) {
  EXPECT_EQ(PercentText(1, 0), "0%");
  EXPECT_EQ(PercentText(1, 3), "33.33%");
  EXPECT_EQ(PercentText(-1, 2), "-50.00%");
}

}  // namespace
}  // namespace vesta::flame
