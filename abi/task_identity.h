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

#endif
