/* Stackful coroutines switched by hand-written assembly, as many libraries do it: the switch saves
 * the callee-saved registers and exchanges the stack pointer. The first frame of a coroutine has a
 * return address of zero. */
#include "truth.h"

static void *main_stack, *coroutine_stacks[2];
static char rooms[2][65536] __attribute__((aligned(16)));
static unsigned coroutine_rounds;

/* switch_stack(save_to, go_on_at) */
void switch_stack(void **save_to, void *go_on_at);
__asm__(".text\n"
	".globl switch_stack\n"
	".type switch_stack, @function\n"
	"switch_stack:\n"
	"  .cfi_startproc\n"
	"  push %rbp\n"
	"  .cfi_adjust_cfa_offset 8\n"
	"  push %rbx\n"
	"  .cfi_adjust_cfa_offset 8\n"
	"  push %r12\n"
	"  .cfi_adjust_cfa_offset 8\n"
	"  push %r13\n"
	"  .cfi_adjust_cfa_offset 8\n"
	"  push %r14\n"
	"  .cfi_adjust_cfa_offset 8\n"
	"  push %r15\n"
	"  .cfi_adjust_cfa_offset 8\n"
	"  mov %rsp, (%rdi)\n"
	"  mov %rsi, %rsp\n"
	"  pop %r15\n"
	"  .cfi_adjust_cfa_offset -8\n"
	"  pop %r14\n"
	"  .cfi_adjust_cfa_offset -8\n"
	"  pop %r13\n"
	"  .cfi_adjust_cfa_offset -8\n"
	"  pop %r12\n"
	"  .cfi_adjust_cfa_offset -8\n"
	"  pop %rbx\n"
	"  .cfi_adjust_cfa_offset -8\n"
	"  pop %rbp\n"
	"  .cfi_adjust_cfa_offset -8\n"
	"  ret\n"
	"  .cfi_endproc\n"
	".size switch_stack, .-switch_stack\n");

TRUTH_LEAF(hot_leaf)
TRUTH_STEP(hot_step, hot_leaf)
TRUTH_LEAF(cold_leaf)
TRUTH_STEP(cold_step, cold_leaf)
TRUTH_LEAF(main_leaf)
TRUTH_STEP(main_step, main_leaf)

TRUTH_FRAME void hot_coroutine(void)
{
	for (;;) {
		hot_step(coroutine_rounds);
		switch_stack(&coroutine_stacks[0], main_stack);
	}
}

TRUTH_FRAME void cold_coroutine(void)
{
	for (;;) {
		cold_step(coroutine_rounds);
		switch_stack(&coroutine_stacks[1], main_stack);
	}
}

static unsigned enter_hot(unsigned rounds)
{
	coroutine_rounds = rounds;
	switch_stack(&main_stack, coroutine_stacks[0]);
	return 0;
}

static unsigned enter_cold(unsigned rounds)
{
	coroutine_rounds = rounds;
	switch_stack(&main_stack, coroutine_stacks[1]);
	return 0;
}

static void *new_stack(char *room, size_t size, void (*entry)(void))
{
	void **top = (void **)(room + size);

	*--top = NULL; /* the entry's return address; where a call would have put it */
	*--top = (void *)entry;
	for (int i = 0; i < 6; i++)
		*--top = NULL;
	return top;
}

static struct truth_path paths[] = {
	{"hot_leaf;hot_step;hot_coroutine", enter_hot, 50, NULL, 0},
	{"cold_leaf;cold_step;cold_coroutine", enter_cold, 30, NULL, 0},
	{"main_leaf;main_step;main", main_step, 20, NULL, 0},
};

int main(int argc, char **argv)
{
	coroutine_stacks[0] = new_stack(rooms[0], sizeof(rooms[0]), hot_coroutine);
	coroutine_stacks[1] = new_stack(rooms[1], sizeof(rooms[1]), cold_coroutine);
	truth_spend(paths, 3, truth_seconds(argc, argv));
	truth_print(argv[0], paths, 3);
	return 0;
}
