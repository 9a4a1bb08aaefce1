#include "src/uplink/uplink.h"

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "src/uplink/courier.h"
#include "src/uplink/traffic.h"

namespace vesta::uplink {
namespace {

constexpr uint64_t kLastDeadlineMs = 2'000;

UplinkOptions WithDefaults(UplinkOptions options) {
  if (!options.now_mono_ms) {
    options.now_mono_ms = [] {
      const auto now = std::chrono::steady_clock::now().time_since_epoch();
      return int64_t{std::chrono::duration_cast<std::chrono::milliseconds>(now).count()};
    };
  }
  if (!options.chance) {
    options.chance = [random = std::mt19937_64(std::random_device()())]() mutable {
      return std::uniform_real_distribution<double>(0, 1)(random);
    };
  }
  return options;
}

class ThreadedUplink final : public Uplink {
 public:
  ThreadedUplink(const UplinkOptions& options, Sink& sink, std::unique_ptr<spool::Spool> spool)
      : options_(WithDefaults(options)),
        sink_(sink),
        traffic_(options.queue_bytes_max),
        courier_(options_, sink, std::move(spool), traffic_),
        thread_([this] { Run(); }) {}
  ThreadedUplink(const ThreadedUplink&) = delete;
  ThreadedUplink& operator=(const ThreadedUplink&) = delete;
  ~ThreadedUplink() override {
    if (thread_.joinable()) Stop(kLastDeadlineMs);
  }

  bool Push(std::unique_ptr<OwnedBatch> batch) override {
    return traffic_.Push(std::make_unique<Parcel>(std::move(batch)));
  }
  bool Push(std::unique_ptr<OwnedSymbols> symbols) override {
    return traffic_.Push(std::make_unique<Parcel>(std::move(symbols)));
  }

  UplinkState State() const override { return traffic_.State(options_.now_mono_ms()); }
  uint64_t ThreadCpuNs() const override { return cpu_ns_; }

  UplinkState Stop(uint64_t deadline_ms) override {
    {
      const std::lock_guard lock(mutex_);
      deadline_ms_ = deadline_ms;
    }
    traffic_.RequestStop();
    {
      std::unique_lock lock(mutex_);
      ended_.wait_for(lock, std::chrono::milliseconds(deadline_ms / 2),
                      [this] { return has_ended_; });
      if (!has_ended_) sink_.Cancel();
    }
    thread_.join();
    return State();
  }

 private:
  void Run() {
    while (!traffic_.is_stopping()) {
      const uint64_t wait_ms = courier_.Round();
      CountCpu();
      traffic_.Wait(wait_ms);
    }
    uint64_t deadline_ms = 0;
    {
      const std::lock_guard lock(mutex_);
      deadline_ms = deadline_ms_;
    }
    courier_.Finish(deadline_ms);
    CountCpu();
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    ended_.notify_all();
  }
  void CountCpu() {
    timespec used = {};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    cpu_ns_ =
        static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec);
  }

  const UplinkOptions options_;
  Sink& sink_;
  Traffic traffic_;
  Courier courier_;  // of the thread
  std::atomic<uint64_t> cpu_ns_ = 0;

  std::mutex mutex_;
  std::condition_variable ended_;
  uint64_t deadline_ms_ = 0;
  bool has_ended_ = false;

  std::thread thread_;  // last: it uses all of these
};

}  // namespace

std::unique_ptr<Uplink> Uplink::Start(const UplinkOptions& options, Sink& sink,
                                      std::unique_ptr<spool::Spool> spool) {
  return std::make_unique<ThreadedUplink>(options, sink, std::move(spool));
}

}  // namespace vesta::uplink
