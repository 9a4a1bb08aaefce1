/* fork without exec: forker [SECONDS]. Parent and child spin in functions of their own. */
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

NOINLINE void parent_spin(double end)
{
	BURN_UNTIL(end);
	NO_TAIL_CALL();
}

NOINLINE void child_spin(double end)
{
	BURN_UNTIL(end);
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	double end = now_seconds() + argument_seconds(argc, argv, 1, 3);
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		child_spin(end);
		_exit(0);
	}
	parent_spin(end);
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
