/* SPDX-License-Identifier: GPL-2.0-only */
/* The maps and settings that our kernel programs share with the agent. */
#ifndef VESTA_BPF_MAPS_H
#define VESTA_BPF_MAPS_H

#include "bpf/compat/kernel_types.bpf.h"

#include "abi/counters.h"
#include "abi/sample.h"
#include "abi/task_identity.h"
#include "abi/unwind.h"

/* Sizes are set by the agent before load. */
enum { MAP_SIZE_SET_BY_AGENT = 1 };

/* Samples on their way to the agent. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} samples SEC(".maps");

/* The kernel's page of the book. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct abi_counter_page);
} counters SEC(".maps");

/* tgid -> what the walker needs to know of the process. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct abi_process);
} processes SEC(".maps");

/* Extents of mappings, written by the agent through mmap: new extent first, then the process. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MAP_SIZE_SET_BY_AGENT);
	__type(key, __u32);
	__type(value, struct abi_mapping);
} mappings SEC(".maps");

/* slot -> unwind table of one image, as blocks of abi/unwind.h. */
struct table_blocks {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, ABI_TABLE_BLOCK_BYTES);
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, MAP_SIZE_SET_BY_AGENT);
	__type(key, __u32);
	__array(values, struct table_blocks);
} tables SEC(".maps");

/* Chosen processes; used when filter_by_process is set. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u8);
} chosen_processes SEC(".maps");

/* tgid -> a process whose ticks are excluded. An entry holds for one incarnation only: after an exec, or
 * when the pid belongs to another process, ticks go to the agent again, which then looks. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct abi_unwanted);
} unwanted_processes SEC(".maps");

const volatile __u8 filter_by_process = 0;
/* A full ring wakes the agent; below half it polls by time. */
const volatile __u32 ring_bytes = 0;
/* Pages of a stack that are copied at most; a small ring has no room for many. */
const volatile __u32 stack_copy_pages = ABI_STACK_COPY_PAGES_MAX;

/* Written by the agent while the programs run. */
/* Ticks that one sample stands for, in 1/65536: more than one while they come slower than asked. */
volatile __u64 tick_weight_q16 = 1 << 16;
/* Not while the agent saves its own time. */
volatile __u32 stack_copies_allowed = 1;
/* Entries of unwanted_processes: without one, no tick looks. */
volatile __u32 unwanted_count = 0;

static __always_inline void count(struct abi_counter_page *page, enum abi_counter counter,
				  __u64 amount)
{
	page->value[counter] += amount;
}

#endif
