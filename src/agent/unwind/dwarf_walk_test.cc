// Walks that need more registers than the walker follows, over hand-made call frame information.
#include "src/agent/unwind/dwarf_walk.h"

#include <gtest/gtest.h>

#include <memory>

#include "src/agent/unwind/fake_kernel_tables.h"
#include "src/agent/unwind/walk_finisher.h"
#include "src/object/frame_bytes_for_test.h"
#include "src/object/owning_source_for_test.h"
#include "src/object/unwind_table.h"

namespace vesta::agent::unwind {
namespace {

using object::kCode;

constexpr uint64_t kBias = 0x550000000000;
constexpr uint64_t kStack = 0x7fff0000;
constexpr uint32_t kImage = 3;
// Where the functions lie from kCode.
constexpr uint64_t kLeaf = 0x00;
constexpr uint64_t kByRbx = 0x100;
constexpr uint64_t kByExpression = 0x200;
constexpr uint64_t kRoot = 0x300;
constexpr uint64_t kNoRules = 0x400;
constexpr uint64_t kByR10 = 0x500;

class DwarfWalkTest : public testing::Test {
 protected:
  DwarfWalkTest() {
    object::FrameBytes frames;
    frames.AddCommon();
    // The leaf has pushed rbx: CFA = rsp + 16, rbx at CFA - 16.
    frames.AddFde(kCode + kLeaf, 0x80, {0x0e, 16, 0x83, 2});
    // CFA = rbx + 24; its caller's rbx is at CFA - 24, r12 at CFA - 16.
    frames.AddFde(kCode + kByRbx, 0x80, {0x0c, 3, 24, 0x83, 3, 0x8c, 2});
    // CFA = *(r12 + 8 * 2) + 8.
    frames.AddFde(kCode + kByExpression, 0x80,
                  {0x0f, 9, 0x7c, 0, 0x32, 0x38, 0x1e, 0x22, 0x06, 0x23, 8});
    frames.AddFde(kCode + kRoot, 0x80, {0x07, 16});
    frames.AddFde(kCode + kByR10, 0x80, {0x0c, 10, 8});
    const auto file = std::make_shared<object::OwningSource>(object::FileWith(frames.bytes()));
    file_ = file;
    const auto elf = object::ElfFile::Parse(*file);
    EXPECT_TRUE(elf.ok());
    const auto table = object::BuildUnwindTable(*elf, *file);
    EXPECT_TRUE(table.ok());
    EXPECT_TRUE(kernel_.StoreTable(kImage, table->words).ok());
    resume_.registers[16] = kBias + kCode + kLeaf + 0x10;
    resume_.registers[7] = kStack;
    resume_.interrupted = 1;
    resume_.stack_address = kStack;
  }

  void SetWord(size_t index, uint64_t value) { stack_.at(index) = value; }
  static uint64_t In(uint64_t function) { return kBias + kCode + function + 0x20; }
  static uint64_t At(size_t index) { return kStack + 8 * index; }

  FinishedWalk Finish() {
    resume_.pc = resume_.registers[16];
    resume_.sp = resume_.registers[7];
    resume_.fp = resume_.registers[6];
    FrameFinderCache finders(
        [this](uint32_t) -> base::Result<std::unique_ptr<object::FrameFinder>> {
          if (!has_file_) return base::Error(base::ErrorCode::kNotFound, "gone");
          ASSIGN_OR_RETURN(const auto elf, object::ElfFile::Parse(*file_));
          return object::FrameFinder::Open(elf, file_);
        },
        {});
    const WalkFinisher::Callbacks callbacks{
        .mappings = [this] { return std::span<const abi_mapping>(mappings_); },
        .refresh_mappings = [] { return false; },
        .load_table = [](uint32_t) { return false; }};
    return WalkFinisher(kernel_, finders)
        .Finish(kernel_frames_, resume_, std::as_bytes(std::span(stack_)), callbacks);
  }
  // Starts of the functions that were found, from kCode.
  static std::vector<uint64_t> Functions(const FinishedWalk& walk) {
    std::vector<uint64_t> functions;
    for (const abi_frame& frame : walk.frames) {
      functions.push_back((frame.address - kCode) & ~uint64_t{0xff});
    }
    return functions;
  }

  FakeKernelTables kernel_;
  std::shared_ptr<const base::ByteSource> file_;
  bool has_file_ = true;
  std::vector<abi_mapping> mappings_{
      {kBias + kCode, kBias + kCode + 0x1000, kBias, kImage, kImage}};
  std::vector<uint64_t> stack_ = std::vector<uint64_t>(64, 0);
  std::vector<abi_frame> kernel_frames_;
  abi_resume resume_{};
};

TEST_F(DwarfWalkTest, CalleeSavedRegistersStayKnownThroughTheWalk) {
  SetWord(0, At(4));       // the leaf's saved rbx
  SetWord(1, In(kByRbx));  // returns into the function whose CFA is rbx + 24
  SetWord(4, 0);           // its saved rbx
  SetWord(5, At(20));      // its saved r12
  SetWord(6, In(kByExpression));
  SetWord(22, At(30) - 8);  // what r12 + 16 points to: CFA - 8
  SetWord(29, In(kRoot));
  const FinishedWalk walk = Finish();
  EXPECT_EQ(walk.reason, ABI_STOP_ROOT);
  EXPECT_TRUE(walk.used_all_registers);
  EXPECT_EQ(Functions(walk), (std::vector<uint64_t>{kLeaf, kByRbx, kByExpression, kRoot}));
  EXPECT_EQ(walk.frames[0].flags, ABI_FRAME_INTERRUPTED);
  EXPECT_EQ(walk.frames[1].address, kCode + kByRbx + 0x1f) << "less one: a return address";
}

TEST_F(DwarfWalkTest, FramesBeforeTheInterruptedOneAreKept) {
  const abi_frame handler{kCode + kNoRules, kImage, ABI_FRAME_IMAGE, 0, {}};
  const abi_frame again{kCode + kLeaf, kImage, ABI_FRAME_IMAGE, 0, {}};
  kernel_frames_ = {handler, again, again};
  resume_.frame_index = 1;
  SetWord(1, In(kRoot));
  const FinishedWalk walk = Finish();
  EXPECT_EQ(walk.reason, ABI_STOP_ROOT);
  EXPECT_EQ(Functions(walk), (std::vector<uint64_t>{kNoRules, kLeaf, kRoot}));
}

TEST_F(DwarfWalkTest, RegisterThatCallsDoNotPreserveIsNotKnownInACaller) {
  resume_.registers[10] = At(10);
  SetWord(1, In(kByR10));
  const FinishedWalk walk = Finish();
  EXPECT_EQ(walk.reason, ABI_STOP_RULE_UNSUPPORTED) << "r10 may be anything by now";
  EXPECT_EQ(Functions(walk), (std::vector<uint64_t>{kLeaf, kByR10}));
}

TEST_F(DwarfWalkTest, AfterAFramePointerChainOtherRegistersAreNotKnown) {
  resume_.registers[16] = kBias + kCode + kNoRules;
  resume_.registers[3] = At(10);
  resume_.registers[6] = kStack;
  SetWord(0, 0);
  SetWord(1, In(kByRbx));
  EXPECT_EQ(Finish().reason, ABI_STOP_RULE_UNSUPPORTED);
}

TEST_F(DwarfWalkTest, RegisterThatWasSavedBelowTheCopyEndsTheWalkWithTheReason) {
  SetWord(0, kStack + 0x100000);  // rbx points out of the copy
  SetWord(1, In(kByRbx));
  EXPECT_EQ(Finish().reason, ABI_STOP_READ_FAULT);
  SetWord(0, kStack - 0x1000);  // or backwards, where nothing can be read
  EXPECT_EQ(Finish().reason, ABI_STOP_READ_FAULT);
  SetWord(0, kStack - 16);  // CFA = rbx + 24: into what was left already
  EXPECT_EQ(Finish().reason, ABI_STOP_SP_NOT_GROWING);
}

TEST_F(DwarfWalkTest, WithoutTheFileTheTableDecides) {
  has_file_ = false;
  SetWord(0, At(4));
  SetWord(1, In(kByRbx));
  const FinishedWalk walk = Finish();
  EXPECT_EQ(walk.reason, ABI_STOP_RULE_UNSUPPORTED);
  EXPECT_EQ(Functions(walk), (std::vector<uint64_t>{kLeaf, kByRbx}));
}

TEST_F(DwarfWalkTest, WalkThatTheTablesCanFinishNeedsNoFile) {
  has_file_ = false;
  SetWord(1, In(kRoot));
  const FinishedWalk walk = Finish();
  EXPECT_EQ(walk.reason, ABI_STOP_ROOT);
  EXPECT_FALSE(walk.used_all_registers);
}

}  // namespace
}  // namespace vesta::agent::unwind
