#include "src/store/disk/group_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace vesta::store {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Does what comes, and remembers how large the groups were.
class Worker {
 public:
  explicit Worker(GroupQueue<int>* queue) : queue_(queue), thread_([this] { Loop(); }) {}
  void Join() { thread_.join(); }
  const std::vector<size_t>& groups() const { return groups_; }

 private:
  void Loop() {
    for (;;) {
      const std::vector<int*> jobs = queue_->Take(100);
      if (jobs.empty()) return;
      groups_.push_back(jobs.size());
      for (int* job : jobs) ++*job;
      queue_->Finish();
    }
  }
  GroupQueue<int>* const queue_;
  std::vector<size_t> groups_;
  std::thread thread_;
};

TEST(GroupQueueTest, OneThatComesAloneIsNotKeptWaiting) {
  GroupQueue<int> queue(milliseconds(10'000));
  Worker worker(&queue);
  const auto start = steady_clock::now();
  int job = 0;
  for (int i = 1; i <= 50; ++i) {
    EXPECT_TRUE(queue.Run(&job));
    EXPECT_EQ(job, i);
  }
  EXPECT_LT(steady_clock::now() - start, milliseconds(5'000));
  queue.Stop();
  worker.Join();
  EXPECT_EQ(worker.groups().size(), 50u);
}

// Threads that run a job so many times, until the queue has one of each.
std::vector<std::thread> Crowd(GroupQueue<int>* queue, size_t thread_count, int rounds) {
  std::vector<std::thread> threads;
  for (size_t i = 0; i < thread_count; ++i) {
    threads.emplace_back([queue, rounds] {
      int job = 0;
      for (int round = 0; round < rounds; ++round) EXPECT_TRUE(queue->Run(&job));
      EXPECT_EQ(job, rounds);
    });
  }
  while (queue->waiting() < thread_count) std::this_thread::sleep_for(milliseconds(1));
  return threads;
}

TEST(GroupQueueTest, ACrowdIsDoneInGroupsOfAllOfIt) {
  constexpr size_t kThreads = 8;
  constexpr int kRounds = 40;
  GroupQueue<int> queue(milliseconds(60'000));
  std::vector<std::thread> threads = Crowd(&queue, kThreads, kRounds);
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<int*> jobs = queue.Take(100);
    ASSERT_EQ(jobs.size(), kThreads) << round;
    for (int* job : jobs) ++*job;
    queue.Finish();
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(GroupQueueTest, OneLeftOfACrowdIsSoonNotKeptWaiting) {
  constexpr size_t kThreads = 3;
  constexpr milliseconds kGather(250);
  GroupQueue<int> queue(kGather);
  std::vector<std::thread> threads = Crowd(&queue, kThreads, 1);
  for (int* job : queue.Take(100)) ++*job;
  queue.Finish();
  for (std::thread& thread : threads) thread.join();
  Worker worker(&queue);
  const auto start = steady_clock::now();
  int alone = 0;
  for (int round = 0; round < 100; ++round) queue.Run(&alone);
  EXPECT_GE(steady_clock::now() - start, kGather);  // the crowd was expected once more
  EXPECT_LT(steady_clock::now() - start, 50 * kGather);
  queue.Stop();
  worker.Join();
}

TEST(GroupQueueTest, StopEndsAWaitAndStillGivesWhatCame) {
  GroupQueue<int> queue(milliseconds(60'000));
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  std::vector<int> jobs(3);
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] { done += queue.Run(&jobs[static_cast<size_t>(i)]) ? 1 : 0; });
  }
  // A crowd of two is seen, so that the one who comes next is kept waiting.
  size_t taken = 0;
  while (taken < 2) {
    std::this_thread::sleep_for(milliseconds(20));
    taken += queue.Take(1).size();
    queue.Finish();
  }
  for (std::thread& thread : threads) thread.join();
  std::thread last([&] { done += queue.Run(&jobs[2]) ? 1 : 0; });
  std::thread stopper([&queue] {
    std::this_thread::sleep_for(milliseconds(50));
    queue.Stop();
  });
  const auto start = steady_clock::now();
  EXPECT_EQ(queue.Take(10).size(), 1u);
  EXPECT_LT(steady_clock::now() - start, milliseconds(30'000));
  queue.Finish();
  last.join();
  stopper.join();
  EXPECT_TRUE(queue.Take(10).empty());
  EXPECT_EQ(done, 3);
  int late = 0;
  EXPECT_FALSE(queue.Run(&late));
}

}  // namespace
}  // namespace vesta::store
