/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The steps that find a user frame's caller from the unwind tables of abi/unwind.h, with the frame
 * pointer as fallback for each frame that has no rule. Written from the DWARF CFI and x86-64 psABI
 * documents.
 *
 * This text is compiled as BPF and for the host (unit tests, fuzzer, user-space walks of copied
 * stacks). It touches memory only through functions that the includer defines first:
 *
 *   long walk_read_user(void *target, __u32 size_bytes, __u64 address);   0 = done
 *   const struct abi_mapping *walk_mapping(__u32 index);                  NULL = outside
 *   walk_table_t walk_table(__u32 slot);                                  NULL = not there
 *   const struct walk_block *walk_table_block(walk_table_t, __u32 block); NULL = outside
 *
 * Depth is the caller's business: it calls walk_step() until that returns a stop reason.
 */
#ifndef VESTA_BPF_UNWIND_WALK_H
#define VESTA_BPF_UNWIND_WALK_H

#include "abi/sample.h"
#include "abi/unwind.h"

#ifndef WALK_INLINE
#define WALK_INLINE static __attribute__((always_inline)) inline
#endif

enum {
	/* 2^16 mappings of one process, 2^12 rows of one page: one more step to finish. */
	WALK_MAPPING_STEPS_MAX = 17,
	WALK_ROW_STEPS_MAX = 13,
	/* x86-64 signal frame: registers in struct ucontext, see walk_signal(). */
	WALK_UCONTEXT_REGISTERS_OFFSET = 40,
	/* DWARF numbers */
	WALK_REG_RBP = 6,
	WALK_REG_RSP = 7,
	WALK_REG_COUNT = 17,
};

/* walk_step() returns this while there may be more frames; otherwise an abi_stop_reason. */
#define WALK_CONTINUE (-1)

struct walk_block {
	__u32 word[ABI_TABLE_BLOCK_WORDS];
};

/* The general registers of an interrupted frame in DWARF order; [16] = instruction pointer. */
struct walk_registers {
	__u64 value[WALK_REG_COUNT];
};

struct walk_state {
	__u64 pc; /* exact when interrupted, else a return address */
	__u64 sp;
	__u64 fp;
	__u32 mapping_first; /* the process's extent */
	__u32 mapping_count;
	/* the mapping of the last frame: neighbours are often in the same one */
	__u64 mapping_start;
	__u64 mapping_end;
	__u64 mapping_bias;
	__u32 image_id;
	__u32 table_slot;
	__u32 frame_count;
	__u32 fallback_count; /* frames whose caller was found by the frame pointer */
	__u32 signal_count;
	/* Number of the last frame whose `registers` were all known: the leaf, or the one that a
	 * signal interrupted. From there a walk that needs more of them can be taken again. */
	__u32 interrupted_frame;
	__u8 interrupted;	  /* pc is exact and `registers` are this frame's */
	__u8 unmapped;		  /* the last frame lay in no known mapping */
	__u8 knows_all_mappings;  /* no use to ask again: cross one unmapped frame if possible */
	__u8 reserved;
	struct walk_registers registers;
};


WALK_INLINE void walk_start(struct walk_state *w, __u32 mapping_first, __u32 mapping_count)
{
	w->pc = w->registers.value[16];
	w->sp = w->registers.value[WALK_REG_RSP];
	w->fp = w->registers.value[WALK_REG_RBP];
	w->mapping_first = mapping_first;
	w->mapping_count = mapping_count;
	w->mapping_start = 0;
	w->mapping_end = 0;
	w->frame_count = 0;
	w->fallback_count = 0;
	w->signal_count = 0;
	w->interrupted_frame = 0;
	w->interrupted = 1;
	w->unmapped = 0;
	w->knows_all_mappings = 0;
}

/* Makes the mapping that holds `address` current. Returns 0 when there is none. */
WALK_INLINE int walk_find_mapping(struct walk_state *w, __u64 address)
{
	__u32 low = w->mapping_first;
	__u32 high = low + w->mapping_count;
	const struct abi_mapping *mapping;
	int step;

	if (address >= w->mapping_start && address < w->mapping_end)
		return 1;
	/* Find the first mapping that starts above the address; ours is the one before. */
	for (step = 0; step < WALK_MAPPING_STEPS_MAX && low < high; step++) {
		__u32 middle = low + ((high - low) >> 1);

		mapping = walk_mapping(middle);
		if (!mapping)
			return 0;
		if (mapping->start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == w->mapping_first)
		return 0;
	mapping = walk_mapping(low - 1);
	if (!mapping || address < mapping->start || address >= mapping->end)
		return 0;
	w->mapping_start = mapping->start;
	w->mapping_end = mapping->end;
	w->mapping_bias = mapping->bias;
	w->image_id = mapping->image_id;
	w->table_slot = mapping->table_slot;
	return 1;
}

WALK_INLINE int walk_table_word(walk_table_t table, __u32 index, __u32 *word)
{
	const struct walk_block *block = walk_table_block(table, index / ABI_TABLE_BLOCK_WORDS);

	if (!block)
		return 0;
	*word = block->word[index & (ABI_TABLE_BLOCK_WORDS - 1)];
	return 1;
}

/* The row that covers an image address; ABI_SPECIAL_NONE where the table has none.
 * Returns 0 when the table points outside of itself. */
WALK_INLINE int walk_find_row(walk_table_t table, __u64 image_address, __u32 *row, __u32 *rules_word)
{
	const struct walk_block *head = walk_table_block(table, 0);
	const struct abi_table_header *header;
	__u64 page = image_address >> ABI_TABLE_PAGE_SHIFT;
	__u32 in_page = image_address & ((1u << ABI_TABLE_PAGE_SHIFT) - 1);
	__u32 rows_word, index_word, low, high, found, word = 0;
	int step;

	*row = (__u32)ABI_ROW_SPECIAL << ABI_ROW_KIND_SHIFT |
	       (__u32)ABI_SPECIAL_NONE << ABI_ROW_OPERAND_SHIFT;
	if (!head)
		return 0;
	header = (const struct abi_table_header *)head;
	*rules_word = header->rules_word;
	rows_word = header->rows_word;
	if (page < header->first_page || page - header->first_page >= header->page_count)
		return 1;
	index_word = header->index_word + (__u32)(page - header->first_page);
	if (!walk_table_word(table, index_word, &low) ||
	    !walk_table_word(table, index_word + 1, &high))
		return 0;
	found = low;
	for (step = 0; step < WALK_ROW_STEPS_MAX && low < high; step++) {
		__u32 middle = low + ((high - low) >> 1);

		if (!walk_table_word(table, rows_word + middle, &word))
			return 0;
		if ((word & ((1u << ABI_ROW_ADDRESS_BITS) - 1)) <= in_page) {
			*row = word;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	if (low == found) {
		/* No row of this page is at or below the address: the last one before it holds on. */
		if (low == 0)
			return 1;
		return walk_table_word(table, rows_word + low - 1, row);
	}
	return 1;
}

WALK_INLINE int walk_read_rule(walk_table_t table, __u32 rules_word, __u32 rule_number,
			       struct abi_rule *rule)
{
	__u32 first = rules_word + rule_number * ABI_RULE_WORDS;
	__u32 word[ABI_RULE_WORDS] = {};
	int i;

	for (i = 0; i < ABI_RULE_WORDS; i++) {
		if (!walk_table_word(table, first + i, &word[i]))
			return 0;
	}
	__builtin_memcpy(rule, word, sizeof(*rule));
	return 1;
}

/* A register's value in this frame. Only an interrupted frame knows more than sp and fp. */
WALK_INLINE int walk_register(const struct walk_state *w, __u32 number, __u64 *value)
{
	if (number == WALK_REG_RSP) {
		*value = w->sp;
		return 1;
	}
	if (number == WALK_REG_RBP) {
		*value = w->fp;
		return 1;
	}
	if (!w->interrupted || number >= WALK_REG_COUNT)
		return 0;
	*value = w->registers.value[number];
	return 1;
}

/* Moves to the caller whose frame starts at cfa. */
WALK_INLINE int walk_to_caller(struct walk_state *w, __u64 cfa, __u64 return_address, __u64 fp)
{
	w->interrupted = 0;
	w->pc = return_address;
	w->sp = cfa;
	w->fp = fp;
	return return_address == 0 ? ABI_STOP_ROOT : WALK_CONTINUE;
}

/* Caller by the frame pointer: [fp] = its frame pointer, [fp + 8] = return address.
 * `reason` says what is reported when there is no such chain. */
WALK_INLINE int walk_by_frame_pointer(struct walk_state *w, int may_switch_stack, int reason)
{
	__u64 pair[2] = {};

	if (w->fp == 0)
		return ABI_STOP_ROOT_FRAME_POINTER;
	if ((w->fp & 7) != 0 || (w->fp < w->sp && !may_switch_stack))
		return reason;
	if (walk_read_user(pair, sizeof(pair), w->fp) != 0)
		return reason;
	w->fallback_count++;
	return walk_to_caller(w, w->fp + 16, pair[1], pair[0]);
}

/* The kernel pushed all registers for the signal handler: struct ucontext lies at sp, its general
 * registers in the order r8..r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip.
 * Source: Linux arch/x86/include/uapi/asm/{ucontext,sigcontext}.h, a fixed user-space ABI. */
WALK_INLINE int walk_signal(struct walk_state *w)
{
	__u64 saved[17] = {};
	int i;

	if (walk_read_user(saved, sizeof(saved), w->sp + WALK_UCONTEXT_REGISTERS_OFFSET) != 0)
		return ABI_STOP_READ_FAULT;
	for (i = 0; i < 8; i++)
		w->registers.value[8 + i] = saved[i];
	w->registers.value[5] = saved[8];
	w->registers.value[4] = saved[9];
	w->registers.value[6] = saved[10];
	w->registers.value[3] = saved[11];
	w->registers.value[1] = saved[12];
	w->registers.value[0] = saved[13];
	w->registers.value[2] = saved[14];
	w->registers.value[7] = saved[15];
	w->registers.value[16] = saved[16];
	w->pc = saved[16];
	w->sp = saved[15];
	w->fp = saved[10];
	w->interrupted = 1;
	w->signal_count++;
	return w->pc == 0 ? ABI_STOP_ROOT : WALK_CONTINUE;
}

/* Rows that fit one word: CFA = base + 8 * n, frame pointer unchanged or near the CFA. */
WALK_INLINE int walk_by_row(struct walk_state *w, __u64 base, __u32 operand)
{
	__u64 cfa = base + 8 * (__u64)(operand & ABI_OPERAND_CFA_MASK);
	__u32 fp_words = (operand >> ABI_OPERAND_CFA_BITS) & ABI_OPERAND_FP_MASK;
	__u64 pair[2] = {};
	__u64 fp = w->fp;

	if (cfa <= w->sp)
		return ABI_STOP_SP_NOT_GROWING;
	if (fp_words == 2) { /* by far the most common: both words in one read */
		if (walk_read_user(pair, sizeof(pair), cfa - 16) != 0)
			return ABI_STOP_READ_FAULT;
		return walk_to_caller(w, cfa, pair[1], pair[0]);
	}
	if (walk_read_user(&pair[1], sizeof(pair[1]), cfa - 8) != 0)
		return ABI_STOP_READ_FAULT;
	if (fp_words != 0 && walk_read_user(&fp, sizeof(fp), cfa - 8 * (__u64)fp_words) != 0)
		return ABI_STOP_READ_FAULT;
	return walk_to_caller(w, cfa, pair[1], fp);
}

WALK_INLINE int walk_by_rule(struct walk_state *w, const struct abi_rule *rule)
{
	__u64 cfa = 0, return_address = 0, fp = w->fp, value = 0;

	if (!walk_register(w, rule->cfa_register, &value))
		return ABI_STOP_RULE_UNSUPPORTED;
	cfa = value + (__s64)rule->cfa_offset;
	if (rule->cfa_kind == ABI_CFA_DEREF) {
		if (walk_read_user(&value, sizeof(value), cfa) != 0)
			return ABI_STOP_READ_FAULT;
		cfa = value + (__s64)rule->extra;
	}
	if (cfa <= w->sp && !(cfa == w->sp && rule->ra_kind == ABI_RA_REGISTER))
		return ABI_STOP_SP_NOT_GROWING;
	if (rule->ra_kind == ABI_RA_REGISTER) {
		if (!walk_register(w, (__u32)rule->ra_offset, &return_address))
			return ABI_STOP_RULE_UNSUPPORTED;
	} else if (walk_read_user(&return_address, sizeof(return_address),
				  cfa + (__s64)rule->ra_offset) != 0) {
		return ABI_STOP_READ_FAULT;
	}
	if (rule->fp_kind != ABI_FP_SAME) {
		__u64 at = rule->fp_kind == ABI_FP_AT_CFA ? cfa : w->fp;

		if (walk_read_user(&fp, sizeof(fp), at + (__s64)rule->fp_offset) != 0)
			return ABI_STOP_READ_FAULT;
	}
	return walk_to_caller(w, cfa, return_address, fp);
}

WALK_INLINE int walk_special(struct walk_state *w, __u32 operand)
{
	switch (operand & ABI_SPECIAL_MASK) {
	case ABI_SPECIAL_ROOT:
		return ABI_STOP_ROOT;
	case ABI_SPECIAL_SIGNAL:
		return walk_signal(w);
	case ABI_SPECIAL_FP_SWITCH:
		return walk_by_frame_pointer(w, 1, ABI_STOP_READ_FAULT);
	case ABI_SPECIAL_PLT: {
		__u64 in_stub = w->pc & 15;
		__u32 pushed = in_stub >= ((operand >> ABI_SPECIAL_PLT_SHIFT) & 15) ? 1 : 0;

		return walk_by_row(w, w->sp, 1 + pushed);
	}
	case ABI_SPECIAL_UNSUPPORTED:
		return ABI_STOP_RULE_UNSUPPORTED;
	default:
		return walk_by_frame_pointer(w, 0, ABI_STOP_NO_RULE);
	}
}

/* Emits the current frame into *frame and moves to its caller.
 * Returns WALK_CONTINUE, or the reason why this was the last frame. */
WALK_INLINE int walk_step(struct walk_state *w, struct abi_frame *frame)
{
	/* A return address may already belong to the next function: look up the call before it. */
	__u64 address = w->pc - (w->interrupted ? 0 : 1);
	__u32 row = 0, rules_word = 0, operand;
	walk_table_t table;

	if (w->interrupted)
		w->interrupted_frame = w->frame_count;
	frame->flags = w->interrupted ? ABI_FRAME_INTERRUPTED : 0;
	frame->reserved[0] = 0;
	frame->reserved[1] = 0;
	if (!walk_find_mapping(w, address)) {
		frame->address = address;
		frame->image_id = 0;
		frame->kind = ABI_FRAME_PROCESS;
		w->frame_count++;
		/* The callers of unknown code are worth a try, but two such frames in a row are a lost
		 * walk. */
		if (!w->knows_all_mappings || w->unmapped || w->fp == 0)
			return ABI_STOP_NO_MAPPING;
		w->unmapped = 1;
		return walk_by_frame_pointer(w, 0, ABI_STOP_NO_MAPPING);
	}
	w->unmapped = 0;
	address -= w->mapping_bias;
	frame->address = address;
	frame->image_id = w->image_id;
	frame->kind = ABI_FRAME_IMAGE;
	w->frame_count++;

	if (w->table_slot == ABI_TABLE_SLOT_NONE)
		return walk_by_frame_pointer(w, 0, ABI_STOP_NO_TABLE);
	table = walk_table(w->table_slot);
	if (!table) /* not loaded, or evicted: guessing would be wrong where a rule exists */
		return ABI_STOP_NO_TABLE;
	if (!walk_find_row(table, address, &row, &rules_word))
		return ABI_STOP_INTERNAL;
	operand = row >> ABI_ROW_OPERAND_SHIFT;
	switch ((row >> ABI_ROW_KIND_SHIFT) & 3) {
	case ABI_ROW_SP:
		return walk_by_row(w, w->sp, operand);
	case ABI_ROW_FP:
		return walk_by_row(w, w->fp, operand);
	case ABI_ROW_RULE: {
		struct abi_rule rule = {};

		if (!walk_read_rule(table, rules_word, operand, &rule))
			return ABI_STOP_INTERNAL;
		return walk_by_rule(w, &rule);
	}
	default:
		if ((operand & ABI_SPECIAL_MASK) == ABI_SPECIAL_SIGNAL && !w->interrupted) {
			/* Nobody called the trampoline: the handler returns to its first byte. */
			frame->address++;
			frame->flags = ABI_FRAME_INTERRUPTED;
		}
		return walk_special(w, operand);
	}
}

#endif
