/* What the small C workloads share: burning CPU inside the caller's own frame. */
#ifndef VESTA_TEST_PROGRAMS_SPIN_H
#define VESTA_TEST_PROGRAMS_SPIN_H

#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))
/* After a call: the caller still has work to do, so the call cannot become a jump. */
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

static inline double now_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* About 0.2 ms of arithmetic. */
static inline __attribute__((always_inline)) void burn(void)
{
	for (unsigned i = 0; i < 200000; i++)
		__asm__ volatile("" : "+r"(i));
}

#define BURN_UNTIL(end_seconds)                  \
	do {                                     \
		burn();                          \
	} while (now_seconds() < (end_seconds))

static inline double argument_seconds(int argc, char **argv, int index, double otherwise)
{
	return argc > index ? atof(argv[index]) : otherwise;
}

#endif
