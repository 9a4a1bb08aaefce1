// Knows its own answer: three call paths, each 40 distinct functions deep, that share the CPU
// 70/20/10. Built with -O2 -fomit-frame-pointer, so only unwind tables can walk it.
// Shape:   deep_split SECONDS; prints one JSON line at the end and for every SIGUSR1.
// Units:   cpu_ns is CLOCK_THREAD_CPUTIME_ID around each call of a path.
// Each turn goes to the path that is furthest behind its goal, for a time that varies from turn to
// turn, so that no sampling rate can fall into step with it.
#include <alloca.h>
#include <signal.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

constexpr int kDepth = 40;
volatile sig_atomic_t report_wanted = 0;

int64_t NowNs(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

// The names are what tests look for, so these have external linkage.
#define DEEP_SPLIT_LEAF(name, multiplier)            \
  [[gnu::noinline]] uint32_t name(uint32_t rounds) { \
    uint32_t value = rounds;                         \
    for (uint32_t i = 0; i < rounds; ++i) {          \
      value = value * (multiplier) + i;              \
      asm volatile("" : "+r"(value));                \
    }                                                \
    return value;                                    \
  }

DEEP_SPLIT_LEAF(hot_leaf, 1664525u)
DEEP_SPLIT_LEAF(warm_leaf, 22695477u)
DEEP_SPLIT_LEAF(cold_leaf, 134775813u)

// One frame of a path. Some keep their frame by the frame pointer (alloca), some have large frames,
// and the work after the call rules out a tail call.
#define DEEP_SPLIT_PATH(step, leaf)                                \
  template <int Level>                                             \
  [[gnu::noinline]] uint32_t step(uint32_t rounds) {               \
    uint32_t value = 0;                                            \
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
    asm volatile("" : "+r"(value));                                \
    return value + Level;                                          \
  }

DEEP_SPLIT_PATH(hot_step, hot_leaf)
DEEP_SPLIT_PATH(warm_step, warm_leaf)
DEEP_SPLIT_PATH(cold_step, cold_leaf)

namespace {

struct Path {
  const char* leaf;
  uint32_t (*enter)(uint32_t);
  int goal_percent;
  int64_t cpu_ns = 0;
};

void PrintShares(const Path (&paths)[3]) {
  int64_t total_ns = 0;
  for (const Path& path : paths) total_ns += path.cpu_ns;
  std::printf("{\"depth\": %d, \"cpu_ns\": %lld", kDepth, static_cast<long long>(total_ns));
  for (const Path& path : paths) {
    std::printf(
        ", \"%s\": %.6f", path.leaf,
        total_ns > 0 ? static_cast<double>(path.cpu_ns) / static_cast<double>(total_ns) : 0.0);
  }
  std::printf("}\n");
  std::fflush(stdout);
}

Path* FurthestBehind(Path (&paths)[3]) {
  Path* next = &paths[0];
  for (Path& path : paths) {
    if (path.cpu_ns * next->goal_percent < next->cpu_ns * path.goal_percent) next = &path;
  }
  return next;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 5.0;
  signal(SIGUSR1, [](int) { report_wanted = 1; });
  Path paths[3] = {{"hot_leaf", hot_step<0>, 70},
                   {"warm_leaf", warm_step<0>, 20},
                   {"cold_leaf", cold_step<0>, 10}};
  const int64_t end_mono_ns = NowNs(CLOCK_MONOTONIC) + static_cast<int64_t>(seconds * 1e9);
  uint32_t random = 12345;
  while (NowNs(CLOCK_MONOTONIC) < end_mono_ns) {
    random = random * 1103515245u + 12345u;
    const uint32_t rounds = 200'000 + (random >> 12) % 1'000'000;
    Path* path = FurthestBehind(paths);
    const int64_t before_ns = NowNs(CLOCK_THREAD_CPUTIME_ID);
    path->enter(rounds);
    path->cpu_ns += NowNs(CLOCK_THREAD_CPUTIME_ID) - before_ns;
    if (report_wanted != 0) {
      report_wanted = 0;
      PrintShares(paths);
    }
  }
  PrintShares(paths);
  return 0;
}
