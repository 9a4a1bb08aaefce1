#include "src/page/page_data.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <optional>
#include <string_view>

#include "src/base/json_reader.h"
#include "src/base/utf8.h"
#include "test/support/synthetic_profile.h"

namespace vesta::page {
namespace {

using flame::StackTree;
using profile::LocationId;
using profile::Profile;

// Reads what docs/formats/page_data.md says, and nothing else.
struct Document {
  std::string meta;
  std::vector<std::string> strings;
  std::vector<std::vector<uint64_t>> functions;  // name, image, file, start line, flags
  std::vector<uint32_t> depth = {0};
  std::vector<uint32_t> function = {0};
  std::map<std::pair<uint64_t, uint64_t>, std::vector<double>> self;  // by type and side
  std::vector<std::pair<uint64_t, uint64_t>> lines;
  std::vector<std::vector<double>> line_values;  // self and total, by column
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  std::string_view Take(size_t size) {
    EXPECT_LE(size, bytes_.size());
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  uint64_t Fixed(size_t size) {
    uint64_t value = 0;
    const std::string_view taken = Take(size);
    for (size_t i = taken.size(); i-- > 0;)
      value = value << 8 | static_cast<unsigned char>(taken[i]);
    return value;
  }
  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 63; shift += 7) {
      const uint64_t byte = Fixed(1);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    EXPECT_LE(value, uint64_t{1} << 53);
    return value;
  }

 private:
  std::string_view bytes_;
};

void ReadSelf(Reader payload, Document& document, std::vector<double>& factors) {
  const uint64_t type = payload.Varint();
  const uint64_t side = payload.Varint();
  const auto factor = std::bit_cast<double>(payload.Fixed(8));
  std::vector<double> values;
  while (!payload.empty()) {
    const uint64_t value = payload.Varint();
    values.push_back(static_cast<double>(value) * factor);
    if (value == 0) values.resize(values.size() + payload.Varint());
  }
  EXPECT_TRUE(document.self.emplace(std::pair(type, side), values).second);
  factors.push_back(factor);
}

void ReadTree(Reader payload, Document& document) {
  const uint64_t count = payload.Varint();
  for (uint64_t i = 0; i < count; ++i)
    document.depth.push_back(static_cast<uint32_t>(1 + document.depth.back() - payload.Varint()));
  for (uint64_t i = 0; i < count; ++i)
    document.function.push_back(static_cast<uint32_t>(payload.Varint()));
  EXPECT_TRUE(payload.empty());
}

void ReadLines(Reader payload, Document& document, const std::vector<double>& factors) {
  document.lines.resize(payload.Varint());
  uint64_t function = 0;
  for (auto& row : document.lines) row.first = function += payload.Varint();
  for (auto& row : document.lines) row.second = payload.Varint();
  for (const double factor : factors) {
    for (int i = 0; i < 2; ++i) {
      std::vector<double> column;
      for (size_t j = 0; j < document.lines.size(); ++j)
        column.push_back(static_cast<double>(payload.Varint()) * factor);
      document.line_values.push_back(std::move(column));
    }
  }
  EXPECT_TRUE(payload.empty());
}

Document Read(std::string_view bytes) {
  Document document;
  Reader reader(bytes);
  EXPECT_EQ(reader.Take(4), "VSTP");
  EXPECT_EQ(reader.Fixed(4), 1u);
  std::vector<double> factors;
  while (!reader.empty()) {
    const std::string_view tag = reader.Take(4);
    const std::string_view payload_bytes = reader.Take(reader.Fixed(4));
    Reader payload(payload_bytes);
    if (tag == "META") document.meta = payload_bytes;
    if (tag == "TREE") ReadTree(payload, document);
    if (tag == "SELF") ReadSelf(payload, document, factors);
    if (tag == "LINE") ReadLines(payload, document, factors);
    if (tag == "STRS") {
      std::vector<uint64_t> sizes(payload.Varint());
      for (uint64_t& size : sizes) size = payload.Varint();
      for (const uint64_t size : sizes) document.strings.emplace_back(payload.Take(size));
      EXPECT_TRUE(payload.empty());
    }
    if (tag == "FUNC") {
      document.functions.resize(payload.Varint());
      for (int field = 0; field < 5; ++field)
        for (auto& row : document.functions) row.push_back(payload.Varint());
      EXPECT_TRUE(payload.empty());
    }
  }
  return document;
}

StackTree TreeOf(const Profile& profile) {
  const flame::TreeInput input{&profile, "a"};
  auto tree = flame::MakeStackTree({&input, 1});
  EXPECT_TRUE(tree.ok());
  return std::move(*tree);
}

std::vector<double> Doubles(const std::vector<int64_t>& values) {
  return {values.begin(), values.end()};
}

void ExpectSame(const Document& document, const StackTree& tree) {
  EXPECT_EQ(document.strings, tree.strings);
  ASSERT_EQ(document.functions.size() + 1, tree.functions.size());
  for (size_t i = 0; i < document.functions.size(); ++i) {
    const flame::TreeFunction& row = tree.functions[i + 1];
    const auto flags = static_cast<uint64_t>(row.kind) + 8 * static_cast<uint64_t>(row.inlined);
    EXPECT_EQ(document.functions[i],
              (std::vector<uint64_t>{row.name, row.image, row.file, row.start_line, flags}));
  }
  EXPECT_EQ(document.depth, tree.depth);
  EXPECT_EQ(document.function, tree.function);
  ASSERT_EQ(document.lines.size(), tree.lines.size());
  for (size_t i = 0; i < tree.lines.size(); ++i)
    EXPECT_EQ(document.lines[i],
              std::pair(uint64_t{tree.lines[i].function}, uint64_t{tree.lines[i].line}));
  for (size_t type = 0; type < tree.value_types.size(); ++type) {
    for (size_t side = 0; side < tree.sides.size(); ++side) {
      const size_t column = tree.column(type, side);
      EXPECT_EQ(document.self.at({type, side}), Doubles(tree.self[column]));
      if (tree.lines.empty()) continue;
      EXPECT_EQ(document.line_values[2 * column], Doubles(tree.line_self[column]));
      EXPECT_EQ(document.line_values[2 * column + 1], Doubles(tree.line_total[column]));
    }
  }
}

TEST(PageDataTest, ReadsBackAsTheTreeThatItIs) {
  size_t with_lines = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const StackTree tree = TreeOf(test::SyntheticProfile({.seed = seed, .samples = 60}));
    with_lines += tree.lines.empty() ? 0 : 1;
    const auto bytes = EncodePageData(tree, {.title = "t"});
    ASSERT_TRUE(bytes.ok());
    ExpectSame(Read(*bytes), tree);
  }
  EXPECT_GT(with_lines, 50u);
}

TEST(PageDataTest, ValuesOfLinesNeedNotDivideLikeThoseOfNodes) {
  Profile profile;
  profile.SetSampleTypes({profile.InternValueType("v", "count")});
  const auto f = profile.InternFunction({profile.InternString("f"), {}, {}, 0});
  for (const int64_t value : {3, 7}) {
    const profile::Line line{f, value, 0};
    const auto location = profile.AddLocation({profile::kNoMapping, 1, false, {&line, 1}});
    profile.AppendSample(profile.InternStack(std::vector{location}), {}, {{value}});
  }
  const StackTree tree = TreeOf(profile);
  ASSERT_EQ(tree.self[0], (std::vector<int64_t>{0, 10}));
  ExpectSame(Read(*EncodePageData(tree, {})), tree);
}

// main;b = 20 samples of 10 ns, main alone none.
TEST(PageDataTest, GoldenBytes) {
  StackTree tree;
  tree.sides = {{"s", 1'000'000, 2'500'000}};
  tree.value_types = {{"cpu", "ns", {10}}};
  tree.strings = {"", "all", "b", "main", "/app"};
  tree.functions = {
      {.name = 1},
      {.name = 2,
       .image = 4,
       .kind = flame::FunctionKind::kNative,
       .inlined = flame::Inlined::kAlways},
      {.name = 3, .image = 4, .start_line = 300, .kind = flame::FunctionKind::kNative}};
  tree.depth = {0, 1, 2};
  tree.function = {0, 2, 1};
  tree.self = {{0, 0, 200}};
  const auto bytes = EncodePageData(tree, {.title = "t", .notes = {"n"}});
  ASSERT_TRUE(bytes.ok());
  const std::string meta =
      "{\"title\":\"t\",\"value_types\":[{\"type\":\"cpu\",\"unit\":\"ns\",\"per_sample\":10}],"
      "\"value_type\":0,\"sides\":[{\"name\":\"s\",\"time_unix_ms\":1,\"duration_ms\":2.5}],"
      "\"notes\":[\"n\"]}";
  using namespace std::string_literals;
  EXPECT_EQ(*bytes,
            "VSTP\1\0\0\0META"s + static_cast<char>(meta.size()) + "\0\0\0"s + meta +
                "STRS\x12\0\0\0"s + "\5\0\3\1\4\4"s + "allbmain/app" +  //
                "FUNC\x0c\0\0\0"s + "\2" + "\2\3" + "\4\4" + "\0\0"s + "\0\xac\2"s + "\x11\1" +
                "TREE\5\0\0\0"s + "\2" + "\0\0"s + "\2\1" +  //
                "SELF\x0d\0\0\0"s + "\0\0"s + "\0\0\0\0\0\0\x69\x40"s + "\0\1\1"s);
}

TEST(PageDataTest, MetaSaysTheLargerPeriodOfTheTwo) {
  StackTree tree = TreeOf(test::SyntheticProfile({.odd_content = false}));
  tree.value_types[0].per_sample = {7};
  tree.sides[0].name = "x\"\xff";
  const Document document = Read(*EncodePageData(tree, {.title = "</script>\0", .notes = {"n1"}}));
  const auto meta = base::ParseJson(document.meta);
  ASSERT_TRUE(meta.ok());
  EXPECT_TRUE(base::IsUtf8(document.meta));
  EXPECT_EQ(*meta->Find("title")->AsString(), "</script>");
  EXPECT_EQ(meta->Find("value_types")->items()[0].Find("per_sample")->AsDouble(), 7);
  EXPECT_EQ(*meta->Find("notes")->items()[0].AsString(), "n1");
  EXPECT_EQ(meta->Find("inverted"), nullptr);
  const Document callers = Read(*EncodePageData(tree, {.title = "t", .inverted = true}));
  EXPECT_NE(base::ParseJson(callers.meta)->Find("inverted"), nullptr);
  tree.sides.push_back({"y"});
  for (auto& type : tree.value_types) type.per_sample = {7, 9};
  for (auto* columns : {&tree.self, &tree.line_self, &tree.line_total}) {
    std::vector<std::vector<int64_t>> doubled;
    for (const auto& column : *columns) doubled.insert(doubled.end(), 2, column);
    *columns = doubled;
  }
  const auto both = base::ParseJson(Read(*EncodePageData(tree, {})).meta);
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(both->Find("value_types")->items()[0].Find("per_sample")->AsDouble(), 9);
  EXPECT_EQ(both->Find("sides")->items().size(), 2u);
}

TEST(PageDataTest, ValuesBeyond53BitsAreRounded) {
  Profile profile;
  profile.SetSampleTypes({profile.InternValueType("v", "count")});
  const int64_t most = std::numeric_limits<int64_t>::max();
  const auto stack =
      profile.InternStack(std::vector{profile.AddLocation({profile::kNoMapping, 1, false, {}})});
  profile.AppendSample(stack, {}, {{most}});
  const Document document = Read(*EncodePageData(TreeOf(profile), {}));
  EXPECT_DOUBLE_EQ(document.self.at({0, 0})[1], static_cast<double>(most));
  // Together with something that keeps the common divisor at 1.
  profile.AppendSample({}, {}, {{2}});
  const Document two = Read(*EncodePageData(TreeOf(profile), {}));
  EXPECT_DOUBLE_EQ(two.self.at({0, 0})[1], static_cast<double>(most));
}

TEST(PageDataTest, WhatIsTooDeepIsCountedInItsAncestorAndSaid) {
  Profile profile;
  profile.SetSampleTypes({profile.InternValueType("samples", "count")});
  std::vector<LocationId> stack(kPageDepthMax + 100);
  for (size_t i = 0; i < stack.size(); ++i)
    stack[i] = profile.AddLocation({profile::kNoMapping, i % 2, false, {}});
  profile.AppendSample(profile.InternStack(stack), {}, {{5}});
  profile.AppendSample(profile.InternStack(std::span(stack).first(3)), {}, {{2}});
  profile.AppendSample(profile.InternStack(std::span(stack).last(kPageDepthMax)), {}, {{1}});
  const StackTree tree = TreeOf(profile);
  const Document document = Read(*EncodePageData(tree, {}));
  EXPECT_EQ(document.depth.size(), tree.node_count() - 100);
  double sum = 0;
  for (size_t i = 0; i < document.depth.size(); ++i) {
    EXPECT_LE(document.depth[i], kPageDepthMax);
    sum += document.self.at({0, 0})[i];
    if (document.depth[i] == kPageDepthMax) {
      EXPECT_EQ(document.self.at({0, 0})[i], 6);
    }
  }
  EXPECT_EQ(sum, 8);
  EXPECT_NE(document.meta.find("100 calls deeper than 65000 frames"), std::string::npos);
}

TEST(PageDataTest, AProfileWithoutTypesIsNoPage) {
  const auto bytes = EncodePageData(TreeOf(Profile{}), {});
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().code(), base::ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace vesta::page
