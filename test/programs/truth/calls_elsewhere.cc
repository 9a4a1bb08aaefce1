// The other half of calls.cc: with LTO both are one.
#include "truth.h"

unsigned elsewhere_step(unsigned rounds);

TRUTH_LEAF(elsewhere_leaf)
TRUTH_STEP(elsewhere_step, elsewhere_leaf)
