/* Children that live 2 to 40 ms: by fork and exec, or by vfork and posix_spawn (TRUTH_VFORK). Each
 * is this program again; it tells its own CPU through a pipe. What the kernel and the loader do
 * for a child on top of that belongs to no path. */
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

extern char **environ;

TRUTH_LEAF(hot_child_leaf)
TRUTH_STEP(hot_child_step, hot_child_leaf)
TRUTH_LEAF(cold_child_leaf)
TRUTH_STEP(cold_child_step, cold_child_leaf)
TRUTH_LEAF(parent_leaf)
TRUTH_STEP(parent_step, parent_leaf)

static struct truth_path paths[] = {
	{"hot_child_leaf;hot_child_step;main", hot_child_step, 50, NULL, 0},
	{"cold_child_leaf;cold_child_step;main", cold_child_step, 30, NULL, 0},
	{"parent_leaf;parent_step;main", parent_step, 20, NULL, 0},
};

static pid_t start_child(char **argv, unsigned turn)
{
	pid_t pid = -1;

	(void)turn;
#ifdef TRUTH_VFORK
	if (turn % 2 == 0) {
		if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) != 0)
			return -1;
		return pid;
	}
	pid = vfork();
#else
	pid = fork();
#endif
	if (pid == 0) {
		execv(argv[0], argv);
		_exit(127);
	}
	return pid;
}

/* Runs one child; returns the CPU that it says it spent on its path. */
static int64_t run_child(char *self, int path, unsigned rounds, unsigned turn)
{
	char path_text[16], rounds_text[16], pipe_text[16];
	char *argv[] = {self, (char *)"child", path_text, rounds_text, pipe_text, NULL};
	int64_t cpu_ns = 0;
	int ends[2];
	pid_t pid;

	if (pipe(ends) != 0)
		exit(1);
	snprintf(path_text, sizeof(path_text), "%d", path);
	snprintf(rounds_text, sizeof(rounds_text), "%u", rounds);
	snprintf(pipe_text, sizeof(pipe_text), "%d", ends[1]);
	pid = start_child(argv, turn);
	close(ends[1]);
	if (pid < 0 || read(ends[0], &cpu_ns, sizeof(cpu_ns)) != sizeof(cpu_ns))
		exit(1);
	close(ends[0]);
	waitpid(pid, NULL, 0);
	return cpu_ns;
}

int main(int argc, char **argv)
{
	int64_t end_ns;
	unsigned random = 12345, turn = 0;

	if (argc == 5 && strcmp(argv[1], "child") == 0) {
		struct truth_path *path = &paths[atoi(argv[2]) & 1];

		truth_turn(path, (unsigned)strtoul(argv[3], NULL, 10));
		return write(atoi(argv[4]), &path->cpu_ns, sizeof(path->cpu_ns)) ==
				       sizeof(path->cpu_ns)
			       ? 0
			       : 1;
	}
	end_ns = truth_now_ns(CLOCK_MONOTONIC) + (int64_t)(truth_seconds(argc, argv) * 1e9);
	while (truth_now_ns(CLOCK_MONOTONIC) < end_ns) {
		struct truth_path *path = truth_next(paths, 3);
		unsigned rounds = truth_rounds(&random);

		if (path == &paths[2])
			truth_turn(path, rounds);
		else
			path->cpu_ns += run_child(argv[0], (int)(path - paths), rounds * 20,
						  turn++);
	}
	truth_print(argv[0], paths, 3);
	return 0;
}
