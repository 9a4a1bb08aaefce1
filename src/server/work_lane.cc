#include "src/server/work_lane.h"

#include <utility>

namespace vesta::server {

WorkLane::WorkLane(size_t threads, size_t queued_max) : queued_max_(queued_max) {
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

bool WorkLane::Submit(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (is_finished_ || queue_.size() >= queued_max_) return false;
    queue_.push_back(std::move(work));
  }
  wake_.notify_one();
  return true;
}

void WorkLane::Finish() {
  {
    const std::lock_guard lock(mutex_);
    is_finished_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

size_t WorkLane::queued() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

void WorkLane::Run() {
  while (true) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return is_finished_ || !queue_.empty(); });
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
  }
}

}  // namespace vesta::server
