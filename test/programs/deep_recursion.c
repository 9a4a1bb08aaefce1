/*
 * A stack of a given depth: deep_recursion DEPTH [SECONDS]. Eight functions call each other in
 * turn, so that the frames do not all share one rule.
 */
#include "spin.h"

NOINLINE void recursion_leaf(double end)
{
	BURN_UNTIL(end);
	NO_TAIL_CALL();
}

#define LEVEL(name, next, bytes)                                   \
	NOINLINE void next(int depth, double end);                 \
	NOINLINE void name(int depth, double end)                  \
	{                                                          \
		char room[bytes];                                  \
		__asm__ volatile("" ::"r"(room) : "memory");       \
		if (depth <= 1)                                    \
			recursion_leaf(end);                       \
		else                                               \
			next(depth - 1, end);                      \
		NO_TAIL_CALL();                                    \
	}

LEVEL(recurse_0, recurse_1, 16)
LEVEL(recurse_1, recurse_2, 48)
LEVEL(recurse_2, recurse_3, 32)
LEVEL(recurse_3, recurse_4, 200)
LEVEL(recurse_4, recurse_5, 16)
LEVEL(recurse_5, recurse_6, 64)
LEVEL(recurse_6, recurse_7, 128)
LEVEL(recurse_7, recurse_0, 24)

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 600;

	recurse_0(depth, now_seconds() + argument_seconds(argc, argv, 2, 3));
	return 0;
}
