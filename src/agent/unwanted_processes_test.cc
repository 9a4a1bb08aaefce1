#include "src/agent/unwanted_processes.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

namespace vesta::agent {
namespace {

using process::Exclusion;

constexpr uint64_t kSecond = 1'000'000'000;

class UnwantedProcessesTest : public ::testing::Test {
 protected:
  process::TaskInfo Task(Exclusion exclusion, bool known = true) {
    process::Labels labels;
    labels.known = known;
    process::TaskInfo task;
    task.labels = std::make_shared<const process::Labels>(labels);
    task.exclusion = exclusion;
    return task;
  }

  abi_sample Sample(uint32_t pid, uint64_t start_boot_ns, uint64_t time_mono_ns,
                    uint32_t exec_id = 3) {
    abi_sample sample{};
    sample.tgid = pid;
    sample.process_start_boot_ns = start_boot_ns;
    sample.exec_id = exec_id;
    sample.time_mono_ns = time_mono_ns;
    return sample;
  }

  bool has_room_ = true;
  std::map<uint32_t, abi_unwanted> kernel_;
  UnwantedProcesses unwanted_{[this](uint32_t pid, const abi_unwanted* unwanted) {
    if (unwanted == nullptr) {
      kernel_.erase(pid);
    } else if (has_room_) {
      kernel_[pid] = *unwanted;
    }
    return has_room_;
  }};
};

TEST_F(UnwantedProcessesTest, TheKernelIsToldWhichIncarnationAndWhy) {
  unwanted_.Note(Task(Exclusion::kOptedOut), Sample(10, 77, kSecond));
  unwanted_.Note(Task(Exclusion::kByRule), Sample(11, 78, kSecond, 9));
  ASSERT_EQ(kernel_.size(), 2u);
  EXPECT_EQ(kernel_[10].start_boot_ns, 77u);
  EXPECT_EQ(kernel_[10].exec_id, 3u);
  EXPECT_EQ(kernel_[10].reason, uint32_t{ABI_UNWANTED_OPTED_OUT});
  EXPECT_EQ(kernel_[11].exec_id, 9u);
  EXPECT_EQ(kernel_[11].reason, uint32_t{ABI_UNWANTED_BY_RULE});
  EXPECT_EQ(unwanted_.counts().opted_out, 1u);
  EXPECT_EQ(unwanted_.counts().by_rule, 1u);
}

TEST_F(UnwantedProcessesTest, AProcessThatIsGoneIsForgotten) {
  unwanted_.Note(Task(Exclusion::kOptedOut), Sample(10, 77, kSecond));
  unwanted_.Forget(11);
  EXPECT_EQ(kernel_.size(), 1u);
  unwanted_.Forget(10);
  EXPECT_TRUE(kernel_.empty());
}

TEST_F(UnwantedProcessesTest, AfterAMinuteOneSampleComesThroughAgain) {
  unwanted_.Note(Task(Exclusion::kOptedOut), Sample(10, 77, kSecond));
  unwanted_.Note(Task(Exclusion::kOptedOut), Sample(11, 77, 2 * kSecond));
  unwanted_.Review(60 * kSecond);
  EXPECT_EQ(kernel_.size(), 2u);
  unwanted_.Review(61 * kSecond);
  EXPECT_EQ(kernel_.count(10), 0u);
  EXPECT_EQ(kernel_.count(11), 1u);
  // Told again after an exec: the minute begins anew.
  unwanted_.Note(Task(Exclusion::kOptedOut), Sample(11, 77, 61 * kSecond, 4));
  unwanted_.Review(62 * kSecond);
  EXPECT_EQ(kernel_.count(11), 1u);
  unwanted_.Review(121 * kSecond);
  EXPECT_TRUE(kernel_.empty());
}

TEST_F(UnwantedProcessesTest, WhoIsNotKnownForSureIsAskedAgain) {
  unwanted_.Note(Task(Exclusion::kByRule, /*known=*/false), Sample(10, 77, kSecond));
  unwanted_.Note(Task(Exclusion::kByRule), Sample(11, 0, kSecond));
  EXPECT_TRUE(kernel_.empty());
  EXPECT_EQ(unwanted_.counts().by_rule, 2u);
}

TEST_F(UnwantedProcessesTest, WithoutRoomSamplesAreCountedHere) {
  has_room_ = false;
  for (int i = 0; i < 3; ++i) unwanted_.Note(Task(Exclusion::kByRule), Sample(10, 77, kSecond));
  EXPECT_TRUE(kernel_.empty());
  EXPECT_EQ(unwanted_.counts().by_rule, 3u);
}

}  // namespace
}  // namespace vesta::agent
