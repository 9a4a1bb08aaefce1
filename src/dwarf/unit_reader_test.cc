#include "src/dwarf/unit_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/dwarf/dwarf_image_for_test.h"
#include "src/dwarf/scope_walk.h"

namespace vesta::dwarf {
namespace {

constexpr uint16_t kTagVariable = 0x34;
constexpr uint16_t kTagLexicalBlock = 0x0b;
constexpr uint16_t kAtConstValue = 0x1c;

struct Whole {
  std::vector<Unit> units;
  ReaderStats stats;
};

Whole ReadAll(const Sections& sections, SplitSource source = {}) {
  Whole whole;
  UnitReader reader(sections, std::move(source));
  Unit unit;
  while (reader.Next(unit)) whole.units.push_back(unit);
  EXPECT_EQ(reader.position_bytes(), reader.size_bytes());
  whole.stats = reader.stats();
  return whole;
}

Unit ReadOne(const Sections& sections) {
  const Whole whole = ReadAll(sections);
  EXPECT_EQ(whole.units.size(), 1u);
  EXPECT_EQ(whole.stats.damaged_count, 0u);
  return whole.units.empty() ? Unit() : whole.units[0];
}

std::string NameOf(const Unit& unit, size_t scope) {
  if (scope >= unit.scopes.size() || unit.scopes[scope].function == kNone) return "none";
  return std::string(unit.functions.at(unit.scopes[scope].function).name);
}

std::vector<std::pair<uint64_t, uint64_t>> RangesOf(const Unit& unit, size_t scope) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  if (scope >= unit.scopes.size()) return ranges;
  for (uint32_t i = 0; i < unit.scopes[scope].range_count; ++i) {
    const Range& range = unit.ranges.at(unit.scopes[scope].range_first + i);
    ranges.emplace_back(range.start, range.end);
  }
  return ranges;
}
using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;

TEST(UnitReader, NamesAreReadInEachForm) {
  struct Case {
    uint16_t form;
    std::string bytes;
  };
  // The string is the second of the table, at 3.
  const std::vector<Case> cases = {
      {kFormString, Text("wanted")}, {kFormStrp, U32(3)},       {kFormLineStrp, U32(3)},
      {kFormStrx, Uleb(1)},          {kFormStrx1, U8(1)},       {kFormStrx2, U16(1)},
      {kFormStrx3, Fixed(1, 3)},     {kFormStrx4, U32(1)},      {kFormGnuStrIndex, Uleb(1)},
      {kFormStrpSup, U32(3)},        {kFormGnuStrpAlt, U32(3)},
  };
  for (const Case& one : cases) {
    DwarfImage alternate;
    alternate.str = Text("no") + Text("wanted");
    const Sections alternate_view = alternate.View();
    DwarfImage image;
    image.str = image.line_str = alternate.str;
    image.str_offsets = U32(12) + U16(5) + U16(0) + U32(0) + U32(3);
    Entry function = FunctionEntry("", 0x1000);
    function.attributes[0] = {kAtName, one.form, one.bytes, 0, ""};
    image.AddUnit({}, UnitEntry({function}, {{kAtStrOffsetsBase, kFormSecOffset, U32(8), 0, ""}}));
    Sections sections = image.View();
    sections.alternate = &alternate_view;
    EXPECT_EQ(NameOf(ReadOne(sections), 0), "wanted") << one.form;
  }
}

TEST(UnitReader, AddressesAreReadInEachForm) {
  const std::vector<std::pair<uint16_t, std::string>> cases = {
      {kFormAddr, U64(0x2000)},     {kFormAddrx, Uleb(1)},      {kFormAddrx1, U8(1)},
      {kFormAddrx2, U16(1)},        {kFormAddrx3, Fixed(1, 3)}, {kFormAddrx4, U32(1)},
      {kFormGnuAddrIndex, Uleb(1)},
  };
  for (const auto& [form, bytes] : cases) {
    DwarfImage image;
    image.addr = U32(20) + U16(5) + U8(8) + U8(0) + U64(0x1000) + U64(0x2000);
    Entry function = FunctionEntry("f", 0);
    function.attributes[1] = {kAtLowPc, form, bytes, 0, ""};
    image.AddUnit({}, UnitEntry({function}, {{kAtAddrBase, kFormSecOffset, U32(8), 0, ""}}));
    EXPECT_EQ(RangesOf(ReadOne(image.View()), 0), (Ranges{{0x2000, 0x2010}})) << form;
  }
}

TEST(UnitReader, ConstantsAreReadInEachForm) {
  const std::vector<std::pair<uint16_t, std::string>> cases = {
      {kFormData1, U8(77)},     {kFormData2, U16(77)},
      {kFormData4, U32(77)},    {kFormData8, U64(77)},
      {kFormSdata, Sleb(77)},   {kFormUdata, Uleb(77)},
      {kFormImplicitConst, ""}, {kFormIndirect, Uleb(kFormData2) + U16(77)},
  };
  for (const auto& [form, bytes] : cases) {
    DwarfImage image;
    Entry function = FunctionEntry("f", 0x1000);
    function.attributes.push_back({kAtDeclLine, form, bytes, 77, ""});
    function.attributes[2] = {kAtHighPc, form, bytes, 77, ""};
    image.AddUnit({}, UnitEntry({function}));
    const Unit unit = ReadOne(image.View());
    ASSERT_EQ(unit.functions.size(), 1u) << form;
    EXPECT_EQ(unit.functions[0].line, 77u) << form;
    EXPECT_EQ(RangesOf(unit, 0), (Ranges{{0x1000, 0x104d}})) << form;
  }
}

TEST(UnitReader, EveryFormIsSkipped) {
  const std::vector<std::pair<uint16_t, std::string>> cases = {
      {kFormAddr, U64(1)},
      {kFormBlock1, U8(3) + "abc"},
      {kFormBlock2, U16(3) + "abc"},
      {kFormBlock4, U32(3) + "abc"},
      {kFormBlock, Uleb(3) + "abc"},
      {kFormExprloc, Uleb(200) + std::string(200, 'x')},
      {kFormData16, std::string(16, 'y')},
      {kFormFlag, U8(1)},
      {kFormFlagPresent, ""},
      {kFormRefSig8, U64(9)},
      {kFormRefSup4, U32(9)},
      {kFormRefSup8, U64(9)},
      {kFormGnuRefAlt, U32(9)},
      {kFormLoclistx, Uleb(300)},
      {kFormRnglistx, Uleb(300)},
      {kFormSecOffset, U32(9)},
      {kFormString, Text("a long string")},
      {kFormSdata, Sleb(-70000)},
      {kFormUdata, Uleb(70000)},
      {kFormImplicitConst, ""},
      {kFormIndirect, Uleb(kFormBlock1) + U8(2) + "ab"},
      {kFormStrx3, Fixed(1, 3)},
      {kFormAddrx3, Fixed(1, 3)},
      {kFormRefAddr, U32(1)},
  };
  std::vector<Attribute> all;
  for (const auto& [form, bytes] : cases) {
    const Attribute attribute{kAtConstValue, form, bytes, -3, ""};
    all.push_back(attribute);
    DwarfImage image;
    image.AddUnit({}, UnitEntry({{kTagVariable, {attribute}, {}, ""}, FunctionEntry("f", 0x1000)}));
    EXPECT_EQ(NameOf(ReadOne(image.View()), 0), "f") << form;
  }
  DwarfImage image;
  image.AddUnit({}, UnitEntry({{kTagVariable, all, {}, ""}, FunctionEntry("f", 0x1000)}));
  EXPECT_EQ(NameOf(ReadOne(image.View()), 0), "f");
}

TEST(UnitReader, OriginsAreFollowedInEachForm) {
  for (const uint16_t form :
       {kFormRef1, kFormRef2, kFormRef4, kFormRef8, kFormRefUdata, kFormRefAddr}) {
    DwarfImage image;
    const Entry abstract{kTagSubprogram,
                         {{kAtName, kFormString, Text("origin"), 0, ""},
                          {kAtLinkageName, kFormString, Text("_Z6originv"), 0, ""},
                          {kAtDeclLine, kFormData1, U8(12), 0, ""}},
                         {},
                         "origin"};
    const Entry inlined{kTagInlinedSubroutine,
                        {{kAtAbstractOrigin, form, "", 0, "origin"},
                         {kAtLowPc, kFormAddr, U64(0x1004), 0, ""},
                         {kAtHighPc, kFormData1, U8(4), 0, ""},
                         {kAtCallLine, kFormData1, U8(99), 0, ""}},
                        {},
                        ""};
    const Entry block{kTagLexicalBlock, {}, {inlined}, ""};
    image.AddUnit({}, UnitEntry({abstract, FunctionEntry("outer", 0x1000, {block, inlined})}));
    const Unit unit = ReadOne(image.View());
    ASSERT_EQ(unit.scopes.size(), 3u) << form;
    EXPECT_EQ(NameOf(unit, 0), "outer");
    EXPECT_EQ(NameOf(unit, 1), "origin");
    EXPECT_EQ(unit.scopes[1].function, unit.scopes[2].function) << "copies share the function";
    EXPECT_EQ(unit.functions[unit.scopes[1].function].linkage_name, "_Z6originv");
    EXPECT_EQ(unit.functions[unit.scopes[1].function].line, 12u);
    EXPECT_EQ(unit.scopes[1].parent, 0u);
    EXPECT_EQ(unit.scopes[2].parent, 0u);
    EXPECT_EQ(unit.scopes[1].call_line, 99u);
    EXPECT_EQ(unit.scopes[0].parent, kNone);
  }
}

TEST(UnitReader, OriginsInPartialUnitsAndInTheAlternateFileAreFollowed) {
  DwarfImage alternate;
  Entry partial{kTagPartialUnit,
                {},
                {{kTagSubprogram, {{kAtName, kFormString, Text("far"), 0, ""}}, {}, "far"}},
                ""};
  alternate.AddUnit({4, kUnitCompile, 8, 4, 0}, partial);
  partial.children[0].attributes[0].bytes = Text("near");
  partial.children[0].label = "near";
  DwarfImage image;
  image.AddUnit({5, kUnitPartial, 8, 4, 0}, partial);
  image.AddUnit({4, kUnitCompile, 8, 4, 0}, partial);  // version 4 says it by the tag only
  Entry by_offset = FunctionEntry("", 0x1000);
  by_offset.attributes[0] = {kAtAbstractOrigin, kFormRefAddr, "", 0, "near"};
  Entry by_alternate = FunctionEntry("", 0x2000);
  by_alternate.attributes[0] = {kAtSpecification, kFormGnuRefAlt, U32(alternate.OffsetOf("far")), 0,
                                ""};
  image.AddUnit({}, UnitEntry({by_offset, by_alternate}));
  Sections sections = image.View();
  const Sections alternate_view = alternate.View();
  EXPECT_EQ(NameOf(ReadOne(sections), 0), "near");
  EXPECT_EQ(NameOf(ReadOne(sections), 1), "");
  EXPECT_EQ(ReadAll(sections).stats.lost_reference_count, 0u) << "there is no such file";
  sections.alternate = &alternate_view;
  EXPECT_EQ(NameOf(ReadOne(sections), 1), "far");
}

TEST(UnitReader, ReferencesThatGoRoundOrNowhereEnd) {
  DwarfImage image;
  Entry one = FunctionEntry("", 0x1000);
  one.label = "one";
  one.attributes[0] = {kAtAbstractOrigin, kFormRef4, "", 0, "two"};
  Entry two = FunctionEntry("", 0x2000);
  two.label = "two";
  two.attributes[0] = {kAtAbstractOrigin, kFormRef4, "", 0, "one"};
  Entry self = FunctionEntry("", 0x3000);
  self.label = "self";
  self.attributes[0] = {kAtSpecification, kFormRef4, "", 0, "self"};
  Entry lost = FunctionEntry("", 0x4000);
  lost.attributes[0] = {kAtAbstractOrigin, kFormRefAddr, U32(0x7fffffff), 0, ""};
  image.AddUnit({}, UnitEntry({one, two, self, lost}));
  const Whole whole = ReadAll(image.View());
  ASSERT_EQ(whole.units.size(), 1u);
  EXPECT_EQ(whole.units[0].scopes.size(), 4u);
  EXPECT_EQ(whole.stats.lost_reference_count, 1u);
}

TEST(UnitReader, NestedFunctionsStandAloneAndInlinedOnesKnowTheirCaller) {
  DwarfImage image;
  const Entry abstract{kTagSubprogram, {{kAtName, kFormString, Text("tiny"), 0, ""}}, {}, "tiny"};
  const auto inlined = [](uint64_t start, std::vector<Entry> children) {
    return Entry{kTagInlinedSubroutine,
                 {{kAtAbstractOrigin, kFormRef4, "", 0, "tiny"},
                  {kAtLowPc, kFormAddr, U64(start), 0, ""},
                  {kAtHighPc, kFormData1, U8(4), 0, ""}},
                 std::move(children),
                 ""};
  };
  const Entry inner = FunctionEntry("inner", 0x2000, {inlined(0x2000, {inlined(0x2000, {})})});
  const Entry outer =
      FunctionEntry("outer", 0x1000, {{kTagLexicalBlock, {}, {inner}, ""}, inlined(0x1004, {})});
  image.AddUnit({}, UnitEntry({abstract, outer}));
  const Unit unit = ReadOne(image.View());
  ASSERT_EQ(unit.scopes.size(), 5u);
  EXPECT_EQ(NameOf(unit, 1), "inner");
  EXPECT_EQ(unit.scopes[1].parent, kNone);
  EXPECT_EQ(unit.scopes[2].parent, 1u);
  EXPECT_EQ(unit.scopes[3].parent, 2u);
  EXPECT_EQ(unit.scopes[4].parent, 0u);
}

TEST(UnitReader, RemovedFunctionsAreLeftOutWithWhatIsInlinedThere) {
  for (const uint64_t start : {uint64_t{0}, ~uint64_t{0}, ~uint64_t{0} - 1}) {
    DwarfImage image;
    const Entry inlined{
        kTagInlinedSubroutine,
        {{kAtLowPc, kFormAddr, U64(0x10), 0, ""}, {kAtHighPc, kFormData1, U8(4), 0, ""}},
        {},
        ""};
    image.AddUnit(
        {}, UnitEntry({FunctionEntry("gone", start, {inlined}), FunctionEntry("kept", 0x1000)}));
    const Unit unit = ReadOne(image.View());
    ASSERT_EQ(unit.scopes.size(), 1u) << start;
    EXPECT_EQ(NameOf(unit, 0), "kept");
  }
}

Entry WithRanges(const Attribute& ranges) {
  return {kTagSubprogram, {{kAtName, kFormString, Text("f"), 0, ""}, ranges}, {}, ""};
}

TEST(UnitReader, RangesOfVersion4CountFromTheirBase) {
  DwarfImage image;
  const uint64_t last = ~uint64_t{0};
  image.ranges = U64(7) + U64(7);  // something before
  image.ranges += U64(0x10) + U64(0x20) + U64(0x30) + U64(0x30) + U64(last) + U64(0x9000) + U64(1) +
                  U64(5) + U64(last) + U64(last) + U64(2) + U64(5) + U64(0) + U64(0);
  image.AddUnit({4, kUnitCompile, 8, 4, 0},
                UnitEntry({WithRanges({kAtRanges, kFormSecOffset, U32(16), 0, ""})},
                          {{kAtLowPc, kFormAddr, U64(0x1000), 0, ""}}));
  EXPECT_EQ(RangesOf(ReadOne(image.View()), 0), (Ranges{{0x1010, 0x1020}, {0x9001, 0x9005}}));
}

TEST(UnitReader, RangesOfVersion5AreReadInEachKind) {
  DwarfImage image;
  image.addr = U32(28) + U16(5) + U8(8) + U8(0) + U64(0x5000) + U64(0x6000) + U64(0);
  const std::string list =
      U8(kRangeOffsetPair) + Uleb(0x10) + Uleb(0x20) +  // from DW_AT_low_pc
      U8(kRangeBaseAddress) + U64(0x8000) + U8(kRangeOffsetPair) + Uleb(1) + Uleb(2) +
      U8(kRangeBaseAddressx) + Uleb(0) + U8(kRangeOffsetPair) + Uleb(3) + Uleb(4) +
      U8(kRangeStartxEndx) + Uleb(0) + Uleb(1) + U8(kRangeStartxLength) + Uleb(1) + Uleb(8) +
      U8(kRangeStartEnd) + U64(0xa000) + U64(0xa004) + U8(kRangeStartLength) + U64(0xb000) +
      Uleb(9) + U8(kRangeStartxLength) + Uleb(2) + Uleb(8) +                         // removed
      U8(kRangeBaseAddressx) + Uleb(2) + U8(kRangeOffsetPair) + Uleb(3) + Uleb(4) +  // removed
      U8(kRangeEndOfList);
  // A table of one offset, which counts from behind the header.
  image.rnglists = U32(0) + U16(5) + U8(8) + U8(0) + U32(1) + U32(4) + list;
  for (const Attribute& ranges : {Attribute{kAtRanges, kFormRnglistx, Uleb(0), 0, ""},
                                  Attribute{kAtRanges, kFormSecOffset, U32(16), 0, ""}}) {
    image.info.clear();
    image.abbrev.clear();
    image.AddUnit(
        {}, UnitEntry({WithRanges(ranges)}, {{kAtLowPc, kFormAddr, U64(0x1000), 0, ""},
                                             {kAtAddrBase, kFormSecOffset, U32(8), 0, ""},
                                             {kAtRnglistsBase, kFormSecOffset, U32(12), 0, ""}}));
    EXPECT_EQ(RangesOf(ReadOne(image.View()), 0), (Ranges{{0x1010, 0x1020},
                                                          {0x8001, 0x8002},
                                                          {0x5003, 0x5004},
                                                          {0x5000, 0x6000},
                                                          {0x6000, 0x6008},
                                                          {0xa000, 0xa004},
                                                          {0xb000, 0xb009}}));
  }
  image.rnglists.resize(image.rnglists.size() - 1);
  EXPECT_EQ(ReadAll(image.View()).stats.damaged_range_list_count, 1u);
}

TEST(UnitReader, OneDamagedUnitDoesNotHideTheNext) {
  const Entry unknown_form{kTagVariable, {{kAtConstValue, 0x7f, "", 0, ""}}, {}, ""};
  const Entry cut_block{kTagVariable, {{kAtConstValue, kFormBlock4, U32(1000), 0, ""}}, {}, ""};
  const Entry nowhere{
      kTagVariable, {{kAtConstValue, kFormIndirect, Uleb(kFormImplicitConst), 0, ""}}, {}, ""};
  for (const Entry& bad : {unknown_form, cut_block, nowhere}) {
    DwarfImage image;
    image.AddUnit({}, UnitEntry({FunctionEntry("lost", 0x1000), bad}));
    image.AddUnit({}, UnitEntry({FunctionEntry("kept", 0x2000)}));
    const Whole whole = ReadAll(image.View());
    ASSERT_EQ(whole.units.size(), 1u);
    EXPECT_EQ(NameOf(whole.units[0], 0), "kept");
    EXPECT_EQ(whole.stats.damaged_count, 1u);
  }
  DwarfImage image;
  image.AddUnit({6, kUnitCompile, 8, 4, 0}, UnitEntry({FunctionEntry("new", 0x1000)}));
  image.AddUnit({5, kUnitCompile, 3, 4, 0}, UnitEntry({FunctionEntry("odd", 0x1000)}));
  image.AddUnit({}, UnitEntry({FunctionEntry("kept", 0x2000)}));
  EXPECT_EQ(ReadAll(image.View()).units.size(), 1u);
  EXPECT_EQ(ReadAll(image.View()).stats.damaged_count, 2u);
  image.info += U32(0x1000);  // a unit that is not there
  EXPECT_EQ(ReadAll(image.View()).units.size(), 1u);
  EXPECT_EQ(ReadAll(image.View()).stats.damaged_count, 3u);
}

TEST(UnitReader, TypeUnitsAreSkipped) {
  DwarfImage image;
  Entry type = UnitEntry({FunctionEntry("no", 0x1000)});
  type.tag = kTagTypeUnit;
  image.AddUnit({5, kUnitType, 8, 4, 77}, type);
  image.AddUnit({}, UnitEntry({FunctionEntry("yes", 0x1000)}));
  EXPECT_EQ(NameOf(ReadOne(image.View()), 0), "yes");
}

TEST(UnitReader, WideOffsetsAndNarrowAddressesAreRead) {
  DwarfImage image;
  Entry function = FunctionEntry("", 0);
  image.str = Text("x") + Text("wide");
  function.attributes[0] = {kAtName, kFormStrp, U64(2), 0, ""};
  function.attributes[1] = {kAtLowPc, kFormAddr, U32(0x1000), 0, ""};
  Entry removed = FunctionEntry("gone", 0);
  removed.attributes[1] = {kAtLowPc, kFormAddr, U32(0xffffffff), 0, ""};
  image.AddUnit({4, kUnitCompile, 4, 8, 0}, UnitEntry({function, removed}));
  const Unit unit = ReadOne(image.View());
  EXPECT_EQ(unit.scopes.size(), 1u);
  EXPECT_EQ(NameOf(unit, 0), "wide");
  EXPECT_EQ(RangesOf(unit, 0), (Ranges{{0x1000, 0x1010}}));
}

TEST(UnitReader, EntriesWithoutCodeAreJumpedOverButNeverBack) {
  DwarfImage image;
  const Entry inside{kTagVariable, {{kAtConstValue, 0x7f, "", 0, ""}}, {}, ""};  // cannot be read
  Entry list{kTagEnumerationType, {{kAtSibling, kFormRef4, "", 0, "after"}}, {inside}, "list"};
  Entry after = FunctionEntry("after", 0x1000);
  after.label = "after";
  image.AddUnit({}, UnitEntry({list, after}));
  EXPECT_EQ(NameOf(ReadOne(image.View()), 0), "after");
  list.attributes[0].target = "list";
  DwarfImage back;
  back.AddUnit({}, UnitEntry({list, after}));
  EXPECT_EQ(ReadAll(back.View()).stats.damaged_count, 1u);
}

TEST(UnitReader, NestingHasALimit) {
  for (const size_t depth : {size_t{100}, ScopeWalk::kDepthMax + 10}) {
    DwarfImage image;
    image.abbrev = Uleb(1) + Uleb(kTagCompileUnit) + U8(1) + U16(0) + Uleb(2) +
                   Uleb(kTagLexicalBlock) + U8(1) + U16(0) + U8(0);
    const std::string body = U16(4) + U32(0) + U8(8) + U8(1) + std::string(depth, '\2');
    image.info = U32(body.size()) + body;
    const Whole whole = ReadAll(image.View());
    EXPECT_EQ(whole.units.size(), 1u);
    EXPECT_EQ(whole.stats.truncated_count, depth > ScopeWalk::kDepthMax ? 1u : 0u);
  }
}

TEST(UnitReader, EntriesThatMultiplyAreCut) {
  // Each entry is one byte, and a function of one shared list of two ranges.
  DwarfImage image;
  image.ranges = U64(0x1000) + U64(0x1001) + U64(0x2000) + U64(0x2001) + U64(0) + U64(0);
  image.abbrev = Uleb(1) + Uleb(kTagCompileUnit) + U8(1) + U16(0) + Uleb(2) + Uleb(kTagSubprogram) +
                 U8(0) + Uleb(kAtRanges) + Uleb(kFormImplicitConst) + Sleb(0) + U16(0) + U8(0);
  const std::string body =
      U16(4) + U32(0) + U8(8) + U8(1) + std::string(ScopeWalk::kScopesMax + 100, '\2');
  image.info = U32(body.size()) + body;
  const Whole whole = ReadAll(image.View());
  ASSERT_EQ(whole.units.size(), 1u);
  EXPECT_LE(whole.units[0].scopes.size(), ScopeWalk::kScopesMax);
  EXPECT_LE(whole.units[0].ranges.size(), ScopeWalk::kRangesMax);
  EXPECT_GT(whole.units[0].scopes.size(), ScopeWalk::kScopesMax / 2);
  EXPECT_EQ(whole.stats.damaged_range_list_count, 0u);
  EXPECT_EQ(whole.stats.truncated_count, 1u);
}

TEST(UnitReader, LongNamesAreCut) {
  DwarfImage image;
  image.str = std::string(size_t{1} << 20, 'n');
  Entry function = FunctionEntry("", 0x1000);
  function.attributes[0] = {kAtName, kFormStrp, U32(10), 0, ""};
  image.AddUnit({}, UnitEntry({function}));
  EXPECT_EQ(NameOf(ReadOne(image.View()), 0).size(), kNameBytesMax);
}

TEST(UnitReader, SplitUnitsTakeAddressesAndRangesFromTheirSkeleton) {
  DwarfImage image;
  image.addr = U32(20) + U16(5) + U8(8) + U8(0) + U64(0x7000) + U64(0x8000);
  image.AddUnit({5, kUnitSkeleton, 8, 4, 0xabc}, {kTagSkeletonUnit,
                                                  {{kAtDwoName, kFormString, Text("a.dwo"), 0, ""},
                                                   {kAtCompDir, kFormString, Text("/build"), 0, ""},
                                                   {kAtAddrBase, kFormSecOffset, U32(8), 0, ""}},
                                                  {},
                                                  ""});
  DwarfImage split;
  split.rnglists = U32(0) + U16(5) + U8(8) + U8(0) + U32(1) + U32(4) + U8(kRangeStartxLength) +
                   Uleb(1) + Uleb(4) + U8(kRangeEndOfList);
  Entry plain = FunctionEntry("", 0);
  plain.attributes[0] = {kAtName, kFormStrx1, U8(0), 0, ""};
  plain.attributes[1] = {kAtLowPc, kFormAddrx, Uleb(0), 0, ""};
  split.str_offsets = U32(8) + U16(5) + U16(0) + U32(1);
  split.str = Text("") + Text("plain");
  split.AddUnit({5, kUnitSplitCompile, 8, 4, 0x123}, UnitEntry({FunctionEntry("no", 0x1)}));
  split.AddUnit({5, kUnitSplitCompile, 8, 4, 0xabc},
                UnitEntry({plain, WithRanges({kAtRanges, kFormRnglistx, Uleb(0), 0, ""})}));
  const Sections view = split.View();
  const Whole whole =
      ReadAll(image.View(), [&view](std::string_view name, std::string_view folder, uint64_t id) {
        EXPECT_EQ(name, "a.dwo");
        EXPECT_EQ(folder, "/build");
        EXPECT_EQ(id, 0xabcu);
        return &view;
      });
  ASSERT_EQ(whole.units.size(), 1u);
  EXPECT_EQ(NameOf(whole.units[0], 0), "plain");
  EXPECT_EQ(RangesOf(whole.units[0], 0), (Ranges{{0x7000, 0x7010}}));
  EXPECT_EQ(RangesOf(whole.units[0], 1), (Ranges{{0x8000, 0x8004}}));
  EXPECT_EQ(ReadAll(image.View()).stats.split_missing_count, 1u);
}

TEST(UnitReader, SplitUnitsOfVersion4TakeRangesFromTheSkeletonsSection) {
  DwarfImage image;
  image.ranges = U64(9) + U64(9) + U64(0x10) + U64(0x18) + U64(0) + U64(0);
  image.addr = U64(0x1) + U64(0x7000);
  image.AddUnit({4, kUnitCompile, 8, 4, 0},
                UnitEntry({}, {{kAtGnuDwoName, kFormString, Text("a.dwo"), 0, ""},
                               {kAtGnuDwoId, kFormData8, U64(0xabc), 0, ""},
                               {kAtGnuRangesBase, kFormSecOffset, U32(8), 0, ""},
                               {kAtGnuAddrBase, kFormSecOffset, U32(8), 0, ""},
                               {kAtLowPc, kFormAddr, U64(0x5000), 0, ""}}));
  DwarfImage split;
  Entry plain = FunctionEntry("plain", 0);
  plain.attributes[1] = {kAtLowPc, kFormGnuAddrIndex, Uleb(0), 0, ""};
  split.AddUnit({4, kUnitCompile, 8, 4, 0},
                UnitEntry({plain, WithRanges({kAtRanges, kFormSecOffset, U32(8), 0, ""})},
                          {{kAtGnuDwoId, kFormData8, U64(0xabc), 0, ""}}));
  const Sections view = split.View();
  const Whole whole = ReadAll(
      image.View(), [&view](std::string_view, std::string_view, uint64_t) { return &view; });
  ASSERT_EQ(whole.units.size(), 1u);
  EXPECT_EQ(RangesOf(whole.units[0], 0), (Ranges{{0x7000, 0x7010}}));
  EXPECT_EQ(RangesOf(whole.units[0], 1), (Ranges{{0x5010, 0x5018}}));
}

TEST(UnitReader, ReferencesOfVersion2AreAsWideAsAddresses) {
  DwarfImage image;
  const Entry origin{kTagSubprogram, {{kAtName, kFormString, Text("origin"), 0, ""}}, {}, "origin"};
  Entry function = FunctionEntry("", 0x1000);
  function.attributes[0] = {kAtSpecification, kFormRefAddr, "", 0, "origin"};
  function.attributes[2] = {kAtHighPc, kFormAddr, U64(0x1008), 0, ""};
  image.AddUnit({2, kUnitCompile, 8, 4, 0}, UnitEntry({origin, function}));
  const Unit unit = ReadOne(image.View());
  EXPECT_EQ(NameOf(unit, 0), "origin");
  EXPECT_EQ(RangesOf(unit, 0), (Ranges{{0x1000, 0x1008}}));
}

// An image that has a bit of everything.
DwarfImage Rich() {
  DwarfImage image;
  image.str = Text("one") + Text("two");
  image.addr = U32(20) + U16(5) + U8(8) + U8(0) + U64(0x1000) + U64(0x2000);
  image.rnglists = U32(0) + U16(5) + U8(8) + U8(0) + U32(1) + U32(4) + U8(kRangeStartxLength) +
                   Uleb(1) + Uleb(4) + U8(kRangeEndOfList);
  const Entry abstract{kTagSubprogram, {{kAtName, kFormStrp, U32(4), 0, ""}}, {}, "tiny"};
  const Entry inlined{
      kTagInlinedSubroutine,
      {{kAtAbstractOrigin, kFormRef4, "", 0, "tiny"}, {kAtRanges, kFormRnglistx, Uleb(0), 0, ""}},
      {},
      ""};
  image.AddUnit({}, UnitEntry({abstract, FunctionEntry("f", 0x1000, {inlined})},
                              {{kAtAddrBase, kFormSecOffset, U32(8), 0, ""},
                               {kAtRnglistsBase, kFormSecOffset, U32(12), 0, ""}}));
  return image;
}

TEST(UnitReader, CutOrChangedBytesAreReadWithoutHarm) {
  const DwarfImage good = Rich();
  ASSERT_EQ(ReadOne(good.View()).scopes.size(), 2u);
  for (std::string DwarfImage::* section :
       {&DwarfImage::info, &DwarfImage::abbrev, &DwarfImage::addr, &DwarfImage::rnglists,
        &DwarfImage::str}) {
    for (size_t i = 0; i < (good.*section).size(); ++i) {
      DwarfImage cut = good;
      (cut.*section).resize(i);
      ReadAll(cut.View());
      for (const int bit : {0, 3, 7}) {
        DwarfImage changed = good;
        (changed.*section)[i] = static_cast<char>((changed.*section)[i] ^ (1 << bit));
        const Whole whole = ReadAll(changed.View());
        EXPECT_LE(whole.units.size() + whole.stats.damaged_count, 2u);
      }
    }
  }
}

}  // namespace
}  // namespace vesta::dwarf
