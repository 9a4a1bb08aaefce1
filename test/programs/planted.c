/*
 * A known amount of CPU time, however fast the machine is at that moment: planted [ROUNDS [EXTRA]].
 * A round is 1 ms on average: parse takes 400 us, encode 300, sort_rows 200 and log_line 100; EXTRA is
 * what sort_rows takes on top, so EXTRA = 120 is a change of 12 % of the whole. Rounds are of unequal
 * length, or a sampler that ticks as regularly would meet the same function again and again; their
 * lengths are the same each time. Two recordings of it have one difference.
 */
#include <stdint.h>

#include "spin.h"

static int64_t spent_until_ns;
static int64_t round_per_mille; /* of the length on average */

static inline int64_t cpu_time_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* What one takes too long is taken from the next: the sum is exact. To ask takes a system call. */
#define SPEND_US(count)                                              \
	do {                                                         \
		spent_until_ns += (count) * round_per_mille;         \
		while (cpu_time_ns() < spent_until_ns)               \
			for (unsigned i = 0; i < 40000; i++)         \
				__asm__ volatile("" : "+r"(i));      \
	} while (0)

NOINLINE void parse(void)
{
	SPEND_US(400);
	NO_TAIL_CALL();
}

NOINLINE void encode(void)
{
	SPEND_US(300);
	NO_TAIL_CALL();
}

NOINLINE void sort_rows(long extra)
{
	SPEND_US(200 + extra);
	NO_TAIL_CALL();
}

NOINLINE void log_line(void)
{
	SPEND_US(100);
	NO_TAIL_CALL();
}

NOINLINE void serve(long extra)
{
	parse();
	sort_rows(extra);
	encode();
	log_line();
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
	long extra = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

	spent_until_ns = cpu_time_ns();
	for (long i = 0; i < rounds; i++) {
		round_per_mille = 500 + (i * 619) % 1001; /* 619: prime to 1001 and far from its parts */
		serve(extra);
	}
	return 0;
}
