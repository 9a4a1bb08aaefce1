#include "src/server/connection_watch.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>

#include "src/base/check.h"

namespace vesta::server {
namespace {

constexpr int kLookMs = 200;

}  // namespace

ConnectionWatch::ConnectionWatch()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
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
  connections_[fd] = {deadline};
}

void ConnectionWatch::Close(int fd) {
  const std::lock_guard lock(mutex_);
  connections_.erase(fd);
}

void ConnectionWatch::SetDeadline(int fd, Clock::time_point deadline) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(fd);
  if (found != connections_.end()) found->second.deadline = deadline;
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
    for (auto& [fd, connection] : connections_) {
      if (now < connection.deadline) continue;
      ::shutdown(fd, SHUT_RDWR);
      connection.deadline = Clock::time_point::max();
      ++too_slow_;
    }
  }
}

}  // namespace vesta::server
