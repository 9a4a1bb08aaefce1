#include "src/object/frame_finder.h"

#include <gtest/gtest.h>

#include <string>

#include "src/object/frame_bytes_for_test.h"
#include "src/object/frame_rules.h"
#include "src/object/owning_source_for_test.h"

namespace vesta::object {
namespace {

std::unique_ptr<FrameFinder> FinderOf(std::vector<std::byte> file) {
  const auto source = std::make_shared<OwningSource>(std::move(file));
  const auto elf = ElfFile::Parse(*source);
  if (!elf.ok()) return nullptr;
  auto finder = FrameFinder::Open(*elf, source);
  return finder.ok() ? std::move(finder).value() : nullptr;
}

// "r7+16" for the frame address, "expression", or "none".
std::string Describe(FrameFinder& finder, uint64_t vaddr) {
  const auto found = finder.RulesAt(vaddr);
  if (!found.has_value()) return "none";
  const FrameAddressRule& rule = found->rules.frame_address;
  if (!rule.expression.empty()) return "expression";
  return "r" + std::to_string(rule.register_column) + "+" + std::to_string(rule.offset);
}

FrameBytes ThreeFunctions() {
  FrameBytes frames;
  frames.AddCommon();
  frames.AddFde(kCode + 0x00, 0x20, {0x42, 0x0e, 16});
  frames.AddFde(kCode + 0x20, 0x20, {0x0f, 3, 0x73, 8, 0x06});
  frames.AddFde(kCode + 0x60, 0x20, {});
  return frames;
}

// The same with the linker's search table, and without section headers.
std::vector<std::byte> FileWithSearchTable(const FrameBytes& frames,
                                           const std::vector<std::pair<uint64_t, size_t>>& starts) {
  ElfImage image;
  const uint64_t code_offset = image.Add(Bytes(16));
  const uint64_t header_vaddr = kFrameVaddr - 0x100;
  Bytes header = Bytes{1, 0x1b, 0x03, 0x3b} + Le(0x100 - 4, 4) + Le(starts.size(), 4);
  for (const auto& [start, offset] : starts) {
    header = header + Le(start - header_vaddr, 4) + Le(kFrameVaddr + offset - header_vaddr, 4);
  }
  header.resize(0x100);
  const uint64_t header_offset = image.Add(header);
  image.Add(frames.bytes());
  Elf64_Phdr code = Segment(PT_LOAD, PF_R | PF_X, code_offset, kCode, kCodeBytes);
  code.p_filesz = 16;
  image.SetSegments({code,
                     Segment(PT_LOAD, PF_R, header_offset, header_vaddr, 0x100 + frames.size()),
                     Segment(PT_GNU_EH_FRAME, PF_R, header_offset, header_vaddr, 0x100)});
  return image.bytes();
}

void ExpectThreeFunctions(FrameFinder& finder) {
  EXPECT_EQ(Describe(finder, kCode - 1), "none");
  EXPECT_EQ(Describe(finder, kCode + 0x01), "r7+8");
  EXPECT_EQ(Describe(finder, kCode + 0x02), "r7+16");
  EXPECT_EQ(Describe(finder, kCode + 0x1f), "r7+16");
  EXPECT_EQ(Describe(finder, kCode + 0x20), "expression");
  EXPECT_EQ(Describe(finder, kCode + 0x40), "none");
  EXPECT_EQ(Describe(finder, kCode + 0x60), "r7+8");
  EXPECT_EQ(Describe(finder, kCode + 0x80), "none");
}

TEST(FrameFinderTest, FindsEntriesWithAndWithoutASearchTable) {
  const FrameBytes frames = ThreeFunctions();
  const auto sorted = FinderOf(FileWith(frames.bytes()));
  ASSERT_NE(sorted, nullptr);
  ExpectThreeFunctions(*sorted);

  FrameBytes again;
  again.AddCommon();
  std::vector<std::pair<uint64_t, size_t>> starts;
  starts.emplace_back(kCode + 0x00, again.size());
  again.AddFde(kCode + 0x00, 0x20, {0x42, 0x0e, 16});
  starts.emplace_back(kCode + 0x20, again.size());
  again.AddFde(kCode + 0x20, 0x20, {0x0f, 3, 0x73, 8, 0x06});
  starts.emplace_back(kCode + 0x60, again.size());
  again.AddFde(kCode + 0x60, 0x20, {});
  const auto searched = FinderOf(FileWithSearchTable(again, starts));
  ASSERT_NE(searched, nullptr);
  ExpectThreeFunctions(*searched);

  starts[1].second = 0;  // a CIE
  starts[2].second = again.size();
  const auto wrong = FinderOf(FileWithSearchTable(again, starts));
  ASSERT_NE(wrong, nullptr);
  EXPECT_EQ(Describe(*wrong, kCode + 0x10), "r7+16");
  EXPECT_EQ(Describe(*wrong, kCode + 0x20), "none");
  EXPECT_EQ(Describe(*wrong, kCode + 0x60), "none");
}

TEST(FrameFinderTest, DebugFrameIsAskedWhereEhFrameHasNothing) {
  FileOptions options;
  options.debug_frame = DebugFrameOf({{kCode + 0x10, 0x40, {0x0e, 32}}});
  const auto finder = FinderOf(FileWith(ThreeFunctions().bytes(), options));
  ASSERT_NE(finder, nullptr);
  EXPECT_EQ(Describe(*finder, kCode + 0x10), "r7+16");
  EXPECT_EQ(Describe(*finder, kCode + 0x40), "r7+32");
  EXPECT_EQ(Describe(*finder, kCode + 0x50), "none");
}

TEST(FrameFinderTest, OfSeveralEntriesTheOneThatStartsLastSpeaks) {
  FrameBytes frames;
  frames.AddCommon();
  frames.AddFde(kCode + 0x00, 0x80, {0x0e, 16});
  frames.AddFde(kCode + 0x20, 0x10, {0x0e, 24});
  const auto finder = FinderOf(FileWith(frames.bytes()));
  ASSERT_NE(finder, nullptr);
  EXPECT_EQ(Describe(*finder, kCode + 0x20), "r7+24");
  EXPECT_EQ(Describe(*finder, kCode + 0x30), "r7+16");
}

TEST(FrameFinderTest, RulesOfOneFrame) {
  FrameBytes frames;
  frames.AddCommon();
  // CFA = rbx + 32; rbx at CFA - 24; r12 = CFA - 8 (val_offset 1); r13 in rbp; r14 undefined;
  // r15 at rsp + 16, by an expression.
  frames.AddFde(kCode, 0x20,
                {0x0c, 3, 32, 0x83, 3, 0x14, 12, 1, 0x09, 13, 6, 0x07, 14, 0x10, 15, 2, 0x77, 16});
  const auto finder = FinderOf(FileWith(frames.bytes()));
  ASSERT_NE(finder, nullptr);
  const auto found = finder->RulesAt(kCode + 4);
  ASSERT_TRUE(found.has_value());
  FrameRegisters registers;
  for (uint64_t column = 0; column < 17; ++column) registers.Set(column, 0x1000 * column);
  const auto memory = [](uint64_t address, uint8_t) -> std::optional<uint64_t> {
    return address + 1;
  };
  const auto caller =
      FindCaller(kX86_64Frames, found->rules, found->return_column, registers, memory);
  ASSERT_EQ(caller.fault, FrameFault::kNone);
  EXPECT_EQ(caller.frame_address, 0x3020u);
  EXPECT_EQ(caller.return_address, 0x3019u);
  EXPECT_EQ(caller.registers.Get(3), 0x3009u);
  EXPECT_EQ(caller.registers.Get(7), 0x3020u) << "the caller's stack pointer";
  EXPECT_EQ(caller.registers.Get(12), 0x3018u);
  EXPECT_EQ(caller.registers.Get(13), 0x6000u);
  EXPECT_EQ(caller.registers.Get(14), std::nullopt);
  EXPECT_EQ(caller.registers.Get(15), 0x7011u);
  EXPECT_EQ(caller.registers.Get(6), 0x6000u) << "preserved, no rule";
  EXPECT_EQ(caller.registers.Get(0), std::nullopt) << "not preserved";
  FrameRegisters without_rbx = registers;
  without_rbx.known &= ~uint64_t{8};
  EXPECT_EQ(
      FindCaller(kX86_64Frames, found->rules, found->return_column, without_rbx, memory).fault,
      FrameFault::kUnknownRegister);
}

// Whatever is cut off or changed: no crash, and what is found is found within the bytes.
TEST(FrameFinderTest, SurvivesEveryTruncationAndFlippedByte) {
  FileOptions options;
  options.debug_frame = DebugFrameOf({{kCode + 0x10, 0x40, {0x0e, 32}}});
  const auto whole = FileWith(ThreeFunctions().bytes(), options);
  const auto ask = [](const std::vector<std::byte>& file) {
    const auto finder = FinderOf(file);
    if (finder == nullptr) return;
    for (uint64_t offset = 0; offset < 0x90; offset += 0x10) finder->RulesAt(kCode + offset);
  };
  for (size_t size = 0; size < whole.size(); ++size) {
    ask({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    auto flipped = whole;
    flipped[at] ^= std::byte{0xff};
    ask(flipped);
  }
}

}  // namespace
}  // namespace vesta::object
