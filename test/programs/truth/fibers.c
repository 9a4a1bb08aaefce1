/* Two fibers on stacks of their own, switched by the C library's swapcontext(). */
#include <ucontext.h>

#include "truth.h"

static ucontext_t main_context, fiber_contexts[2];
static char stacks[2][65536];
static unsigned fiber_rounds;

TRUTH_LEAF(hot_fiber_leaf)
TRUTH_STEP(hot_fiber_step, hot_fiber_leaf)
TRUTH_LEAF(cold_fiber_leaf)
TRUTH_STEP(cold_fiber_step, cold_fiber_leaf)
TRUTH_LEAF(main_leaf)
TRUTH_STEP(main_step, main_leaf)

TRUTH_FRAME void hot_fiber(void)
{
	for (;;) {
		hot_fiber_step(fiber_rounds);
		swapcontext(&fiber_contexts[0], &main_context);
	}
}

TRUTH_FRAME void cold_fiber(void)
{
	for (;;) {
		cold_fiber_step(fiber_rounds);
		swapcontext(&fiber_contexts[1], &main_context);
	}
}

static unsigned enter_hot(unsigned rounds)
{
	fiber_rounds = rounds;
	swapcontext(&main_context, &fiber_contexts[0]);
	return 0;
}

static unsigned enter_cold(unsigned rounds)
{
	fiber_rounds = rounds;
	swapcontext(&main_context, &fiber_contexts[1]);
	return 0;
}

/* A fiber has no caller: its stack ends where the C library starts it. */
static struct truth_path paths[] = {
	{"hot_fiber_leaf;hot_fiber_step;hot_fiber", enter_hot, 50, NULL, 0},
	{"cold_fiber_leaf;cold_fiber_step;cold_fiber", enter_cold, 30, NULL, 0},
	{"main_leaf;main_step;main", main_step, 20, NULL, 0},
};

int main(int argc, char **argv)
{
	for (int i = 0; i < 2; i++) {
		getcontext(&fiber_contexts[i]);
		fiber_contexts[i].uc_stack.ss_sp = stacks[i];
		fiber_contexts[i].uc_stack.ss_size = sizeof(stacks[i]);
		fiber_contexts[i].uc_link = &main_context;
	}
	makecontext(&fiber_contexts[0], hot_fiber, 0);
	makecontext(&fiber_contexts[1], cold_fiber, 0);
	truth_spend(paths, 3, truth_seconds(argc, argv));
	truth_print(argv[0], paths, 3);
	return 0;
}
