/*
 * Short-lived processes at a bounded rate: fork_storm [PER_SECOND] [SECONDS]. Each child burns
 * about 0.5 ms and ends. Says how many were started and how many ended well.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

NOINLINE void storm_child(void)
{
	burn();
	burn();
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	double rate = argument_seconds(argc, argv, 1, 500);
	double seconds = argument_seconds(argc, argv, 2, 3);
	double start = now_seconds();
	long started = 0, well = 0, limit = (long)(rate * seconds);
	int status;

	while (now_seconds() < start + seconds && started < limit) {
		if ((double)started < (now_seconds() - start) * rate) {
			pid_t child = fork();

			if (child == 0) {
				storm_child();
				_exit(0);
			}
			if (child > 0)
				started++;
		} else {
			usleep(500);
		}
		while (waitpid(-1, &status, WNOHANG) > 0)
			well += WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	while (waitpid(-1, &status, 0) > 0)
		well += WIFEXITED(status) && WEXITSTATUS(status) == 0;
	printf("%ld %ld\n", started, well);
	return started == well ? 0 : 1;
}
