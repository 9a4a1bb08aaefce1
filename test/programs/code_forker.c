/* Generated code and fork without exec: code_forker [SECONDS]. The parent writes parent_code and
 * names it in its /tmp/perf-PID.map; the child, in memory mapped before the fork, child_code, where
 * the parent then has parent_late_code. Each spins in both of its functions by turns. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

enum { PAGE_BYTES = 4096, ROUNDS = 1000000 };

typedef void (*spin_code)(unsigned rounds);

/* push rbp; mov rbp, rsp; 1: dec edi; jnz 1b; pop rbp; ret */
static const unsigned char kSpin[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xcf, 0x75, 0xfc, 0x5d, 0xc3};

static spin_code write_code(unsigned char *at, const char *name)
{
	char path[64];
	FILE *map;

	memcpy(at, kSpin, sizeof(kSpin));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "a");
	if (map == NULL)
		_exit(1);
	fprintf(map, "%lx %zx %s\n", (unsigned long)at, sizeof(kSpin), name);
	fclose(map);
	return (spin_code)at;
}

NOINLINE void spin_both(spin_code first, spin_code second, double end)
{
	while (now_seconds() < end) {
		first(ROUNDS);
		second(ROUNDS);
	}
}

static void remove_map(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	unlink(path);
}

int main(int argc, char **argv)
{
	double end = now_seconds() + argument_seconds(argc, argv, 1, 3);
	unsigned char *code = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	spin_code shared;
	int status = 0;
	pid_t child;

	if (code == MAP_FAILED)
		return 1;
	shared = write_code(code, "parent_code");
	child = fork();
	if (child == 0) {
		spin_both(shared, write_code(code + 64, "child_code"), end);
		_exit(0);
	}
	spin_both(shared, write_code(code + 64, "parent_late_code"), end);
	waitpid(child, &status, 0);
	sleep(1); /* the last names are read within 250 ms */
	remove_map(child);
	remove_map(getpid());
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
