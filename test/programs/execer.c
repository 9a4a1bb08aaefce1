/*
 * exec over a running pid: execer SECONDS PROGRAM [ARGUMENT]... spins here for SECONDS, then
 * becomes PROGRAM without a change of pid.
 */
#include <stdio.h>
#include <unistd.h>

#include "spin.h"

NOINLINE void before_exec_spin(double end)
{
	BURN_UNTIL(end);
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: execer SECONDS PROGRAM [ARGUMENT]...\n");
		return 2;
	}
	before_exec_spin(now_seconds() + argument_seconds(argc, argv, 1, 1));
	execv(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
