#include "src/agent/unwind/walk_finisher.h"

#include <gtest/gtest.h>

#include <cstring>

#include "src/agent/unwind/fake_kernel_tables.h"

namespace vesta::agent::unwind {
namespace {

constexpr uint64_t kStack = 0x7000;

// One page at image page 1: CFA = sp + 8 from 0x1000, root from 0x1800.
std::vector<uint32_t> SmallTable() {
  std::vector<uint32_t> words(ABI_TABLE_BLOCK_WORDS, 0);
  const uint32_t head[] = {ABI_TABLE_MAGIC, 1, 1, 8, 10, 2, 12, 0, 0, 2};
  std::copy(std::begin(head), std::end(head), words.begin());
  words[10] = 1u << ABI_ROW_OPERAND_SHIFT;
  words[11] = 0x800u | uint32_t{ABI_ROW_SPECIAL} << ABI_ROW_KIND_SHIFT |
              uint32_t{ABI_SPECIAL_ROOT} << ABI_ROW_OPERAND_SHIFT;
  return words;
}

class WalkFinisherTest : public testing::Test {
 protected:
  FinishedWalk Finish() {
    const abi_frame leaf{0x401010, 0, ABI_FRAME_PROCESS, ABI_FRAME_INTERRUPTED, {}};
    abi_resume resume{};
    resume.pc = 0x401010;
    resume.sp = kStack;
    resume.stack_address = kStack - below_sp_.size() * sizeof(uint64_t);
    resume.interrupted = 1;
    WalkFinisher::Callbacks callbacks;
    callbacks.mappings = [this] { return std::span<const abi_mapping>(mappings_); };
    callbacks.refresh_mappings = [this] {
      if (refreshes_++ != 0) return false;
      mappings_ = to_be_learnt_;
      return true;
    };
    callbacks.load_table = [this](uint32_t slot) {
      ++loads_;
      return loadable_ && kernel_.StoreTable(slot, table_).ok();
    };
    std::vector<uint64_t> copy = below_sp_;
    copy.insert(copy.end(), stack_.begin(), stack_.end());
    return WalkFinisher(kernel_, finders_)
        .Finish(std::span(&leaf, 1), resume, std::as_bytes(std::span(copy)), callbacks);
  }

  FakeKernelTables kernel_;
  FrameFinderCache finders_{
      [](uint32_t) { return base::Error(base::ErrorCode::kNotFound, "no files here"); }, {}};
  std::vector<uint64_t> below_sp_;
  std::vector<uint64_t> stack_{0x401810, 0, 0, 0};
  std::vector<uint32_t> table_ = SmallTable();
  std::vector<abi_mapping> mappings_;
  std::vector<abi_mapping> to_be_learnt_{{0x400000, 0x410000, 0x400000, 3, 3}};
  bool loadable_ = true;
  int refreshes_ = 0;
  int loads_ = 0;
};

TEST_F(WalkFinisherTest, LearnsMappingsAndTableThenReachesTheRoot) {
  const FinishedWalk walk = Finish();
  EXPECT_EQ(walk.reason, ABI_STOP_ROOT);
  ASSERT_EQ(walk.frames.size(), 2u) << "the raw leaf is replaced, not repeated";
  EXPECT_EQ(walk.frames[0].kind, ABI_FRAME_IMAGE);
  EXPECT_EQ(walk.frames[0].address, 0x1010u);
  EXPECT_EQ(walk.frames[0].image_id, 3u);
  EXPECT_EQ(walk.frames[1].address, 0x180fu);
  EXPECT_EQ(loads_, 1);
}

TEST_F(WalkFinisherTest, GivesUpWhenTheMappingCannotBeLearnt) {
  to_be_learnt_.clear();
  const FinishedWalk walk = Finish();
  EXPECT_EQ(walk.reason, ABI_STOP_NO_MAPPING);
  ASSERT_EQ(walk.frames.size(), 1u);
  EXPECT_EQ(walk.frames[0].address, 0x401010u);
}

TEST_F(WalkFinisherTest, GivesUpWhenNeitherTableNorFileCanBeHad) {
  loadable_ = false;
  const FinishedWalk walk = Finish();
  EXPECT_EQ(walk.reason, ABI_STOP_NO_TABLE);
  EXPECT_EQ(walk.frames.size(), 1u);
  EXPECT_TRUE(walk.used_all_registers) << "the file's own rules were tried";
  EXPECT_EQ(loads_, 2);
}

TEST_F(WalkFinisherTest, EndlessStackEndsAtTheDepthLimit) {
  stack_.assign(4096, 0x401010);
  const FinishedWalk walk = Finish();
  EXPECT_EQ(walk.reason, ABI_STOP_DEPTH);
  EXPECT_EQ(walk.frames.size(), size_t{ABI_USER_FRAMES_MAX});
}

TEST_F(WalkFinisherTest, CopyTooShortIsAReadFault) {
  stack_.clear();
  EXPECT_EQ(Finish().reason, ABI_STOP_READ_FAULT);
}

// After "pop rbp; pop r12" the rule of rbp still points to where it was pushed.
TEST_F(WalkFinisherTest, ReadsRegistersThatAnEpilogueHasAlreadyPopped) {
  below_sp_ = {0, 0};
  table_[10] = (1u | 3u << ABI_OPERAND_CFA_BITS) << ABI_ROW_OPERAND_SHIFT;
  EXPECT_EQ(Finish().reason, ABI_STOP_ROOT);
  below_sp_.clear();
  EXPECT_EQ(Finish().reason, ABI_STOP_READ_FAULT);
}

TEST(WithoutWrongGuessTest, OnlyAGuessThatLeftAllMappingsIsTakenBack) {
  std::vector<abi_frame> frames = {{0x1010, 5, ABI_FRAME_IMAGE, ABI_FRAME_INTERRUPTED, {}},
                                   {0x400000, 0, ABI_FRAME_PROCESS, ABI_FRAME_GUESSED, {}}};
  abi_stop_reason reason = ABI_STOP_NO_MAPPING;
  EXPECT_EQ(WithoutWrongGuess(frames, reason).size(), 1u);
  EXPECT_EQ(reason, ABI_STOP_NO_RULE);

  reason = ABI_STOP_DEPTH;
  EXPECT_EQ(WithoutWrongGuess(frames, reason).size(), 2u);
  EXPECT_EQ(reason, ABI_STOP_DEPTH);

  frames.back().flags = 0;
  reason = ABI_STOP_NO_MAPPING;
  EXPECT_EQ(WithoutWrongGuess(frames, reason).size(), 2u);
  EXPECT_EQ(reason, ABI_STOP_NO_MAPPING);
  EXPECT_TRUE(WithoutWrongGuess({}, reason).empty());
}

}  // namespace
}  // namespace vesta::agent::unwind
