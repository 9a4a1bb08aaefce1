/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the current task's user registers lie, and what they say. They are at the top of its kernel
 * stack whether the sample hit user or kernel mode (interrupts from user mode save them there too),
 * so one way serves both.
 */
#ifndef VESTA_BPF_COMPAT_USER_REGISTERS_H
#define VESTA_BPF_COMPAT_USER_REGISTERS_H

#include "abi/architecture.h"
#include "bpf/compat/kernel_types.bpf.h"

enum {
	/* 16 KiB kernel stacks on every configuration without KASAN; arm64 with pages of 64 KiB has
	 * larger ones and needs bpf_task_pt_regs. */
	KERNEL_THREAD_SIZE = 16384,
};

#ifdef __TARGET_ARCH_arm64

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs { /* only its size is asked for */
	__u64 pstate;
};
#pragma clang attribute pop

enum {
	KERNEL_PSTATE_LEVEL_MASK = 0xf, /* 0 = user mode */
	KERNEL_PSTATE_32_BIT = 0x10,
};

static __always_inline __u64 compat_saved_bytes(void)
{
	return bpf_core_type_size(struct pt_regs);
}

static __always_inline int compat_is_user_mode(const struct saved_registers *registers)
{
	return (registers->pstate & KERNEL_PSTATE_LEVEL_MASK) == 0;
}

static __always_inline int compat_is_32_bit(const struct saved_registers *registers)
{
	return (registers->pstate & KERNEL_PSTATE_32_BIT) != 0;
}

static __always_inline int compat_interrupted_in_user_mode(void *context)
{
	const struct saved_registers *registers = context; /* first member of bpf_perf_event_data */

	return (*(const volatile __u64 *)&registers->pstate & KERNEL_PSTATE_LEVEL_MASK) == 0;
}

/* In DWARF order, the instruction pointer last. */
static __always_inline void compat_copy_registers(__u64 to[ABI_REGISTER_COUNT],
						  const struct saved_registers *from)
{
	__builtin_memcpy(to, from, ABI_REGISTER_COUNT * sizeof(__u64));
}

#else

enum {
	KERNEL_USER32_CS = 0x23,
};

static __always_inline __u64 compat_saved_bytes(void)
{
	return sizeof(struct saved_registers);
}

static __always_inline int compat_is_user_mode(const struct saved_registers *registers)
{
	return (registers->cs & 3) == 3;
}

static __always_inline int compat_is_32_bit(const struct saved_registers *registers)
{
	return (registers->cs & 0xffff) == KERNEL_USER32_CS;
}

/* A narrower read of cs is refused by the verifier of Linux 6.18. */
static __always_inline int compat_interrupted_in_user_mode(void *context)
{
	const struct saved_registers *registers = context; /* first member of bpf_perf_event_data */

	return (*(const volatile __u64 *)&registers->cs & 3) == 3;
}

/* In DWARF order, the instruction pointer last. */
static __always_inline void compat_copy_registers(__u64 to[ABI_REGISTER_COUNT],
						  const struct saved_registers *from)
{
	to[0] = from->ax;
	to[1] = from->dx;
	to[2] = from->cx;
	to[3] = from->bx;
	to[4] = from->si;
	to[5] = from->di;
	to[6] = from->bp;
	to[7] = from->sp;
	to[8] = from->r8;
	to[9] = from->r9;
	to[10] = from->r10;
	to[11] = from->r11;
	to[12] = from->r12;
	to[13] = from->r13;
	to[14] = from->r14;
	to[15] = from->r15;
	to[16] = from->ip;
}

#endif

/* Returns 0 and the registers, or a negative error. bpf_task_pt_regs exists since Linux 5.15
 * (commit dd6e10fbd9f); before, the address follows from the end of the stack. */
static __always_inline long compat_read_user_registers(struct saved_registers *registers)
{
	const void *address;

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)) {
		address = (const void *)bpf_task_pt_regs(
			(struct task_struct *)bpf_get_current_task_btf());
	} else {
		struct task_struct *task = (struct task_struct *)bpf_get_current_task();
		address = BPF_CORE_READ(task, stack) + KERNEL_THREAD_SIZE - compat_saved_bytes();
	}
	return bpf_probe_read_kernel(registers, sizeof(*registers), address);
}

#endif
