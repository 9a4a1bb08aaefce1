// Functions and their lines out of a jitdump file, which runtimes write beside their code. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/base/byte_source.h"
#include "src/base/result.h"

namespace vesta::object {

struct JitDumpHeader {
  uint64_t records_offset = 0;  // where the first record starts
  uint32_t pid = 0;             // as the process itself knows it
  // Times are those of the processor's own counter, not of CLOCK_MONOTONIC.
  bool has_arch_clock = false;
};

// Layout: little endian {magic u32 "JiTD", version u32 = 1, header size u32, ELF machine u32,
//         padding u32, pid u32, time u64, flags u64}.
// Errors: Corrupt; Unsupported for another version, or bytes in the other order.
// Source: linux tools/perf/Documentation/jitdump-specification.txt
base::Result<JitDumpHeader> ParseJitDumpHeader(const base::ByteSource& source);

enum class JitRecordKind : uint8_t {
  kLoad,   // code came into being
  kMove,   // code lies elsewhere from now on
  kDebug,  // lines of code whose kLoad follows
  kClose,  // nothing follows
  kOther,  // tells nothing of names
};

struct JitRecord {
  JitRecordKind kind = JitRecordKind::kOther;
  uint64_t offset = 0;  // in the file
  uint64_t end_offset = 0;
  uint64_t time_ns = 0;
  uint64_t address = 0;      // of the code, in the process; kMove: where it lies now
  uint64_t size_bytes = 0;   // of the code: kLoad, kMove
  uint64_t old_address = 0;  // kMove
  uint64_t code_index = 0;   // kLoad, kMove: which function
};

// The record that starts there. Its own bytes beside the numbers need not be there yet.
// Shape:  {id u32, size of the whole record u32, time u64}, then by id: LOAD {pid u32, tid u32, vma
//         u64, address u64, size u64, index u64, name, NUL, code}, MOVE {pid u32, tid u32, vma u64,
//         old address u64, new address u64, size u64, index u64}, DEBUG {address u64, count u64,
//         entries}.
// Errors: empty when it is not written yet; Corrupt when it cannot be one: nothing behind it can be
//         read then.
base::Result<std::optional<JitRecord>> ReadJitRecord(const base::ByteSource& source,
                                                     uint64_t offset);

inline constexpr size_t kJitNameBytesMax = 4096;

// The function's name, cut at kJitNameBytesMax. Shape: `load` is a kLoad.
// Errors: Corrupt when it has no end, or is not written yet.
base::Result<std::string> ReadJitName(const base::ByteSource& source, const JitRecord& load);

struct JitLine {
  std::string file;
  uint32_t line = 0;
};

// The line that the code at an address was made from: that of the last entry that starts at or
// before it. Empty when there is none.
// Shape:  entries {address u64, line u32, discriminator u32, file name, NUL}, where the name "\xff"
//         is that of the entry before. `debug` is a kDebug.
// Cost:   reads the record up to kJitDebugBytesMax; what lies behind is not looked at.
// Errors: Corrupt when an entry does not fit into the record, or it is not written yet.
base::Result<std::optional<JitLine>> FindJitLine(const base::ByteSource& source,
                                                 const JitRecord& debug, uint64_t address);

inline constexpr uint64_t kJitDebugBytesMax = 1 << 20;

}  // namespace vesta::object
