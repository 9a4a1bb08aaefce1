// A chain of functions whose inlined ones, files and lines test/e2e/test_names.py knows: the lines
// that it looks for say so at their end.
#include <cstdint>
#include <cstdio>

#include "spin.h"

namespace chain {

template <typename Number>
inline __attribute__((always_inline)) Number Inner(Number x) {
  for (int i = 0; i < 20'000; ++i) {
    x = x * 1664525u + 1013904223u;  // line of Inner
    __asm__ volatile("" : "+r"(x));
  }
  return x;
}

struct Middle {
  uint32_t value;
  inline __attribute__((always_inline)) void Step() {
    value = Inner(value);  // line of Step
  }
};

NOINLINE uint32_t Outer(double end_seconds) {
  Middle middle{1};
  while (now_seconds() < end_seconds) {
    middle.Step();  // line of Outer
  }
  return middle.value;
}

}  // namespace chain

int main(int argc, char** argv) {
  const uint32_t value = chain::Outer(now_seconds() + argument_seconds(argc, argv, 1, 2));
  std::printf("%u\n", value);  // so that the call cannot become a jump
  return 0;
}
