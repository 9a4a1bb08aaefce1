/*
 * Time spent in PLT stubs: plt_loop [SECONDS] calls a tiny function of another library as fast as
 * it can, so that many samples lie inside the stub or at the first instruction of the callee.
 */
#include "spin.h"

unsigned plt_target(unsigned value);

NOINLINE unsigned plt_caller(double end)
{
	unsigned value = 1;

	do {
		for (int i = 0; i < 100000; i++)
			value = plt_target(value);
	} while (now_seconds() < end);
	return value;
}

int main(int argc, char **argv)
{
	return plt_caller(now_seconds() + argument_seconds(argc, argv, 1, 3)) == 42 ? 1 : 0;
}
