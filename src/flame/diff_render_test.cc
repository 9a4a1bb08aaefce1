#include "src/flame/diff_render.h"

#include <gtest/gtest.h>

namespace vesta::flame {
namespace {

DiffTable SmallTable() {
  DiffTable table;
  table.type = "cpu";
  table.unit = "nanoseconds";
  table.sides = {{{"a.pb.gz", 0, 10'010'000'000}, {"b.pb.gz", 0, 10'020'000'000}}};
  table.sum = {9'810'000'000, 10'420'000'000, false};
  table.sample_counts = {981, 1};
  table.noise_known = true;
  table.rows = {
      {"slowValidate", "app", "", {5'030'000'000, 5'630'000'000, false}, {6, 6, true}, 0},
      {"", "libfoo.so", "", {0, 210'000'000, false}, {0, 210'000'000, false}, 18},
      {"old", "[kernel]", "", {200'000'000, 0, false}, {200'000'000, 0, false}, 0},
      {"parse",
       "",
       "src/parse.c",
       {1'210'000'000, 1'200'000'000, true},
       {1'210'000'000, 1'200'000'000, true},
       0},
      {"much", "app", "", {10'000'000, 400'000'000, false}, {10'000'000, 400'000'000, false}, 0},
      {"same", "app", "", {10'000'000, 10'000'000, true}, {10'000'000, 10'000'000, true}, 0}};
  return table;
}

TEST(DiffRenderTest, GoldenTable) {
  EXPECT_EQ(
      RenderDiffText(SmallTable(), {.rows_max = 4, .notes = {"2 samples lost"}}),
      "cpu: 9.81s -> 10.42s, +610.00ms (+6.2%)\n"
      "before: a.pb.gz, 981 samples over 10.01s\n"
      "after: b.pb.gz, 1 sample over 10.02s\n"
      "2 samples lost\n"
      "~ = sampling alone shows such differences (2 standard deviations)\n"
      "\n"
      "    before      after  difference   change             share  self of function [binary]\n"
      "     5.03s      5.63s      +0.60s   +11.9%   51.27%-> 54.03%  slowValidate [app]\n"
      "         0      0.21s      +0.21s      new    0.00%->  2.02%  (18 addresses without a "
      "name) [libfoo.so]\n"
      "     0.20s          0      -0.20s     gone    2.04%->  0.00%  old [kernel]\n"
      "     1.21s      1.20s      -0.01s    -0.8%~  12.33%-> 11.52%  parse (src/parse.c)\n"
      "... 1 more function: +0.39s self\n"
      "... 1 function did not change\n"
      "     9.81s     10.42s      +0.61s    +6.2%  100.00%->100.00%  all\n");
}

TEST(DiffRenderTest, LargeGrowthIsATimesFigureAndAllRowsNeedNoRest) {
  const std::string text = RenderDiffText(SmallTable(), {.rows_max = 0});
  EXPECT_NE(text.find("     +0.39s      x40 "), std::string::npos) << text;
  EXPECT_EQ(text.find("more function"), std::string::npos);
  EXPECT_NE(text.find("... 1 function did not change\n"), std::string::npos) << text;
}

TEST(DiffRenderTest, OfEqualSidesItSaysThatNothingChanged) {
  DiffTable table = SmallTable();
  table.sum.after = table.sum.before;
  for (DiffRow& row : table.rows) {
    row.self.after = row.self.before;
    row.total.after = row.total.before;
  }
  const std::string text = RenderDiffText(table);
  EXPECT_NE(text.find("\n\nnothing changed: 6 functions of equal self and total\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("slowValidate"), std::string::npos) << text;
  EXPECT_NE(RenderDiffJson(table, {.rows_max = 0}).find("\"name\":\"same\""), std::string::npos);
}

TEST(DiffRenderTest, ACallerWhoseCalleesChangedIsNotEqual) {
  DiffTable table = SmallTable();
  table.rows = {table.rows.back()};
  table.rows[0].total.after += 5'000'000;
  EXPECT_NE(RenderDiffText(table).find("same [app]"), std::string::npos);
}

TEST(DiffRenderTest, AFunctionThatWasOnlyACallerIsNotNew) {
  DiffTable table = SmallTable();
  table.rows.resize(2);
  table.rows[0].self = {0, 5'000'000'000, false};
  table.rows[1].self = {5'000'000'000, 0, false};
  table.rows[1].total = {5'000'000'000, 1, false};
  const std::string text = RenderDiffText(table);
  EXPECT_NE(text.find("         0      5.00s      +5.00s             0.00%-> "), std::string::npos)
      << text;
  EXPECT_NE(text.find("     5.00s          0      -5.00s  -100.0% "), std::string::npos) << text;
}

TEST(DiffRenderTest, OrderByTotalShowsTotals) {
  DiffTable table = SmallTable();
  table.order = DiffOrder::kTotal;
  const std::string text = RenderDiffText(table);
  EXPECT_NE(text.find("total of function [binary]"), std::string::npos);
  EXPECT_EQ(text.find("5.03s"), std::string::npos);
}

TEST(DiffRenderTest, NormalizedSumsAreEqualAndTheScaleIsSaid) {
  DiffTable table = SmallTable();
  table.normalized = true;
  table.after_scale = 0.5;
  const std::string text = RenderDiffText(table);
  EXPECT_NE(text.find("values of after are times 0.5,"), std::string::npos);
  EXPECT_NE(text.find("     9.81s      9.81s           0       0%  100.00%->100.00%  all\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("51.27%-> 57.39%  slow"), std::string::npos) << text;
}

TEST(DiffRenderTest, WithoutNoiseNothingIsMarked) {
  DiffTable table = SmallTable();
  table.noise_known = false;
  const std::string text = RenderDiffText(table);
  EXPECT_EQ(text.find('~'), std::string::npos);
  EXPECT_NE(text.find("noise is not marked"), std::string::npos);
}

TEST(DiffRenderTest, NamesFitTheTerminalAndCannotCommandIt) {
  DiffTable table = SmallTable();
  table.rows.resize(1);
  table.rows[0].name = "github.com/example/\x1b[31m/package.(*Type).Method";
  const std::string text = RenderDiffText(table, {.width_columns = 90});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("…"), std::string::npos);
}

TEST(DiffRenderTest, GoldenJson) {
  DiffTable table = SmallTable();
  EXPECT_EQ(
      RenderDiffJson(table, {.rows_max = 2, .notes = {"n"}}),
      "{\"sample_type\":{\"type\":\"cpu\",\"unit\":\"nanoseconds\"},"
      "\"before\":{\"name\":\"a.pb.gz\",\"sum\":9810000000,\"samples\":981,"
      "\"duration_ns\":10010000000,\"time_unix_ns\":0},"
      "\"after\":{\"name\":\"b.pb.gz\",\"sum\":10420000000,\"samples\":1,"
      "\"duration_ns\":10020000000,\"time_unix_ns\":0},"
      "\"difference\":610000000,\"within_noise\":false,\"normalized\":false,\"after_scale\":1,"
      "\"noise_known\":true,\"notes\":[\"n\"],\"function_count\":6,\"functions\":["
      "{\"name\":\"slowValidate\",\"binary\":\"app\",\"file\":\"\",\"change\":\"both\","
      "\"self\":{\"before\":5030000000,\"after\":5630000000,\"difference\":600000000,"
      "\"within_noise\":false},\"total\":{\"before\":6,\"after\":6,\"difference\":0,"
      "\"within_noise\":true}},"
      "{\"name\":null,\"unnamed_addresses\":18,\"binary\":\"libfoo.so\",\"file\":\"\",\"change\":"
      "\"new\","
      "\"self\":{\"before\":0,\"after\":210000000,\"difference\":210000000,\"within_noise\":false},"
      "\"total\":{\"before\":0,\"after\":210000000,\"difference\":210000000,"
      "\"within_noise\":false}}]}\n");
}

}  // namespace
}  // namespace vesta::flame
