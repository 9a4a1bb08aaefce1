#include "src/agent/process/stat_parser.h"

#include <gtest/gtest.h>

namespace vesta::agent::process {
namespace {

constexpr const char* kTail =
    " S 1 42 42 0 -1 4194304 100 0 0 0 0 0 0 0 20 0 7 0 127765 3133440 388 18446744073709551615 "
    "1\n";

TEST(StatParserTest, ReadsThreadsAndStartTimeWhateverTheNameHolds) {
  for (const std::string name : {"cat", "a b", ") R 1 (", "((", "", "x) Z 9 9 9"}) {
    SCOPED_TRACE(name);
    const auto stat = ParseStat("42 (" + name + ")" + kTail);
    ASSERT_TRUE(stat.ok()) << stat.error().message();
    EXPECT_EQ(stat->comm, name);
    EXPECT_EQ(stat->state, 'S');
    EXPECT_EQ(stat->thread_count, 7u);
    EXPECT_EQ(stat->start_boot_ticks, 127765u);
    EXPECT_FALSE(stat->is_kernel_thread);
  }
}

TEST(StatParserTest, TellsKernelThreads) {
  const auto stat = ParseStat(
      "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 1 0 0 20 0 1 0 3 0 0 18446744073709551615 0\n");
  ASSERT_TRUE(stat.ok());
  EXPECT_TRUE(stat->is_kernel_thread);
}

TEST(StatParserTest, RefusesEveryTruncationBeforeTheStartTime) {
  const std::string text = std::string("42 (cat)") + kTail;
  const size_t start_time_at = text.find("127765");
  for (size_t length = 0; length <= start_time_at; ++length) {
    EXPECT_FALSE(ParseStat(text.substr(0, length)).ok()) << length;
  }
}

TEST(StatParserTest, RefusesWordsInPlaceOfNumbers) {
  for (const char* text : {"", "42", "42 cat S 1", "42 )cat( S 1", "42 (cat) SS 1",
                           "42 (cat) S 1 1 1 1 1 x 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
                           "42 (cat) S 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 x 1 1 1",
                           "42 (cat) S 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 -5 1"}) {
    EXPECT_FALSE(ParseStat(text).ok()) << text;
  }
}

TEST(StatParserTest, StatusGivesTheInnermostPidAndTheUser) {
  const auto status = ParseStatus(
      "Name:\tx\nPid:\t700\nUid:\t1000\t0\t0\t0\nGid:\t5\t5\t5\t5\nNSpid:\t700\t12\t1\n");
  ASSERT_TRUE(status.ok()) << status.error().message();
  EXPECT_EQ(status->namespace_pid, 1u);
  EXPECT_EQ(status->real_uid, 1000u);
}

TEST(StatParserTest, StatusWithoutPidNamespacesFallsBackToThePid) {
  const auto status = ParseStatus("Pid:\t700\nUid:\t0\t0\t0\t0\n");
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status->namespace_pid, 700u);
  EXPECT_FALSE(ParseStatus("Uid:\t0\n").ok());
  EXPECT_FALSE(ParseStatus("Pid:\t1\n").ok());
  EXPECT_FALSE(ParseStatus("").ok());
}

}  // namespace
}  // namespace vesta::agent::process
