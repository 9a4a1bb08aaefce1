// The ProfilesDictionary of an OTLP message that is being written: each thing once, when it is
// first used.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/profile/id_index.h"
#include "src/profile/profile.h"

namespace vesta::wire::otlp {

// A repeated field of messages, each content once; the first is the empty one, as OTLP demands.
class MessageTable {
 public:
  explicit MessageTable(uint32_t field);
  uint32_t Add(std::string_view message);
  const std::string& bytes() const { return bytes_; }

 private:
  struct Row {
    size_t begin = 0;
    size_t size = 0;
  };
  std::string_view row(uint32_t index) const {
    return std::string_view(bytes_).substr(rows_[index].begin, rows_[index].size);
  }

  uint32_t field_;
  std::string bytes_;  // with tags and lengths
  std::vector<Row> rows_;
  profile::IdIndex index_;
};

// All tables of a dictionary. They may serve one message after another: what an earlier one had
// keeps its index, so that the two have most bytes in common.
struct DictionaryTables {
  DictionaryTables();
  uint64_t bytes() const;  // of the message
  std::string Message() const;

  MessageTable mappings;
  MessageTable locations;
  MessageTable functions;
  MessageTable links;
  MessageTable strings;
  MessageTable attributes;
  MessageTable stacks;

 private:
  std::array<const MessageTable*, 7> all() const {
    return {&mappings, &locations, &functions, &links, &strings, &attributes, &stacks};
  }
};

// Bytes of an AnyValue.
std::string TextValue(std::string_view text);
std::string IntValue(int64_t number);
std::string DoubleValue(double number);
std::string BoolValue(bool is);
std::string ArrayValue(std::span<const std::string> values);
// Bytes of a KeyValue, whose key stands in it: few readers look up the other form.
std::string KeyValue(std::string_view key, std::string_view value);

// Shape:  what a profile has becomes an index of its table; equal content has one index, and what
//         is all zeros has 0. Attributes are strings themselves, not indices of strings.
// Owner:  the profile and the tables outlive it, and the profile stays as it is.
// Cost:   an array look-up for what was asked before.
class DictionaryWriter {
 public:
  DictionaryWriter(const profile::Profile& profile, DictionaryTables* tables);

  uint32_t String(std::string_view text);
  uint32_t String(profile::StringId id);
  uint32_t Attribute(std::string_view key, std::string_view value, std::string_view unit = {});
  uint32_t Mapping(profile::MappingId id);
  uint32_t Location(profile::LocationId id);
  uint32_t Stack(profile::StackId id);
  // Bytes of a ValueType.
  std::string ValueType(std::string_view type, std::string_view unit);

 private:
  uint32_t Function(profile::FunctionId id);
  void AddBuildId(std::string_view build_id);
  void AddFrameType(const profile::Location& location);
  std::string MappingMessage(const profile::Mapping& mapping);

  const profile::Profile& profile_;
  DictionaryTables& tables_;

  // By id of the profile; kUnknown = not asked yet.
  std::vector<uint32_t> string_of_;
  std::vector<uint32_t> mapping_of_;
  std::vector<uint32_t> function_of_;
  std::vector<uint32_t> location_of_;
  std::vector<uint32_t> stack_of_;

  // Reused.
  std::string message_;
  std::string line_;
  std::vector<uint32_t> indices_;
  std::vector<uint32_t> stack_;
};

}  // namespace vesta::wire::otlp
