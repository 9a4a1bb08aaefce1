#include "src/wire/otlp_dictionary_writer.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <protozero/pbf_writer.hpp>

#include "src/base/utf8.h"
#include "src/wire/otlp_fields.h"

namespace vesta::wire::otlp {
namespace {

using protozero::pbf_writer;

constexpr uint32_t kUnknown = std::numeric_limits<uint32_t>::max();
constexpr size_t kBuildIdDigitsMin = 16;  // of 8 bytes
constexpr size_t kBuildIdDigitsMax = 80;

// proto3 leaves zeros out.
void AddUint(pbf_writer& writer, uint32_t field, uint64_t value) {
  if (value != 0) writer.add_uint64(field, value);
}

// OTLP knows no negative lines and columns.
void AddPositive(pbf_writer& writer, uint32_t field, int64_t value) {
  if (value > 0) writer.add_int64(field, value);
}

bool IsPlainHex(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() >= kBuildIdDigitsMin && text.size() <= kBuildIdDigitsMax &&
         text.size() % 2 == 0 && std::ranges::all_of(text, is_digit);
}

// "action/.../content", as the go command writes them.
bool IsGoBuildId(std::string_view text) { return std::ranges::count(text, '/') == 3; }

void AddIndices(pbf_writer& writer, uint32_t field, const std::vector<uint32_t>& indices) {
  if (!indices.empty()) writer.add_packed_uint32(field, indices.begin(), indices.end());
}

}  // namespace

MessageTable::MessageTable(uint32_t field) : field_(field) { Add({}); }

uint32_t MessageTable::Add(std::string_view message) {
  const auto fresh = static_cast<uint32_t>(rows_.size());
  const uint32_t id = index_.FindOrInsert(std::hash<std::string_view>{}(message), fresh,
                                          [&](uint32_t other) { return row(other) == message; });
  if (id == fresh) {
    pbf_writer writer(bytes_);
    writer.add_message(field_, message.data(), message.size());
    rows_.push_back({bytes_.size() - message.size(), message.size()});
  }
  return id;
}

std::string TextValue(std::string_view text) {
  std::string value;
  pbf_writer writer(value);
  if (base::IsUtf8(text)) {
    writer.add_string(AnyValueField::kString, text.data(), text.size());
  } else {
    writer.add_string(AnyValueField::kString, base::ToUtf8(text));
  }
  return value;
}

std::string IntValue(int64_t number) {
  std::string value;
  pbf_writer(value).add_int64(AnyValueField::kInt, number);
  return value;
}

std::string DoubleValue(double number) {
  std::string value;
  pbf_writer(value).add_double(AnyValueField::kDouble, number);
  return value;
}

std::string BoolValue(bool is) {
  std::string value;
  pbf_writer(value).add_bool(AnyValueField::kBool, is);
  return value;
}

std::string ArrayValue(std::span<const std::string> values) {
  std::string list;
  pbf_writer list_writer(list);
  for (const std::string& value : values) list_writer.add_message(ListField::kValues, value);
  std::string array;
  pbf_writer(array).add_message(AnyValueField::kArray, list);
  return array;
}

std::string KeyValue(std::string_view key, std::string_view value) {
  std::string pair;
  pbf_writer writer(pair);
  writer.add_string(KeyValueField::kKey, base::ToUtf8(key));
  writer.add_message(KeyValueField::kValue, value.data(), value.size());
  return pair;
}

DictionaryTables::DictionaryTables()
    : mappings(DictionaryField::kMappings),
      locations(DictionaryField::kLocations),
      functions(DictionaryField::kFunctions),
      links(DictionaryField::kLinks),
      strings(DictionaryField::kStrings),
      attributes(DictionaryField::kAttributes),
      stacks(DictionaryField::kStacks) {}

uint64_t DictionaryTables::bytes() const {
  uint64_t sum = 0;
  for (const MessageTable* table : all()) sum += table->bytes().size();
  return sum;
}

std::string DictionaryTables::Message() const {
  std::string message;
  message.reserve(static_cast<size_t>(bytes()));
  for (const MessageTable* table : all()) message += table->bytes();
  return message;
}

DictionaryWriter::DictionaryWriter(const profile::Profile& profile, DictionaryTables* tables)
    : profile_(profile),
      tables_(*tables),
      string_of_(profile.string_count(), kUnknown),
      mapping_of_(profile.mapping_count(), kUnknown),
      function_of_(profile.function_count(), kUnknown),
      location_of_(profile.location_count(), kUnknown),
      stack_of_(profile.stack_count(), kUnknown) {}

uint32_t DictionaryWriter::String(std::string_view text) {
  return base::IsUtf8(text) ? tables_.strings.Add(text) : tables_.strings.Add(base::ToUtf8(text));
}

uint32_t DictionaryWriter::String(profile::StringId id) {
  uint32_t& index = string_of_[id.value()];
  if (index == kUnknown) index = String(profile_.String(id));
  return index;
}

uint32_t DictionaryWriter::Attribute(std::string_view key, std::string_view value,
                                     std::string_view unit) {
  std::string message;
  pbf_writer writer(message);
  AddUint(writer, KeyValueAndUnitField::kKey, String(key));
  writer.add_message(KeyValueAndUnitField::kValue, value.data(), value.size());
  AddUint(writer, KeyValueAndUnitField::kUnit, String(unit));
  return tables_.attributes.Add(message);
}

std::string DictionaryWriter::ValueType(std::string_view type, std::string_view unit) {
  std::string message;
  pbf_writer writer(message);
  AddUint(writer, ValueTypeField::kType, String(type));
  AddUint(writer, ValueTypeField::kUnit, String(unit));
  return message;
}

void DictionaryWriter::AddBuildId(std::string_view build_id) {
  if (build_id.empty()) return;
  std::string_view key = kImageId;
  if (IsPlainHex(build_id)) key = kBuildIdGnu;
  if (IsGoBuildId(build_id)) key = kBuildIdGo;
  if (build_id.starts_with(kHashPrefix)) {
    key = kBuildIdHash;
    build_id.remove_prefix(kHashPrefix.size());
  }
  indices_.push_back(Attribute(key, TextValue(build_id)));
}

std::string DictionaryWriter::MappingMessage(const profile::Mapping& mapping) {
  indices_.clear();
  AddBuildId(profile_.String(mapping.build_id));
  const auto add_flag = [this](std::string_view key, bool is) {
    if (is) indices_.push_back(Attribute(key, BoolValue(true)));
  };
  add_flag(kHasFunctions, mapping.has_functions);
  add_flag(kHasFilenames, mapping.has_filenames);
  add_flag(kHasLineNumbers, mapping.has_line_numbers);
  add_flag(kHasInlineFrames, mapping.has_inline_frames);
  std::string message;
  pbf_writer writer(message);
  if (mapping.memory_start < mapping.memory_limit) {
    AddUint(writer, MappingField::kMemoryStart, mapping.memory_start);
    AddUint(writer, MappingField::kMemoryLimit, mapping.memory_limit);
  } else {
    const auto add_bound = [this](std::string_view key, uint64_t bound) {
      if (bound != 0) indices_.push_back(Attribute(key, IntValue(static_cast<int64_t>(bound))));
    };
    add_bound(kMemoryStart, mapping.memory_start);
    add_bound(kMemoryLimit, mapping.memory_limit);
  }
  AddUint(writer, MappingField::kFileOffset, mapping.file_offset);
  AddUint(writer, MappingField::kFilename, String(mapping.path));
  AddIndices(writer, MappingField::kAttributeIndices, indices_);
  return message;
}

uint32_t DictionaryWriter::Mapping(profile::MappingId id) {
  if (id == profile::kNoMapping) return 0;
  uint32_t& index = mapping_of_[id.value()];
  if (index == kUnknown) index = tables_.mappings.Add(MappingMessage(profile_.mapping(id)));
  return index;
}

uint32_t DictionaryWriter::Function(profile::FunctionId id) {
  uint32_t& index = function_of_[id.value()];
  if (index != kUnknown) return index;
  const profile::Function& function = profile_.function(id);
  line_.clear();
  pbf_writer writer(line_);
  const uint32_t name = String(function.name);
  const uint32_t system_name = String(function.system_name);
  const uint32_t file = String(function.file);
  AddUint(writer, FunctionField::kName, name);
  AddUint(writer, FunctionField::kSystemName, system_name);
  AddUint(writer, FunctionField::kFilename, file);
  // What has neither name nor file is no function to OTLP.
  if (name + system_name + file != 0)
    AddPositive(writer, FunctionField::kStartLine, function.start_line);
  index = tables_.functions.Add(line_);
  return index;
}

// We tell kernel code by its mapping; of other code only whether it is that of a file.
void DictionaryWriter::AddFrameType(const profile::Location& location) {
  std::string_view type;
  if (profile::IsKernelLocation(profile_, location)) {
    type = kFrameKernel;
  } else if (location.mapping != profile::kNoMapping) {
    if (profile_.String(profile_.mapping(location.mapping).path).starts_with('/'))
      type = kFrameNative;
  }
  if (!type.empty()) indices_.push_back(Attribute(kFrameType, TextValue(type)));
}

uint32_t DictionaryWriter::Location(profile::LocationId id) {
  uint32_t& index = location_of_[id.value()];
  if (index != kUnknown) return index;
  const profile::Location location = profile_.location(id);
  message_.clear();
  pbf_writer writer(message_);
  AddUint(writer, LocationField::kMapping, Mapping(location.mapping));
  AddUint(writer, LocationField::kAddress, location.address);
  for (const profile::Line& line : location.lines) {
    const uint32_t function = Function(line.function);
    line_.clear();
    pbf_writer line_writer(line_);
    AddUint(line_writer, LineField::kFunction, function);
    AddPositive(line_writer, LineField::kLine, line.line);
    AddPositive(line_writer, LineField::kColumn, line.column);
    writer.add_message(LocationField::kLines, line_);
  }
  indices_.clear();
  AddFrameType(location);
  if (location.is_folded) indices_.push_back(Attribute(kIsFolded, BoolValue(true)));
  AddIndices(writer, LocationField::kAttributeIndices, indices_);
  index = tables_.locations.Add(message_);
  return index;
}

uint32_t DictionaryWriter::Stack(profile::StackId id) {
  uint32_t& index = stack_of_[id.value()];
  if (index != kUnknown) return index;
  stack_.clear();
  for (const profile::LocationId location : profile_.stack(id))
    stack_.push_back(Location(location));
  message_.clear();
  pbf_writer writer(message_);
  AddIndices(writer, StackField::kLocationIndices, stack_);
  index = tables_.stacks.Add(message_);
  return index;
}

}  // namespace vesta::wire::otlp
