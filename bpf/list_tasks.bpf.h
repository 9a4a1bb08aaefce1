/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tells the agent what /proc does not: the exact start time and the exec count of every process.
 * Output of the iterator: one abi_task_identity per process.
 */
#ifndef VESTA_BPF_LIST_TASKS_H
#define VESTA_BPF_LIST_TASKS_H

#include "bpf/maps.bpf.h"

#include "abi/task_identity.h"

struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
} __attribute__((preserve_access_index));
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} __attribute__((preserve_access_index));

SEC("iter/task")
int list_tasks(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct abi_task_identity identity = {};

	if (!task || task->pid != task->tgid)
		return 0;
	identity.start_boot_ns = task->start_boottime;
	identity.tgid = task->tgid;
	identity.exec_id = task->self_exec_id;
	bpf_seq_write(context->meta->seq, &identity, sizeof(identity));
	return 0;
}

#endif
