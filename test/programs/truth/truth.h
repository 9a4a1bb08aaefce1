/*
 * Programs that know their own answer, C and C++ part: each spends its CPU along known call paths,
 * measures the CPU of each path itself, and prints what it measured as one JSON line:
 *
 *   {"program": "c_split", "paths": [{"frames": ["leaf", "outer", "main"], "goal_percent": 70,
 *                                     "cpu_ns": 123}, ...]}
 *
 * Frames:  leaf first. "*" stands for any number of frames that no path names (libraries,
 *          compilers), "?" for exactly one, "**" for any at all, and "~text" for one whose name
 *          holds the text. What calls main or a thread's first function is not listed.
 *          At "!" a walk may stop for the reason `ends`: no table says how to go on there.
 * Turns:   each goes to the path that is furthest behind its goal, for a time that varies, so that
 *          no sampling rate can fall into step with it.
 * Units:   cpu_ns is CLOCK_THREAD_CPUTIME_ID around each turn.
 */
#ifndef VESTA_TEST_PROGRAMS_TRUTH_TRUTH_H
#define VESTA_TEST_PROGRAMS_TRUTH_TRUTH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A function whose frame is exactly one, under its own name. */
#ifdef __clang__
#define TRUTH_FRAME __attribute__((noinline))
#else
#define TRUTH_FRAME __attribute__((noipa))
#endif
#define TRUTH_INLINE static inline __attribute__((always_inline))

/* After a call: the caller still has work to do, so the call cannot become a jump. */
#define TRUTH_KEEP(value) __asm__ volatile("" : "+r"(value) : : "memory")

struct truth_path {
	const char *frames; /* leaf first, with ';' between them */
	unsigned (*enter)(unsigned rounds);
	int goal_percent;
	const char *ends; /* with "!" among the frames; else NULL */
	int64_t cpu_ns;
};

TRUTH_INLINE int64_t truth_now_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Arithmetic inside of the caller's own frame. */
TRUTH_INLINE unsigned truth_burn(unsigned rounds)
{
	unsigned value = rounds;

	for (unsigned i = 0; i < rounds; i++) {
		value = value * 1664525u + i;
		__asm__ volatile("" : "+r"(value));
	}
	return value;
}

#define TRUTH_LEAF(name)                           \
	TRUTH_FRAME unsigned name(unsigned rounds) \
	{                                          \
		return truth_burn(rounds);         \
	}

#define TRUTH_STEP(name, callee)                   \
	TRUTH_FRAME unsigned name(unsigned rounds) \
	{                                          \
		unsigned value = callee(rounds);   \
                                                   \
		TRUTH_KEEP(value);                 \
		return value + 1;                  \
	}

/* Between 0.1 and 2 ms of truth_burn(), different each time. */
TRUTH_INLINE unsigned truth_rounds(unsigned *random)
{
	*random = *random * 1103515245u + 12345u;
	return 100000 + (*random >> 10) % 1900000;
}

TRUTH_INLINE struct truth_path *truth_next(struct truth_path *paths, int count)
{
	struct truth_path *next = paths;

	for (int i = 1; i < count; i++) {
		if (paths[i].cpu_ns * next->goal_percent < next->cpu_ns * paths[i].goal_percent)
			next = &paths[i];
	}
	return next;
}

/* Calls the path and counts its CPU. */
TRUTH_INLINE void truth_turn(struct truth_path *path, unsigned rounds)
{
	int64_t before_ns = truth_now_ns(CLOCK_THREAD_CPUTIME_ID);

	path->enter(rounds);
	path->cpu_ns += truth_now_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
}

TRUTH_INLINE void truth_spend(struct truth_path *paths, int count, double seconds)
{
	int64_t end_ns = truth_now_ns(CLOCK_MONOTONIC) + (int64_t)(seconds * 1e9);
	unsigned random = 12345;

	while (truth_now_ns(CLOCK_MONOTONIC) < end_ns)
		truth_turn(truth_next(paths, count), truth_rounds(&random));
}

static inline void truth_print_path(const struct truth_path *path)
{
	printf("{\"frames\": [\"");
	for (const char *c = path->frames; *c; c++) {
		if (*c == ';')
			printf("\", \"");
		else
			putchar(*c);
	}
	printf("\"], \"goal_percent\": %d, \"cpu_ns\": %lld", path->goal_percent,
	       (long long)path->cpu_ns);
	if (path->ends)
		printf(", \"ends\": \"%s\"", path->ends);
	printf("}");
}

static inline void truth_print(const char *argv0, const struct truth_path *paths, int count)
{
	const char *slash = strrchr(argv0, '/');

	printf("{\"program\": \"%s\", \"paths\": [", slash ? slash + 1 : argv0);
	for (int i = 0; i < count; i++) {
		printf("%s", i ? ", " : "");
		truth_print_path(&paths[i]);
	}
	printf("]}\n");
	fflush(stdout);
}

TRUTH_INLINE double truth_seconds(int argc, char **argv)
{
	return argc > 1 ? atof(argv[1]) : 3;
}

/* The whole main() of most programs. */
#define TRUTH_MAIN(paths)                                                             \
	int main(int argc, char **argv)                                               \
	{                                                                             \
		int count = (int)(sizeof(paths) / sizeof((paths)[0]));                \
                                                                                      \
		truth_spend(paths, count, truth_seconds(argc, argv));                 \
		truth_print(argv[0], paths, count);                                   \
		return 0;                                                             \
	}

#endif
