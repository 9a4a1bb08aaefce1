/* Two executable segments far from each other in one file: far_text [SECONDS]. The linker puts the
 * section far_section at an address of its own; calls go from near to far and back. */
#include "test/programs/spin.h"

#define FAR __attribute__((noinline, noclone, section("far_section")))

NOINLINE void near_leaf(double end)
{
	BURN_UNTIL(end);
	NO_TAIL_CALL();
}

FAR void far_middle(double end)
{
	burn();
	near_leaf(now_seconds() + 0.002 < end ? now_seconds() + 0.002 : end);
	NO_TAIL_CALL();
}

NOINLINE void near_outer(double end)
{
	while (now_seconds() < end)
		far_middle(end);
}

int main(int argc, char **argv)
{
	near_outer(now_seconds() + argument_seconds(argc, argv, 1, 3));
	return 0;
}
