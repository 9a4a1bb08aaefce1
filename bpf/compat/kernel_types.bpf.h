/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few kernel types that our programs touch, written by hand and relocated by CO-RE against the
 * running kernel's BTF: only the named fields must exist, in any order and at any offset. This is
 * instead of a generated vmlinux.h (3 MB, one kernel's view); see docs/decisions/0003.
 */
#ifndef VESTA_BPF_COMPAT_KERNEL_TYPES_H
#define VESTA_BPF_COMPAT_KERNEL_TYPES_H

#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live; /* threads of the process that have not exited */
};

struct mm_struct {
	unsigned long end_code; /* execve sets it last of all, shortly before the registers */
};

struct uprobe_task {
	unsigned long vaddr; /* of the probed instruction */
	unsigned long xol_vaddr; /* of its copy, while that is stepped */
};

struct task_struct {
	void *stack;
	struct mm_struct *mm; /* NULL once exit has let it go */
	unsigned int flags;
	int pid;
	int tgid;
	__u32 self_exec_id;
	/* self_exec_id of the parent when it forked this task */
	__u32 parent_exec_id;
	__u64 start_boottime;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	struct uprobe_task *utask; /* NULL until a probe was met */
};

#pragma clang attribute pop

/* User registers as the kernel saves them on entry: stable since they are also the layout that
 * ptrace gives. Read as a whole, so without relocations. */
#ifdef __TARGET_ARCH_arm64
struct saved_registers { /* struct user_pt_regs, the start of struct pt_regs */
	__u64 x[31], sp, pc, pstate;
};
#else
struct saved_registers { /* struct pt_regs */
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	__u64 orig_ax, ip, cs, flags, sp, ss;
};
#endif

enum {
	KERNEL_PF_KTHREAD = 0x00200000,
};

/* The context of a perf_event program: starts with the interrupted registers. User registers are
 * read elsewhere, see user_registers.bpf.h. */
struct bpf_perf_event_data;

#endif
