// How the dictionary finds rows by content. Only its own files see this.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "src/profile/id_index.h"
#include "src/store/index/dictionary.h"
#include "src/store/index/row_index.h"

namespace vesta::store::index {

using profile::HashWord;

struct Dictionary::Indexes {
  TaggedIndex strings, images, functions, callables, frames, series, types, tasks;
  BareIndex nodes;
  DictionaryMarks done;  // rows that are in
};

inline uint64_t HashString(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

inline uint64_t HashRow(const ImageRow& row) {
  const uint64_t hash = HashWord(HashWord(row.path, row.build_id), row.memory_start);
  return HashWord(HashWord(hash, row.memory_limit), row.file_offset);
}
inline uint64_t HashRow(const FunctionRow& row) {
  const uint64_t hash = HashWord(HashWord(row.name, row.system_name), row.file);
  return HashWord(hash, static_cast<uint64_t>(row.start_line));
}
inline uint64_t HashRow(const CallableRow& row) { return row.hash; }
inline uint64_t HashRow(const TaskRow& row) {
  return HashWord(HashWord(row.pid, row.tid), row.thread);
}
inline uint64_t HashRow(const TypeRow& row) {
  uint64_t hash = 1;
  for (const uint32_t text : row) hash = HashWord(hash, text);
  return hash;
}
inline uint64_t HashRow(TrieNode node) { return HashWord(node.parent, node.frame); }
inline uint64_t HashFrame(uint32_t image, uint64_t address, bool is_folded,
                          std::span<const FrameLine> lines) {
  uint64_t hash = HashWord(HashWord(image, address), lines.size() * 2 + (is_folded ? 1 : 0));
  for (const FrameLine& line : lines) {
    hash = HashWord(HashWord(hash, line.function), static_cast<uint64_t>(line.line));
    if (line.column != 0) hash = HashWord(hash, static_cast<uint64_t>(line.column));
  }
  return hash;
}
inline uint64_t HashLabel(uint64_t hash, LabelRow label) {
  return HashWord(HashWord(hash, label.name), label.value);
}

}  // namespace vesta::store::index
