/* Hand-written functions inside a normal program: with CFI, without it but with a frame pointer,
 * and with neither (TRUTH_NEITHER), where no table tells the caller and rbp holds a number, or what
 * looks like a frame pointer but is another function's (TRUTH_OTHER_RBP). */
#include "truth.h"

typedef unsigned (*callee)(unsigned rounds);

/* Each calls `callee` with `rounds`. */
unsigned with_cfi(unsigned rounds, callee);
unsigned with_rbp(unsigned rounds, callee);
unsigned with_neither(unsigned rounds, callee);
/* Each counts down by itself. */
unsigned spin_with_cfi(unsigned rounds);
unsigned spin_with_rbp(unsigned rounds);
unsigned spin_with_neither(unsigned rounds);

#define FUNCTION(name, body)                                                                     \
	".globl " name "\n.type " name ", @function\n" name ":\n" body ".size " name ", .-" name \
	"\n"
#define SPIN "1:\n  sub $1, %edi\n  jnz 1b\n"

__asm__(".text\n" FUNCTION("with_cfi", ".cfi_startproc\n"
				       "  push %rbx\n"
				       "  .cfi_adjust_cfa_offset 8\n"
				       "  sub $48, %rsp\n"
				       "  .cfi_adjust_cfa_offset 48\n"
				       "  call *%rsi\n"
				       "  add $48, %rsp\n"
				       "  .cfi_adjust_cfa_offset -48\n"
				       "  pop %rbx\n"
				       "  .cfi_adjust_cfa_offset -8\n"
				       "  ret\n"
				       ".cfi_endproc\n")
		FUNCTION("spin_with_cfi",
			 ".cfi_startproc\n"
			 "  sub $40, %rsp\n"
			 "  .cfi_adjust_cfa_offset 40\n" SPIN "  add $40, %rsp\n"
			 "  .cfi_adjust_cfa_offset -40\n"
			 "  ret\n"
			 ".cfi_endproc\n") FUNCTION("with_rbp", "  push %rbp\n"
								"  mov %rsp, %rbp\n"
								"  sub $48, %rsp\n"
								"  call *%rsi\n"
								"  leave\n"
								"  ret\n")
			FUNCTION("spin_with_rbp", "  push %rbp\n"
						  "  mov %rsp, %rbp\n"
						  "  sub $48, %rsp\n" SPIN "  leave\n"
						  "  ret\n")
				FUNCTION("with_neither", "  push %rbx\n"
							 "  sub $48, %rsp\n"
							 "  call *%rsi\n"
							 "  add $48, %rsp\n"
							 "  pop %rbx\n"
							 "  ret\n")
					FUNCTION("spin_with_neither",
						 "  sub $40, %rsp\n" SPIN "  add $40, %rsp\n"
						 "  ret\n"));

TRUTH_LEAF(below_cfi_leaf)
TRUTH_STEP(below_cfi, below_cfi_leaf)
TRUTH_LEAF(below_rbp_leaf)
TRUTH_STEP(below_rbp, below_rbp_leaf)
TRUTH_LEAF(below_odd_leaf)
TRUTH_STEP(below_odd, below_odd_leaf)
TRUTH_LEAF(below_stack_leaf)
TRUTH_STEP(below_stack, below_stack_leaf)
TRUTH_LEAF(below_framed_leaf)
TRUTH_STEP(below_framed, below_framed_leaf)

#define THROUGH(name, function, callee)                    \
	TRUTH_FRAME unsigned name(unsigned rounds)         \
	{                                                  \
		unsigned value = function(rounds, callee); \
                                                           \
		TRUTH_KEEP(value);                         \
		return value + 1;                          \
	}

#ifndef TRUTH_NEITHER

THROUGH(cfi_step, with_cfi, below_cfi)
THROUGH(rbp_step, with_rbp, below_rbp)
TRUTH_STEP(spin_cfi_step, spin_with_cfi)
TRUTH_STEP(spin_rbp_step, spin_with_rbp)

static struct truth_path paths[] = {
	{"below_cfi_leaf;below_cfi;with_cfi;cfi_step;main", cfi_step, 30, NULL, 0},
	{"below_rbp_leaf;below_rbp;with_rbp;rbp_step;main", rbp_step, 30, NULL, 0},
	{"spin_with_cfi;spin_cfi_step;main", spin_cfi_step, 20, NULL, 0},
	{"spin_with_rbp;spin_rbp_step;main", spin_rbp_step, 20, NULL, 0},
};

#else

/* The register that a frame pointer would be in holds what the caller left there. */
#define WITH_RBP(name, function, callee, value_of_rbp)                                             \
	TRUTH_FRAME unsigned name(unsigned rounds)                                                 \
	{                                                                                          \
		unsigned value = rounds;                                                           \
                                                                                                   \
		__asm__ volatile("push %%rbp\n"                                                    \
				 ".cfi_adjust_cfa_offset 8\n"                                      \
				 ".cfi_rel_offset rbp, 0\n"                                        \
				 "sub $8, %%rsp\n"                                                 \
				 ".cfi_adjust_cfa_offset 8\n" value_of_rbp "mov %1, %%edi\n"       \
				 "lea " callee "(%%rip), %%rsi\n"                                  \
				 "call " function "\n"                                             \
				 "add $8, %%rsp\n"                                                 \
				 ".cfi_adjust_cfa_offset -8\n"                                     \
				 "pop %%rbp\n"                                                     \
				 ".cfi_adjust_cfa_offset -8\n"                                     \
				 ".cfi_restore rbp\n"                                              \
				 : "=a"(value)                                                     \
				 : "r"(rounds)                                                     \
				 : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", \
				   "cc");                                                          \
		return value;                                                                      \
	}

#ifndef TRUTH_OTHER_RBP

WITH_RBP(odd_step, "with_neither", "below_odd", "mov $0x1235, %%ebp\n")
WITH_RBP(spin_odd_step, "spin_with_neither", "below_odd", "mov $0x1235, %%ebp\n")

static struct truth_path paths[] = {
	{"below_odd_leaf;below_odd;with_neither;!;odd_step;main", odd_step, 40, "no_rule", 0},
	{"spin_with_neither;!;spin_odd_step;main", spin_odd_step, 30, "no_rule", 0},
	{"below_cfi_leaf;below_cfi;main", below_cfi, 30, NULL, 0},
};

#else

WITH_RBP(stack_step, "with_neither", "below_stack", "lea 64(%%rsp), %%rbp\n")

/* Its frame pointer is right, but it is not that of what it calls: who takes it for that loses
 * this very frame. */
__attribute__((optimize("no-omit-frame-pointer"))) TRUTH_FRAME unsigned framed_step(unsigned rounds)
{
	unsigned value = with_neither(rounds, below_framed);

	TRUTH_KEEP(value);
	return value + 1;
}

TRUTH_STEP(framed_outer, framed_step)

static struct truth_path paths[] = {
	{"below_stack_leaf;below_stack;with_neither;!;stack_step;main", stack_step, 40, "no_rule",
	 0},
	{"below_framed_leaf;below_framed;with_neither;!;framed_step;framed_outer;main",
	 framed_outer, 60, "no_rule", 0},
};

#endif

#endif

TRUTH_MAIN(paths)
