/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The steps that find a user frame's caller from the unwind tables of abi/unwind.h, with the frame
 * pointer as fallback for each frame that has no rule. Written from the DWARF CFI documents, the
 * x86-64 psABI, and the AAPCS64 of arm64.
 *
 * This text is compiled as BPF and for the host (unit tests, fuzzer, user-space walks of copied
 * stacks). It touches memory only through functions that the includer defines first:
 *
 *   long walk_read_user(void *target, __u32 size_bytes, __u64 address);   0 = done
 *   const struct abi_mapping *walk_mapping(__u32 index);                  NULL = outside
 *   walk_table_t walk_table(__u32 slot);                                  NULL = not there
 *   const struct walk_block *walk_table_block(walk_table_t, __u32 block); NULL = outside
 *
 * Machines differ by constants, never by #if, so that the steps of each are compiled everywhere and
 * the host can take those of another one: WALK_ARCHITECTURE is this machine's unless the includer
 * says otherwise. In what follows, x86-64 has the return address on the stack, always below the CFA;
 * arm64 has it in the link register x30 until the function saves it.
 *
 * Depth is the caller's business: it calls walk_step() until that returns a stop reason.
 */
#ifndef VESTA_BPF_UNWIND_WALK_H
#define VESTA_BPF_UNWIND_WALK_H

#include "abi/architecture.h"
#include "abi/sample.h"
#include "abi/unwind.h"

#ifndef WALK_INLINE
#define WALK_INLINE static __attribute__((always_inline)) inline
#endif

#ifndef WALK_ARCHITECTURE
#define WALK_ARCHITECTURE ABI_ARCHITECTURE
#endif
#define WALK_IS_ARM64 (WALK_ARCHITECTURE == ABI_ARM64)

enum {
	/* 2^16 mappings of one process, 2^12 rows of one page: one more step to finish. */
	WALK_MAPPING_STEPS_MAX = 17,
	WALK_ROW_STEPS_MAX = 13,
	/* Signal frames: where the registers lie from sp, see walk_signal(). */
	WALK_X86_64_SIGNAL_REGISTERS = 40,
	WALK_ARM64_SIGNAL_REGISTERS = 312,
	/* DWARF numbers; the instruction pointer comes last */
	WALK_REG_FP = WALK_IS_ARM64 ? 29 : 6,
	WALK_REG_SP = WALK_IS_ARM64 ? 31 : 7,
	WALK_REG_LINK = 30, /* arm64 only */
	WALK_REG_PC = WALK_IS_ARM64 ? 32 : 16,
	WALK_REG_COUNT = WALK_IS_ARM64 ? ABI_ARM64_REGISTER_COUNT : ABI_X86_64_REGISTER_COUNT,
	/* arm64: a signature may stand in the bits above the address. User space has 48 bits, or 52
	 * where a program asks for them, which no code does. */
	WALK_ARM64_ADDRESS_BITS = 48,
};

/* walk_step() returns this while there may be more frames; otherwise an abi_stop_reason. */
#define WALK_CONTINUE (-1)

struct walk_block {
	__u32 word[ABI_TABLE_BLOCK_WORDS];
};

/* The general registers of an interrupted frame in DWARF order; the last one is the instruction
 * pointer. */
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
	__u8 sp_is_bound;	  /* arm64: the true sp lies at `sp` or above, found by fp */
	__u8 guessed;		  /* the frame before had no rule: its frame pointer led here */
	struct walk_registers registers;
};


WALK_INLINE void walk_start(struct walk_state *w, __u32 mapping_first, __u32 mapping_count)
{
	w->pc = w->registers.value[WALK_REG_PC];
	w->sp = w->registers.value[WALK_REG_SP];
	w->fp = w->registers.value[WALK_REG_FP];
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
	w->sp_is_bound = 0;
	w->guessed = 0;
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
	if (number == WALK_REG_SP) {
		*value = w->sp;
		return 1;
	}
	if (number == WALK_REG_FP) {
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
	if (WALK_IS_ARM64) {
		return_address &= (1ull << WALK_ARM64_ADDRESS_BITS) - 1;
		w->sp_is_bound = 0;
	}
	w->interrupted = 0;
	w->guessed = 0;
	w->pc = return_address;
	w->sp = cfa;
	w->fp = fp;
	return return_address == 0 ? ABI_STOP_ROOT : WALK_CONTINUE;
}

/* Caller by the frame pointer: [fp] = its frame pointer, [fp + 8] = return address, on both
 * machines. On arm64 the pair may lie anywhere in its frame, so that the caller's sp is not known.
 * `reason` says what is reported when there is no such chain. */
WALK_INLINE int walk_by_frame_pointer(struct walk_state *w, int may_switch_stack, int reason)
{
	__u64 pair[2] = {};
	int result;

	/* A chain ends with zero; a leaf that keeps none may have anything in the register. */
	if (w->fp == 0)
		return w->interrupted && !may_switch_stack ? reason : ABI_STOP_ROOT_FRAME_POINTER;
	if ((w->fp & 7) != 0 || (w->fp < w->sp && !may_switch_stack))
		return reason;
	if (walk_read_user(pair, sizeof(pair), w->fp) != 0)
		return reason;
	w->fallback_count++;
	result = walk_to_caller(w, w->fp + 16, pair[1], pair[0]);
	if (WALK_IS_ARM64)
		w->sp_is_bound = 1;
	w->guessed = reason == ABI_STOP_NO_RULE;
	return result;
}

/* The kernel's struct rt_sigframe lies at sp: 128 bytes of siginfo, struct ucontext with its struct
 * sigcontext at 176, in it after the fault address x0..x30, sp and pc.
 * Source: Linux arch/arm64/include/uapi/asm/{ucontext,sigcontext}.h, a fixed user-space ABI. */
WALK_INLINE int walk_signal_arm64(struct walk_state *w)
{
	if (w->sp_is_bound)
		return ABI_STOP_RULE_UNSUPPORTED;
	if (walk_read_user(&w->registers, sizeof(w->registers),
			   w->sp + WALK_ARM64_SIGNAL_REGISTERS) != 0)
		return ABI_STOP_READ_FAULT;
	w->pc = w->registers.value[WALK_REG_PC];
	w->sp = w->registers.value[WALK_REG_SP];
	w->fp = w->registers.value[WALK_REG_FP];
	w->interrupted = 1;
	w->sp_is_bound = 0;
	w->signal_count++;
	return w->pc == 0 ? ABI_STOP_ROOT : WALK_CONTINUE;
}

/* The kernel pushed all registers for the signal handler: struct ucontext lies at sp, its general
 * registers in the order r8..r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip.
 * Source: Linux arch/x86/include/uapi/asm/{ucontext,sigcontext}.h, a fixed user-space ABI. */
WALK_INLINE int walk_signal_x86_64(struct walk_state *w)
{
	__u64 saved[17] = {};
	int i;

	if (walk_read_user(saved, sizeof(saved), w->sp + WALK_X86_64_SIGNAL_REGISTERS) != 0)
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

/* Rows that fit one word: CFA = base + 16 * n, frame pointer and return address unchanged, or saved
 * as the pair that AAPCS64 calls a frame record. */
WALK_INLINE int walk_by_row_arm64(struct walk_state *w, int kind, __u32 operand)
{
	__u64 base = kind == ABI_ROW_FP ? w->fp : w->sp;
	__u64 cfa = base + 16 * (__u64)(operand & ABI_ARM64_OPERAND_CFA_MASK);
	__u32 pair_at = (operand >> ABI_ARM64_OPERAND_CFA_BITS) & ABI_ARM64_OPERAND_PAIR_MASK;
	__u64 pair[2] = {};

	if (pair_at == 0) {
		/* Only a leaf has its return address there; sp is its caller's until it moves it. */
		if (!walk_register(w, WALK_REG_LINK, &pair[1]))
			return ABI_STOP_RULE_UNSUPPORTED;
		if (cfa < w->sp)
			return ABI_STOP_SP_NOT_GROWING;
		return walk_to_caller(w, cfa, pair[1], w->fp);
	}
	/* A frame pointer that led here points to the pair. */
	if (w->sp_is_bound && kind == ABI_ROW_SP)
		cfa = w->fp + 16 * (__u64)pair_at;
	if (cfa <= w->sp)
		return ABI_STOP_SP_NOT_GROWING;
	if (walk_read_user(pair, sizeof(pair), cfa - 16 * (__u64)pair_at) != 0)
		return ABI_STOP_READ_FAULT;
	return walk_to_caller(w, cfa, pair[1], pair[0]);
}

/* Rows that fit one word: CFA = base + 8 * n, frame pointer unchanged or near the CFA. */
WALK_INLINE int walk_by_row_x86_64(struct walk_state *w, __u64 base, __u32 operand)
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
	if (WALK_IS_ARM64 && w->sp_is_bound && rule->cfa_register == WALK_REG_SP) {
		/* A frame pointer that led here points to where the next one was saved. */
		if (rule->cfa_kind != ABI_CFA_REGISTER || rule->fp_kind != ABI_FP_AT_CFA)
			return ABI_STOP_RULE_UNSUPPORTED;
		cfa = w->fp - (__s64)rule->fp_offset;
	}
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
	} else {
		__u64 at = cfa + (__s64)rule->ra_offset;

		if (WALK_IS_ARM64 && rule->ra_kind == ABI_RA_AFTER_FP)
			at = cfa + (__s64)rule->fp_offset + 8;
		if (walk_read_user(&return_address, sizeof(return_address), at) != 0)
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
		return WALK_IS_ARM64 ? walk_signal_arm64(w) : walk_signal_x86_64(w);
	case ABI_SPECIAL_FP_SWITCH:
		return walk_by_frame_pointer(w, 1, ABI_STOP_READ_FAULT);
	case ABI_SPECIAL_PLT: { /* x86-64 only */
		__u64 in_stub = w->pc & 15;
		__u32 pushed = in_stub >= ((operand >> ABI_SPECIAL_PLT_SHIFT) & 15) ? 1 : 0;

		return walk_by_row_x86_64(w, w->sp, 1 + pushed);
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
		if (w->guessed)
			frame->flags |= ABI_FRAME_GUESSED;
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
		if (WALK_IS_ARM64)
			return walk_by_row_arm64(w, ABI_ROW_SP, operand);
		return walk_by_row_x86_64(w, w->sp, operand);
	case ABI_ROW_FP:
		if (WALK_IS_ARM64)
			return walk_by_row_arm64(w, ABI_ROW_FP, operand);
		return walk_by_row_x86_64(w, w->fp, operand);
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
