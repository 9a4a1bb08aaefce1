// The C side of cgo.go; a file with exported functions must not define any itself.
package main

// #include "truth.h"
// extern unsigned goCallback(unsigned rounds);
// extern unsigned goCallbackToC(unsigned rounds);
// TRUTH_LEAF(c_leaf)
// TRUTH_STEP(c_leaf_step, c_leaf)
// TRUTH_STEP(c_to_go, goCallback)
// TRUTH_STEP(c_to_go_to_c, goCallbackToC)
import "C"
