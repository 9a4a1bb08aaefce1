// Looks after open connections: those whose client takes too long are closed, those that fill the
// server make room, and work whose client has left is cancelled.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <thread>

#include "src/base/descriptor.h"

namespace vesta::server {

// Shape: connections are told apart by their descriptors, from Open to Close. A connection is
// partial
//        while its request has not wholly come: from Open, or AwaitBody, to SetDeadline. A quarter
//        of all connections is kept from those; a partial one too many closes the one whose
//        deadline is next, which has sent least for its time. Where all connections are taken, the
//        one of all whose deadline is next makes room, unless all are worked on.
// Threads: any may call; one of its own looks at deadlines five times a second.
// Cost: a connection or a body more is O(connections).
class ConnectionWatch {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ConnectionWatch(size_t connections_max);
  ~ConnectionWatch();
  ConnectionWatch(const ConnectionWatch&) = delete;
  ConnectionWatch& operator=(const ConnectionWatch&) = delete;

  void Open(int fd, Clock::time_point deadline);
  // Before the descriptor is closed.
  void Close(int fd);
  // When it passes, the connection is shut down. max() = none.
  void SetDeadline(int fd, Clock::time_point deadline);
  void AwaitBody(int fd, Clock::time_point deadline);
  void Extend(int fd, Clock::duration by);
  // No partial connection stays longer, and none that becomes one.
  void EndPartial(Clock::time_point deadline_max);

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
    bool is_partial = true;
    bool is_shut = false;
    bool has_ended = false;  // the client sends no more, and the library was told
    std::atomic<bool>* cancelled = nullptr;
  };
  using Connections = std::map<int, Connection>;
  void Run();
  // All below: with the lock.
  void MakeRoom(int newest);
  void Shut(Connections::value_type& entry);
  void TellOfEnds();

  const size_t connections_max_;

  base::Descriptor epoll_;
  base::Descriptor stop_;  // becomes readable
  mutable std::mutex mutex_;
  Connections connections_;
  Clock::time_point partial_deadline_max_ = Clock::time_point::max();
  std::atomic<uint64_t> too_slow_ = 0;
  std::thread thread_;
};

}  // namespace vesta::server
