// Abbreviations, made into plans: what to skip and what to keep of an entry, so that the many
// entries that say nothing about code cost a few additions.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "src/base/byte_reader.h"
#include "src/base/result.h"
#include "src/dwarf/sections.h"

namespace vesta::dwarf {

// What is kept of an entry.
enum class Slot : uint8_t {
  kName,
  kLinkageName,
  kLowPc,
  kHighPc,
  kRanges,
  kAbstractOrigin,
  kSpecification,
  kDeclFile,
  kDeclLine,
  kCallFile,
  kCallLine,
  kSibling,
  kStmtList,
  kCompDir,
  kLanguage,
  kStrOffsetsBase,
  kAddrBase,
  kRnglistsBase,
  kGnuRangesBase,
  kDwoName,
  kDwoId,
  kUnused,
};

// Sizes in bytes that a unit's header decides.
struct FormSizes {
  uint8_t address = 8;
  uint8_t offset = 4;
  uint8_t ref_addr = 4;
  bool operator==(const FormSizes&) const = default;
};

// An attribute as it lies there: a number, a section offset or an index, by its form. Of an inline
// string it is the offset of its first byte.
struct Value {
  uint16_t form = 0;
  uint64_t number = 0;
};

// Reads one value, or only skips it. Unknown forms fail the reader.
Value ReadForm(base::ByteReader& reader, uint16_t form, const FormSizes& sizes);

class EntryValues {
 public:
  void Clear() { present_ = 0; }
  bool Has(Slot slot) const { return (present_ & Bit(slot)) != 0; }
  bool HasAny(Slot a, Slot b) const { return (present_ & (Bit(a) | Bit(b))) != 0; }
  // Only valid for a slot that is there.
  const Value& operator[](Slot slot) const { return values_[static_cast<size_t>(slot)]; }
  uint64_t NumberOr(Slot slot, uint64_t otherwise) const {
    return Has(slot) ? (*this)[slot].number : otherwise;
  }
  void Set(Slot slot, Value value) {
    values_[static_cast<size_t>(slot)] = value;
    present_ |= Bit(slot);
  }

 private:
  static uint32_t Bit(Slot slot) { return uint32_t{1} << static_cast<unsigned>(slot); }
  uint32_t present_ = 0;
  std::array<Value, static_cast<size_t>(Slot::kUnused)> values_;
};

enum class EntryKind : uint8_t {
  kUnit,      // compile, partial, type or skeleton unit
  kFunction,  // DW_TAG_subprogram
  kInlined,   // DW_TAG_inlined_subroutine
  kCodeless,  // has no code inside, whatever lies below; may say where it ends
  kOther,
};

struct Abbreviation {
  uint64_t code = 0;
  uint32_t step_first = 0;
  uint32_t step_count = 0;
  uint16_t tag = 0;
  EntryKind kind = EntryKind::kOther;
  bool has_children = false;
};

// Cost:   the table costs up to 16 times its bytes of .debug_abbrev.
// Errors: of Parse: Corrupt when it ends in the middle or has a code twice, Exhausted above
//         kAttributesMax attributes.
class AbbreviationTable {
 public:
  static constexpr size_t kAttributesMax = size_t{1} << 20;

  // Adds the bytes that it went over to `bytes_read`, on errors too.
  static base::Result<AbbreviationTable> Parse(Bytes abbrev, uint64_t offset,
                                               const FormSizes& sizes, uint64_t& bytes_read);

  // nullptr when there is none.
  const Abbreviation* Find(uint64_t code) const {
    if (code - 1 < abbreviations_.size() && abbreviations_[code - 1].code == code) {
      return &abbreviations_[code - 1];
    }
    return FindSparse(code);
  }

  // Reads over an entry whose code has been read, keeping what its kind needs. Fails the reader on
  // a form that is not known.
  void ReadEntry(base::ByteReader& reader, const Abbreviation& abbreviation,
                 EntryValues& values) const;

  size_t step_count() const { return steps_.size(); }

 private:
  // Skip bytes, then read a value of that form into the slot (kUnused: over it).
  struct Step {
    uint32_t skip_bytes = 0;
    uint16_t form = 0;
    Slot slot = Slot::kUnused;
    int64_t implicit_const = 0;
  };
  const Abbreviation* FindSparse(uint64_t code) const;
  void AddStep(Abbreviation& abbreviation, uint16_t attribute, uint16_t form,
               int64_t implicit_const);

  FormSizes sizes_;
  std::vector<Abbreviation> abbreviations_;
  std::vector<Step> steps_;
};

// Tables that were read, since units and references from other units share them.
// Owner: one reader; a table that is in use outlives its place in the cache.
class AbbreviationCache {
 public:
  // Errors: as Parse, remembered no longer than a table; Exhausted when the tables of this file
  // have been read again and again, as no compiler's file needs.
  base::Result<std::shared_ptr<const AbbreviationTable>> Get(Bytes abbrev, uint64_t offset,
                                                             const FormSizes& sizes);

  // To be said before the bytes of that section go away.
  void Forget(Bytes abbrev);

 private:
  struct Key {
    const std::byte* section = nullptr;
    uint64_t offset = 0;
    FormSizes sizes;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return std::hash<const std::byte*>()(key.section) ^
             std::hash<uint64_t>()(key.offset * 0x9e3779b97f4a7c15u);
    }
  };
  std::unordered_map<Key, std::shared_ptr<const AbbreviationTable>, KeyHash> tables_;
  size_t steps_held_ = 0;
  uint64_t bytes_parsed_ = 0;
  uint64_t bytes_known_ = 0;  // of the sections that were seen
  std::unordered_map<const std::byte*, size_t> sections_seen_;
};

}  // namespace vesta::dwarf
