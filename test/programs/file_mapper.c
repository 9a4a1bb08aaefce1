/*
 * Maps files executable, whatever they hold: file_mapper SECONDS FILE... A file whose second page
 * begins with the loop below (dec %rdi; jnz; ret) is run there, so that samples fall into it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spin.h"

static const unsigned char loop_code[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};
enum { PAGE = 4096, FILES_MAX = 256 };

NOINLINE void call_mapped(void (*code)(unsigned long))
{
	code(300000);
	NO_TAIL_CALL();
}

static void *map_executable(const char *path)
{
	struct stat status;
	char *start;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || fstat(fd, &status) != 0 || status.st_size == 0) {
		perror(path);
		exit(2);
	}
	start = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	if (start == MAP_FAILED) {
		perror(path);
		exit(2);
	}
	if ((size_t)status.st_size < PAGE + sizeof(loop_code) ||
	    memcmp(start + PAGE, loop_code, sizeof(loop_code)) != 0)
		return NULL;
	return start + PAGE;
}

int main(int argc, char **argv)
{
	double end = now_seconds() + argument_seconds(argc, argv, 1, 3);
	void (*code[FILES_MAX])(unsigned long);
	int count = 0, calls = 0;

	for (int i = 2; i < argc && count < FILES_MAX; i++) {
		void *start = map_executable(argv[i]);

		if (start)
			*(void **)&code[count++] = start;
	}
	do {
		burn();
		for (int i = 0; i < count; i++, calls++)
			call_mapped(code[i]);
	} while (now_seconds() < end);
	printf("%d %d\n", argc - 2, count);
	return calls > 0 || count == 0 ? 0 : 1;
}
