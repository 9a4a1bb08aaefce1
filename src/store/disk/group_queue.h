// Jobs of many threads that one thread does in groups. Who comes while a group is being done is in
// the next one; and while many come, a group waits a little for more, since doing one costs nearly
// the same however large it is.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

namespace vesta::store {

// Owner: any threads call Run; one calls Take and Finish.
template <typename Job>
class GroupQueue {
 public:
  // Between the beginnings of two groups while several jobs come at once. One that comes alone is
  // never kept waiting.
  explicit GroupQueue(std::chrono::milliseconds gather) : gather_(gather) {}

  // Returns when the job was finished. False, with nothing done, after Stop.
  bool Run(Job* job) {
    Entry entry{job, false, {}};
    std::unique_lock lock(mutex_);
    if (is_stopped_) return false;
    waiting_.push_back(&entry);
    if (waiting_.size() == 1 || waiting_.size() >= crowd_) has_work_.notify_one();
    entry.done.wait(lock, [&entry] { return entry.is_done; });
    return true;
  }

  // Waits for jobs and gives up to jobs_max of them; none = stopped, and all were given.
  std::vector<Job*> Take(size_t jobs_max) {
    std::unique_lock lock(mutex_);
    has_work_.wait(lock, [this] { return is_stopped_ || !waiting_.empty(); });
    has_work_.wait_until(lock, taken_at_ + gather_, [this, jobs_max] {
      return is_stopped_ || waiting_.size() >= std::min(crowd_, jobs_max);
    });
    taken_at_ = std::chrono::steady_clock::now();
    std::vector<Job*> jobs;
    while (!waiting_.empty() && jobs.size() < jobs_max) {
      taken_.push_back(waiting_.front());
      jobs.push_back(waiting_.front()->job);
      waiting_.pop_front();
    }
    return jobs;
  }

  // Those of the last Take are done.
  void Finish() {
    const std::lock_guard lock(mutex_);
    crowd_ = std::max({size_t{1}, crowd_ - 1, taken_.size() + waiting_.size()});
    for (Entry* entry : taken_) {
      entry->is_done = true;
      entry->done.notify_one();
    }
    taken_.clear();
  }

  size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }

  void Stop() {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    has_work_.notify_all();
  }

 private:
  struct Entry {
    Job* job;
    bool is_done;
    std::condition_variable done;
  };

  const std::chrono::milliseconds gather_;
  mutable std::mutex mutex_;
  std::condition_variable has_work_;
  std::deque<Entry*> waiting_;
  std::vector<Entry*> taken_;
  // So many threads had a job here at once, not long ago. When all of them wait, nobody is left
  // to wait for.
  size_t crowd_ = 1;
  std::chrono::steady_clock::time_point taken_at_;
  bool is_stopped_ = false;
};

}  // namespace vesta::store
