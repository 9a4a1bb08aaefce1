// CHECK aborts on a programmer error and stays in release builds; DCHECK is for O(n) checks only.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace vesta::base {

[[noreturn]] inline void CheckFailed(const char* file, int line, const char* expression) {
  std::fprintf(stderr, "vesta: internal error at %s:%d: CHECK(%s) failed. Please report this.\n",
               file, line, expression);
  std::abort();
}

}  // namespace vesta::base

#define CHECK(expression)                               \
  (static_cast<bool>(expression) ? static_cast<void>(0) \
                                 : ::vesta::base::CheckFailed(__FILE__, __LINE__, #expression))

#ifdef NDEBUG
#define DCHECK(expression) static_cast<void>(0)
#else
#define DCHECK(expression) CHECK(expression)
#endif
