// Three call paths, each 40 distinct functions deep, that share the CPU 70/20/10. Built with
// -O2 -fomit-frame-pointer, so only unwind tables can walk it. Prints also for every SIGUSR1.
#include <alloca.h>
#include <signal.h>

#include <string>

#include "truth.h"

namespace {

constexpr int kDepth = 40;
volatile sig_atomic_t report_wanted = 0;

}  // namespace

// The names are what tests look for, so these have external linkage.
TRUTH_LEAF(hot_leaf)
TRUTH_LEAF(warm_leaf)
TRUTH_LEAF(cold_leaf)

// One frame of a path. Some keep their frame by the frame pointer (alloca), some have large frames,
// and the work after the call rules out a tail call.
#define DEEP_SPLIT_PATH(step, leaf)                                \
  template <int Level>                                             \
  TRUTH_FRAME unsigned step(unsigned rounds) {                     \
    unsigned value = 0;                                            \
    if constexpr (Level % 8 == 3) {                                \
      auto* room = static_cast<char*>(alloca(16 + (rounds & 63))); \
      asm volatile("" : : "r"(room) : "memory");                   \
    } else if constexpr (Level % 8 == 6) {                         \
      char room[512 * (Level / 8 + 1)];                            \
      asm volatile("" : : "r"(&room[0]) : "memory");               \
    }                                                              \
    if constexpr (Level + 1 < kDepth - 1) {                        \
      value = step<Level + 1>(rounds);                             \
    } else {                                                       \
      value = leaf(rounds);                                        \
    }                                                              \
    TRUTH_KEEP(value);                                             \
    return value + Level;                                          \
  }

DEEP_SPLIT_PATH(hot_step, hot_leaf)
DEEP_SPLIT_PATH(warm_step, warm_leaf)
DEEP_SPLIT_PATH(cold_step, cold_leaf)

namespace {

std::string Frames(const std::string& leaf, const std::string& step) {
  std::string frames = leaf;
  for (int level = kDepth - 2; level >= 0; --level) {
    frames += ";" + step + "<" + std::to_string(level) + ">";
  }
  return frames + ";main";
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGUSR1, [](int) { report_wanted = 1; });
  const std::string hot = Frames("hot_leaf", "hot_step");
  const std::string warm = Frames("warm_leaf", "warm_step");
  const std::string cold = Frames("cold_leaf", "cold_step");
  truth_path paths[3] = {{hot.c_str(), hot_step<0>, 70, nullptr, 0},
                         {warm.c_str(), warm_step<0>, 20, nullptr, 0},
                         {cold.c_str(), cold_step<0>, 10, nullptr, 0}};
  const int64_t end_mono_ns =
      truth_now_ns(CLOCK_MONOTONIC) + static_cast<int64_t>(truth_seconds(argc, argv) * 1e9);
  unsigned random = 12345;
  while (truth_now_ns(CLOCK_MONOTONIC) < end_mono_ns) {
    truth_turn(truth_next(paths, 3), truth_rounds(&random));
    if (report_wanted != 0) {
      report_wanted = 0;
      truth_print(argv[0], paths, 3);
    }
  }
  truth_print(argv[0], paths, 3);
  return 0;
}
