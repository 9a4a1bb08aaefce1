// The tables of an OTLP message, as a profile of ours and what else samples refer to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/profile/profile.h"
#include "src/wire/otlp_reader.h"

namespace vesta::wire::otlp {

struct Link {
  std::string_view trace_id;  // bytes
  std::string_view span_id;
};

// Shape:  index 0 is "not set", and no row of the profile unless it is used. An entry that points
// at nothing is bad, and
//         so is what points at it; whoever uses it rejects his sample and nothing else. Text that
//         is no UTF-8 gets U+FFFD. Kernel code is told by its frame type, too, and then gets a
//         mapping by which we know it. Of several build ids GNU's is kept.
// Owner:  the bytes and the profile outlive it.
// Cost:   linear; the tables are about 10 times the bytes at worst. Stacks, locations and functions
//         are read when they are first asked for: our agents send tables of many batches.
// Errors: all of it throws protozero's exceptions.
class Dictionary {
 public:
  Dictionary(const std::vector<std::string_view>& parts, profile::Profile* profile);

  const std::vector<std::string_view>& strings() const { return strings_; }
  // Nothing for an index of no string.
  std::optional<std::string_view> String(uint64_t index) const;
  profile::StringId Intern(std::string_view text);
  // Nothing for a bad index; entry 0, and others without a key, have the key "".
  const Attribute* FindAttribute(uint64_t index) const;
  std::optional<profile::StackId> Stack(uint64_t index);
  // Nothing for a bad one; index 0 is a link without ids.
  std::optional<Link> FindLink(uint64_t index) const;
  size_t location_count() const { return locations_.bytes.size(); }
  std::optional<profile::LocationId> Location(uint64_t index);
  size_t attribute_count() const { return attributes_.size(); }
  // What is wrong with the first bad entry that was asked for, "location 12: it has function 9 of
  // 4"; "" when all are good.
  const std::string& first_fault() const { return first_fault_; }

 private:
  // Rows that are read when they are first asked for.
  template <typename Id>
  struct LazyTable {
    std::vector<std::string_view> bytes;
    std::vector<bool> is_read;
    std::vector<std::optional<Id>> ids;  // nothing = bad
    void Begin() {
      is_read.resize(bytes.size());
      ids.resize(bytes.size());
    }
  };
  struct Tables {
    std::vector<std::string_view> mappings;
    std::vector<std::string_view> links;
    std::vector<std::string_view> attributes;
  };
  template <typename Id>
  std::optional<Id> Find(LazyTable<Id>* table, uint64_t index,
                         std::optional<Id> (Dictionary::*read)(std::string_view bytes, size_t row));

  Tables Split(const std::vector<std::string_view>& parts);
  void Fault(const char* table, size_t row, const char* what, uint64_t index, size_t size);
  std::optional<profile::StringId> InternAt(uint64_t index);
  void ReadAttribute(std::string_view bytes);
  std::optional<profile::MappingId> ReadMapping(std::string_view bytes);
  void SetFromAttribute(const Attribute& attribute, profile::Mapping* mapping);
  std::optional<profile::FunctionId> ReadFunction(std::string_view bytes, size_t row);
  std::optional<profile::LocationId> ReadLocation(std::string_view bytes, size_t row);
  std::optional<profile::Line> ReadLine(std::string_view bytes, size_t location_row);
  std::optional<profile::StackId> ReadStack(std::string_view bytes, size_t row);
  profile::MappingId KernelMapping(profile::MappingId mapping);

  profile::Profile* profile_;
  std::vector<std::string_view> strings_;
  std::vector<std::optional<profile::StringId>> string_ids_;  // as far as they were asked for
  std::vector<Attribute> attributes_;
  std::vector<Link> links_;
  std::vector<std::optional<profile::MappingId>> mappings_;
  LazyTable<profile::FunctionId> functions_;
  LazyTable<profile::LocationId> locations_;
  LazyTable<profile::StackId> stacks_;
  bool has_function_0_ = false;  // the entry is there and not empty
  bool has_location_0_ = false;
  std::unordered_map<profile::MappingId, profile::MappingId> kernel_mappings_;
  std::string first_fault_;

  // Reused.
  std::vector<uint64_t> indices_;
  std::vector<profile::Line> lines_;
  std::vector<uint64_t> stack_indices_;
  std::vector<profile::LocationId> stack_;
};

}  // namespace vesta::wire::otlp
