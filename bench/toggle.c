/*
 * The cost of being sampled, seen by the sampled program, and what sampling could have seen.
 *
 *   toggle slowdown empty HZ ROUNDS      an empty BPF program at HZ on this CPU
 *   toggle slowdown PID HZ ROUNDS        the perf events that process PID holds (HZ: as said)
 *   toggle count HZ SECONDS              runs of an empty BPF program on every CPU at HZ
 *
 * slowdown: pinned to one CPU and 30 frames deep, it works in blocks of 50 ms with the events on
 * and off by turns (in random order within a pair) and compares the work done per nanosecond. Pairs
 * make it see tenths of a percent where whole runs differ by several percent.
 * Prints one JSON line. Needs root. Run statistics of BPF must be on for `count`.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_MAX = 4096, DEPTH = 30, BLOCK_NS = 50 * 1000 * 1000 };

static int events[EVENTS_MAX];
static int event_count;
static int empty_program = -1;

static void fail(const char *what)
{
	fprintf(stderr, "toggle: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void load_empty_program(void)
{
	struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attributes;

	memset(&attributes, 0, sizeof(attributes));
	attributes.prog_type = BPF_PROG_TYPE_PERF_EVENT;
	attributes.insns = (uintptr_t)code;
	attributes.insn_cnt = 2;
	attributes.license = (uintptr_t) "GPL";
	strcpy(attributes.prog_name, "bench_empty");
	empty_program = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof(attributes));
	if (empty_program < 0)
		fail("loading the empty BPF program");
}

static void open_empty_event(int cpu, unsigned hz)
{
	struct perf_event_attr attributes;
	int fd;

	memset(&attributes, 0, sizeof(attributes));
	attributes.size = sizeof(attributes);
	attributes.type = PERF_TYPE_SOFTWARE;
	attributes.config = PERF_COUNT_SW_CPU_CLOCK;
	attributes.freq = 1;
	attributes.sample_freq = hz;
	fd = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		fail("perf_event_open");
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, empty_program) != 0)
		fail("attaching the empty BPF program");
	events[event_count++] = fd;
}

/* The perf events of another process, through its own descriptors. */
static void borrow_events(pid_t pid)
{
	char path[64], link[64];
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	folder = opendir(path);
	if (pidfd < 0 || !folder)
		fail(path);
	while ((entry = readdir(folder)) && event_count < EVENTS_MAX) {
		ssize_t size = readlinkat(dirfd(folder), entry->d_name, link, sizeof(link) - 1);

		if (size <= 0)
			continue;
		link[size] = 0;
		if (!strstr(link, "perf_event"))
			continue;
		events[event_count] =
			(int)syscall(SYS_pidfd_getfd, pidfd, atoi(entry->d_name), 0);
		if (events[event_count] < 0)
			fail("pidfd_getfd");
		event_count++;
	}
	closedir(folder);
	if (event_count == 0) {
		fprintf(stderr, "toggle: process %d holds no perf events\n", pid);
		exit(1);
	}
}

static void set_events(int on)
{
	for (int i = 0; i < event_count; i++)
		ioctl(events[i], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

/* Work per nanosecond of one block. */
static double run_block(void)
{
	uint64_t start = now_ns(), end, work = 0;

	do {
		for (unsigned i = 0; i < 2000; i++)
			__asm__ volatile("" : "+r"(i));
		work++;
		end = now_ns();
	} while (end - start < BLOCK_NS);
	return (double)work / (double)(end - start);
}

static int compare(const void *a, const void *b)
{
	double difference = *(const double *)a - *(const double *)b;

	return (difference > 0) - (difference < 0);
}

static double median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof(*values), compare);
	return (values[count / 2] + values[(count - 1) / 2]) / 2;
}

/* The median, since a neighbour of the machine can take a whole block away. */
static void measure_slowdown(const char *what, unsigned hz, int rounds)
{
	double *slowdowns = calloc((size_t)rounds, sizeof(*slowdowns));
	unsigned seed = 20261129;
	double middle, spread;

	for (int round = 0; round < rounds; round++) {
		double speed[2];
		int first;

		seed = seed * 1103515245u + 12345u;
		first = (seed >> 16) & 1;
		for (int turn = 0; turn < 2; turn++) {
			int on = turn ^ first;

			set_events(on);
			speed[on] = run_block();
		}
		slowdowns[round] = 100 * (1 - speed[1] / speed[0]);
	}
	set_events(1);
	middle = median(slowdowns, rounds);
	for (int round = 0; round < rounds; round++)
		slowdowns[round] = fabs(slowdowns[round] - middle);
	/* of a normal distribution: sigma = 1.4826 MAD, error of the median = 1.2533 sigma/sqrt(n) */
	spread = 1.2533 * 1.4826 * median(slowdowns, rounds) / sqrt(rounds);
	free(slowdowns);
	printf("{\"what\": \"%s\", \"hz\": %u, \"rounds\": %d, \"slowdown_percent\": %.4f, "
	       "\"standard_error\": %.4f}\n", what, hz, rounds, middle, spread);
}

/* DEPTH frames between main and the measurement, none of them a tail call. */
__attribute__((noinline)) static void descend(int depth, const char *what, unsigned hz, int rounds)
{
	if (depth == 0)
		measure_slowdown(what, hz, rounds);
	else
		descend(depth - 1, what, hz, rounds);
	__asm__ volatile("" ::: "memory");
}

static void count_runs(unsigned hz, double seconds)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	char path[64], line[256];
	unsigned long long runs = 0, time_ns = 0;
	struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
	FILE *file;

	load_empty_program();
	for (int cpu = 0; cpu < cpus; cpu++)
		open_empty_event(cpu, hz);
	nanosleep(&pause, NULL);
	set_events(0);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", empty_program);
	file = fopen(path, "r");
	if (!file)
		fail(path);
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "run_cnt: %llu", &runs);
		sscanf(line, "run_time_ns: %llu", &time_ns);
	}
	fclose(file);
	printf("{\"what\": \"count\", \"hz\": %u, \"seconds\": %g, \"cpus\": %ld, \"runs\": %llu, "
	       "\"run_time_ns\": %llu}\n", hz, seconds, cpus, runs, time_ns);
}

int main(int argc, char **argv)
{
	long last_cpu = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	cpu_set_t cpus;

	if (argc == 4 && strcmp(argv[1], "count") == 0) {
		count_runs((unsigned)atoi(argv[2]), atof(argv[3]));
		return 0;
	}
	if (argc != 5 || strcmp(argv[1], "slowdown") != 0 || atoi(argv[4]) < 1) {
		fprintf(stderr, "usage: toggle slowdown empty|PID HZ ROUNDS\n"
				"       toggle count HZ SECONDS\n");
		return 2;
	}
	CPU_ZERO(&cpus);
	CPU_SET((size_t)last_cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	if (strcmp(argv[2], "empty") == 0) {
		load_empty_program();
		open_empty_event((int)last_cpu, (unsigned)atoi(argv[3]));
	} else {
		borrow_events(atoi(argv[2]));
	}
	descend(DEPTH, argv[2], (unsigned)atoi(argv[3]), atoi(argv[4]));
	return 0;
}
