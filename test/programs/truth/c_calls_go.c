/* C that calls Go code of an archive (c_archive.go). */
#include "truth.h"

unsigned go_entry(unsigned rounds);

TRUTH_LEAF(c_leaf)
TRUTH_STEP(c_step, c_leaf)
TRUTH_STEP(into_go, go_entry)
TRUTH_STEP(into_go_outer, into_go)

static struct truth_path paths[] = {
	{"c_leaf;c_step;main", c_step, 30, NULL, 0},
	{"main.goLeaf;main.goStep;main.go_entry;*;into_go;into_go_outer;main", into_go_outer, 70, NULL,
	 0},
};

TRUTH_MAIN(paths)
