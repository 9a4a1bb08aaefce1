/* Loops of system calls, of PLT stubs and of the vDSO, by TRUTH_WHAT: the leaf lies in the kernel,
 * in a stub or in a library; what called it is known. */
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "truth.h"

#if defined(TRUTH_SYSCALLS)

static int zero;
static char buffer[65536];

TRUTH_FRAME unsigned read_loop(unsigned rounds)
{
	ssize_t done = 0;

	for (unsigned i = 0; i < rounds / 5000; i++)
		done += read(zero, buffer, sizeof(buffer));
	return (unsigned)done;
}

TRUTH_STEP(read_outer, read_loop)

TRUTH_FRAME unsigned getppid_loop(unsigned rounds)
{
	unsigned value = 0;

	for (unsigned i = 0; i < rounds / 200; i++)
		value += (unsigned)getppid();
	return value;
}

TRUTH_STEP(getppid_outer, getppid_loop)

/* The instruction in a frame of our own, without the C library. */
TRUTH_FRAME unsigned instruction_loop(unsigned rounds)
{
	long value = 0;

	for (unsigned i = 0; i < rounds / 200; i++) {
		long result = SYS_getuid;

		__asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
		value += result;
	}
	return (unsigned)value;
}

TRUTH_STEP(instruction_outer, instruction_loop)

static struct truth_path paths[] = {
	{"*;read_loop;read_outer;main", read_outer, 40, NULL, 0},
	{"*;getppid_loop;getppid_outer;main", getppid_outer, 30, NULL, 0},
	{"instruction_loop;instruction_outer;main", instruction_outer, 30, NULL, 0},
};

int main(int argc, char **argv)
{
	zero = open("/dev/zero", O_RDONLY);
	truth_spend(paths, 3, truth_seconds(argc, argv));
	truth_print(argv[0], paths, 3);
	return 0;
}

#elif defined(TRUTH_PLT)

unsigned plt_target(unsigned value);
unsigned plt_target_two(unsigned value);

TRUTH_FRAME unsigned stub_loop(unsigned rounds)
{
	unsigned value = 1;

	for (unsigned i = 0; i < rounds / 4; i++)
		value = plt_target(value);
	return value;
}

TRUTH_STEP(stub_outer, stub_loop)

/* Several stubs of one section, with a frame that has no room for a guess. */
TRUTH_FRAME unsigned stubs_loop(unsigned rounds)
{
	unsigned value = 1;

	for (unsigned i = 0; i < rounds / 8; i++)
		value = plt_target_two(plt_target(value));
	return value;
}

TRUTH_STEP(stubs_outer, stubs_loop)

static struct truth_path paths[] = {
	{"*;stub_loop;stub_outer;main", stub_outer, 60, NULL, 0},
	{"*;stubs_loop;stubs_outer;main", stubs_outer, 40, NULL, 0},
};

TRUTH_MAIN(paths)

#elif defined(TRUTH_VDSO)

TRUTH_FRAME unsigned clock_loop(unsigned rounds)
{
	int64_t value = 0;

	for (unsigned i = 0; i < rounds / 50; i++)
		value += truth_now_ns(CLOCK_MONOTONIC);
	return (unsigned)value;
}

TRUTH_STEP(clock_outer, clock_loop)
TRUTH_LEAF(beside_leaf)
TRUTH_STEP(beside_step, beside_leaf)

static struct truth_path paths[] = {
	{"*;clock_loop;clock_outer;main", clock_outer, 80, NULL, 0},
	{"beside_leaf;beside_step;main", beside_step, 20, NULL, 0},
};

TRUTH_MAIN(paths)

#else
#error "say which loop"
#endif
