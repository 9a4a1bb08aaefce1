#include <cstddef>
#include <cstdint>
#include <span>

#include "src/base/byte_source.h"
#include "src/base/check.h"
#include "src/object/elf_file.h"
#include "src/object/go_pclntab.h"
#include "src/object/go_unwind.h"

namespace {

void Ask(vesta::object::GoPclntab& table) {
  for (uint32_t i = 0; i < table.function_count() && i < 16; ++i) {
    const auto function = table.FunctionAt(i);
    if (!function) continue;
    CHECK(function->start_vaddr < function->end_vaddr);
    table.NameOf(*function);
    table.FileOf(*function, function->start_vaddr + 1);
    table.LineOf(*function, function->start_vaddr + 1);
    table.FunctionCovering(function->start_vaddr);
    for (const unsigned distance : {1u, 4u, 12u}) {
      for (const auto& call : table.CallsAt(function->start_vaddr + distance)) {
        CHECK(!call.function.empty());
      }
    }
    uint64_t last_end = function->start_vaddr;
    vesta::object::GoValueWalk walk = table.StackDepths(*function);
    while (const auto range = walk.Next()) {
      CHECK(range->start_vaddr == last_end && range->end_vaddr > last_end);
      last_end = range->end_vaddr;
    }
    CHECK(last_end <= function->end_vaddr);
  }
}

}  // namespace

// The bytes are a table, and a program that may hold one.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const vesta::base::MemorySource source(std::as_bytes(std::span(data, size)));
  auto table = vesta::object::GoPclntab::Parse(source, 0, size, 0x401000);
  if (table.ok()) {
    // The word that counts the files says where the inline trees are.
    const auto trees = source.ReadObject<uint64_t>(16);
    if (trees.ok()) static_cast<void>(table->UseInlineTrees(source, *trees));
    Ask(*table);
  }
  const auto elf = vesta::object::ElfFile::Parse(source);
  if (!elf.ok()) return 0;
  auto found = vesta::object::GoPclntab::Find(*elf, source);
  if (found.ok()) {
    static_cast<void>(found->FindInlineTrees(*elf, source));
    Ask(*found);
  }
  const auto ranges = vesta::object::GoUnwindRanges(*elf, source);
  if (!ranges.ok()) return 0;
  uint64_t last_end = 0;
  for (const vesta::object::RowRange& range : *ranges) {
    CHECK(range.start_vaddr >= last_end && range.end_vaddr > range.start_vaddr);
    last_end = range.end_vaddr;
  }
  return 0;
}
