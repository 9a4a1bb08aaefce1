/* Frames in the middle of a stack whose frame address counts from rbx, or is an expression over r12,
 * below functions that use both registers for something else. Usage: cfa_by_register SECONDS */
#include "../spin.h"

typedef void callback(double seconds);
/* Each calls the function with the seconds. */
extern void call_by_rbx(callback *function, double seconds);
extern void call_by_expression(callback *function, double seconds);

__asm__(
    ".text\n"
    ".globl call_by_rbx\n"
    ".type call_by_rbx, @function\n"
    "call_by_rbx:\n"
    ".cfi_startproc\n"
    "  push %rbx\n"
    "  .cfi_def_cfa_offset 16\n"
    "  .cfi_offset rbx, -16\n"
    "  mov %rsp, %rbx\n"
    "  .cfi_def_cfa rbx, 16\n"
    "  sub $1040, %rsp\n"
    "  and $-64, %rsp\n"
    "  call *%rdi\n"
    "  mov %rbx, %rsp\n"
    "  .cfi_def_cfa rsp, 16\n"
    "  pop %rbx\n"
    "  .cfi_def_cfa_offset 8\n"
    "  ret\n"
    ".cfi_endproc\n"
    ".size call_by_rbx, . - call_by_rbx\n"
    /* r12 points to a word that holds an eighth of the frame address. */
    ".globl call_by_expression\n"
    ".type call_by_expression, @function\n"
    "call_by_expression:\n"
    ".cfi_startproc\n"
    "  push %r12\n"
    "  .cfi_def_cfa_offset 16\n"
    "  .cfi_offset r12, -16\n"
    "  lea 16(%rsp), %rax\n"
    "  shr $3, %rax\n"
    "  push %rax\n"
    "  .cfi_def_cfa_offset 24\n"
    "  mov %rsp, %r12\n"
    /* DW_CFA_def_cfa_expression, 5 bytes: breg12 0, deref, lit3, shl */
    "  .cfi_escape 0x0f, 5, 0x7c, 0, 0x06, 0x33, 0x24\n"
    "  sub $512, %rsp\n"
    "  and $-64, %rsp\n"
    "  call *%rdi\n"
    "  mov %r12, %rsp\n"
    "  .cfi_def_cfa rsp, 24\n"
    "  pop %rax\n"
    "  .cfi_def_cfa_offset 16\n"
    "  pop %r12\n"
    "  .cfi_def_cfa_offset 8\n"
    "  ret\n"
    ".cfi_endproc\n"
    ".size call_by_expression, . - call_by_expression\n");

/* Callers' rbx and r12 are then to be found on the stack only. */
#define USE_SAVED_REGISTERS() \
  __asm__ volatile("xor %%ebx, %%ebx\n xor %%r12d, %%r12d\n xor %%ebp, %%ebp" ::: "rbx", "r12", "rbp")

static NOINLINE void leaf_work(double seconds) {
  USE_SAVED_REGISTERS();
  double end = now_seconds() + seconds;
  BURN_UNTIL(end);
  USE_SAVED_REGISTERS();
}

static NOINLINE void middle_work(double seconds) {
  USE_SAVED_REGISTERS();
  call_by_expression(leaf_work, seconds);
  USE_SAVED_REGISTERS();
}

int main(int argc, char **argv) {
  call_by_rbx(middle_work, argument_seconds(argc, argv, 1, 2));
  return 0;
}
