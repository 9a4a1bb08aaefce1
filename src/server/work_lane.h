// Threads that take work from one bounded queue.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace vesta::server {

// Threads: any may submit. Work is never dropped: Finish does what is queued, then ends the
// threads.
class WorkLane {
 public:
  WorkLane(size_t threads, size_t queued_max);
  ~WorkLane() { Finish(); }
  WorkLane(const WorkLane&) = delete;
  WorkLane& operator=(const WorkLane&) = delete;

  // False when the queue is full, or after Finish.
  bool Submit(std::function<void()> work);
  void Finish();
  size_t queued() const;

 private:
  void Run();

  const size_t queued_max_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool is_finished_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace vesta::server
