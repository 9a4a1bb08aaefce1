/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What the kernel program sends to the agent: one record per kept sample, of variable length.
 *
 *   abi_sample                                   fixed part
 *   abi_frame   user[user_frame_count]           leaf first
 *   __u64       kernel[kernel_frame_count]       leaf first, raw kernel addresses
 *   abi_resume  resume                           only if stack_bytes is not 0
 *   __u8        stack[stack_bytes]               the user stack from resume.stack_address upwards
 *
 * The last two let the agent finish a walk that the kernel could not, because the process, a mapping
 * or a table was not known yet, or since a rule needs registers that the walker does not follow: it
 * keeps the first resume.frame_index user frames and walks on from there.
 *
 * Call order is kernel frames above user frames: leaf = kernel[0] when there is one, else user[0].
 * Clocks: time_mono_ns is CLOCK_MONOTONIC; process_start_boot_ns is CLOCK_BOOTTIME.
 * This header is compiled as BPF C, C and C++: fixed-width kernel types only, explicit padding.
 */
#ifndef VESTA_ABI_SAMPLE_H
#define VESTA_ABI_SAMPLE_H

#include <linux/types.h>

#include "abi/architecture.h"

enum {
	ABI_USER_FRAMES_MAX = 1024,  /* with bpf_loop */
	ABI_USER_FRAMES_BOUNDED = 128, /* kernels without bpf_loop */
	ABI_KERNEL_FRAMES_MAX = 127, /* kernel default of perf_event_max_stack */
	ABI_COMM_BYTES = 16,         /* TASK_COMM_LEN */
	ABI_STACK_COPY_PAGES_MAX = 12,
	/* Below the stack pointer, functions may keep what they need (x86-64 psABI), and rules point
	 * there: after an epilogue has popped a register, its place is still the one to read. */
	ABI_RED_ZONE_BYTES = 128,
	ABI_PAYLOAD_BYTES_MAX = 65536,
};

enum abi_record_kind {
	ABI_RECORD_SAMPLE = 1,
};

enum {
	ABI_SAMPLE_VERSION = 1,
};

enum abi_source {
	ABI_SOURCE_ON_CPU = 1,
};

/* How the address of a user frame is to be read. */
enum abi_frame_kind {
	ABI_FRAME_IMAGE = 1, /* address inside the image `image_id`, as its ELF file counts it */
	ABI_FRAME_PROCESS = 2, /* raw address in the process: its mapping was not known */
};

enum abi_frame_flags {
	/* The pc was interrupted here (leaf, signal trampoline, or the frame it interrupted): the
	 * address is exact.
	 * Without it the walker has already subtracted one from the return address. */
	ABI_FRAME_INTERRUPTED = 1,
	/* In no known mapping, and found by the frame pointer of code without a rule, which may have
	 * held anything: only the last frame of a walk that ended as ABI_STOP_NO_MAPPING. */
	ABI_FRAME_GUESSED = 2,
};

struct abi_frame {
	__u64 address;
	__u32 image_id;
	__u8 kind;  /* abi_frame_kind */
	__u8 flags; /* abi_frame_flags */
	__u8 reserved[2];
};

/* Why the user walk ended. X(name, is_complete, meaning) */
#define ABI_STOP_REASONS(X)                                                                          \
	X(NO_USER_STACK, 1, "kernel thread, or in the middle of execve or exit: no user memory")      \
	X(ROOT, 1, "reached a root by its rule: return address undefined, or a known root function") \
	X(ROOT_FRAME_POINTER, 1, "reached a frame whose frame pointer is zero")                      \
	X(DEPTH, 0, "more frames than the walker's limit")                                           \
	X(UNKNOWN_PROCESS, 0, "the process was not known yet (or has just called exec)")             \
	X(NO_MAPPING, 0, "the address lies in no executable mapping that we know")                   \
	X(NO_TABLE, 0, "no unwind table for the image and no frame pointer chain")                   \
	X(NO_RULE, 0, "the table has no rule for the address and no frame pointer chain")            \
	X(RULE_UNSUPPORTED, 0, "the rule needs registers or operations that the walker lacks")       \
	X(READ_FAULT, 0, "a user memory word could not be read (not resident, or a bad pointer)")    \
	X(SP_NOT_GROWING, 0, "the stack pointer did not move towards the root")                      \
	X(USER_32_BIT, 0, "a 32-bit process; only the leaf is kept")                                 \
	X(NO_REGISTERS, 0, "the user registers could not be read")                                   \
	X(INTERNAL, 0, "a table pointed outside of itself")

enum abi_stop_reason {
#define ABI_STOP_ENUM(name, is_complete, meaning) ABI_STOP_##name,
	ABI_STOP_REASONS(ABI_STOP_ENUM)
#undef ABI_STOP_ENUM
	ABI_STOP_COUNT,
};

struct abi_sample {
	__u16 kind;    /* abi_record_kind */
	__u16 version; /* ABI_SAMPLE_VERSION */
	__u32 size_bytes;
	__u64 cpu_sequence; /* counts attempts to send on this CPU: a gap is a loss */
	__u64 time_mono_ns;
	__u64 process_start_boot_ns; /* start of the thread group leader */
	__u32 tgid;
	__u32 tid;
	__u32 exec_id; /* task_struct.self_exec_id: changes with every execve */
	__u32 cpu;
	__u64 value;  /* in the source's unit; on-CPU: samples */
	__u64 weight; /* ticks of the rate that was asked for; 1 = they come at that rate */
	__u32 span_slot; /* 0 = none */
	__u16 user_frame_count;
	__u16 kernel_frame_count;
	__u8 source;      /* abi_source */
	__u8 stop_reason; /* abi_stop_reason */
	__u8 reserved[2];
	__u32 stack_bytes;
	char comm[ABI_COMM_BYTES]; /* thread name */
};

/* The frame where the walk is to be taken up again. */
struct abi_resume {
	__u64 pc;
	__u64 sp;
	__u64 fp;
	__u64 stack_address; /* of the first copied byte */
	__u32 interrupted; /* pc is exact and the registers are this frame's */
	__u32 frame_index; /* user frames before this one */
	__u64 registers[ABI_REGISTER_COUNT]; /* in DWARF order, the instruction pointer last */
};

#ifdef __cplusplus
#define ABI_ASSERT(condition, text) static_assert(condition, text)
#else
#define ABI_ASSERT(condition, text) _Static_assert(condition, text)
#endif
ABI_ASSERT(sizeof(struct abi_frame) == 16, "abi_frame");
ABI_ASSERT(sizeof(struct abi_resume) == 40 + 8 * ABI_REGISTER_COUNT, "abi_resume");
ABI_ASSERT(sizeof(struct abi_sample) == 96, "abi_sample");
ABI_ASSERT(__builtin_offsetof(struct abi_sample, comm) == 80, "abi_sample.comm");

#endif
