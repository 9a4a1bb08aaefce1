/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a thread is while the kernel steps it over a probed instruction: it runs a copy of that in
 * the page "[uprobes]", for which no table has rules.
 */
#ifndef VESTA_BPF_COMPAT_UPROBE_STEP_H
#define VESTA_BPF_COMPAT_UPROBE_STEP_H

#include "bpf/compat/kernel_types.bpf.h"

enum {
	KERNEL_UPROBE_INSTRUCTION_BYTES = 16, /* at most; the copy is followed by nothing of it */
};

/* The same place in the program itself; any other address comes back as it is.
 * Source: xol_get_insn_slot() in kernel/events/uprobes.c. */
static __always_inline __u64 compat_unstepped_address(__u64 pc)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct uprobe_task *step;
	__u64 copy;

	if (!bpf_core_field_exists(task->utask))
		return pc;
	step = BPF_CORE_READ(task, utask);
	if (!step)
		return pc;
	copy = BPF_CORE_READ(step, xol_vaddr);
	if (copy == 0 || pc - copy > KERNEL_UPROBE_INSTRUCTION_BYTES)
		return pc;
	return BPF_CORE_READ(step, vaddr) + (pc - copy);
}

#endif
