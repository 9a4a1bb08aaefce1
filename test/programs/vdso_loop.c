/* Time spent in the vDSO: vdso_loop [SECONDS]. */
#include "spin.h"

NOINLINE double vdso_caller(double end)
{
	double now;

	do {
		now = now_seconds();
	} while (now < end);
	return now;
}

int main(int argc, char **argv)
{
	return vdso_caller(now_seconds() + argument_seconds(argc, argv, 1, 3)) < 0 ? 1 : 0;
}
