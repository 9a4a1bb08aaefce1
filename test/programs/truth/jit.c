/* Generated code between native frames: it keeps a frame pointer, has no unwind table and no name,
 * and calls back. TRUTH_JIT_FILE: the code lies in a deleted memory file instead of anonymous
 * memory. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "truth.h"

static const unsigned char calling_code[] = {
	0x55,		  /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
	0xff, 0xd6,	  /* call *%rsi */
	0x5d,		  /* pop %rbp */
	0xc3,		  /* ret */
};

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

typedef unsigned (*generated)(unsigned rounds, unsigned (*callback)(unsigned));
static generated calling, burning;

TRUTH_LEAF(called_back_leaf)
TRUTH_STEP(called_back, called_back_leaf)

TRUTH_FRAME unsigned through_generated(unsigned rounds)
{
	unsigned value = calling(rounds, called_back);

	TRUTH_KEEP(value);
	return value + 1;
}

TRUTH_STEP(through_outer, through_generated)

TRUTH_FRAME unsigned twice_inner(unsigned rounds)
{
	unsigned value = calling(rounds, called_back);

	TRUTH_KEEP(value);
	return value + 1;
}

TRUTH_FRAME unsigned twice_generated(unsigned rounds)
{
	unsigned value = calling(rounds, twice_inner);

	TRUTH_KEEP(value);
	return value + 1;
}

TRUTH_FRAME unsigned into_generated(unsigned rounds)
{
	unsigned value = burning(rounds, NULL);

	TRUTH_KEEP(value);
	return value + 1;
}

TRUTH_STEP(into_outer, into_generated)

static struct truth_path paths[] = {
	{"called_back_leaf;called_back;?;through_generated;through_outer;main", through_outer, 40,
	 NULL, 0},
	{"called_back_leaf;called_back;?;twice_inner;?;twice_generated;main", twice_generated, 20,
	 NULL, 0},
	{"?;into_generated;into_outer;main", into_outer, 40, NULL, 0},
};

static unsigned char *code_page(void)
{
#ifdef TRUTH_JIT_FILE
	int file = memfd_create("generated", 0);
	unsigned char *page;

	if (file < 0 || ftruncate(file, 8192) != 0)
		exit(1);
	page = (unsigned char *)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
#else
	unsigned char *page = (unsigned char *)mmap(NULL, 8192, PROT_READ | PROT_WRITE,
						    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#endif
	if (page == MAP_FAILED)
		exit(1);
	return page;
}

int main(int argc, char **argv)
{
	unsigned char *page = code_page();

	memcpy(page + 256, calling_code, sizeof(calling_code));
	memcpy(page + 1024, burning_code, sizeof(burning_code));
	if (mprotect(page, 8192, PROT_READ | PROT_EXEC) != 0)
		return 1;
	calling = (generated)(uintptr_t)(page + 256);
	burning = (generated)(uintptr_t)(page + 1024);
	truth_spend(paths, 3, truth_seconds(argc, argv));
	truth_print(argv[0], paths, 3);
	return 0;
}
