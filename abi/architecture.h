/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The machine that this is compiled for. Kernel programs and the agent of one machine belong
 * together; only tests and readers of files deal with another machine than their own.
 */
#ifndef VESTA_ABI_ARCHITECTURE_H
#define VESTA_ABI_ARCHITECTURE_H

enum abi_architecture {
	ABI_X86_64 = 1,
	ABI_ARM64 = 2,
};

/* The general registers of a thread in DWARF order, the instruction pointer last.
 * x86-64: 16 and rip. arm64: x0..x30, sp, pc. */
enum {
	ABI_X86_64_REGISTER_COUNT = 17,
	ABI_ARM64_REGISTER_COUNT = 33,
};

enum {
/* BPF is told by its loader's usual macro, the host by its compiler's. */
#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
	ABI_ARCHITECTURE = ABI_ARM64,
	ABI_REGISTER_COUNT = ABI_ARM64_REGISTER_COUNT,
#else
	ABI_ARCHITECTURE = ABI_X86_64,
	ABI_REGISTER_COUNT = ABI_X86_64_REGISTER_COUNT,
#endif
};

#endif
