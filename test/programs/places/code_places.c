/*
 * Code in unusual places: code_places MODE SECONDS [FILE [ARGUMENT]...]
 *
 *   memfd-exec    becomes the program FILE, from a file in memory that has no path
 *   plugin        loads the plug-in FILE, as dlopener does
 *   enter         goes into the mount namespace FILE in the middle of its life and loads the plug-in
 *                 ARGUMENT there
 *   leaderless    ends its first thread and goes on in another
 *   memfd-plugin  loads it from a file in memory
 *   twice         runs one function from the mapping of the loader and from two more of the same
 *                 bytes of the same file, one of them shared
 *   moved-text    puts a copy of a function's pages into anonymous memory and moves that over
 *                 them, as engines do that want their text in huge pages
 *   written-text  maps anonymous memory over the pages and writes the copy there
 *   between       calls generated code, which keeps a frame pointer, and that calls back
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/programs/spin.h"

enum { PAGE_BYTES = 4096, ROUNDS = 1000000 };

/* Reaches nothing outside of itself, so that its bytes run wherever they lie. Its pages, which it
 * has for itself, may be replaced. */
#define PLACED __attribute__((noinline, noclone, section("placed_text")))

PLACED void placed_leaf(unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++)
		__asm__ volatile("" : "+r"(i));
	NO_TAIL_CALL();
}

PLACED __attribute__((aligned(PAGE_BYTES))) void placed_outer(unsigned rounds)
{
	placed_leaf(rounds);
	NO_TAIL_CALL();
}

extern unsigned char __start_placed_text[], __stop_placed_text[];

typedef void (*placed_code)(unsigned rounds);

NOINLINE void run_placed(placed_code code, double end)
{
	while (now_seconds() < end)
		code(ROUNDS);
}

static int memory_copy(const char *path)
{
	int from = open(path, O_RDONLY | O_CLOEXEC);
	int to = memfd_create("placed", 0);
	char buffer[65536];
	ssize_t size;

	if (from < 0 || to < 0)
		return -1;
	while ((size = read(from, buffer, sizeof(buffer))) > 0) {
		if (write(to, buffer, (size_t)size) != size)
			return -1;
	}
	close(from);
	return size == 0 ? to : -1;
}

static int run_memfd_exec(char **arguments)
{
	/* Closed by the exec, as it is where nobody needs the file afterwards. */
	int file = memory_copy(arguments[0]);
	int read_only;
	char path[64];

	if (file < 0)
		return 1;
	fchmod(file, 0755);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	read_only = open(path, O_RDONLY | O_CLOEXEC);
	close(file);
	fexecve(read_only, arguments, environ);
	perror(arguments[0]);
	return 127;
}

NOINLINE void call_plugin(void (*plugin_entry)(double), double end)
{
	plugin_entry(end);
	NO_TAIL_CALL();
}

static int run_plugin(const char *path, double end)
{
	void *plugin = dlopen(path, RTLD_NOW);
	void (*entry)(double);

	if (!plugin) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&entry = dlsym(plugin, "plugin_entry");
	call_plugin(entry, end);
	return 0;
}

static int run_memfd_plugin(const char *plugin_path, double end)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", memory_copy(plugin_path));
	return run_plugin(path, end);
}

NOINLINE void before_enter_spin(double end)
{
	BURN_UNTIL(end);
	NO_TAIL_CALL();
}

static int run_enter(const char *namespace_path, const char *plugin_path, double end)
{
	int place = open(namespace_path, O_RDONLY | O_CLOEXEC);

	before_enter_spin((now_seconds() + end) / 2);
	if (place < 0 || setns(place, CLONE_NEWNS) != 0) {
		perror(namespace_path);
		return 1;
	}
	return run_plugin(plugin_path, end);
}

static double thread_end;

NOINLINE void thread_spin(double end)
{
	BURN_UNTIL(end);
	NO_TAIL_CALL();
}

static void *second_thread(void *unused)
{
	thread_spin(thread_end);
	exit(0);
	return unused;
}

static int run_leaderless(double end)
{
	pthread_t thread;

	thread_end = end;
	if (pthread_create(&thread, NULL, second_thread, NULL) != 0)
		return 1;
	pthread_exit(NULL);
}

static size_t placed_bytes(void)
{
	size_t bytes = (size_t)(__stop_placed_text - __start_placed_text);

	return (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

/* Where the pages lie in our own file, from /proc/self/maps. */
static off_t placed_offset(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end, offset;
	char line[512], permissions[8];
	off_t found = -1;

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %7s %lx", &start, &end, permissions, &offset) == 4 &&
		    start <= (uintptr_t)__start_placed_text && (uintptr_t)__start_placed_text < end)
			found = (off_t)(offset + ((uintptr_t)__start_placed_text - start));
	}
	if (maps)
		fclose(maps);
	return found;
}

static placed_code map_again(int flags)
{
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	unsigned char *at = mmap(NULL, placed_bytes(), PROT_READ | PROT_EXEC, flags, file,
				 placed_offset());

	close(file);
	if (at == MAP_FAILED)
		_exit(1);
	return (placed_code)(at + ((uintptr_t)placed_outer - (uintptr_t)__start_placed_text));
}

static int run_twice(double end)
{
	placed_code copy = map_again(MAP_PRIVATE), shared = map_again(MAP_SHARED);

	while (now_seconds() < end) {
		run_placed(placed_outer, now_seconds() + 0.02);
		run_placed(copy, now_seconds() + 0.02);
		run_placed(shared, now_seconds() + 0.02);
	}
	return 0;
}

static int run_moved_text(double end, int write_in_place)
{
	size_t bytes = placed_bytes();
	unsigned char *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);

	if (copy == MAP_FAILED)
		return 1;
	memcpy(copy, __start_placed_text, bytes);
	if (write_in_place) {
		if (mmap(__start_placed_text, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			return 1;
		memcpy(__start_placed_text, copy, bytes);
		mprotect(__start_placed_text, bytes, PROT_READ | PROT_EXEC);
	} else {
		mprotect(copy, bytes, PROT_READ | PROT_EXEC);
		if (mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
			   __start_placed_text) == MAP_FAILED)
			return 1;
	}
	run_placed(placed_outer, end);
	return 0;
}

NOINLINE void called_back(void)
{
	burn();
	NO_TAIL_CALL();
}

typedef void (*generated_code)(void (*callback)(void));

NOINLINE void call_generated(generated_code code, double end)
{
	while (now_seconds() < end)
		code(called_back);
}

static int run_between(double end)
{
	/* push rbp; mov rbp, rsp; call rdi; pop rbp; ret */
	static const unsigned char kCode[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
	unsigned char *at = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return 1;
	memcpy(at, kCode, sizeof(kCode));
	call_generated((generated_code)at, end);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	double end = now_seconds() + argument_seconds(argc, argv, 2, 3);

	if (argc > 3 && strcmp(mode, "memfd-exec") == 0)
		return run_memfd_exec(argv + 3);
	if (argc > 3 && strcmp(mode, "plugin") == 0)
		return run_plugin(argv[3], end);
	if (argc > 3 && strcmp(mode, "memfd-plugin") == 0)
		return run_memfd_plugin(argv[3], end);
	if (argc > 4 && strcmp(mode, "enter") == 0)
		return run_enter(argv[3], argv[4], end);
	if (strcmp(mode, "leaderless") == 0)
		return run_leaderless(end);
	if (strcmp(mode, "twice") == 0)
		return run_twice(end);
	if (strcmp(mode, "moved-text") == 0)
		return run_moved_text(end, 0);
	if (strcmp(mode, "written-text") == 0)
		return run_moved_text(end, 1);
	if (strcmp(mode, "between") == 0)
		return run_between(end);
	fprintf(stderr, "usage: code_places MODE SECONDS [FILE [ARGUMENT]...]\n");
	return 2;
}
