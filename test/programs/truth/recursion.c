/* Recursion TRUTH_DEPTH deep, by two functions in turn, so that neighbours differ. */
#include "truth.h"

static char deep_frames[TRUTH_DEPTH * 16 + 64];

TRUTH_LEAF(deep_leaf)
TRUTH_LEAF(flat_leaf)
TRUTH_STEP(flat_step, flat_leaf)

unsigned descend_odd(unsigned depth, unsigned rounds);

TRUTH_FRAME unsigned descend_even(unsigned depth, unsigned rounds)
{
	unsigned value = depth == 1 ? deep_leaf(rounds) : descend_odd(depth - 1, rounds);

	TRUTH_KEEP(value);
	return value + depth;
}

TRUTH_FRAME unsigned descend_odd(unsigned depth, unsigned rounds)
{
	char room[48];
	unsigned value;

	__asm__ volatile("" : : "r"(&room[0]) : "memory");
	value = depth == 1 ? deep_leaf(rounds) : descend_even(depth - 1, rounds);
	TRUTH_KEEP(value);
	return value + depth;
}

TRUTH_FRAME unsigned descend(unsigned rounds)
{
	unsigned value = descend_even(TRUTH_DEPTH, rounds);

	TRUTH_KEEP(value);
	return value;
}

static struct truth_path paths[] = {
	{deep_frames, descend, 80, NULL, 0},
	{"flat_leaf;flat_step;main", flat_step, 20, NULL, 0},
};

int main(int argc, char **argv)
{
	char *end = stpcpy(deep_frames, "deep_leaf");

	for (int depth = 1; depth <= TRUTH_DEPTH; depth++)
		end = stpcpy(end, (TRUTH_DEPTH - depth) % 2 == 0 ? ";descend_even" : ";descend_odd");
	stpcpy(end, ";descend;main");
	truth_spend(paths, 2, truth_seconds(argc, argv));
	truth_print(argv[0], paths, 2);
	return 0;
}
