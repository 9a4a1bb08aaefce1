// kill -9 at each step that leaves a trace on disk: nothing acknowledged is lost or counted twice.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <set>
#include <string_view>

#include "src/store/disk/store_fixture.h"

namespace vesta::store {
namespace {

constexpr uint64_t kBatches = 12;
constexpr size_t kRows = 120;

// Shared with the child: what it has been told is durable.
struct Acknowledged {
  std::atomic<uint64_t> batches{0};
  std::atomic<uint64_t> steps{0};
};

class CrashTest : public DiskStoreTest {
 protected:
  void SetUp() override {
    DiskStoreTest::SetUp();
    void* memory = ::mmap(nullptr, sizeof(Acknowledged), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    seen_ = new (memory) Acknowledged;
    options_.part_rows_max = 200;
    options_.retention.age_ms = 5 * kDayMs;
  }
  void TearDown() override {
    ::munmap(seen_, sizeof(Acknowledged));
    DiskStoreTest::TearDown();
  }

  static int64_t TimeOf(uint64_t batch) {
    return kTestNow - static_cast<int64_t>(batch % 3) * kDayMs -
           static_cast<int64_t>(batch) * 600'000;
  }

  // All that a store does in its life: sealing, closing, late rows, merging, retention.
  void Live() {
    for (uint64_t batch = 0; batch < kBatches; ++batch) {
      TestBatch rows;
      rows.Id(batch).Service(batch % 2 == 0 ? "a" : "b").Rows(kRows, TimeOf(batch));
      if (!store_->Append(rows.get()).ok()) ::_exit(3);
      seen_->batches = batch + 1;
      if (!store_->Maintain().ok()) ::_exit(4);
      if (batch % 5 == 4 && !store_->Settle().ok()) ::_exit(5);
    }
    if (!store_->Settle().ok()) ::_exit(6);
    now_ += 4 * kDayMs;
    if (!store_->Maintain().ok()) ::_exit(7);
  }

  // Runs Live in a child that dies at step number `step`, and returns whether it came so far.
  bool LiveUntil(uint64_t step) {
    seen_->steps = 0;
    const pid_t child = ::fork();
    if (child == 0) {
      options_.step_hook = [this, step](std::string_view) {
        if (++seen_->steps == step) ::kill(::getpid(), SIGKILL);
      };
      auto opened = DiskStore::Open(options_);
      if (!opened.ok()) ::_exit(2);
      store_ = *std::move(opened);
      Live();
      ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) return true;
    EXPECT_EQ(WEXITSTATUS(status), 0);
    return false;
  }

  Acknowledged* seen_ = nullptr;
};

TEST_F(CrashTest, EachStep) {
  uint64_t step = 1;
  for (;; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    ASSERT_TRUE(RemoveAll(options_.folder).ok());
    seen_->batches = 0;
    if (!LiveUntil(step)) break;
    now_ = kTestNow;
    Open();
    const uint64_t acknowledged = seen_->batches;
    const uint64_t kept = store_->Status().book.rows_kept;
    EXPECT_GE(kept, acknowledged * kRows);
    EXPECT_LE(kept, (acknowledged + 1) * kRows);  // the one under way may be there
    EXPECT_EQ(static_cast<uint64_t>(RowCount()) + store_->Status().rows_expired, kept);
    EXPECT_EQ(StackCount(), RowCount());
    ExpectBalance();
    // The client sends again what it knows nothing of, and more.
    for (uint64_t batch = 0; batch < kBatches; ++batch) {
      if (store_->Status().rows_expired > 0) break;  // it was counted, and is gone
      Append(TestBatch().Id(batch).Service(batch % 2 == 0 ? "a" : "b").Rows(kRows, TimeOf(batch)));
    }
    ASSERT_TRUE(store_->Settle().ok());
    EXPECT_EQ(static_cast<uint64_t>(RowCount()) + store_->Status().rows_expired, kBatches * kRows);
    EXPECT_EQ(StackCount(), RowCount());
    ExpectBalance();
    EXPECT_TRUE(notices_.empty()) << notices_.front();
    store_.reset();
    if (HasFailure()) return;
  }
  EXPECT_GT(step, 60u);
}

}  // namespace
}  // namespace vesta::store
