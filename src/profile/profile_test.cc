#include "src/profile/profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace vesta::profile {
namespace {

struct Names {
  Profile profile;
  LocationId Add(std::string_view name, uint64_t address = 0) {
    const Line line{profile.InternFunction({profile.InternString(name), {}, {}, 0}), 0, 0};
    return profile.InternLocation({kNoMapping, address, false, {&line, 1}});
  }
};

TEST(ProfileTest, EqualContentSharesOneId) {
  Names names;
  Profile& profile = names.profile;
  const LocationId a = names.Add("a");
  const LocationId b = names.Add("b");
  EXPECT_EQ(names.Add("a"), a);
  EXPECT_NE(names.Add("a", 1), a);
  EXPECT_EQ(profile.InternStack({{a, b}}), profile.InternStack({{a, b}}));
  EXPECT_NE(profile.InternStack({{a, b}}), profile.InternStack({{b, a}}));
  const Label pid = profile.NumberLabel("pid", 7);
  const Label name = profile.TextLabel("pid", "7");
  EXPECT_EQ(profile.InternLabels({{pid}}), profile.InternLabels({{pid}}));
  EXPECT_NE(profile.InternLabels({{pid}}), profile.InternLabels({{name}}));
  EXPECT_NE(profile.InternLabels({{pid, name}}), profile.InternLabels({{name, pid}}));
}

TEST(ProfileTest, IdZeroIsTheEmptyStringStackAndLabelSet) {
  Profile profile;
  EXPECT_EQ(profile.InternString(""), StringId{});
  EXPECT_EQ(profile.InternStack({}), StackId{});
  EXPECT_EQ(profile.InternLabels({}), LabelSetId{});
  EXPECT_TRUE(profile.stack(StackId{}).empty());
}

TEST(ProfileTest, KeepsLeafFirstOrder) {
  Names names;
  const LocationId leaf = names.Add("leaf");
  const LocationId root = names.Add("root");
  const auto stack = names.profile.stack(names.profile.InternStack({{leaf, root}}));
  EXPECT_EQ(stack[0], leaf);
  EXPECT_EQ(stack[1], root);
}

TEST(ProfileTest, AddMergesEqualStackAndLabelsAndAppendDoesNot) {
  Names names;
  Profile& profile = names.profile;
  profile.SetSampleTypes({profile.InternValueType("samples", "count")});
  const LocationId a = names.Add("a");
  const StackId stack = profile.InternStack({{a}});
  const Label label = profile.TextLabel("k", "v");
  const LabelSetId labels = profile.InternLabels({{label}});
  profile.AppendSample(stack, {}, {{1}});
  profile.AddSample(stack, {}, {{2}});
  profile.AddSample(stack, labels, {{4}});
  profile.AddSample(stack, labels, {{8}});
  profile.AppendSample(stack, labels, {{16}});
  ASSERT_EQ(profile.sample_count(), 3u);
  EXPECT_EQ(profile.sample_values(0)[0], 3);
  EXPECT_EQ(profile.sample_values(1)[0], 12);
  EXPECT_EQ(profile.sample_values(2)[0], 16);
}

TEST(ProfileTest, SumsSaturateInsteadOfWrapping) {
  Profile profile;
  profile.SetSampleTypes({profile.InternValueType("samples", "count")});
  profile.AddSample({}, {}, {{std::numeric_limits<int64_t>::max() - 1}});
  profile.AddSample({}, {}, {{5}});
  EXPECT_EQ(profile.sample_values(0)[0], std::numeric_limits<int64_t>::max());
  EXPECT_EQ(AddSaturating(std::numeric_limits<int64_t>::min(), -1),
            std::numeric_limits<int64_t>::min());
}

TEST(ProfileTest, InternFindsWhatAddMade) {
  Profile profile;
  const Function function{profile.InternString("f"), {}, {}, 3};
  const FunctionId first = profile.AddFunction(function);
  const FunctionId second = profile.AddFunction(function);
  EXPECT_NE(first, second);
  EXPECT_EQ(profile.InternFunction(function), first);
  const Line line{second, 5, 1};
  const Location location{kNoMapping, 16, false, {&line, 1}};
  const LocationId added = profile.AddLocation(location);
  EXPECT_NE(profile.AddLocation(location), added);
  EXPECT_EQ(profile.InternLocation(location), added);
}

TEST(ProfileTest, StringsOfEverySizeStayInPlace) {
  Profile profile;
  std::vector<std::string> texts;
  for (size_t i = 0; i < 3000; ++i) {
    texts.push_back(std::to_string(i) + std::string(i % 701, 'x'));
    if (i % 500 == 0) texts.push_back(std::to_string(i) + std::string(70000 + i, 'y'));
  }
  std::vector<std::string_view> views;
  for (const std::string& text : texts) views.push_back(profile.String(profile.InternString(text)));
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(views[i], texts[i]);
    EXPECT_EQ(profile.String(profile.InternString(texts[i])).data(), views[i].data());
  }
}

TEST(ProfileTest, DefaultSampleTypeIsTheNamedOneElseTheLast) {
  Profile profile;
  EXPECT_EQ(profile.DefaultSampleTypeIndex(), 0u);
  profile.SetSampleTypes(
      {profile.InternValueType("samples", "count"), profile.InternValueType("cpu", "nanoseconds")});
  EXPECT_EQ(profile.DefaultSampleTypeIndex(), 1u);
  profile.header().default_sample_type = profile.InternString("samples");
  EXPECT_EQ(profile.DefaultSampleTypeIndex(), 0u);
  profile.header().default_sample_type = profile.InternString("no such type");
  EXPECT_EQ(profile.DefaultSampleTypeIndex(), 1u);
}

TEST(ProfileTest, ValidateNamesTheRowThatPointsNowhere) {
  const auto message = [](auto&& spoil) {
    Profile profile;
    spoil(profile);
    const auto result = profile.Validate();
    return result.ok() ? std::string() : result.error().message();
  };
  EXPECT_EQ(message([](Profile&) {}), "");
  EXPECT_EQ(message([](Profile& p) { p.AddFunction({StringId{9}, {}, {}, 0}); }),
            "function 0: string that does not exist");
  EXPECT_EQ(message([](Profile& p) { p.AddMapping({StringId{9}, {}, 0, 0, 0}); }),
            "mapping 0: string that does not exist");
  EXPECT_EQ(message([](Profile& p) {
              const Line line{FunctionId{3}, 0, 0};
              p.AddLocation({kNoMapping, 0, false, {&line, 1}});
            }),
            "location 0: function that does not exist");
  EXPECT_EQ(message([](Profile& p) { p.InternStack({{LocationId{0}}}); }),
            "stack 1: location that does not exist");
  EXPECT_EQ(message([](Profile& p) { p.InternLabels({{Label{StringId{5}, {}, 0, {}}}}); }),
            "label set 1: string that does not exist");
  EXPECT_EQ(message([](Profile& p) { p.header().doc_url = StringId{5}; }),
            "header: string that does not exist");
  EXPECT_EQ(message([](Profile& p) { p.SetSampleTypes({{StringId{5}, {}}}); }),
            "sample type 0: string that does not exist");
}

TEST(ProfileTest, MillionDistinctStacksFitInto110MB) {
  Names names;
  std::vector<LocationId> locations;
  for (uint64_t i = 0; i < 1000; ++i) locations.push_back(names.Add("f" + std::to_string(i), i));
  Profile& profile = names.profile;
  profile.SetSampleTypes({profile.InternValueType("samples", "count")});
  constexpr size_t kStacks = 1'000'000;
  for (size_t i = 0; i < kStacks; ++i) {
    const LocationId stack[] = {locations[i % 1000], locations[i / 1000 % 1000], locations[0]};
    profile.AddSample(profile.InternStack(stack), {}, {{1}});
  }
  EXPECT_EQ(profile.sample_count(), kStacks);
  // Offsets 8, index 2 x 16 at worst after doubling, sample 16; vectors may hold twice that.
  EXPECT_LT(profile.memory_bytes(), kStacks * 110);
}

TEST(ProfileTest, PartOfAStackOfTheSameProfileCanBeInterned) {
  Names names;
  std::vector<LocationId> ids;
  for (uint64_t i = 0; i < 50; ++i) ids.push_back(names.Add("f", i));
  const StackId whole = names.profile.InternStack(ids);
  for (size_t i = 1; i < 50; ++i) {
    const auto part =
        names.profile.stack(names.profile.InternStack(names.profile.stack(whole).subspan(i)));
    EXPECT_TRUE(std::equal(part.begin(), part.end(), ids.begin() + static_cast<ptrdiff_t>(i)));
    EXPECT_EQ(part.size(), 50 - i);
  }
}

TEST(ProfileTest, SmallIdsSpreadOverTheIndex) {
  std::set<uint32_t> slots;
  constexpr uint32_t kIds = 20'000;
  for (uint32_t id = 0; id < kIds; ++id) {
    const uint64_t hash = HashWord(HashWord(HashWord(id, id), 0), 0);
    slots.insert(static_cast<uint32_t>(hash ^ (hash >> 32)) % 65536);
  }
  // Thrown at random, 20,000 balls hit 17,200 of 65,536 boxes.
  EXPECT_GT(slots.size(), 16'500u);
}

TEST(ProfileTest, KnowsKernelCodeByMappingOrAddress) {
  Profile profile;
  const auto is_kernel = [&](std::string_view path, uint64_t address) {
    const MappingId mapping = profile.AddMapping({profile.InternString(path), {}, 0, 0, 0});
    return IsKernelLocation(profile, {mapping, address, false, {}});
  };
  EXPECT_TRUE(is_kernel("[kernel]", 0x1000));
  EXPECT_TRUE(is_kernel("[kernel.kallsyms]", 0x1000));
  EXPECT_TRUE(is_kernel("/lib/modules/6.1/kernel/fs/ext4/ext4.ko.xz", 0x40));
  EXPECT_TRUE(is_kernel("[nf_tables]", 0x40));
  EXPECT_TRUE(is_kernel("", 0xffffffffc0001000));
  EXPECT_FALSE(is_kernel("[anon]", 0x40));
  EXPECT_FALSE(is_kernel("[vdso]", 0x40));
  EXPECT_FALSE(is_kernel("[generated code]", 0x40));
  EXPECT_FALSE(is_kernel("[]", 0x40));
  EXPECT_FALSE(is_kernel("[vsyscall]", 0xffffffffff600000));
  EXPECT_FALSE(is_kernel("/usr/bin/kernel", 0x1000));
  EXPECT_TRUE(IsKernelLocation(profile, {kNoMapping, 0xffffffff81000000, false, {}}));
  EXPECT_FALSE(IsKernelLocation(profile, {kNoMapping, 0x7f0000000000, false, {}}));
  // No place of the kernel: what a walk that went wrong takes for an address.
  EXPECT_FALSE(IsKernelLocation(profile, {kNoMapping, 0xc1bcc6120000000d, false, {}}));
}

TEST(ProfileTest, ShortNameIsWhatStandsBehindTheLastSlash) {
  Profile profile;
  const MappingId libc =
      profile.AddMapping({profile.InternString("/usr/lib/libc.so.6"), {}, 0, 0, 0});
  const MappingId vdso = profile.AddMapping({profile.InternString("[vdso]"), {}, 0, 0, 0});
  EXPECT_EQ(MappingShortName(profile, libc), "libc.so.6");
  EXPECT_EQ(MappingShortName(profile, vdso), "[vdso]");
  EXPECT_EQ(MappingShortName(profile, kNoMapping), "");
}

}  // namespace
}  // namespace vesta::profile
