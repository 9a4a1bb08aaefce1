#include "src/flame/stack_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "src/base/utf8.h"
#include "src/flame/top_table.h"
#include "test/support/synthetic_profile.h"

namespace vesta::flame {
namespace {

using profile::LocationId;
using profile::Profile;

struct At {
  std::vector<std::string_view> innermost_first;
  std::string_view path = "";
  uint64_t address = 0;
  int64_t line = 0;
  std::string_view file = "";
};

class Made {
 public:
  Made() { profile.SetSampleTypes({profile.InternValueType("samples", "count")}); }
  LocationId Location(const At& at) {
    std::vector<profile::Line> lines;
    for (const std::string_view name : at.innermost_first) {
      lines.push_back({profile.InternFunction(
                           {profile.InternString(name), {}, profile.InternString(at.file), 0}),
                       at.line, 0});
    }
    profile::MappingId mapping = profile::kNoMapping;
    if (!at.path.empty()) {
      const auto [place, is_new] = mappings_.try_emplace(std::string(at.path));
      if (is_new) place->second = profile.AddMapping({profile.InternString(at.path), {}, 0, 0, 0});
      mapping = place->second;
    }
    return profile.InternLocation({mapping, at.address, false, lines});
  }
  void Add(const std::vector<At>& root_first, int64_t count, std::string_view process = "") {
    std::vector<LocationId> stack;
    for (size_t i = root_first.size(); i-- > 0;) stack.push_back(Location(root_first[i]));
    std::vector<profile::Label> labels;
    if (!process.empty()) labels.push_back(profile.TextLabel("process", process));
    profile.AppendSample(profile.InternStack(stack), profile.InternLabels(labels), {{count}});
  }
  Profile profile;

 private:
  std::map<std::string, profile::MappingId> mappings_;
};

StackTree TreeOf(const Profile& profile) {
  const TreeInput input{&profile, "a"};
  auto tree = MakeStackTree({&input, 1});
  EXPECT_TRUE(tree.ok()) << tree.error().message();
  return std::move(*tree);
}

base::Result<StackTree> TreeOf(const Profile& before, const Profile& after) {
  const TreeInput inputs[] = {{&before, "before"}, {&after, "after"}};
  return MakeStackTree(inputs);
}

// "depth name self..." per node.
std::vector<std::string> Nodes(const StackTree& tree) {
  std::vector<std::string> texts;
  for (size_t node = 0; node < tree.node_count(); ++node) {
    std::string text = std::to_string(tree.depth[node]) + ' ' + tree.name(tree.function[node]);
    for (const auto& column : tree.self) text += ' ' + std::to_string(column[node]);
    texts.push_back(std::move(text));
  }
  return texts;
}

using Texts = std::vector<std::string>;

const TreeFunction& FunctionOf(const StackTree& tree, std::string_view name) {
  for (uint32_t i = 1; i < tree.functions.size(); ++i) {
    if (tree.name(i) == name) return tree.functions[i];
  }
  ADD_FAILURE() << "no function " << name;
  return tree.functions[0];
}

TEST(StackTreeTest, FilesTellFunctionsApartWhereNoImageIsKnown) {
  Made made;
  const auto at = [](std::string_view file, std::string_view path = "") {
    return At{{"run"}, path, 0, 0, file};
  };
  made.Add({at("b.py"), at("a.py"), at("a.py")}, 3);
  made.Add({at("a.py")}, 1);
  made.Add({at("c.c", "/app"), at("d.c", "/app")}, 5);
  const StackTree tree = TreeOf(made.profile);
  std::vector<std::string> files;
  for (const TreeFunction& function : tree.functions) files.push_back(tree.strings[function.file]);
  ASSERT_EQ(files.size(), 4u);
  EXPECT_EQ((Texts{files[1], files[2]}), (Texts{"a.py", "b.py"}));
  EXPECT_EQ(tree.image(3), "/app");
  EXPECT_EQ(SumFunctions(tree, 0).total, (std::vector<int64_t>{9, 4, 3, 5}));
  EXPECT_EQ(tree.function, (std::vector<uint32_t>{0, 1, 2, 1, 1, 3, 3}));
}

TEST(StackTreeTest, SiblingsAreAlphabeticalAndParentsComeFirst) {
  Made made;
  made.Add({{{"main"}}, {{"b"}}}, 2);
  made.Add({{{"main"}}, {{"a"}}, {{"z"}}}, 3);
  made.Add({{{"main"}}, {{"a"}}}, 1);
  made.Add({{{"main"}}, {{"b"}}}, 4);
  made.Add({{{"init"}}}, 1);
  EXPECT_EQ(Nodes(TreeOf(made.profile)),
            (Texts{"0 all 0", "1 init 1", "1 main 0", "2 a 1", "3 z 3", "2 b 6"}));
  EXPECT_EQ(NodeTotals(TreeOf(made.profile), 0), (std::vector<int64_t>{11, 1, 10, 4, 3, 6}));
}

TEST(StackTreeTest, TheProcessIsTheFirstFrameOfThoseThatHaveOne) {
  Made made;
  made.Add({{{"main"}}}, 1, "nginx");
  made.Add({{{"main"}}}, 2);
  made.Add({{{"main"}}}, 4, "all");
  const StackTree tree = TreeOf(made.profile);
  EXPECT_EQ(Nodes(tree),
            (Texts{"0 all 0", "1 all 0", "2 main 4", "1 main 2", "1 nginx 0", "2 main 1"}));
  EXPECT_EQ(FunctionOf(tree, "nginx").kind, FunctionKind::kProcess);
  const TreeInput input{&made.profile, ""};
  EXPECT_EQ(Nodes(*MakeStackTree({&input, 1}, {.root_labels = {}})),
            (Texts{"0 all 0", "1 main 7"}));
  // Of equal stacks, one after the other, too; and a function may be called like the root.
  Made threads;
  threads.Add({{{"main"}}, {{"all"}}}, 1, "a");
  threads.Add({{{"main"}}, {{"all"}}}, 2, "b");
  threads.Add({{{"main"}}, {{"all"}}}, 4, "a");
  const StackTree both = TreeOf(threads.profile);
  EXPECT_EQ(Nodes(both),
            (Texts{"0 all 0", "1 a 0", "2 main 0", "3 all 5", "1 b 0", "2 main 0", "3 all 2"}));
  EXPECT_NE(both.function[3], 0u);
}

TEST(StackTreeTest, NamesAreThoseOfFoldedOutputAndKindsSayWhatTheyAre) {
  Made made;
  made.Add(
      {{{"main"}, "/bin/app"}, {{}, "/lib/libx.so", 0x10}, {{"sys"}, "[kernel]"}, {{""}, "", 0x20}},
      1);
  made.Add({}, 2);
  made.Add({{{"js"}}}, 0);
  const StackTree tree = TreeOf(made.profile);
  EXPECT_EQ(Nodes(tree), (Texts{"0 all 0", "1 [no stack] 2", "1 main 0", "2 libx.so+0x10 0",
                                "3 sys 0", "4 0x20 1"}));
  EXPECT_EQ(FunctionOf(tree, "main").kind, FunctionKind::kNative);
  EXPECT_EQ(FunctionOf(tree, "libx.so+0x10").kind, FunctionKind::kUnnamed);
  EXPECT_EQ(tree.strings[FunctionOf(tree, "libx.so+0x10").image], "/lib/libx.so");
  EXPECT_EQ(FunctionOf(tree, "sys").kind, FunctionKind::kKernel);
  EXPECT_EQ(FunctionOf(tree, "0x20").kind, FunctionKind::kUnnamed);
  EXPECT_EQ(FunctionOf(tree, "[no stack]").kind, FunctionKind::kOther);
}

TEST(StackTreeTest, InlinedFunctionsAreNodes) {
  Made made;
  made.Add({{{"in", "mid", "out"}}}, 1);
  made.Add({{{"mid"}}, {{"in", "out"}}}, 1);
  const StackTree tree = TreeOf(made.profile);
  EXPECT_EQ(Nodes(tree),
            (Texts{"0 all 0", "1 mid 0", "2 out 0", "3 in 1", "1 out 0", "2 mid 0", "3 in 1"}));
  EXPECT_EQ(FunctionOf(tree, "in").inlined, Inlined::kAlways);
  EXPECT_EQ(FunctionOf(tree, "mid").inlined, Inlined::kSometimes);
  EXPECT_EQ(FunctionOf(tree, "out").inlined, Inlined::kNever);
}

TEST(StackTreeTest, LinesCountASampleOnceHoweverDeepTheRecursion) {
  Made made;
  made.Add({{{"f"}, "", 0, 7}, {{"f"}, "", 0, 7}, {{"f"}, "", 0, 9}}, 3);
  made.Add({{{"f"}, "", 0, 7}}, 1);
  made.Add({{{"e"}, "", 0, -1}}, 1);
  const StackTree tree = TreeOf(made.profile);
  ASSERT_EQ(tree.lines.size(), 2u);
  EXPECT_EQ(tree.name(tree.lines[0].function), "f");
  EXPECT_EQ(tree.lines[0].line, 7u);
  EXPECT_EQ(tree.line_self[0], (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(tree.line_total[0], (std::vector<int64_t>{4, 3}));
}

TEST(StackTreeTest, TwoProfilesShareFunctionsAndTypes) {
  Made before, after;
  before.Add({{{"main"}, "/opt/1/app"}, {{"gone"}, "/opt/1/app"}}, 1);
  before.Add({{{"main"}, "/opt/1/app"}, {{"same"}, "/lib/c.so"}}, 2);
  after.Add({{{"main"}, "/opt/2/app"}, {{"same"}, "/lib/c.so"}}, 3);
  after.Add({{{"main"}, "/opt/2/app"}, {{"new"}, "/opt/2/app"}}, 4);
  const StackTree tree = std::move(*TreeOf(before.profile, after.profile));
  EXPECT_EQ(Nodes(tree),
            (Texts{"0 all 0 0", "1 main 0 0", "2 gone 1 0", "2 new 0 4", "2 same 2 3"}));
  EXPECT_EQ(tree.strings[FunctionOf(tree, "main").image], "/opt/2/app");
  EXPECT_EQ(tree.sides[1].name, "after");
}

TEST(StackTreeTest, OnlyAPathThatCanMeanOneThingIsTakenForAnother) {
  Made before, after;
  before.Add({{{"main"}, "/1/app"}}, 1);
  after.Add({{{"main"}, "/2/app"}}, 1);
  after.Add({{{"main"}, "/3/app"}}, 1);
  EXPECT_EQ(TreeOf(before.profile, after.profile)->node_count(), 4u);
  EXPECT_EQ(TreeOf(after.profile, before.profile)->node_count(), 4u);
}

TEST(StackTreeTest, ProfilesWithoutASharedTypeAreRefused) {
  Profile cpu, heap;
  cpu.SetSampleTypes({cpu.InternValueType("cpu", "nanoseconds")});
  heap.SetSampleTypes({heap.InternValueType("space", "bytes")});
  const auto tree = TreeOf(cpu, heap);
  ASSERT_FALSE(tree.ok());
  EXPECT_EQ(tree.error().message(),
            "the two profiles share no sample type: before has cpu/nanoseconds, after has "
            "space/bytes");
}

TEST(StackTreeTest, ADifferenceBecomesTwoSides) {
  Made made;
  made.Add({{{"a"}}}, -2);
  made.Add({{{"a"}}}, 5);
  EXPECT_EQ(Nodes(TreeOf(made.profile)), (Texts{"0 all 0 0", "1 a 2 5"}));
  const auto twice = TreeOf(made.profile, made.profile);
  ASSERT_FALSE(twice.ok());
  EXPECT_NE(twice.error().message().find("is a difference already"), std::string::npos);
  // pprof's own mark, whatever the sign.
  const auto base = made.profile.InternLabels(
      std::vector<profile::Label>{made.profile.TextLabel("pprof::base", "true")});
  made.profile.AppendSample(made.profile.InternStack(std::vector{made.Location({{"b"}})}), base,
                            {{7}});
  EXPECT_EQ(Nodes(TreeOf(made.profile)), (Texts{"0 all 0 0", "1 a 2 5", "1 b 7 0"}));
}

TEST(StackTreeTest, WhatOneSampleStandsForIsKnownWhereItIsTheSameForAll) {
  Profile profile;
  profile.SetSampleTypes(
      {profile.InternValueType("samples", "count"), profile.InternValueType("cpu", "nanoseconds"),
       profile.InternValueType("events", "count"), profile.InternValueType("wait", "nanoseconds")});
  profile.header().period_type = profile.InternValueType("cpu", "nanoseconds");
  profile.header().period = 1000;
  const auto stack =
      profile.InternStack(std::vector{profile.AddLocation({profile::kNoMapping, 1, false, {}})});
  profile.AppendSample(stack, {}, {{2, 2000, 6, 5}});
  profile.AppendSample(stack, {}, {{1, 1000, 3, 5}});
  const StackTree tree = TreeOf(profile);
  const double expected[] = {1, 1000, 3, 0};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(tree.value_types[i].per_sample[0], expected[i]) << i;
  EXPECT_EQ(tree.value_type, 3u);
}

TEST(StackTreeTest, AHundredThousandFramesNeedNoStackOfOurs) {
  Profile profile;
  profile.SetSampleTypes({profile.InternValueType("samples", "count")});
  const profile::Line line{profile.InternFunction({profile.InternString("f"), {}, {}, 0}), 3, 0};
  const LocationId f = profile.AddLocation({profile::kNoMapping, 1, false, {&line, 1}});
  const std::vector<LocationId> stack(100'000, f);
  profile.AppendSample(profile.InternStack(stack), {}, {{1}});
  const StackTree tree = TreeOf(profile);
  EXPECT_EQ(tree.node_count(), 100'001u);
  EXPECT_EQ(tree.depth.back(), 100'000u);
  EXPECT_EQ(NodeTotals(tree, 0)[0], 1);
  EXPECT_EQ(SumFunctions(tree, 0).total[1], 1);
  EXPECT_EQ(tree.line_total[0][0], 1);
}

TEST(StackTreeTest, ASmallFileThatStandsForAHugeTreeIsRefused) {
  Profile profile;
  profile.SetSampleTypes({profile.InternValueType("samples", "count")});
  const profile::Line line{profile.InternFunction({profile.InternString("f"), {}, {}, 0}), 0, 0};
  const std::vector<profile::Line> lines(10'000, line);
  const LocationId f = profile.AddLocation({profile::kNoMapping, 1, false, lines});
  const std::vector<LocationId> stack(10'000, f);
  profile.AppendSample(profile.InternStack(stack), {}, {{1}});
  const TreeInput input{&profile, ""};
  const auto tree = MakeStackTree({&input, 1}, {.nodes_max = 100'000});
  ASSERT_FALSE(tree.ok());
  EXPECT_EQ(tree.error().code(), base::ErrorCode::kExhausted);
}

// Any profile: samples by name, counted the plainest way.
TEST(StackTreeTest, HoldsForRandomProfiles) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Profile profile = test::SyntheticProfile({.seed = seed, .samples = 60});
    const StackTree tree = TreeOf(profile);
    for (const std::string& text : tree.strings) EXPECT_TRUE(base::IsUtf8(text));
    for (uint32_t i = 2; i < tree.functions.size(); ++i) {
      const auto key = [&](uint32_t id) {
        return std::tuple(tree.name(id), tree.image(id), tree.functions[id].kind);
      };
      EXPECT_LT(key(i - 1), key(i));
    }
    // The last node of each depth; a less deep one ends those below it.
    std::vector<uint32_t> last;
    for (size_t node = 0; node < tree.node_count(); ++node) {
      ASSERT_LE(tree.depth[node], last.size());
      if (tree.depth[node] < last.size()) {
        EXPECT_LT(last[tree.depth[node]], tree.function[node]);
      }
      last.resize(tree.depth[node]);
      last.push_back(tree.function[node]);
    }
    for (size_t type = 0; type < profile.sample_types().size(); ++type) {
      int64_t expected = 0, actual = 0;
      for (size_t i = 0; i < profile.sample_count(); ++i)
        expected += std::abs(profile.sample_values(i)[type]);
      for (size_t side = 0; side < tree.sides.size(); ++side) {
        const size_t column = tree.column(type, side);
        const int64_t sum = NodeTotals(tree, column)[0];
        int64_t self = 0;
        for (const int64_t value : tree.self[column]) {
          EXPECT_GE(value, 0);
          self += value;
        }
        EXPECT_EQ(self, sum);
        actual += sum;
      }
      EXPECT_EQ(actual, expected);
    }
  }
}

TEST(StackTreeTest, FunctionSumsAreThoseOfTheTopTable) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Profile profile =
        test::SyntheticProfile({.seed = seed, .samples = 60, .odd_content = false});
    const StackTree tree = TreeOf(profile);
    ASSERT_EQ(tree.sides.size(), 1u);
    using Sums = std::map<std::pair<std::string, std::string>, std::pair<int64_t, int64_t>>;
    Sums expected, actual;
    for (const TopRow& row : MakeTopTable(profile, 1).rows) {
      if (!row.name.empty()) expected[{row.name, row.image}] = {row.self, row.total};
    }
    const FunctionSums sums = SumFunctions(tree, 1);
    for (uint32_t i = 1; i < tree.functions.size(); ++i) {
      const FunctionKind kind = tree.functions[i].kind;
      if (kind == FunctionKind::kProcess || kind == FunctionKind::kUnnamed) continue;
      if (tree.name(i) == "[no stack]" || (sums.self[i] == 0 && sums.total[i] == 0)) continue;
      const std::string& path = tree.image(i);
      actual[{tree.name(i), path.substr(path.rfind('/') + 1)}] = {sums.self[i], sums.total[i]};
    }
    EXPECT_EQ(actual, expected);
  }
}

}  // namespace
}  // namespace vesta::flame
