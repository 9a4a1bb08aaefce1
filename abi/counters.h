/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The kernel's page of the book: one counter for each way a sample can go.
 * Identity, asserted by tests: received == sum(excluded) + kept + sum(dropped).
 * X(name, kind, meaning); kinds: RECEIVED, EXCLUDED, KEPT, DROPPED, and DETAIL, which is outside of
 * the identity and explains a kept sample.
 */
#ifndef VESTA_ABI_COUNTERS_H
#define VESTA_ABI_COUNTERS_H

#include <linux/types.h>

#define ABI_COUNTERS(X)                                                                            \
	X(received, RECEIVED, "samples seen by the kernel program")                                \
	X(excluded_idle, EXCLUDED, "the idle task")                                                \
	X(excluded_filter, EXCLUDED, "not one of the chosen processes")                            \
	X(excluded_opted_out, EXCLUDED, "the process does not want to be sampled (VESTA_PROFILE=off)") \
	X(excluded_by_rule, EXCLUDED, "the process is one of those that --exclude names")          \
	X(kept, KEPT, "samples sent to the agent")                                                 \
	X(dropped_ring_full, DROPPED, "the ring to the agent was full: raise --ring-size, or lower --frequency") \
	X(dropped_nested, DROPPED, "the sample interrupted another one on the same CPU")           \
	X(fallback_frame_pointer, DETAIL, "frames whose caller was found by the frame pointer")    \
	X(signal_frames, DETAIL, "signal frames crossed")                                          \
	X(borrowed_mappings, DETAIL, "samples of a fork that used its parent's mappings")          \
	X(children_not_followed, DETAIL, "forks of chosen processes that found no room in the map")  \
	X(stack_copies, DETAIL, "samples whose walk the agent had to finish")                      \
	X(stack_copies_cut_short, DETAIL, "of these and others, cut or left out: the ring was filling") \
	X(rule_copies, DETAIL, "of these, walks that met a rule which needs all registers")        \
	X(wakeups, DETAIL, "times the agent was woken because the ring was half full")             \
	X(program_time_ns, DETAIL, "time that the kernel program took for the samples it did not exclude")

enum abi_counter {
#define ABI_COUNTER_ENUM(name, kind, meaning) ABI_COUNTER_##name,
	ABI_COUNTERS(ABI_COUNTER_ENUM)
#undef ABI_COUNTER_ENUM
	ABI_COUNTER_COUNT,
};

struct abi_counter_page {
	__u64 value[ABI_COUNTER_COUNT];
};

#endif
