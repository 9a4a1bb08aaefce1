/*
 * A known amount of work, not of time: planted [ROUNDS [EXTRA]]. A round is 1,000 steps, of which
 * parse takes 400, encode 300, sort_rows 200 and log_line 100; EXTRA is what sort_rows takes on top,
 * so EXTRA = 120 is a change of 12 % of the whole. Two recordings of it have one difference.
 */
#include "spin.h"

#define STEPS(count)                                             \
	do {                                                     \
		for (unsigned long i = 0; i < 2000UL * (count); i++) \
			__asm__ volatile("" : "+r"(i));          \
	} while (0)

NOINLINE void parse(void)
{
	STEPS(400);
	NO_TAIL_CALL();
}

NOINLINE void encode(void)
{
	STEPS(300);
	NO_TAIL_CALL();
}

NOINLINE void sort_rows(unsigned long extra)
{
	STEPS(200 + extra);
	NO_TAIL_CALL();
}

NOINLINE void log_line(void)
{
	STEPS(100);
	NO_TAIL_CALL();
}

NOINLINE void serve(unsigned long extra)
{
	parse();
	sort_rows(extra);
	encode();
	log_line();
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	unsigned long extra = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	for (unsigned long i = 0; i < rounds; i++)
		serve(extra);
	return 0;
}
