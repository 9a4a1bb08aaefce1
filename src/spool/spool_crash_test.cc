// kill -9 in a loop, at any moment: what was appended is there, once and in order.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <random>
#include <set>

#include "src/spool/spool_fixture.h"

namespace vesta::spool {
namespace {

constexpr int kLives = 150;

// Shared with the child: what it has been told.
struct Told {
  std::atomic<uint64_t> begun{0};     // the newest record whose append began
  std::atomic<uint64_t> appended{0};  // the newest record that was taken
  std::atomic<uint64_t> taken{0};     // the newest one whose acknowledgement began
  std::atomic<uint64_t> acknowledged{0};
};

class SpoolCrashTest : public SpoolTest {
 protected:
  void SetUp() override {
    SpoolTest::SetUp();
    void* memory =
        ::mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    told_ = new (memory) Told;
    options_.sync_period_ms = 3'600'000;  // what nobody has synced survives a process, too
  }
  void TearDown() override {
    ::munmap(told_, sizeof(Told));
    SpoolTest::TearDown();
  }

  // In the child: two records in, one out, until it is killed.
  [[noreturn]] void Live() {
    auto opened = Spool::Open(options_);
    if (!opened.ok()) ::_exit(2);
    spool_ = *std::move(opened);
    for (uint64_t number = told_->begun + 1;; ++number) {
      told_->begun = number;
      if (!TryAppend(number).ok()) ::_exit(3);
      told_->appended = number;
      // It falls behind, and catches up.
      const uint64_t takes = number % 64 >= 48 ? 3 : number % 2;
      for (uint64_t take = 0; take < takes; ++take) TakeOne();
    }
  }
  void TakeOne() {
    const auto oldest = spool_->Oldest();
    if (!oldest.ok()) ::_exit(4);
    if (*oldest == nullptr) return;
    const uint64_t taken = (*oldest)->samples - 10;
    told_->taken = taken;
    spool_->Acknowledge((*oldest)->sequence);
    told_->acknowledged = taken;
  }

  Told* told_ = nullptr;
};

TEST_F(SpoolCrashTest, WhatWasAppendedIsThereOnceAndInOrder) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::set<uint64_t> never_taken;  // appends that a kill cut short
  for (int life = 0; life < kLives; ++life) {
    const pid_t child = ::fork();
    if (child == 0) Live();
    ::usleep(static_cast<useconds_t>(random() % 8'000));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    if (told_->begun > told_->appended) never_taken.insert(told_->begun);

    Open();
    ExpectBalance();
    EXPECT_LE(Lost("torn").records, 1u);
    // The newest acknowledgement may have been cut short; what was cut short before may be missing.
    const uint64_t oldest = OldestNumber();
    if (oldest != 0) {
      EXPECT_GT(oldest, told_->acknowledged);
    }
    const uint64_t end = oldest != 0 ? oldest : told_->begun + 1;
    for (uint64_t number = told_->taken + 1; number < end; ++number) {
      EXPECT_TRUE(never_taken.contains(number)) << number;
    }
    told_->appended = told_->begun.load();
    spool_.reset();
    ASSERT_FALSE(HasFailure()) << "life " << life;
  }
  EXPECT_GT(told_->begun, 100u);
  // One after the other; only what was cut short may be missing.
  Open();
  uint64_t expected = told_->acknowledged + 1;
  while (const uint64_t number = Take()) {
    for (; expected < number; ++expected) {
      EXPECT_TRUE(never_taken.contains(expected) || expected <= told_->taken) << expected;
    }
    EXPECT_EQ(number, expected);
    ++expected;
  }
  for (; expected <= told_->begun; ++expected) {
    EXPECT_TRUE(never_taken.contains(expected) || expected <= told_->taken) << expected;
  }
  EXPECT_EQ(Lost("damaged"), Amount{});
  EXPECT_EQ(Lost("bytes"), Amount{});
  ExpectBalance();
}

}  // namespace
}  // namespace vesta::spool
