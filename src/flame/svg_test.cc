#include "src/flame/svg.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/base/utf8.h"
#include "src/flame/svg_layout.h"
#include "test/support/synthetic_profile.h"

namespace vesta::flame {
namespace {

using profile::LocationId;
using profile::Profile;

StackTree TreeOf(const Profile& profile) {
  const TreeInput input{&profile, "a"};
  auto tree = MakeStackTree({&input, 1});
  EXPECT_TRUE(tree.ok());
  return std::move(*tree);
}

class Made {
 public:
  Made() { profile.SetSampleTypes({profile.InternValueType("samples", "count")}); }
  void Add(const std::vector<std::string>& root_first, int64_t count) {
    std::vector<LocationId> stack;
    for (size_t i = root_first.size(); i-- > 0;) {
      const profile::Line line{
          profile.InternFunction({profile.InternString(root_first[i]), {}, {}, 0}), 0, 0};
      stack.push_back(profile.InternLocation({mapping, 0, false, {&line, 1}}));
    }
    profile.AddSample(profile.InternStack(stack), {}, {{count}});
  }
  Profile profile;
  profile::MappingId mapping = profile::kNoMapping;
};

size_t Count(std::string_view text, std::string_view what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1))
    ++count;
  return count;
}

std::vector<std::vector<int64_t>> TotalsOf(const StackTree& tree) {
  std::vector<std::vector<int64_t>> totals;
  for (size_t side = 0; side < tree.sides.size(); ++side)
    totals.push_back(NodeTotals(tree, tree.column(0, side)));
  return totals;
}

TEST(SvgLayoutTest, BoxesLieInTheirCallersAndNothingIsLost) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    for (const double narrowest : {0.1, 30.0, 200.0}) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      const StackTree tree = TreeOf(test::SyntheticProfile({.seed = seed, .samples = 60}));
      const auto totals = TotalsOf(tree);
      const auto boxes = LayOut(tree, totals, 1000, narrowest, 5);
      size_t nodes = 0;
      double ends[16] = {};  // right edge of the last box, by row
      std::vector<SvgBox> by_place = boxes;
      std::ranges::stable_sort(by_place, {},
                               [](const SvgBox& box) { return std::pair(box.row, box.x); });
      for (const SvgBox& box : by_place) {
        nodes += box.node == SvgBox::kRest ? box.rest_count : 1;
        ASSERT_LE(box.row, 5u);
        EXPECT_GE(box.x, ends[box.row] - 1e-6);
        ends[box.row] = box.x + box.width;
        const bool has_caller =
            box.row == 0 || std::ranges::any_of(boxes, [&](const SvgBox& caller) {
              return caller.row + 1 == box.row && caller.node != SvgBox::kRest &&
                     caller.x <= box.x + 1e-6 && caller.x + caller.width >= ends[box.row] - 1e-6;
            });
        EXPECT_TRUE(has_caller);
        if (box.node != SvgBox::kRest && box.row > 0) {
          EXPECT_GE(box.width, narrowest);
        }
      }
      EXPECT_EQ(nodes, tree.node_count());
      double wanted = 0;
      for (const auto& side : totals) wanted += static_cast<double>(side[0]);
      EXPECT_NEAR(ends[0], wanted > 0 ? 1000 : 0, 1e-6);
    }
  }
}

TEST(SvgTest, EachBoxHasItsNameAndValues) {
  Made made;
  made.mapping = made.profile.AddMapping({made.profile.InternString("/bin/app"), {}, 0, 0, 0});
  made.Add({"main", "work"}, 75);
  made.Add({"main"}, 25);
  const std::string svg = RenderSvg(TreeOf(made.profile), 0, {.title = "t"});
  EXPECT_NE(svg.find("<title>work [app]\n75 (75.00%)\nself: 75 (75.00%)</title><rect x=\"10.00\" "
                     "y=\"66.00\" width=\"900.00\""),
            std::string::npos)
      << svg;
  EXPECT_NE(svg.find(">app 100.00%</text>"), std::string::npos);
  EXPECT_NE(svg.find(">t: samples, 100</text>"), std::string::npos);
  EXPECT_EQ(svg.find("too small"), std::string::npos);
  const std::string flame = RenderSvg(TreeOf(made.profile), 0, {.title = "t", .root_below = true});
  EXPECT_NE(flame.find("75 (75.00%)</title><rect x=\"10.00\" y=\"32.00\""), std::string::npos);
}

TEST(SvgTest, WhatIsTooNarrowIsCounted) {
  Made made;
  made.Add({"main", "wide"}, 9000);
  for (int i = 0; i < 30; ++i) made.Add({"main", "narrow" + std::to_string(i), "leaf"}, 1);
  const std::string svg = RenderSvg(TreeOf(made.profile), 0);
  EXPECT_NE(svg.find("<title>60 calls too small to show\n30 (0.33%)</title>"), std::string::npos);
  EXPECT_NE(svg.find(">60 calls too small to show (grey): 30 (0.33%)</text>"), std::string::npos);
}

TEST(SvgTest, SizeIsBoundedWhateverTheTree) {
  Made made;
  for (int i = 0; i < 3000; ++i) {
    std::vector<std::string> stack;
    for (int depth = 0; depth < 20; ++depth)
      stack.push_back(std::to_string(i) + std::string(200, 'x'));
    made.Add(stack, 1);
  }
  const StackTree tree = TreeOf(made.profile);
  const std::string svg = RenderSvg(tree, 0, {.narrowest_px = 0.01, .boxes_max = 1000});
  EXPECT_LE(Count(svg, "<g>"), 1000u);
  EXPECT_NE(svg.find("60000 calls too small to show (grey): 3000 (100.00%)"), std::string::npos);
  Made deep;
  deep.Add(std::vector<std::string>(100'000, "f"), 1);
  const std::string tall = RenderSvg(TreeOf(deep.profile), 0, {.rows_max = 50});
  EXPECT_EQ(Count(tall, "<g>"), 51u);
  EXPECT_NE(tall.find("99951 calls too small to show"), std::string::npos);
}

TEST(SvgTest, TwoSidesAreColouredByWhatChanged) {
  Made before, after;
  before.Add({"gone"}, 100);
  before.Add({"same"}, 100);
  after.Add({"same"}, 100);
  after.Add({"grown"}, 300);
  const TreeInput inputs[] = {{&before.profile, "a.pb"}, {&after.profile, "b.pb"}};
  const auto tree = MakeStackTree(inputs);
  ASSERT_TRUE(tree.ok());
  const std::string svg = RenderSvg(*tree, 0);
  const auto colour_of = [](const std::string& text, const std::string& name) {
    const size_t fill = text.find("fill=\"", text.find("<title>" + name)) + 6;
    return text.substr(fill, text.find('"', fill) - fill);
  };
  EXPECT_EQ(colour_of(svg, "same"), "#dddddd");
  EXPECT_EQ(colour_of(svg, "gone"), "hsl(212,75%,58%)");
  EXPECT_EQ(colour_of(svg, "grown"), "hsl(30,90%,58%)");
  EXPECT_NE(svg.find("before 100 (50.00%), after 0 (0.00%)"), std::string::npos);
  EXPECT_NE(svg.find(">after: b.pb</text>"), std::string::npos);
  EXPECT_NE(svg.find("within noise</text>"), std::string::npos);
  // Of shares, what stayed is half of what it was.
  const std::string normalized = RenderSvg(*tree, 0, {.normalize = true});
  EXPECT_NE(colour_of(normalized, "same"), "#dddddd");
}

TEST(SvgTest, HostileNamesStayText) {
  Made made;
  const std::string hostile =
      std::string("</title><script>&\"\0\x1b", 21) + "\xff\xef\xbf\xbf]]>\xe2\x80\xae";
  made.mapping = made.profile.AddMapping({made.profile.InternString(hostile), {}, 0, 0, 0});
  made.Add({hostile}, 1);
  const std::string svg =
      RenderSvg(TreeOf(made.profile), 0, {.title = hostile, .notes = {hostile}});
  EXPECT_TRUE(base::IsUtf8(svg));
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_EQ(svg.find('\0'), std::string::npos);
  EXPECT_EQ(svg.find('\x1b'), std::string::npos);
  EXPECT_EQ(svg.find("\xef\xbf\xbf"), std::string::npos);
  EXPECT_EQ(Count(svg, "<title>"), Count(svg, "</title>"));
  EXPECT_EQ(Count(svg, "<title>"), 2u);
}

TEST(SvgTest, AnEmptyProfileIsAnEmptyPicture) {
  Profile profile;
  profile.SetSampleTypes({profile.InternValueType("samples", "count")});
  EXPECT_EQ(Count(RenderSvg(TreeOf(profile), 0), "<g>"), 1u);
}

}  // namespace
}  // namespace vesta::flame
