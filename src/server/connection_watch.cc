#include "src/server/connection_watch.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "src/base/check.h"

namespace vesta::server {
namespace {

constexpr int kLookMs = 200;

}  // namespace

ConnectionWatch::ConnectionWatch(size_t connections_max)
    : connections_max_(connections_max),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CHECK(epoll_.fd() >= 0 && stop_.fd() >= 0);
  epoll_event event{.events = EPOLLIN, .data = {.fd = stop_.fd()}};
  CHECK(::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, stop_.fd(), &event) == 0);
  thread_ = std::thread([this] { Run(); });
}

ConnectionWatch::~ConnectionWatch() {
  CHECK(::eventfd_write(stop_.fd(), 1) == 0);
  thread_.join();
}

void ConnectionWatch::Open(int fd, Clock::time_point deadline) {
  const std::lock_guard lock(mutex_);
  connections_[fd] = {std::min(deadline, partial_deadline_max_)};
  MakeRoom(fd);
}

void ConnectionWatch::Close(int fd) {
  const std::lock_guard lock(mutex_);
  connections_.erase(fd);
}

void ConnectionWatch::SetDeadline(int fd, Clock::time_point deadline) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(fd);
  if (found == connections_.end() || found->second.is_shut) return;
  found->second.deadline = deadline;
  found->second.is_partial = false;
}

void ConnectionWatch::AwaitBody(int fd, Clock::time_point deadline) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(fd);
  if (found == connections_.end() || found->second.is_shut) return;
  found->second.deadline = std::min(deadline, partial_deadline_max_);
  found->second.is_partial = true;
  MakeRoom(fd);
}

void ConnectionWatch::Extend(int fd, Clock::duration by) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(fd);
  if (found == connections_.end() || !found->second.is_partial) return;
  found->second.deadline = std::min(found->second.deadline + by, partial_deadline_max_);
}

void ConnectionWatch::EndPartial(Clock::time_point deadline_max) {
  const std::lock_guard lock(mutex_);
  partial_deadline_max_ = deadline_max;
  for (auto& [fd, connection] : connections_) {
    if (connection.is_partial) connection.deadline = std::min(connection.deadline, deadline_max);
  }
}

void ConnectionWatch::MakeRoom(int newest) {
  size_t open = 0;
  size_t partial = 0;
  Connections::value_type* next = nullptr;
  Connections::value_type* next_partial = nullptr;
  for (auto& entry : connections_) {
    const Connection& connection = entry.second;
    if (connection.is_shut) continue;
    ++open;
    if (connection.is_partial) ++partial;
    if (entry.first == newest || connection.deadline == Clock::time_point::max()) continue;
    const auto is_sooner = [&](const Connections::value_type* than) {
      return than == nullptr || connection.deadline < than->second.deadline;
    };
    if (is_sooner(next)) next = &entry;
    if (connection.is_partial && is_sooner(next_partial)) next_partial = &entry;
  }
  if (partial > connections_max_ - connections_max_ / 4) {
    if (next_partial != nullptr) Shut(*next_partial);
  } else if (open >= connections_max_ && next != nullptr) {
    Shut(*next);
  }
}

void ConnectionWatch::Shut(Connections::value_type& entry) {
  ::shutdown(entry.first, SHUT_RDWR);
  entry.second.deadline = Clock::time_point::max();
  entry.second.is_partial = false;
  entry.second.is_shut = true;
  ++too_slow_;
}

// The library waits for a change of a socket, and after it reads only until fewer bytes come than
// it asked for. So it does not see an end that was there when it read those bytes, as that of a
// client that left before it was accepted. Shutting what nothing will come from is a change, and
// harms no request that is whole.
void ConnectionWatch::TellOfEnds() {
  std::vector<pollfd> sockets;
  sockets.reserve(connections_.size());
  for (const auto& [fd, connection] : connections_) {
    if (!connection.is_shut && !connection.has_ended) sockets.push_back({fd, POLLRDHUP, 0});
  }
  if (::poll(sockets.data(), sockets.size(), 0) <= 0) return;
  for (const pollfd& socket : sockets) {
    if (socket.revents == 0) continue;
    char byte = 0;
    const ssize_t count = ::recv(socket.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))) continue;
    ::shutdown(socket.fd, SHUT_RD);
    connections_[socket.fd].has_ended = true;
  }
}

void ConnectionWatch::Guard(int fd, std::atomic<bool>* cancelled) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(fd);
  if (found == connections_.end()) return;
  found->second.cancelled = cancelled;
  epoll_event event{.events = EPOLLRDHUP | EPOLLONESHOT, .data = {.fd = fd}};
  ::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, fd, &event);
}

void ConnectionWatch::Leave(int fd) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(fd);
  if (found == connections_.end()) return;
  found->second.cancelled = nullptr;
  ::epoll_ctl(epoll_.fd(), EPOLL_CTL_DEL, fd, nullptr);
}

void ConnectionWatch::CancelAll() {
  const std::lock_guard lock(mutex_);
  for (auto& [fd, connection] : connections_) {
    if (connection.cancelled != nullptr) *connection.cancelled = true;
  }
}

size_t ConnectionWatch::open() const {
  const std::lock_guard lock(mutex_);
  return connections_.size();
}

void ConnectionWatch::Run() {
  std::array<epoll_event, 64> events;
  while (true) {
    const int count =
        ::epoll_wait(epoll_.fd(), events.data(), static_cast<int>(events.size()), kLookMs);
    const std::lock_guard lock(mutex_);
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<size_t>(i)].data.fd;
      if (fd == stop_.fd()) return;
      const auto found = connections_.find(fd);
      if (found != connections_.end() && found->second.cancelled != nullptr) {
        *found->second.cancelled = true;
      }
    }
    const auto now = Clock::now();
    for (auto& entry : connections_) {
      if (now >= entry.second.deadline) Shut(entry);
    }
    TellOfEnds();
  }
}

}  // namespace vesta::server
