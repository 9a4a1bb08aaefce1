/*
 * Burns CPU inside the C library: libc_work [SECONDS]. Sorts, prints and copies in turn, so that
 * samples fall into code that may have no call frame information, with and without callbacks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spin.h"

static int numbers[4096];
static char text[4096], copy[4096];
static volatile size_t copied_bytes = 4000; /* so that copies are calls */

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

NOINLINE void sort_in_libc(void)
{
	for (int i = 0; i < 4096; i++)
		numbers[i] = (i * 7919) & 4095;
	qsort(numbers, 4096, sizeof(numbers[0]), compare);
	NO_TAIL_CALL();
}

NOINLINE void print_in_libc(void)
{
	for (int i = 0; i < 1000; i++)
		snprintf(text, sizeof(text), "%d %s %f %x %g", i, "text", i * 0.37, i, i * 1e9);
	NO_TAIL_CALL();
}

NOINLINE void copy_in_libc(void)
{
	for (int i = 0; i < 10000; i++) {
		memcpy(copy, text, copied_bytes);
		NO_TAIL_CALL();
		memset(text, i, copied_bytes);
		NO_TAIL_CALL();
	}
}

int main(int argc, char **argv)
{
	double end = now_seconds() + argument_seconds(argc, argv, 1, 1e9);

	while (now_seconds() < end) {
		sort_in_libc();
		print_in_libc();
		copy_in_libc();
	}
	return 0;
}
