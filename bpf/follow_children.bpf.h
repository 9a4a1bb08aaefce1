/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recording a command means its descendants too: a child of a chosen process is chosen before it
 * runs its first instruction, and leaves the list with its last thread. (The exit of a leader alone
 * says nothing: other threads may run on, and an exec by another thread replaces it.)
 */
#ifndef VESTA_BPF_FOLLOW_CHILDREN_H
#define VESTA_BPF_FOLLOW_CHILDREN_H

#include "bpf/maps.bpf.h"

/* Arguments of the tracepoint: the forking task, the new task. */
SEC("raw_tp/sched_process_fork")
int choose_child(struct bpf_raw_tracepoint_args *context)
{
	struct task_struct *parent = (struct task_struct *)context->args[0];
	struct task_struct *child = (struct task_struct *)context->args[1];
	__u32 parent_tgid = BPF_CORE_READ(parent, tgid);
	__u32 child_tgid = BPF_CORE_READ(child, tgid);
	struct abi_counter_page *page;
	__u32 zero = 0;
	__u8 chosen = 1;

	if (child_tgid == parent_tgid || !bpf_map_lookup_elem(&chosen_processes, &parent_tgid))
		return 0;
	if (bpf_map_update_elem(&chosen_processes, &child_tgid, &chosen, BPF_ANY) != 0) {
		page = bpf_map_lookup_elem(&counters, &zero);
		if (page)
			count(page, ABI_COUNTER_children_not_followed, 1);
	}
	return 0;
}

/* Argument of the tracepoint: the exiting task, which is no longer among the live ones. */
SEC("raw_tp/sched_process_exit")
int forget_exited(struct bpf_raw_tracepoint_args *context)
{
	struct task_struct *task = (struct task_struct *)context->args[0];
	__u32 tgid;

	if (BPF_CORE_READ(task, signal, live.counter) != 0)
		return 0;
	tgid = BPF_CORE_READ(task, tgid);
	bpf_map_delete_elem(&chosen_processes, &tgid);
	return 0;
}

#endif
