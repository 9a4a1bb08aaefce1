// When the uplink may do something: pauses after failures, a limited rate, lines for the log. Pure:
// the clock comes in.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>

namespace vesta::uplink {

// Units: milliseconds of a clock that no one sets.
class Pause {
 public:
  Pause(uint64_t first_ms, uint64_t max_ms, uint64_t retry_after_ms_max)
      : first_ms_(first_ms), max_ms_(max_ms), retry_after_ms_max_(retry_after_ms_max) {}

  // Twice as long after each failure, less up to a half of it by chance in [0, 1). What the other
  // side asks for is kept to, and chance added, since it asks many the same.
  void Fail(int64_t now_ms, uint64_t retry_after_ms, double chance) {
    const uint64_t doublings = std::min<uint64_t>(failures_++, 20);
    double wait_ms = static_cast<double>(std::min(first_ms_ << doublings, max_ms_));
    wait_ms -= wait_ms / 2 * chance;
    if (retry_after_ms != 0) {
      const auto asked_ms = static_cast<double>(std::min(retry_after_ms, retry_after_ms_max_));
      wait_ms = std::max(wait_ms, asked_ms + static_cast<double>(first_ms_) * chance);
    }
    until_ms_ = now_ms + static_cast<int64_t>(wait_ms);
  }
  void Succeed() {
    failures_ = 0;
    until_ms_ = 0;
  }
  bool IsOver(int64_t now_ms) const { return failures_ == 0 || now_ms >= until_ms_; }
  uint64_t LeftMs(int64_t now_ms) const {
    return IsOver(now_ms) ? 0 : static_cast<uint64_t>(until_ms_ - now_ms);
  }
  uint64_t failures() const { return failures_; }  // one after another
  int64_t until_ms() const { return until_ms_; }

 private:
  const uint64_t first_ms_;
  const uint64_t max_ms_;
  const uint64_t retry_after_ms_max_;
  uint64_t failures_ = 0;
  int64_t until_ms_ = 0;
};

// So much per second on average, a second's worth at once. What is larger than that goes when
// nothing is owed, and is owed afterwards.
class RateLimit {
 public:
  explicit RateLimit(double per_s) : per_s_(per_s), level_(per_s) {}
  bool IsReady(int64_t now_ms) {
    Refill(now_ms);
    return level_ > 0;
  }
  void Take(double amount) { level_ -= amount; }
  uint64_t MsUntilReady(int64_t now_ms) {
    if (IsReady(now_ms)) return 0;
    return static_cast<uint64_t>(std::ceil(-level_ / per_s_ * 1'000)) + 1;
  }

 private:
  void Refill(int64_t now_ms) {
    if (is_started_) {
      const auto passed_ms = static_cast<double>(std::max<int64_t>(now_ms - refilled_ms_, 0));
      level_ = std::min(per_s_, level_ + per_s_ * passed_ms / 1'000);
    }
    is_started_ = true;
    refilled_ms_ = now_ms;
  }
  double per_s_;
  double level_;
  int64_t refilled_ms_ = 0;
  bool is_started_ = false;
};

// The same line of a topic once in ten minutes, another one of it once in a minute.
class NoticeLimit {
 public:
  bool MayTell(const std::string& topic, const std::string& text, int64_t now_ms) {
    const auto [at, is_new] = told_.try_emplace(topic, Told{text, now_ms});
    if (is_new) return true;
    const int64_t wait_ms = at->second.text == text ? 600'000 : 60'000;
    if (now_ms - at->second.at_ms < wait_ms) return false;
    at->second = {text, now_ms};
    return true;
  }
  // What comes next is another line, whatever it says.
  void MakeNew(const std::string& topic) {
    const auto found = told_.find(topic);
    if (found != told_.end()) found->second.text.clear();
  }

 private:
  struct Told {
    std::string text;
    int64_t at_ms;
  };
  std::map<std::string, Told> told_;
};

}  // namespace vesta::uplink
