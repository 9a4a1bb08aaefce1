/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The on-CPU source: at each tick of a CPU's perf event, one sample of the thread that runs there.
 * Every way out bumps exactly one counter of abi/counters.h.
 */
#ifndef VESTA_BPF_ON_CPU_H
#define VESTA_BPF_ON_CPU_H

#include "bpf/maps.bpf.h"
#include "bpf/compat/uprobe_step.bpf.h"
#include "bpf/compat/user_registers.bpf.h"

/* What walk.bpf.h needs to reach memory. */
typedef void *walk_table_t;
struct walk_block;
static __always_inline long walk_read_user(void *target, __u32 size_bytes, __u64 address)
{
	return bpf_probe_read_user(target, size_bytes, (const void *)address);
}
static __always_inline const struct abi_mapping *walk_mapping(__u32 index)
{
	return bpf_map_lookup_elem(&mappings, &index);
}
static __always_inline walk_table_t walk_table(__u32 slot)
{
	return bpf_map_lookup_elem(&tables, &slot);
}
static __always_inline const struct walk_block *walk_table_block(walk_table_t table, __u32 block)
{
	return bpf_map_lookup_elem(table, &block);
}
#include "bpf/unwind/walk.bpf.h"

enum {
	PAGE_BYTES = 4096,
	RESUME_NEAR_BYTES = 2 * PAGE_BYTES,
	STACK_COPY_ABSENT_PAGES_MAX = 3,
	STACK_COPY_FEW_PAGES = 3,
	FRAMES_BYTES_MAX = ABI_USER_FRAMES_MAX * sizeof(struct abi_frame),
	KERNEL_BYTES_MAX = ABI_KERNEL_FRAMES_MAX * sizeof(__u64),
	WAKE_INTERVAL_NS = 20000000, /* 20 ms */
};

/* One sample under construction; too large for the BPF stack. */
struct scratch {
	struct walk_state walk;
	struct saved_registers saved;
	__s32 stop_reason;
	__u32 in_use;
	__u8 may_copy_stack;
	__u8 may_copy_for_rule; /* where a rule needs what the walker does not follow */
	__u8 reserved[2];
	__u32 weight_rest_q16; /* of the weights so far, less than one */
	__u64 sequence;
	__u64 woken_mono_ns; /* when this CPU last woke the agent for an unknown process */
	struct abi_sample sample;
	/* user frames, kernel addresses, resume, stack copy: each only as far as used */
	__u8 payload[ABI_PAYLOAD_BYTES_MAX];
};
/* One per CPU, by its number. Not a per-CPU array: its values may have 32 KiB at most. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAP_SIZE_SET_BY_AGENT);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline struct scratch *scratch_of_this_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&scratches, &cpu);
}

/* Takes one step of the walk; returns 1 when it has ended. */
static __always_inline int step_once(struct scratch *s, __u32 frames_max)
{
	__u32 index = s->walk.frame_count;
	int reason;

	if (index >= frames_max || index >= ABI_USER_FRAMES_MAX) {
		s->stop_reason = ABI_STOP_DEPTH;
		return 1;
	}
	reason = walk_step(&s->walk, (struct abi_frame *)(s->payload +
							  index * sizeof(struct abi_frame)));
	if (reason == WALK_CONTINUE)
		return 0;
	s->stop_reason = reason;
	return 1;
}

static long step_in_loop(__u32 iteration, void *context)
{
	struct scratch *s = scratch_of_this_cpu();

	return s ? step_once(s, ABI_USER_FRAMES_MAX) : 1;
}

/* Verified on its own, so that calling it in a loop costs the verifier nothing. Its argument only
 * keeps the signature one that old kernels accept. */
__attribute__((noinline)) int step_bounded(__u32 iteration)
{
	struct scratch *s = scratch_of_this_cpu();

	return s ? step_once(s, ABI_USER_FRAMES_BOUNDED) : 1;
}

static __always_inline void walk_user(struct scratch *s, int has_bpf_loop)
{
	s->stop_reason = ABI_STOP_DEPTH;
	if (has_bpf_loop) {
		/* One more than there is room for: the last call reports the depth. */
		bpf_loop(ABI_USER_FRAMES_MAX + 1, step_in_loop, (void *)0, 0);
	} else {
		int i;

		for (i = 0; i <= ABI_USER_FRAMES_BOUNDED; i++) {
			if (step_bounded(i))
				break;
		}
	}
}

/* The process as the agent described it, if that still is this process. */
static __always_inline struct abi_process *known_process(__u32 tgid, __u32 exec_id,
							 __u64 start_boot_ns)
{
	struct abi_process *process = bpf_map_lookup_elem(&processes, &tgid);

	if (!process || process->exec_id != exec_id)
		return (void *)0;
	if (start_boot_ns != 0 && process->start_boot_ns != 0 &&
	    process->start_boot_ns != start_boot_ns)
		return (void *)0;
	return process;
}

struct task_facts {
	__u64 start_boot_ns;
	__u32 exec_id;
	__u32 flags;
};

static __always_inline void read_task(struct task_facts *facts)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)) {
		struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();

		facts->flags = task->flags;
		facts->exec_id = task->self_exec_id;
		facts->start_boot_ns = task->group_leader->start_boottime;
	} else {
		struct task_struct *task = (struct task_struct *)bpf_get_current_task();

		facts->flags = BPF_CORE_READ(task, flags);
		facts->exec_id = BPF_CORE_READ(task, self_exec_id);
		facts->start_boot_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	}
}

/* Counts the tick where it is excluded. */
static __always_inline int is_unwanted(__u32 tgid, const struct task_facts *facts,
				       struct abi_counter_page *page)
{
	struct abi_unwanted *unwanted;

	if (unwanted_count == 0)
		return 0;
	unwanted = bpf_map_lookup_elem(&unwanted_processes, &tgid);
	if (!unwanted || unwanted->exec_id != facts->exec_id ||
	    unwanted->start_boot_ns != facts->start_boot_ns)
		return 0;
	if (unwanted->reason == ABI_UNWANTED_BY_RULE)
		count(page, ABI_COUNTER_excluded_by_rule, 1);
	else
		count(page, ABI_COUNTER_excluded_opted_out, 1);
	return 1;
}

/* The parent of a process that was forked and has not called exec since: until then both have the
 * same images at the same places. 0 after the exec. */
static __always_inline __u32 parent_with_same_images(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	if (BPF_CORE_READ(leader, parent_exec_id) != BPF_CORE_READ(leader, self_exec_id))
		return 0;
	return BPF_CORE_READ(leader, real_parent, tgid);
}

/* False after exit has let the memory go, and while execve has replaced it but not yet the registers,
 * which still speak of the old program. */
static __always_inline int has_user_memory(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	/* No memory: reading through the null pointer gives 0 as well. */
	return BPF_CORE_READ(task, mm, end_code) != 0;
}

/* Fills user frames and the stop reason. */
static __always_inline void take_user_stack(struct scratch *s, const struct task_facts *facts,
					    __u32 tgid, struct abi_counter_page *page,
					    int in_kernel_mode, int has_bpf_loop)
{
	struct abi_process *process;

	s->may_copy_stack = 0;
	s->may_copy_for_rule = 0;
	s->walk.frame_count = 0;
	s->walk.interrupted_frame = 0;
	s->walk.fallback_count = 0;
	s->walk.signal_count = 0;
	if (facts->flags & KERNEL_PF_KTHREAD) {
		s->stop_reason = ABI_STOP_NO_USER_STACK;
		return;
	}
	if (compat_read_user_registers(&s->saved) != 0) {
		s->stop_reason = ABI_STOP_NO_REGISTERS;
		return;
	}
	if (in_kernel_mode && !has_user_memory()) {
		s->stop_reason = ABI_STOP_NO_USER_STACK;
		return;
	}
	if (!compat_is_user_mode(&s->saved)) { /* an I/O worker of the kernel: it never was in user mode */
		s->stop_reason = ABI_STOP_NO_USER_STACK;
		return;
	}
	compat_copy_registers(s->walk.registers.value, &s->saved);
	s->walk.registers.value[WALK_REG_PC] =
		compat_unstepped_address(s->walk.registers.value[WALK_REG_PC]);
	process = known_process(tgid, facts->exec_id, facts->start_boot_ns);
	if (!process) {
		process = known_process(parent_with_same_images(), facts->exec_id, 0);
		if (process)
			count(page, ABI_COUNTER_borrowed_mappings, 1);
	}
	if (!process || compat_is_32_bit(&s->saved)) {
		struct abi_frame *leaf = (struct abi_frame *)s->payload;

		leaf->address = s->walk.registers.value[WALK_REG_PC];
		leaf->image_id = 0;
		leaf->kind = ABI_FRAME_PROCESS;
		leaf->flags = ABI_FRAME_INTERRUPTED;
		s->walk.frame_count = 1;
		s->walk.pc = s->walk.registers.value[WALK_REG_PC];
		s->walk.sp = s->walk.registers.value[WALK_REG_SP];
		s->walk.fp = s->walk.registers.value[WALK_REG_FP];
		s->walk.interrupted = 1;
		s->may_copy_stack = !process;
		s->stop_reason = process ? ABI_STOP_USER_32_BIT : ABI_STOP_UNKNOWN_PROCESS;
		return;
	}
	s->may_copy_stack = !(process->flags & ABI_PROCESS_NO_STACK_COPY);
	s->may_copy_for_rule = !(process->flags & ABI_PROCESS_NO_RULE_COPY);
	walk_start(&s->walk, process->mapping_first, process->mapping_count);
	walk_user(s, has_bpf_loop);
	count(page, ABI_COUNTER_fallback_frame_pointer, s->walk.fallback_count);
	count(page, ABI_COUNTER_signal_frames, s->walk.signal_count);
}

static __always_inline int should_copy_stack(const struct scratch *s)
{
	switch (s->stop_reason) {
	case ABI_STOP_UNKNOWN_PROCESS:
	case ABI_STOP_NO_MAPPING:
	case ABI_STOP_NO_TABLE:
		return s->may_copy_stack;
	case ABI_STOP_RULE_UNSUPPORTED:
		return s->may_copy_for_rule;
	default:
		return 0;
	}
}

/* Where the agent shall take the walk up: where it ended, or, since all registers are known there, at
 * the last interrupted frame: when they were what was missing, or when it is so near that the copy
 * loses nothing. Returns the number of frames before that one. */
static __always_inline __u32 choose_resume_frame(struct walk_state *w, int stop_reason)
{
	__u64 interrupted_sp = w->registers.value[WALK_REG_SP];

	if (stop_reason != ABI_STOP_RULE_UNSUPPORTED && w->sp - interrupted_sp > RESUME_NEAR_BYTES)
		return w->frame_count - 1;
	w->pc = w->registers.value[WALK_REG_PC];
	w->sp = interrupted_sp;
	w->fp = w->registers.value[WALK_REG_FP];
	w->interrupted = 1;
	return w->interrupted_frame;
}

/* Copies are large, so they must not be what fills the ring: a sample without one may be incomplete,
 * but it is not lost. Returns the number of pages that may be copied now. */
static __always_inline __u32 stack_pages_now(void)
{
	__u64 waiting_bytes = bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA);

	if (waiting_bytes < ring_bytes / 2)
		return stack_copy_pages;
	return waiting_bytes < ring_bytes / 4 * 3 ? STACK_COPY_FEW_PAGES : 0;
}

/* Appends what the agent needs to finish the walk, at `offset` of the payload. Returns its size. */
static __always_inline __u32 copy_stack(struct scratch *s, __u32 offset, __u32 pages_max)
{
	struct abi_resume *resume;
	__u32 at, absent = 0, stack_bytes = 0;
	__u64 address;
	__u32 i;

	if (offset > FRAMES_BYTES_MAX + KERNEL_BYTES_MAX)
		return 0;
	resume = (struct abi_resume *)(s->payload + offset);
	resume->frame_index = choose_resume_frame(&s->walk, s->stop_reason);
	/* The record has no word for a stack pointer that is only a bound. */
	if (WALK_IS_ARM64 && s->walk.sp_is_bound && !s->walk.interrupted)
		return 0;
	resume->pc = s->walk.pc;
	resume->sp = s->walk.sp;
	resume->fp = s->walk.fp;
	resume->interrupted = s->walk.interrupted;
	__builtin_memcpy(resume->registers, s->walk.registers.value, sizeof(resume->registers));
	at = offset + sizeof(*resume);
	address = s->walk.sp - ABI_RED_ZONE_BYTES;
	/* The page below may never have been touched. */
	if (bpf_probe_read_user(s->payload + at, sizeof(__u64), (const void *)address) != 0)
		address = s->walk.sp;
	resume->stack_address = address;
	/* Page by page: a read that touches an absent page gives zeros, which is what a page of a large
	 * frame holds that was never written. A few in a row are the end of the stack. */
	for (i = 0; i < ABI_STACK_COPY_PAGES_MAX; i++) {
		__u32 chunk = PAGE_BYTES - (address & (PAGE_BYTES - 1));

		if (i >= pages_max || at > ABI_PAYLOAD_BYTES_MAX - PAGE_BYTES ||
		    chunk > PAGE_BYTES)
			break;
		if (bpf_probe_read_user(s->payload + at, chunk, (const void *)address) == 0) {
			absent = 0;
			stack_bytes = at + chunk - offset - sizeof(*resume);
		} else if (++absent > STACK_COPY_ABSENT_PAGES_MAX) {
			break;
		}
		at += chunk;
		address += chunk;
	}
	s->sample.stack_bytes = stack_bytes;
	return stack_bytes == 0 ? 0 : stack_bytes + sizeof(*resume);
}

/* Sends the used part. Wakes the agent only when the ring crosses its half, and for the sample of a
 * process that it does not know yet, a few times a second: its files can be seen only while it lives.
 * Each wake-up costs the interrupted program several microseconds. */
static __always_inline void send_sample(struct scratch *s, __u32 payload_bytes,
					struct abi_counter_page *page)
{
	__u64 size_bytes = sizeof(s->sample) + payload_bytes;
	__u64 waiting_bytes = bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA);
	__u64 flags = BPF_RB_NO_WAKEUP;

	if (waiting_bytes < ring_bytes / 2 && waiting_bytes + size_bytes >= ring_bytes / 2) {
		flags = BPF_RB_FORCE_WAKEUP;
		count(page, ABI_COUNTER_wakeups, 1);
	}
	if (s->stop_reason == ABI_STOP_UNKNOWN_PROCESS &&
	    s->sample.time_mono_ns - s->woken_mono_ns >= WAKE_INTERVAL_NS) {
		s->woken_mono_ns = s->sample.time_mono_ns;
		flags = BPF_RB_FORCE_WAKEUP;
		count(page, ABI_COUNTER_wakeups, 1);
	}
	if (size_bytes > sizeof(s->sample) + sizeof(s->payload))
		size_bytes = sizeof(s->sample) + sizeof(s->payload);
	if (bpf_ringbuf_output(&samples, &s->sample, size_bytes, flags) == 0)
		count(page, ABI_COUNTER_kept, 1);
	else
		count(page, ABI_COUNTER_dropped_ring_full, 1);
}

/* Whole numbers whose sum is that of the exact weights. */
static __always_inline __u64 next_weight(struct scratch *s)
{
	__u64 weight_q16 = tick_weight_q16 + s->weight_rest_q16;

	s->weight_rest_q16 = weight_q16 & 0xffff;
	return weight_q16 >> 16;
}

static __always_inline int take_sample(void *context, int has_bpf_loop)
{
	struct task_facts facts = {};
	struct abi_counter_page *page;
	struct scratch *s;
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	__u32 tgid = pid_tgid >> 32;
	__u32 zero = 0, frames_bytes, resume_bytes = 0;
	long kernel_bytes;
	int in_kernel_mode;

	page = bpf_map_lookup_elem(&counters, &zero);
	s = scratch_of_this_cpu();
	if (!page || !s)
		return 0;
	count(page, ABI_COUNTER_received, 1);
	if ((__u32)pid_tgid == 0) {
		count(page, ABI_COUNTER_excluded_idle, 1);
		return 0;
	}
	if (filter_by_process && !bpf_map_lookup_elem(&chosen_processes, &tgid)) {
		count(page, ABI_COUNTER_excluded_filter, 1);
		return 0;
	}
	read_task(&facts);
	if (is_unwanted(tgid, &facts, page))
		return 0;
	if (s->in_use) {
		count(page, ABI_COUNTER_dropped_nested, 1);
		return 0;
	}
	s->in_use = 1;

	s->sample.time_mono_ns = bpf_ktime_get_ns();
	in_kernel_mode = !compat_interrupted_in_user_mode(context);
	take_user_stack(s, &facts, tgid, page, in_kernel_mode, has_bpf_loop);

	/* Verifiers before Linux 6.9 do not see that a check of a number holds for a copy of it that was
	 * put on the stack before; a mask goes with it. */
	frames_bytes = (s->walk.frame_count & (2 * ABI_USER_FRAMES_MAX - 1)) *
		       sizeof(struct abi_frame);
	if (frames_bytes > FRAMES_BYTES_MAX)
		frames_bytes = FRAMES_BYTES_MAX;
	/* Asking for a kernel stack costs something even where there is none. */
	kernel_bytes = 0;
	if (in_kernel_mode)
		kernel_bytes = bpf_get_stack(context, s->payload + frames_bytes, KERNEL_BYTES_MAX, 0);
	if (kernel_bytes < 0)
		kernel_bytes = 0;
	if (kernel_bytes > KERNEL_BYTES_MAX)
		kernel_bytes = KERNEL_BYTES_MAX;

	s->sample.stack_bytes = 0;
	if (stack_copies_allowed && should_copy_stack(s)) {
		__u32 pages_max = stack_pages_now();

		if (pages_max != 0)
			resume_bytes = copy_stack(s, frames_bytes + kernel_bytes, pages_max);
		if (pages_max < stack_copy_pages)
			count(page, ABI_COUNTER_stack_copies_cut_short, 1);
		if (resume_bytes != 0)
			count(page, ABI_COUNTER_stack_copies, 1);
		if (resume_bytes != 0 && s->stop_reason == ABI_STOP_RULE_UNSUPPORTED)
			count(page, ABI_COUNTER_rule_copies, 1);
	}

	s->sample.kind = ABI_RECORD_SAMPLE;
	s->sample.version = ABI_SAMPLE_VERSION;
	s->sample.size_bytes = sizeof(s->sample) + frames_bytes + kernel_bytes + resume_bytes;
	s->sample.cpu_sequence = s->sequence++;
	s->sample.process_start_boot_ns = facts.start_boot_ns;
	s->sample.tgid = tgid;
	s->sample.tid = (__u32)pid_tgid;
	s->sample.exec_id = facts.exec_id;
	s->sample.cpu = bpf_get_smp_processor_id();
	s->sample.value = 1;
	s->sample.weight = next_weight(s);
	s->sample.span_slot = 0;
	s->sample.user_frame_count = frames_bytes / sizeof(struct abi_frame);
	s->sample.kernel_frame_count = kernel_bytes / sizeof(__u64);
	s->sample.source = ABI_SOURCE_ON_CPU;
	s->sample.stop_reason = s->stop_reason;
	bpf_get_current_comm(s->sample.comm, sizeof(s->sample.comm));
	send_sample(s, frames_bytes + kernel_bytes + resume_bytes, page);
	count(page, ABI_COUNTER_program_time_ns, bpf_ktime_get_ns() - s->sample.time_mono_ns);
	s->in_use = 0;
	return 0;
}

/* Linux >= 5.17. */
SEC("perf_event")
int on_cpu_sample_loop(struct bpf_perf_event_data *context)
{
	return take_sample(context, 1);
}

/* Older kernels: at most ABI_USER_FRAMES_BOUNDED user frames. */
SEC("perf_event")
int on_cpu_sample_bounded(struct bpf_perf_event_data *context)
{
	return take_sample(context, 0);
}

#endif
