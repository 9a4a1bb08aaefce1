// SPDX-License-Identifier: GPL-2.0-only
// The agent's one BPF object: programs that share its maps, each in a file of its own.
#include "bpf/list_tasks.bpf.h"
#include "bpf/follow_children.bpf.h"
#include "bpf/on_cpu.bpf.h"

char LICENSE[] SEC("license") = "GPL";
