/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What tells two processes with the same pid apart. start_boot_ns is CLOCK_BOOTTIME. */
#ifndef VESTA_ABI_TASK_IDENTITY_H
#define VESTA_ABI_TASK_IDENTITY_H

#include <linux/types.h>

struct abi_task_identity {
	__u64 start_boot_ns;
	__u32 tgid;
	__u32 exec_id; /* task_struct.self_exec_id */
};

/* Why ticks of a process are excluded although it was chosen. */
enum abi_unwanted_reason {
	ABI_UNWANTED_OPTED_OUT = 1, /* it says so itself */
	ABI_UNWANTED_BY_RULE = 2,   /* the agent's user says so */
};

/* Of that incarnation of the process, and of no later one. */
struct abi_unwanted {
	__u64 start_boot_ns;
	__u32 exec_id;
	__u32 reason; /* abi_unwanted_reason */
};

#endif
