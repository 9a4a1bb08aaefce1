/* Plain C: a leaf below small, large and variable frames, below a function pointer, and below a
 * callback of the C library. Also the text of the static programs. */
#include <alloca.h>

#include "truth.h"

TRUTH_LEAF(small_leaf)
TRUTH_STEP(small_step, small_leaf)
TRUTH_STEP(small_outer, small_step)

TRUTH_LEAF(large_leaf)

TRUTH_FRAME unsigned large_step(unsigned rounds)
{
	char room[6000];
	unsigned value;

	__asm__ volatile("" : : "r"(&room[0]) : "memory");
	value = large_leaf(rounds);
	__asm__ volatile("" : : "r"(&room[0]) : "memory");
	return value;
}

TRUTH_STEP(large_outer, large_step)

TRUTH_LEAF(variable_leaf)

TRUTH_FRAME unsigned variable_step(unsigned rounds)
{
	char array[16 + (rounds & 255)];
	char *room = (char *)alloca(16 + (rounds & 63));
	unsigned value;

	__asm__ volatile("" : : "r"(room), "r"(&array[0]) : "memory");
	value = variable_leaf(rounds);
	__asm__ volatile("" : : "r"(room), "r"(&array[0]) : "memory");
	return value;
}

TRUTH_STEP(variable_outer, variable_step)

TRUTH_LEAF(pointer_leaf)

TRUTH_FRAME unsigned pointer_step(unsigned rounds)
{
	unsigned (*volatile callee)(unsigned) = pointer_leaf;
	unsigned value = callee(rounds);

	TRUTH_KEEP(value);
	return value + 1;
}

TRUTH_LEAF(compare_leaf)

TRUTH_FRAME int compare(const void *left, const void *right)
{
	unsigned value = compare_leaf(*(const unsigned *)left);

	(void)right;
	TRUTH_KEEP(value);
	return 0;
}

TRUTH_FRAME unsigned sort_outer(unsigned rounds)
{
	unsigned pair[2] = {rounds, rounds};

	qsort(pair, 2, sizeof(pair[0]), compare);
	__asm__ volatile("" : : "r"(&pair[0]) : "memory");
	return pair[0];
}

#ifdef TRUTH_MUSL
/* Debian's musl has neither call frame information nor frame pointers: walks may end in it. */
#define BELOW_MAIN ";?;!"
#define BELOW_COMPARE "?;!;*"
#define ENDS "no_rule"
#else
#define BELOW_MAIN ""
#define BELOW_COMPARE "*"
#define ENDS NULL
#endif

static struct truth_path paths[] = {
	{"small_leaf;small_step;small_outer;main" BELOW_MAIN, small_outer, 40, ENDS, 0},
	{"large_leaf;large_step;large_outer;main" BELOW_MAIN, large_outer, 20, ENDS, 0},
	{"variable_leaf;variable_step;variable_outer;main" BELOW_MAIN, variable_outer, 20, ENDS, 0},
	{"pointer_leaf;pointer_step;main" BELOW_MAIN, pointer_step, 10, ENDS, 0},
	{"compare_leaf;compare;" BELOW_COMPARE ";sort_outer;main", sort_outer, 10, ENDS, 0},
};

TRUTH_MAIN(paths)
