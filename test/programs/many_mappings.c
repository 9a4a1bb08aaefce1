/*
 * Runs its own code in many places: many_mappings [COUNT] [SECONDS] maps the program's text COUNT
 * times more, and calls mapped_work in one copy after the other. Each is a mapping of its own, and
 * each stack is whole: the text has its unwind tables wherever it lies. Says how many there were.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#include "spin.h"

struct text {
	uintptr_t start; /* where it lies now */
	size_t offset, size;
};

NOINLINE void mapped_work(void)
{
	burn();
}

static int find_text(struct dl_phdr_info *info, size_t size, void *found)
{
	struct text *text = found;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		text->start = info->dlpi_addr + segment->p_vaddr;
		text->offset = segment->p_offset;
		text->size = segment->p_filesz;
	}
	return 1; /* the first object is the program */
}

NOINLINE void call_copies(void (**copies)(void), long count, double end)
{
	/* Far from each other, so that few samples have seen many mappings. */
	for (long i = 0; now_seconds() < end; i += 7919)
		copies[i % count]();
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 2000;
	double end = now_seconds() + argument_seconds(argc, argv, 2, 3);
	void (**copies)(void) = calloc((size_t)count, sizeof(*copies));
	int fd = open("/proc/self/exe", O_RDONLY);
	struct text text = {0, 0, 0};

	dl_iterate_phdr(find_text, &text);
	if (fd < 0 || text.size == 0 || copies == NULL)
		return 1;
	for (long i = 0; i < count; i++) {
		char *copy = mmap(NULL, text.size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
				  (off_t)text.offset);

		if (copy == MAP_FAILED) {
			perror("mmap");
			return 1;
		}
		*(void **)&copies[i] = copy + ((uintptr_t)mapped_work - text.start);
	}
	printf("%ld\n", count);
	fflush(stdout);
	call_copies(copies, count, end);
	free(copies);
	return 0;
}
