// kill -9 at each step that leaves a trace on disk: nothing acknowledged is lost or counted twice.
// Each kind of step is tried once; VESTA_CRASH_ALL=1 tries all of them, which takes minutes.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <new>
#include <set>
#include <string>
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
  // Names of the steps of a life that was not cut short.
  std::array<std::array<char, 24>, 512> names = {};
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
      options_.step_hook = [this, step](std::string_view name) {
        const uint64_t now = ++seen_->steps;
        if (now == step) ::kill(::getpid(), SIGKILL);
        if (now < seen_->names.size()) name.copy(seen_->names[now].data(), 23);
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

  std::set<uint64_t> ChosenSteps();

  Acknowledged* seen_ = nullptr;
};

// The steps at which to die: the last one of each name, since there is most to lose then.
std::set<uint64_t> CrashTest::ChosenSteps() {
  EXPECT_FALSE(LiveUntil(0));
  std::map<std::string, uint64_t> last;
  std::set<uint64_t> all;
  for (uint64_t step = 1; step <= seen_->steps; ++step) {
    last[seen_->names[step].data()] = step;
    all.insert(step);
  }
  EXPECT_LT(seen_->steps, seen_->names.size());
  if (std::getenv("VESTA_CRASH_ALL") != nullptr) return all;
  std::set<uint64_t> chosen;
  for (const auto& [name, step] : last) chosen.insert(step);
  return chosen;
}

TEST_F(CrashTest, EachStep) {
  const std::set<uint64_t> steps = ChosenSteps();
  EXPECT_GE(steps.size(), 14u);
  for (const uint64_t step : steps) {
    SCOPED_TRACE("step " + std::to_string(step) + ": " + seen_->names[step].data());
    ASSERT_TRUE(RemoveAll(options_.folder).ok());
    seen_->batches = 0;
    ASSERT_TRUE(LiveUntil(step));
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
}

}  // namespace
}  // namespace vesta::store
