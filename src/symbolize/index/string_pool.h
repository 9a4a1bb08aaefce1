// Keeps each distinct string once, in the form in which the index stores them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "src/symbolize/index/index_format.h"

namespace vesta::symbolize {

// Finds what was added before by its hash: open addressing, ids and half of their hash.
class IdTable {
 public:
  // The id among those with this hash that `equals` accepts; else nullptr.
  template <typename Equals>
  const uint32_t* Find(uint64_t hash, const Equals& equals) const {
    if (slots_.empty()) return nullptr;
    const auto tag = static_cast<uint32_t>(hash >> 32);
    for (size_t i = hash & (slots_.size() - 1); slots_[i].used; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].tag == tag && equals(slots_[i].id)) return &slots_[i].id;
    }
    return nullptr;
  }
  void Insert(uint64_t hash, uint32_t id);

  size_t memory_bytes() const { return slots_.capacity() * sizeof(Slot); }

 private:
  struct Slot {
    uint32_t place = 0;  // low half of the hash
    uint32_t tag = 0;    // high half
    uint32_t id = 0;
    bool used = false;
  };
  void Put(const Slot& slot);

  std::vector<Slot> slots_;  // a power of two, at most two thirds used
  size_t count_ = 0;
};

// Shape: ids are offsets into bytes(); 0 is the empty string.
class StringPool {
 public:
  StringPool() { AppendByte(bytes_, 0); }

  uint32_t Intern(std::string_view text);
  std::string_view At(uint32_t id) const;

  const std::vector<std::byte>& bytes() const { return bytes_; }
  // False when ids of 32 bits do not reach any longer.
  bool fits() const { return fits_; }
  size_t memory_bytes() const { return bytes_.capacity() + table_.memory_bytes(); }

 private:
  std::vector<std::byte> bytes_;
  IdTable table_;
  bool fits_ = true;
};

}  // namespace vesta::symbolize
