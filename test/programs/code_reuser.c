/* Generated code whose place is used by two functions in turns, "even" and "odd", each written down
 * as a profiler expects it: code_reuser jitdump|late|perf-map|silent SECONDS TURN_MS [thread|exec].
 * With `late` the jitdump file is written only at the end, as by a runtime that buffers. `thread`:
 * all runs in a second thread, the first ends. `exec`: then all is done once more, silently, by
 * another program in the same process. Prints where the code lies, then the CPU seconds of each. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spin.h"

#define CODE_BYTES 64

static const unsigned char burning_code[] = {
	0x55,		  /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
	0x89, 0xf8,	  /* mov %edi, %eax */
	0x6b, 0xc0, 0x0d, /* again: imul $13, %eax */
	0xff, 0xcf,	  /* dec %edi */
	0x75, 0xf9,	  /* jne again */
	0x5d,		  /* pop %rbp */
	0xc3,		  /* ret */
};

typedef unsigned (*burner)(unsigned rounds);

static FILE *names;

struct jit_header {
	uint32_t magic, version, size, machine, padding, pid;
	uint64_t time, flags;
};

struct jit_load {
	uint32_t id, size;
	uint64_t time;
	uint32_t pid, tid;
	uint64_t vma, address, code_bytes, index;
};

struct jit_lines {
	uint32_t id, size;
	uint64_t time, address, count;
	uint64_t entry_address;
	uint32_t line, discriminator;
	char file[16];
};

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static double cpu_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int open_jitdump(int late)
{
	static char buffer[1 << 20];
	struct jit_header header = { 0x4a695444, 1, sizeof(header), 62, 0, 0, 0, 0 };
	char path[64];

	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", getpid());
	names = fopen(path, "w+");
	if (names == NULL)
		return -1;
	setvbuf(names, buffer, _IOFBF, sizeof(buffer));
	header.pid = (uint32_t)getpid();
	header.time = now_ns();
	fwrite(&header, sizeof(header), 1, names);
	if (!late)
		fflush(names);
	/* So that profilers see where it lies. */
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(names), 0) == MAP_FAILED;
}

static void dump(const unsigned char *code, const char *name, uint32_t line, int late)
{
	struct jit_lines lines = { 2, sizeof(lines), now_ns(), (uintptr_t)code, 1, (uintptr_t)code,
				   line, 0, "generated.src" };
	struct jit_load load = { 0, 0, now_ns(), (uint32_t)getpid(), (uint32_t)getpid(),
				 (uintptr_t)code, (uintptr_t)code, CODE_BYTES, line };

	load.size = (uint32_t)(sizeof(load) + strlen(name) + 1 + CODE_BYTES);
	fwrite(&lines, sizeof(lines), 1, names);
	fwrite(&load, sizeof(load), 1, names);
	fwrite(name, strlen(name) + 1, 1, names);
	fwrite(code, CODE_BYTES, 1, names);
	if (!late)
		fflush(names);
}

static int burn_in_turns(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "jitdump";
	const int late = strcmp(how, "late") == 0;
	const int perf_map = strcmp(how, "perf-map") == 0;
	const int silent = strcmp(how, "silent") == 0;
	const double end = now_seconds() + argument_seconds(argc, argv, 2, 2);
	const double turn_seconds = argument_seconds(argc, argv, 3, 20) / 1000;
	static const char *const name[] = { "even", "odd" };
	double used[2] = { 0, 0 };
	unsigned char *code =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	burner burn_code;
	char path[64];

	if (code == MAP_FAILED)
		return 1;
	memset(code, 0xcc, 4096);
	memcpy(code, burning_code, sizeof(burning_code));
	memcpy(&burn_code, &code, sizeof(code));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	printf("%lx\n", (unsigned long)(uintptr_t)code);
	fflush(stdout);
	if (perf_map && (names = fopen(path, "w")) == NULL)
		return 1;
	if (!perf_map && !silent && open_jitdump(late) != 0)
		return 1;
	for (unsigned turn = 0; now_seconds() < end; turn++) {
		const double start = cpu_seconds();
		const double turn_end = now_seconds() + turn_seconds;

		if (perf_map) {
			fprintf(names, "%lx %x %s\n", (unsigned long)(uintptr_t)code, CODE_BYTES,
				name[turn % 2]);
			fflush(names);
		} else if (!silent) {
			dump(code, name[turn % 2], turn % 2 ? 22 : 11, late);
		}
		while (now_seconds() < turn_end)
			burn_code(100000);
		used[turn % 2] += cpu_seconds() - start;
	}
	if (names != NULL)
		fclose(names);
	if (argc <= 4 || strcmp(argv[4], "exec") != 0) {
		/* What was opened before can still be read. */
		unlink(path);
		snprintf(path, sizeof(path), "/tmp/jit-%d.dump", getpid());
		unlink(path);
	}
	printf("even %.3f odd %.3f\n", used[0], used[1]);
	return 0;
}

static int argument_count;
static char **arguments;

static void *second_thread(void *unused)
{
	(void)unused;
	exit(burn_in_turns(argument_count, arguments));
}

int main(int argc, char **argv)
{
	const char *more = argc > 4 ? argv[4] : "";
	pthread_t thread;
	int status;

	argument_count = argc;
	arguments = argv;
	if (strcmp(more, "thread") == 0) {
		if (pthread_create(&thread, NULL, second_thread, NULL) != 0)
			return 1;
		pthread_exit(NULL);
	}
	status = burn_in_turns(argc, argv);
	if (status == 0 && strcmp(more, "exec") == 0) {
		fflush(stdout);
		execl(argv[0], argv[0], "silent", argv[2], argv[3], NULL);
		return 1;
	}
	return status;
}
