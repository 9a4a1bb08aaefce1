// Looks after open connections: those whose client takes too long are closed, and work whose
// client has left is cancelled.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <thread>

#include "src/base/descriptor.h"

namespace vesta::server {

// Shape: connections are told apart by their descriptors, from Open to Close.
// Threads: any may call; one of its own looks at deadlines five times a second.
class ConnectionWatch {
 public:
  using Clock = std::chrono::steady_clock;

  ConnectionWatch();
  ~ConnectionWatch();
  ConnectionWatch(const ConnectionWatch&) = delete;
  ConnectionWatch& operator=(const ConnectionWatch&) = delete;

  void Open(int fd, Clock::time_point deadline);
  // Before the descriptor is closed.
  void Close(int fd);
  // When it passes, the connection is shut down. max() = none.
  void SetDeadline(int fd, Clock::time_point deadline);

  // Sets the flag when the client hangs up before Leave; it has to live until then. A client that
  // only closes its sending side counts as one that has left.
  void Guard(int fd, std::atomic<bool>* cancelled);
  void Leave(int fd);

  // All that is guarded now.
  void CancelAll();

  size_t open() const;
  uint64_t too_slow() const { return too_slow_; }  // that were shut down

 private:
  struct Connection {
    Clock::time_point deadline;
    std::atomic<bool>* cancelled = nullptr;
  };
  void Run();

  base::Descriptor epoll_;
  base::Descriptor stop_;  // becomes readable
  mutable std::mutex mutex_;
  std::map<int, Connection> connections_;
  std::atomic<uint64_t> too_slow_ = 0;
  std::thread thread_;
};

}  // namespace vesta::server
