/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The unwind table of one image, as the agent writes it and the walker reads it: from an address
 * inside the image to the rule that finds the caller's frame.
 *
 * A table is a sequence of 32-bit words, cut into blocks of ABI_TABLE_BLOCK_WORDS (one block is one
 * element of a BPF array map; the last block is padded with zeros):
 *
 *   words 0..7               abi_table_header
 *   page index               page_count + 1 words: number of the first row at or after the start of
 *                            page (first_page + i); the last one equals row_count
 *   rows                     row_count words, sorted by address; a row holds until the next one
 *   rules                    rule_count times ABI_RULE_WORDS words (abi_rule)
 *
 * A row is one word:
 *   bits  0..11  address inside its page of 4 KiB
 *   bits 12..13  abi_row_kind
 *   bits 14..31  operand
 * Most rules of real code fit the operand: CFA = sp or fp + 8 * n, frame pointer unchanged or saved
 * near the CFA, return address at CFA - 8. So finding a rule touches the page index and a few
 * neighbouring words. The others are in the rules at the end.
 *
 * A table holds for one machine, and the operand is read as that machine's frames are:
 *   x86-64  CFA = base + 8 * n; the return address at CFA - 8, the frame pointer near the CFA
 *   arm64   CFA = base + 16 * n; frame pointer and return address as a pair anywhere below the CFA,
 *           or both still in their registers
 *
 * Registers carry their DWARF numbers (x86-64: 6 = rbp, 7 = rsp, 16 = return address; arm64: 29 =
 * frame pointer, 30 = link register, 31 = sp).
 */
#ifndef VESTA_ABI_UNWIND_H
#define VESTA_ABI_UNWIND_H

#include <linux/types.h>

enum {
	ABI_TABLE_MAGIC = 0x76753031, /* "vu01" */
	ABI_TABLE_BLOCK_WORDS = 1024,
	ABI_TABLE_BLOCK_BYTES = 4096,
	ABI_TABLE_PAGE_SHIFT = 12,
	ABI_RULE_WORDS = 4,
};

struct abi_table_header {
	__u32 magic;
	__u32 first_page; /* image address >> ABI_TABLE_PAGE_SHIFT */
	__u32 page_count;
	__u32 index_word; /* where the page index starts, in words from the start of the table */
	__u32 rows_word;
	__u32 row_count;
	__u32 rules_word;
	__u32 rule_count;
};

enum {
	ABI_ROW_ADDRESS_BITS = 12,
	ABI_ROW_KIND_SHIFT = 12,
	ABI_ROW_OPERAND_SHIFT = 14,
	/* operand of ABI_ROW_SP and ABI_ROW_FP: bits 0..11 CFA offset in words, 12..17 where the
	 * frame pointer is saved: 0 = unchanged, else at CFA - 8 * n */
	ABI_OPERAND_CFA_BITS = 12,
	ABI_OPERAND_CFA_MASK = 0xfff,
	ABI_OPERAND_FP_MASK = 0x3f,
	/* arm64, whose sp is always a multiple of 16: bits 0..8 CFA offset in 16 bytes, 9..17 where
	 * {fp, lr} are saved: 0 = nowhere yet, else at CFA - 16 * n */
	ABI_ARM64_OPERAND_CFA_BITS = 9,
	ABI_ARM64_OPERAND_CFA_MASK = 0x1ff,
	ABI_ARM64_OPERAND_PAIR_MASK = 0x1ff,
	ABI_OPERAND_MAX = 0x3ffff,
};

enum abi_row_kind {
	ABI_ROW_SP = 0,      /* CFA counts from the stack pointer */
	ABI_ROW_FP = 1,      /* CFA counts from the frame pointer */
	ABI_ROW_RULE = 2,    /* operand = number of an abi_rule */
	ABI_ROW_SPECIAL = 3, /* operand = abi_row_special */
};

enum abi_row_special {
	ABI_SPECIAL_NONE = 0,   /* nothing is known here: try the frame pointer */
	ABI_SPECIAL_ROOT = 1,   /* no caller: the outermost frame */
	/* Signal return trampoline: registers lie in the kernel's frame. The row starts one byte before
	 * the trampoline, since walkers look a return address up at the byte before it. */
	ABI_SPECIAL_SIGNAL = 2,
	ABI_SPECIAL_UNSUPPORTED = 3, /* a rule exists that this format cannot hold */
	/* frame pointer chain that may lead to another stack (Go's stack switches) */
	ABI_SPECIAL_FP_SWITCH = 4,
	/* x86-64 PLT stub: CFA = sp + 8 + ((pc & 15) >= n ? 8 : 0), with n in bits 4..7 of the operand */
	ABI_SPECIAL_PLT = 5,
	ABI_SPECIAL_MASK = 0xf,
	ABI_SPECIAL_PLT_SHIFT = 4,
};

enum abi_cfa_kind {
	ABI_CFA_REGISTER = 0, /* CFA = register + cfa_offset */
	ABI_CFA_DEREF = 1,    /* CFA = *(register + cfa_offset) + extra */
};

enum abi_fp_kind {
	ABI_FP_SAME = 0,
	ABI_FP_AT_CFA = 1, /* saved at CFA + fp_offset */
	ABI_FP_AT_FP = 2,  /* saved at frame pointer + fp_offset */
};

enum abi_ra_kind {
	ABI_RA_AT_CFA = 0,   /* at CFA + ra_offset (usually -8) */
	ABI_RA_REGISTER = 1, /* in register ra_offset; only where all registers are known */
	ABI_RA_AFTER_FP = 2, /* arm64: in the word after the saved frame pointer, ABI_FP_AT_CFA */
};

struct abi_rule {
	__u8 cfa_kind;     /* abi_cfa_kind */
	__u8 cfa_register; /* frame and stack pointer always; others only in an interrupted frame */
	__u8 fp_kind;      /* abi_fp_kind */
	__u8 ra_kind;      /* abi_ra_kind */
	__s32 cfa_offset;
	__s32 fp_offset;
	__s16 extra;
	__s16 ra_offset;
};

/* One executable mapping of a process. Sorted by start in the process's extent. */
struct abi_mapping {
	__u64 start; /* process addresses [start, end) */
	__u64 end;
	__u64 bias; /* process address - bias = address inside the image */
	__u32 image_id;
	__u32 table_slot; /* index into the map of tables, or ABI_TABLE_SLOT_NONE */
};

enum {
	ABI_TABLE_SLOT_NONE = 0xffffffff,
};

/* A process as the walker knows it; key: tgid. */
struct abi_process {
	__u64 start_boot_ns; /* of the thread group leader; 0 = not known exactly */
	__u32 exec_id;
	__u32 mapping_first; /* extent in the map of mappings */
	__u32 mapping_count;
	__u32 flags; /* abi_process_flags */
};

enum abi_process_flags {
	/* Copying stacks of this process did not help: stop doing it. */
	ABI_PROCESS_NO_STACK_COPY = 1,
	/* The same for copies because of rules that the walker cannot apply. */
	ABI_PROCESS_NO_RULE_COPY = 2,
};

#ifdef __cplusplus
#define ABI_UNWIND_ASSERT(condition, text) static_assert(condition, text)
#else
#define ABI_UNWIND_ASSERT(condition, text) _Static_assert(condition, text)
#endif
ABI_UNWIND_ASSERT(sizeof(struct abi_table_header) == 32, "abi_table_header");
ABI_UNWIND_ASSERT(sizeof(struct abi_rule) == 4 * ABI_RULE_WORDS, "abi_rule");
ABI_UNWIND_ASSERT(sizeof(struct abi_mapping) == 32, "abi_mapping");
ABI_UNWIND_ASSERT(sizeof(struct abi_process) == 24, "abi_process");

#endif
