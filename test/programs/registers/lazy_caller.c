/* The library that lazy_binder opens: one call of each target, each bound when it is made. */
#include "lazy_targets.h"

#define DECLARE(number) extern int lazy_target_##number(void);
LAZY_TARGETS(DECLARE)

int lazy_run(void) {
  int sum = 0;
#define CALL(number) sum += lazy_target_##number();
  LAZY_TARGETS(CALL)
  return sum;
}
