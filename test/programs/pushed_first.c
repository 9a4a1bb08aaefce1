/*
 * Hand-written assembly without call frame information: pushed_first [SECONDS]. As BLAKE3's, it
 * pushes other registers before the frame pointer and aligns the stack, so that no return address
 * lies beside the frame pointer.
 */
#include "spin.h"

void pushed_first(long rounds);
__asm__(".text\n"
	".globl pushed_first\n"
	".type pushed_first, @function\n"
	"pushed_first:\n"
	"	push %r15\n"
	"	push %r14\n"
	"	push %rbx\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	sub $640, %rsp\n"
	"	and $-64, %rsp\n"
	"1:	mov %rdi, 8(%rsp)\n"
	"	imul $3, %rdi, %rbx\n"
	"	dec %rdi\n"
	"	jnz 1b\n"
	"	mov %rbp, %rsp\n"
	"	pop %rbp\n"
	"	pop %rbx\n"
	"	pop %r14\n"
	"	pop %r15\n"
	"	ret\n"
	".size pushed_first, .-pushed_first\n");

NOINLINE void calls_assembly(double end)
{
	while (now_seconds() < end)
		pushed_first(1000000);
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	calls_assembly(now_seconds() + argument_seconds(argc, argv, 1, 1e9));
	return 0;
}
