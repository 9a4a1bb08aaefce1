// Go's table of functions and lines, which every Go program carries (also a stripped one): what the
// function at an address is called, where it was written, and how far the stack pointer has moved.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/object/cached_reader.h"
#include "src/object/elf_file.h"

namespace vesta::object {

enum class GoVersion : uint8_t { k1_2, k1_16, k1_18, k1_20 };  // the first with this layout

struct GoFunction {
  // The runtime's marks; known from Go 1.17 on, zero before.
  static constexpr uint8_t kTopFrame = 1;  // outermost frame of a stack
  static constexpr uint8_t kSpWrite = 2;   // moves the stack pointer in a way the table cannot tell
  static constexpr uint8_t kAssembly = 4;

  uint64_t start_vaddr = 0;
  uint64_t end_vaddr = 0;
  uint32_t start_line = 0;  // 0 = unknown (before Go 1.20)
  uint8_t flags = 0;
  uint32_t name_offset = 0;
  uint32_t unit = 0;  // its compilation unit's part of the file list
  // Where its tables start; 0 = none.
  uint32_t sp_table = 0;
  uint32_t file_table = 0;
  uint32_t line_table = 0;
  // Where its lists of further tables start, in the function table and behind it: first those of
  // numbers, then those of data.
  uint64_t lists = 0;
  uint32_t number_table_count = 0;
  uint8_t data_table_count = 0;  // 0 = none, or unknown (before Go 1.18)
};

// One of the functions that an address belongs to.
struct GoCall {
  std::string function;
  std::string file;         // empty = unknown
  uint32_t line = 0;        // 0 = unknown
  uint32_t start_line = 0;  // of the function; 0 = unknown
};

// Walks one table of a function, from a range of addresses to a value.
class GoValueWalk {
 public:
  struct Range {
    uint64_t start_vaddr = 0;
    uint64_t end_vaddr = 0;
    int32_t value = 0;
  };
  // Ranges ascend without gaps inside the function; empty at the end or where the table is damaged.
  std::optional<Range> Next();

 private:
  friend class GoPclntab;
  GoValueWalk(CachedReader* reader, uint64_t offset, uint64_t end_offset, uint64_t start_vaddr,
              uint64_t end_vaddr, uint32_t quantum)
      : reader_(reader),
        offset_(offset),
        end_offset_(end_offset),
        vaddr_(start_vaddr),
        end_vaddr_(end_vaddr),
        quantum_(quantum) {}
  std::optional<uint32_t> TakeVarint();

  CachedReader* reader_;
  uint64_t offset_;
  uint64_t end_offset_;
  uint64_t vaddr_;
  uint64_t end_vaddr_;
  uint32_t quantum_;
  int32_t value_ = -1;
  bool is_first_ = true;
};

// Shape:  functions ascend by address; addresses are those of the image. Tables of 64-bit
//         little-endian programs from Go 1.2 on.
// Owner:  one thread; the source outlives the table.
// Cost:   holds at most a megabyte of a table that can have a hundred, and as much of its inline
//         trees; each question reads what it needs. Naming an address takes microseconds.
// Errors: a damaged entry is empty, never a guess.
// Source: runtime/symtab.go, runtime/symtabinl.go, runtime/runtime2.go, internal/abi/symtab.go,
//         cmd/link/internal/ld/pcln.go of Go 1.2 to 1.26.
class GoPclntab {
 public:
  // Errors: NotFound when the image is no Go program, Corrupt when its table does not follow the
  //         format, Unsupported when the table does not tell where the code starts.
  static base::Result<GoPclntab> Find(const ElfFile& elf, const base::ByteSource& source);

  // The table at a place of the source. text_vaddr: address of runtime.text, to which Go 1.18 and
  // later relate everything.
  static base::Result<GoPclntab> Parse(const base::ByteSource& source, uint64_t file_offset,
                                       uint64_t size_bytes, uint64_t text_vaddr);

  GoVersion version() const { return version_; }
  uint64_t text_vaddr() const { return text_vaddr_; }
  uint32_t function_count() const { return function_count_; }

  // Empty when the entry is damaged.
  std::optional<GoFunction> FunctionAt(uint32_t index);
  std::optional<GoFunction> FunctionCovering(uint64_t vaddr);

  std::string NameOf(const GoFunction& function);
  std::string FileOf(const GoFunction& function, uint64_t vaddr);  // empty = unknown
  uint32_t LineOf(const GoFunction& function, uint64_t vaddr);     // 0 = unknown

  // Makes CallsAt() know which calls the compiler inlined. They lie outside of the table.
  // Errors: Unsupported when the program does not tell where (before Go 1.18), or not in a way that
  //         fits the table.
  base::Result<void> FindInlineTrees(const ElfFile& elf, const base::ByteSource& source);
  // The same with their place in the source; it must outlive the table.
  // Errors: Corrupt when what lies there does not fit the table.
  base::Result<void> UseInlineTrees(const base::ByteSource& source, uint64_t file_offset);

  // The functions that the code at an address was written in: what the compiler inlined, innermost
  // first, and at last the function that covers the address. Each but the first has the line of its
  // call of the one before. Empty where no function is; that function alone where nothing was
  // inlined, or the trees are unknown or damaged.
  std::vector<GoCall> CallsAt(uint64_t vaddr);

  // Bytes that the stack pointer has gone down since the function's entry.
  GoValueWalk StackDepths(const GoFunction& function);
  GoValueWalk Lines(const GoFunction& function);
  // Numbers of files, and of what was inlined (-1 = nothing): where they change, CallsAt() does.
  GoValueWalk Files(const GoFunction& function);
  GoValueWalk InlinedCalls(const GoFunction& function);

 private:
  GoPclntab() = default;
  base::Result<void> ReadHeader(uint64_t size_bytes, uint64_t text_vaddr);
  std::optional<uint64_t> EntryVaddr(uint32_t index);
  std::string NameAt(uint32_t name_offset);
  GoValueWalk Walk(const GoFunction& function, uint32_t table);
  std::optional<int32_t> ValueAt(const GoFunction& function, uint32_t table, uint64_t vaddr,
                                 uint32_t& steps_left);
  std::string FileOf(const GoFunction& function, uint64_t vaddr, uint32_t& steps_left);
  uint32_t LineOf(const GoFunction& function, uint64_t vaddr, uint32_t& steps_left);

  // Where a function says what was inlined into it.
  struct InlineTree {
    uint32_t index_table = 0;  // from addresses to entries of the tree
    uint32_t offset = 0;       // of the tree
  };
  struct InlinedCall {
    uint32_t name_offset = 0;
    uint32_t start_line = 0;
    uint64_t parent_vaddr = 0;  // an instruction whose line is that of the call
  };
  std::optional<InlineTree> InlineTreeOf(const GoFunction& function);
  std::optional<InlinedCall> InlinedCallAt(const GoFunction& function, const InlineTree& tree,
                                           uint32_t index);
  bool DoInlineTreesFit();

  std::unique_ptr<CachedReader> reader_;
  std::unique_ptr<CachedReader> tree_reader_;  // null = no inline trees are known
  GoVersion version_ = GoVersion::k1_20;
  uint32_t quantum_ = 1;
  uint32_t function_count_ = 0;
  uint64_t text_vaddr_ = 0;
  uint64_t vaddr_ = 0;  // of the table itself; 0 = unknown
  // Offsets of the parts.
  uint64_t names_ = 0;
  uint64_t names_end_ = 0;  // from Go 1.16 on
  uint64_t units_ = 0;
  uint64_t files_ = 0;
  uint64_t values_ = 0;
  uint64_t functions_ = 0;       // what offsets of functions count from
  uint64_t function_index_ = 0;  // pairs of (entry, offset), and the end of the last function
};

}  // namespace vesta::object
