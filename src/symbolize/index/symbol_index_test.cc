#include "src/symbolize/index/symbol_index.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "src/symbolize/index/index_for_test.h"
#include "src/symbolize/index/index_writer.h"

namespace {

size_t allocation_count = 0;

}  // namespace

// Not inlined: gcc 12 then takes free() for a mistake.
[[gnu::noinline]] void* operator new(size_t size) {
  ++allocation_count;
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace vesta::symbolize {
namespace {

using base::ErrorCode;
using dwarf::kNone;
using dwarf::Unit;

constexpr uint64_t kBase = 0x400000;
constexpr uint64_t kSpan = 0x10000;
constexpr const char* kIdentity = "gnu:0123";

// Puts a unit together; files and functions are numbered in the order of their first use.
struct UnitForTest {
  Unit unit;

  uint32_t File(const std::string& path) {
    for (uint32_t i = 0; i < unit.files.size(); ++i) {
      if (unit.files[i] == path) return i;
    }
    unit.files.push_back(path);
    return static_cast<uint32_t>(unit.files.size() - 1);
  }
  uint32_t Function(std::string_view name, std::string_view linkage_name, uint32_t line) {
    unit.functions.push_back({name, linkage_name, File("a.cc"), line});
    return static_cast<uint32_t>(unit.functions.size() - 1);
  }
  uint32_t Scope(uint32_t function, uint32_t parent, std::vector<dwarf::Range> ranges,
                 uint32_t call_line = 0, const std::string& call_file = "a.cc") {
    dwarf::Scope scope;
    scope.function = function;
    scope.parent = parent;
    scope.call_line = call_line;
    if (parent != kNone) scope.call_file = File(call_file);
    scope.range_first = static_cast<uint32_t>(unit.ranges.size());
    scope.range_count = static_cast<uint32_t>(ranges.size());
    for (const auto& range : ranges) {
      unit.ranges.push_back({kBase + range.start, kBase + range.end});
    }
    unit.scopes.push_back(scope);
    return static_cast<uint32_t>(unit.scopes.size() - 1);
  }
  void Row(uint64_t offset, uint32_t line, const std::string& file = "a.cc") {
    unit.lines.push_back({kBase + offset, File(file), line, false});
  }
  void EndRows(uint64_t offset) { unit.lines.push_back({kBase + offset, kNone, 0, true}); }
};

IndexWriterOptions Options() { return {{kBase, kBase + kSpan}}; }

// An index and its bytes.
struct IndexForTest {
  explicit IndexForTest(IndexWriter& writer)
      : bytes(BytesOfIndex(writer, kIdentity)),
        index(SymbolIndex::Open(bytes, kIdentity).value()) {}

  // "name file:line < name file:line", innermost first; empty: nothing known.
  std::string At(uint64_t offset) const { return Text(index, kBase + offset); }

  static std::string Text(const SymbolIndex& index, uint64_t address) {
    std::array<SymbolIndex::Call, 16> calls;
    const size_t count = index.Find(address, calls);
    std::string text;
    for (size_t i = 0; i < count; ++i) {
      if (i > 0) text += " < ";
      text += std::string(index.function(calls[i].function).system_name()) + " " +
              std::string(index.file(calls[i].file)) + ":" + std::to_string(calls[i].line);
    }
    return text;
  }

  std::vector<std::byte> bytes;
  SymbolIndex index;
};

UnitForTest InlinedUnit() {
  UnitForTest unit;
  const uint32_t outer = unit.Function("outer", "_Z5outerv", 10);
  const uint32_t middle = unit.Function("middle", "", 20);
  const uint32_t inner = unit.Function("inner", "_Z5innerv", 30);
  const uint32_t outer_scope = unit.Scope(outer, kNone, {{0x100, 0x200}, {0x300, 0x310}});
  const uint32_t middle_scope = unit.Scope(middle, outer_scope, {{0x120, 0x160}}, 12);
  unit.Scope(inner, middle_scope, {{0x130, 0x140}}, 22, "b.h");
  unit.Row(0x100, 10);
  unit.Row(0x120, 21);
  unit.Row(0x130, 31, "c.h");
  unit.Row(0x140, 23);
  unit.Row(0x160, 13);
  unit.EndRows(0x200);
  unit.Row(0x300, 14);
  unit.EndRows(0x310);
  return unit;
}

IndexForTest InlinedIndex() {
  IndexWriter writer(Options());
  writer.AddUnit(InlinedUnit().unit);
  return IndexForTest(writer);
}

TEST(SymbolIndex, GivesInlinedCallsInnermostFirst) {
  const IndexForTest index = InlinedIndex();
  EXPECT_EQ(index.At(0x100), "_Z5outerv a.cc:10");
  EXPECT_EQ(index.At(0x11f), "_Z5outerv a.cc:10");
  EXPECT_EQ(index.At(0x120), "middle a.cc:21 < _Z5outerv a.cc:12");
  EXPECT_EQ(index.At(0x13f), "_Z5innerv c.h:31 < middle b.h:22 < _Z5outerv a.cc:12");
  EXPECT_EQ(index.At(0x140), "middle a.cc:23 < _Z5outerv a.cc:12");
  EXPECT_EQ(index.At(0x1ff), "_Z5outerv a.cc:13");
  EXPECT_EQ(index.At(0x30f), "_Z5outerv a.cc:14");
}

TEST(SymbolIndex, KnowsNothingWhereNothingIs) {
  const IndexForTest index = InlinedIndex();
  for (const uint64_t offset : {uint64_t{0}, uint64_t{0xff}, uint64_t{0x200}, uint64_t{0x2ff},
                                uint64_t{0x310}, kSpan - 1, kSpan, 0 - uint64_t{1}, 0 - kBase}) {
    EXPECT_EQ(index.At(offset), "") << offset;
  }
}

TEST(SymbolIndex, KeepsThePartsOfAFunction) {
  const IndexForTest index = InlinedIndex();
  std::array<SymbolIndex::Call, 4> calls;
  ASSERT_EQ(index.index.Find(kBase + 0x130, calls), 3u);
  const IndexFunction inner = index.index.function(calls[0].function);
  EXPECT_EQ(inner.name, "inner");
  EXPECT_EQ(inner.linkage_name, "_Z5innerv");
  EXPECT_EQ(inner.system_name(), "_Z5innerv");
  EXPECT_EQ(inner.file, "a.cc");
  EXPECT_EQ(inner.start_line, 30u);
  EXPECT_EQ(index.index.function(calls[1].function).system_name(), "middle");
  EXPECT_EQ(index.index.function_count(), 4u);  // the unknown one is the first
  EXPECT_EQ(index.index.function(0).system_name(), "");
  EXPECT_EQ(index.index.function(4).system_name(), "");
  EXPECT_EQ(index.index.file(index.index.file_count()), "");
}

TEST(SymbolIndex, WithoutRoomGivesTheInnermostCalls) {
  const IndexForTest index = InlinedIndex();
  std::array<SymbolIndex::Call, 2> calls;
  ASSERT_EQ(index.index.Find(kBase + 0x130, calls), 2u);
  EXPECT_EQ(index.index.function(calls[1].function).name, "middle");
  EXPECT_EQ(index.index.Find(kBase + 0x130, std::span<SymbolIndex::Call>()), 0u);
}

TEST(SymbolIndex, FindsWithoutAllocating) {
  const IndexForTest index = InlinedIndex();
  std::array<SymbolIndex::Call, 8> calls;
  const size_t before = allocation_count;
  size_t found = 0;
  for (uint64_t offset = 0; offset < 0x400; ++offset) {
    found += index.index.Find(kBase + offset, calls);
    found += index.index.function(calls[0].function).name.size();
  }
  EXPECT_EQ(allocation_count, before);
  EXPECT_GT(found, 0u);
}

TEST(SymbolIndex, TheDeepestScopeHoldsAndOfEquallyDeepOnesTheLast) {
  UnitForTest unit;
  const uint32_t a = unit.Function("a", "", 1);
  const uint32_t b = unit.Function("b", "", 2);
  const uint32_t c = unit.Function("c", "", 3);
  const uint32_t outer = unit.Scope(a, kNone, {{0x10, 0x50}});
  unit.Scope(b, outer, {{0x20, 0x40}}, 7);
  unit.Scope(c, outer, {{0x30, 0x48}}, 8);
  IndexWriter writer(Options());
  writer.AddUnit(unit.unit);
  const IndexForTest index(writer);
  EXPECT_EQ(index.At(0x10), "a :0");
  EXPECT_EQ(index.At(0x2f), "b :0 < a a.cc:7");
  EXPECT_EQ(index.At(0x30), "c :0 < a a.cc:8");
  EXPECT_EQ(index.At(0x47), "c :0 < a a.cc:8");
  EXPECT_EQ(index.At(0x48), "a :0");
}

TEST(SymbolIndex, OfUnitsTheFirstThatKnowsFunctionAndLineHolds) {
  UnitForTest only_function;
  only_function.Scope(only_function.Function("first", "", 1), kNone, {{0x10, 0x40}});
  UnitForTest both;
  both.Scope(both.Function("second", "", 2), kNone, {{0x20, 0x60}});
  both.Row(0x20, 5);
  both.EndRows(0x60);
  UnitForTest again;
  again.Scope(again.Function("third", "", 3), kNone, {{0x30, 0x80}});
  again.Row(0x30, 6);
  again.EndRows(0x80);
  IndexWriter writer(Options());
  writer.AddUnit(only_function.unit);
  writer.AddUnit(both.unit);
  writer.AddUnit(again.unit);
  const IndexForTest index(writer);
  EXPECT_EQ(index.At(0x1f), "first :0");
  EXPECT_EQ(index.At(0x20), "second a.cc:5");
  EXPECT_EQ(index.At(0x3f), "second a.cc:5");
  EXPECT_EQ(index.At(0x5f), "second a.cc:5");
  EXPECT_EQ(index.At(0x60), "third a.cc:6");
}

TEST(SymbolIndex, ARowWithoutLineAndCodeWithoutRowStayWithoutLine) {
  UnitForTest unit;
  unit.Scope(unit.Function("f", "", 9), kNone, {{0x10, 0x40}});
  unit.Row(0x10, 0);
  unit.Row(0x20, 11);
  unit.EndRows(0x30);
  IndexWriter writer(Options());
  writer.AddUnit(unit.unit);
  const IndexForTest index(writer);
  EXPECT_EQ(index.At(0x10), "f a.cc:0");
  EXPECT_EQ(index.At(0x20), "f a.cc:11");
  EXPECT_EQ(index.At(0x30), "f :0");
}

TEST(SymbolIndex, OfOverlappingSequencesOfOneUnitTheFirstHolds) {
  UnitForTest unit;
  unit.Row(0x20, 1);
  unit.EndRows(0x40);
  unit.Row(0x10, 2);
  unit.Row(0x30, 3);
  unit.EndRows(0x50);
  IndexWriter writer(Options());
  writer.AddUnit(unit.unit);
  const IndexForTest index(writer);
  EXPECT_EQ(index.At(0x1f), " a.cc:2");
  EXPECT_EQ(index.At(0x20), " a.cc:1");
  EXPECT_EQ(index.At(0x3f), " a.cc:1");
  EXPECT_EQ(index.At(0x40), " a.cc:3");
}

TEST(SymbolIndex, SymbolsNameWhatNoUnitNames) {
  UnitForTest unit;
  unit.Scope(unit.Function("f", "", 9), kNone, {{0x100, 0x200}});
  unit.Row(0x100, 10);
  unit.EndRows(0x240);  // goes on in code that is in no function
  IndexWriter writer(Options());
  writer.AddFunction(kBase + 0x80, kBase + 0x220, {{}, "assembly", {}, 0});
  writer.AddUnit(unit.unit);
  writer.AddFunction(kBase + 0x300, kBase + 0x310, {"plain", "", "s.S", 3});
  const IndexForTest index(writer);
  EXPECT_EQ(index.At(0x7f), "");
  EXPECT_EQ(index.At(0x80), "assembly :0");
  EXPECT_EQ(index.At(0xff), "assembly :0");
  EXPECT_EQ(index.At(0x100), "f a.cc:10");
  EXPECT_EQ(index.At(0x200), "assembly a.cc:10");
  EXPECT_EQ(index.At(0x220), " a.cc:10");
  EXPECT_EQ(index.At(0x240), "");
  EXPECT_EQ(index.At(0x30f), "plain :0");
}

TEST(SymbolIndex, OfSymbolsTheOneThatStartsLastHoldsAndKnownEndsBeforeGuessedOnes) {
  const auto named = [](std::string_view name) { return IndexFunction{{}, name, {}, 0}; };
  IndexWriter writer(Options());
  writer.AddFunction(kBase + 0x10, kBase + 0x100, named("outer"));
  writer.AddFunction(kBase + 0x10, kBase + 0x100, named("alias"));
  writer.AddFunction(kBase + 0x40, kBase + 0x60, named("inner"));
  writer.AddFunction(kBase + 0x50, kBase + kSpan, named("label"), FunctionEnd::kGuessed);
  writer.AddFunction(kBase + 0x200, kBase + kSpan, named("open"), FunctionEnd::kGuessed);
  writer.AddFunction(kBase + 0x280, kBase + 0x290, named("next"));
  const IndexForTest index(writer);
  EXPECT_EQ(index.At(0x10), "outer :0");
  EXPECT_EQ(index.At(0x50), "inner :0");
  EXPECT_EQ(index.At(0x60), "outer :0");
  EXPECT_EQ(index.At(0x100), "label :0");
  EXPECT_EQ(index.At(0x200), "open :0");
  EXPECT_EQ(index.At(0x27f), "open :0");
  EXPECT_EQ(index.At(0x28f), "next :0");
  EXPECT_EQ(index.At(0x290), "");
}

TEST(SymbolIndex, AFunctionWithoutMangledNameGetsThatOfTheSymbolAtItsStart) {
  UnitForTest unit;
  const uint32_t bare = unit.Function("f", "", 1);
  unit.Scope(bare, kNone, {{0x10, 0x20}});
  unit.Scope(bare, kNone, {{0x20, 0x30}});
  unit.Scope(unit.Function("g", "_Z1gv", 2), kNone, {{0x30, 0x40}});
  const uint32_t outer = unit.Scope(unit.Function("__libc_c", "__GI_c", 3), kNone, {{0x40, 0x50}});
  unit.Scope(unit.Function("i", "", 3), outer, {{0x40, 0x44}});
  unit.Scope(unit.Function("h", "", 4), kNone, {{0x54, 0x60}});
  unit.Scope(unit.Function("k", "", 4), kNone, {{0x60, 0x70}, {0x80, 0x90}});
  IndexWriter writer(Options());
  writer.AddUnit(unit.unit);
  const auto add = [&](uint64_t start, uint64_t end, std::string_view name) {
    writer.AddFunction(kBase + start, kBase + end, {{}, name, {}, 0});
  };
  add(0x10, 0x20, "_Z1fIiEvv");
  add(0x20, 0x30, "_Z1fIcEvv");
  add(0x30, 0x40, "_Z5aliasv");
  add(0x40, 0x50, "c");
  add(0x50, 0x60, "_Z5otherv");
  add(0x60, 0x70, "k.constprop.0");
  const IndexForTest index(writer);
  EXPECT_EQ(index.At(0x10), "_Z1fIiEvv :0");
  EXPECT_EQ(index.At(0x20), "_Z1fIcEvv :0");
  EXPECT_EQ(index.At(0x30), "_Z1gv :0");
  EXPECT_EQ(index.At(0x40), "i :0 < c a.cc:0");
  EXPECT_EQ(index.At(0x54), "h :0");
  EXPECT_EQ(index.At(0x60), "k :0");
  EXPECT_EQ(index.At(0x80), "k :0");
}

TEST(SymbolIndex, IsCutToTheCode) {
  UnitForTest unit;
  unit.Scope(unit.Function("f", "", 9), kNone,
             {{0 - uint64_t{0x10}, 0x10}, {kSpan - 8, kSpan + 8}});
  unit.Scope(unit.Function("away", "", 9), kNone, {{kSpan + 8, kSpan + 16}});
  IndexWriter writer(Options());
  writer.AddUnit(unit.unit);
  EXPECT_EQ(writer.stats().outside_count, 3u);
  const IndexForTest index(writer);
  EXPECT_EQ(index.At(0), "f :0");
  EXPECT_EQ(index.At(kSpan - 1), "f :0");
  EXPECT_EQ(index.At(0 - uint64_t{1}), "");
  EXPECT_EQ(index.At(kSpan), "");
}

TEST(SymbolIndex, OfNothingIsAnIndexToo) {
  IndexWriter nothing(Options());
  EXPECT_EQ(IndexForTest(nothing).At(0), "");
  IndexWriter without_code(IndexWriterOptions{{kBase, kBase}});
  EXPECT_EQ(IndexForTest(without_code).At(0), "");
}

TEST(SymbolIndex, OfManyFunctionsFindsEach) {
  constexpr uint64_t kCount = 20000;
  IndexWriter writer(IndexWriterOptions{{kBase, kBase + kCount * 16}});
  const auto name = [](uint64_t i) { return "a function with number " + std::to_string(i); };
  for (uint64_t i = 0; i < kCount; ++i) {
    writer.AddFunction(kBase + i * 16, kBase + i * 16 + 8, {name(i), {}, {}, 0});
  }
  const IndexForTest index(writer);
  EXPECT_GT(index.bytes.size(), size_t{500} << 10);  // more than is written at once
  for (uint64_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(index.At(i * 16 + 7), name(i) + " :0");
    ASSERT_EQ(index.At(i * 16 + 8), "");
  }
}

// Compares with the rules taken by their word, at every address.
class RandomUnits : public ::testing::TestWithParam<uint32_t> {};

TEST_P(RandomUnits, SayWhatTheRulesSay) {
  std::mt19937 random(GetParam());
  const auto below = [&](uint64_t n) { return static_cast<uint32_t>(random() % n); };
  constexpr uint32_t kUsed = 0x3000;
  std::vector<std::string> expected(kUsed);
  std::vector<uint32_t> knowledge(kUsed, 0);
  IndexWriter writer(Options());
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) names.push_back("f" + std::to_string(i));
  for (int u = 0; u < 4; ++u) {
    UnitForTest unit;
    std::vector<uint32_t> scope_at(kUsed, kNone);
    std::vector<uint32_t> depths;
    const uint32_t scope_count = 20 + below(60);
    for (uint32_t s = 0; s < scope_count; ++s) {
      const uint32_t parent = s == 0 || below(4) == 0 ? kNone : below(s);
      depths.push_back(parent == kNone ? 0 : depths[parent] + 1);
      std::vector<dwarf::Range> ranges;
      for (uint32_t r = below(3); r > 0; --r) {
        const uint32_t start = below(kUsed - 1);
        const uint32_t end = std::min(kUsed, start + 1 + below(below(4) == 0 ? 0x1000 : 0x40));
        ranges.push_back({start, end});
        for (uint32_t at = start; at < end; ++at) {
          if (scope_at[at] == kNone || depths[scope_at[at]] <= depths[s]) scope_at[at] = s;
        }
      }
      unit.Scope(unit.Function(names[below(names.size())], "", below(3000)), parent,
                 std::move(ranges), below(3000), below(3) == 0 ? "x.h" : "a.cc");
    }
    std::vector<uint32_t> row_at(kUsed, kNone);
    for (uint32_t at = below(100); at + 300 < kUsed; at += below(1200)) {
      const uint32_t end = at + 20 + below(270);
      while (at < end) {
        unit.Row(at, below(5) == 0 ? 0 : below(3000), below(4) == 0 ? "y.h" : "a.cc");
        const uint32_t next = std::min(end, at + 1 + below(30));
        for (; at < next; ++at) row_at[at] = static_cast<uint32_t>(unit.unit.lines.size() - 1);
      }
      unit.EndRows(end);
    }
    for (uint32_t at = 0; at < kUsed; ++at) {
      const bool function = scope_at[at] != kNone;
      const bool row = row_at[at] != kNone;
      const uint32_t known = function ? (row ? 3 : 2) : (row ? 1 : 0);
      if (known <= knowledge[at]) continue;
      knowledge[at] = known;
      std::string text;
      uint32_t scope = scope_at[at];
      std::string place = ":0";
      if (row) {
        const auto& line = unit.unit.lines[row_at[at]];
        place = unit.unit.files[line.file] + ":" + std::to_string(line.line);
      }
      do {
        if (!text.empty()) text += " < ";
        if (scope != kNone) {
          const auto& shape = unit.unit.scopes[scope];
          text += unit.unit.functions[shape.function].name;
          text += " " + place;
          if (shape.parent != kNone) {
            place = unit.unit.files[shape.call_file] + ":" + std::to_string(shape.call_line);
          }
          scope = shape.parent;
        } else {
          text += " " + place;
        }
      } while (scope != kNone);
      expected[at] = text;
    }
    writer.AddUnit(unit.unit);
  }
  const IndexForTest index(writer);
  for (uint32_t at = 0; at < kUsed; ++at) ASSERT_EQ(index.At(at), expected[at]) << at;
}

INSTANTIATE_TEST_SUITE_P(SymbolIndex, RandomUnits, ::testing::Range(1u, 25u));

TEST(SymbolIndexWriter, SaysWhenTheMemoryLimitDoesNotSuffice) {
  IndexWriter writer(IndexWriterOptions{{kBase, kBase + kSpan}, size_t{64} << 10});
  std::vector<std::string> names;
  for (int i = 0; i < 4000; ++i) {
    names.push_back("a rather long name of a function " + std::to_string(i));
    writer.AddFunction(kBase + static_cast<uint64_t>(i), kBase + static_cast<uint64_t>(i) + 1,
                       {names.back(), {}, {}, 0});
  }
  EXPECT_GT(writer.stats().memory_bytes, size_t{64} << 10);
  EXPECT_LT(writer.memory_bytes(), size_t{256} << 10);  // nothing was added after the limit
  const auto written = writer.Write(-1, kIdentity);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code(), ErrorCode::kExhausted);
  EXPECT_NE(written.error().message().find("65536 bytes"), std::string::npos);
}

TEST(SymbolIndexWriter, RefusesCodeThatIsTooWide) {
  IndexWriter writer(IndexWriterOptions{{0, uint64_t{1} << 32}});
  writer.AddUnit(InlinedUnit().unit);
  EXPECT_EQ(writer.Write(-1, kIdentity).error().code(), ErrorCode::kUnsupported);
}

TEST(SymbolIndexWriter, SaysWhenTheFileCannotBeWritten) {
  IndexWriter writer(Options());
  writer.AddUnit(InlinedUnit().unit);
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_FALSE(writer.Write(fd, kIdentity).ok());
  ::close(fd);
}

TEST(SymbolIndexFile, OfAnotherImageOrVersionIsRefused) {
  const IndexForTest index = InlinedIndex();
  EXPECT_EQ(SymbolIndex::Open(index.bytes, "gnu:4567").error().code(), ErrorCode::kNotFound);
  std::vector<std::byte> bytes = index.bytes;
  bytes[offsetof(IndexHeader, version)] = std::byte{kIndexVersion + 1};
  EXPECT_EQ(SymbolIndex::Open(bytes, kIdentity).error().code(), ErrorCode::kUnsupported);
}

TEST(SymbolIndexFile, CutAnywhereIsRefused) {
  const IndexForTest index = InlinedIndex();
  for (size_t size = 0; size < index.bytes.size(); ++size) {
    const auto opened = SymbolIndex::Open(IndexBytes(index.bytes).first(size), kIdentity);
    ASSERT_FALSE(opened.ok()) << size;
    EXPECT_EQ(opened.error().code(), ErrorCode::kCorrupt);
  }
}

TEST(SymbolIndexFile, WithAnyByteChangedIsRefusedOrSaysTheSame) {
  const IndexForTest index = InlinedIndex();
  std::vector<std::byte> bytes = index.bytes;
  size_t refused = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{0x55};
    const auto opened = SymbolIndex::Open(bytes, kIdentity);
    refused += !opened.ok();
    if (opened.ok()) {  // between two sections
      EXPECT_EQ(IndexForTest::Text(*opened, kBase + 0x130), index.At(0x130)) << i;
    }
    bytes[i] ^= std::byte{0x55};
  }
  EXPECT_GT(refused, bytes.size() - 7 * 7);
}

TEST(SymbolIndexFile, OfAHostileWriterGivesAnswersAndEnds) {
  const IndexForTest index = InlinedIndex();
  size_t opened_count = 0;
  for (size_t i = sizeof(kIndexMagic); i < index.bytes.size(); ++i) {
    for (const unsigned change : {0x01u, 0x40u, 0x80u, 0xffu}) {
      std::vector<std::byte> bytes = index.bytes;
      bytes[i] ^= static_cast<std::byte>(change);
      FixChecksums(bytes);
      const auto opened = SymbolIndex::Open(bytes, kIdentity);
      if (!opened.ok()) continue;
      ++opened_count;
      for (uint64_t offset = 0; offset < 0x400; offset += 8) {
        EXPECT_LT(IndexForTest::Text(*opened, kBase + offset).size(), bytes.size() * 64);
      }
    }
  }
  EXPECT_GT(opened_count, index.bytes.size());
}

// The format must not change without a new version.
std::vector<std::byte> SmallIndex() {
  UnitForTest unit;
  const uint32_t f = unit.Function("f", "_Z1fv", 5);
  const uint32_t g = unit.Function("g", "", 2);
  const uint32_t outer = unit.Scope(f, kNone, {{0, 16}});
  unit.Scope(g, outer, {{4, 8}}, 6);
  unit.Row(0, 5);
  unit.Row(4, 3);
  unit.Row(8, 7);
  unit.EndRows(16);
  IndexWriter writer(IndexWriterOptions{{kBase, kBase + 16}});
  writer.AddUnit(unit.unit);
  return BytesOfIndex(writer, "id");
}

TEST(SymbolIndexFile, HasTheseBytes) {
  const std::vector<std::byte> bytes = SmallIndex();
  std::string hex;
  for (size_t i = sizeof(IndexHeader); i < bytes.size(); ++i) {
    constexpr const char* kDigits = "0123456789abcdef";
    const auto byte = std::to_integer<unsigned>(bytes[i]);
    hex += {kDigits[byte >> 4], kDigits[byte & 15]};
    if (i % 8 == 7) hex += '\n';
  }
  EXPECT_EQ(hex,
            "0104001104021103\n04"  // places: f at 0, g at 4, f at 8
            "00000000000000\n"
            "0000000009000000\n"  // pages
            "0000"                // nodes: none, f, g in f
            "0100"
            "020402"
            "00\n"
            "0000000000000000\n"  // functions: none, f, g
            "0000000000000000\n"
            "0100000003000000\n"
            "0100000005000000\n"
            "0e00000000000000\n"
            "0100000002000000\n"
            "0000000009000000\n"  // files
            "000166055f5a3166\n"  // strings
            "7604612e63630167\n"
            "6964000000000000\n");  // identity
}

TEST(SymbolIndexFile, WithBytesBehindItsEndIsRefused) {
  std::vector<std::byte> bytes = SmallIndex();
  bytes.push_back(std::byte{0});
  EXPECT_EQ(SymbolIndex::Open(bytes, "id").error().code(), ErrorCode::kCorrupt);
}

TEST(SymbolIndexFile, ACallerBeforeTheFirstNodeIsNone) {
  std::vector<std::byte> bytes = SmallIndex();
  IndexHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const auto& nodes = header.sections[static_cast<size_t>(IndexSection::kNodes)];
  std::byte& distance = bytes[nodes.offset + 5];  // of g, which was inlined into f
  EXPECT_EQ(distance, std::byte{4});
  EXPECT_EQ(IndexForTest::Text(SymbolIndex::Open(bytes, "id").value(), kBase + 4),
            "g a.cc:3 < _Z1fv a.cc:6");
  distance = std::byte{12};
  FixChecksums(bytes);
  EXPECT_EQ(IndexForTest::Text(SymbolIndex::Open(bytes, "id").value(), kBase + 4), "g a.cc:3");
}

}  // namespace
}  // namespace vesta::symbolize
