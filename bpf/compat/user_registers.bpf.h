/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the current task's user registers lie. They are at the top of its kernel stack whether the
 * sample hit user or kernel mode (interrupts from user mode save them there too), so one way serves
 * both.
 */
#ifndef VESTA_BPF_COMPAT_USER_REGISTERS_H
#define VESTA_BPF_COMPAT_USER_REGISTERS_H

#include "bpf/compat/kernel_types.bpf.h"

enum {
	/* x86-64: 16 KiB kernel stacks on every configuration without KASAN. */
	KERNEL_THREAD_SIZE = 16384,
};

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
		address = BPF_CORE_READ(task, stack) + KERNEL_THREAD_SIZE -
			  sizeof(struct saved_registers);
	}
	return bpf_probe_read_kernel(registers, sizeof(*registers), address);
}

#endif
