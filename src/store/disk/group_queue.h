// Jobs of many threads that one thread does in groups: who comes while a group is being done is in
// the next one, so that groups grow under load by themselves.
#pragma once

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
  // Returns when the job was finished. False, with nothing done, after Stop.
  bool Run(Job* job) {
    Entry entry{job, false, {}};
    std::unique_lock lock(mutex_);
    if (is_stopped_) return false;
    waiting_.push_back(&entry);
    has_work_.notify_one();
    entry.done.wait(lock, [&entry] { return entry.is_done; });
    return true;
  }

  // Waits for jobs and gives up to jobs_max of them; none = stopped, and all were given.
  std::vector<Job*> Take(size_t jobs_max) {
    std::unique_lock lock(mutex_);
    has_work_.wait(lock, [this] { return is_stopped_ || !waiting_.empty(); });
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
    for (Entry* entry : taken_) {
      entry->is_done = true;
      entry->done.notify_one();
    }
    taken_.clear();
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

  std::mutex mutex_;
  std::condition_variable has_work_;
  std::deque<Entry*> waiting_;
  std::vector<Entry*> taken_;
  bool is_stopped_ = false;
};

}  // namespace vesta::store
