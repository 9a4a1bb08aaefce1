/* What liblazy_caller calls. */
#include "lazy_targets.h"

#define DEFINE(number) int lazy_target_##number(void) { return 1; }
LAZY_TARGETS(DEFINE)
