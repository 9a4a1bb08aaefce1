#include "src/wire/otlp_dictionary.h"

#include "src/base/utf8.h"
#include "src/wire/otlp_fields.h"

namespace vesta::wire::otlp {
namespace {

using profile::LocationId;
using profile::MappingId;

// The kernel's name in other profilers: its own mapping has many.
bool IsKernelFile(std::string_view name) {
  return name.empty() || name.starts_with("vmlinux") || name.starts_with("[");
}

bool IsTrue(const Attribute& attribute) {
  return attribute.value.kind == Value::Kind::kBool && attribute.value.number != 0;
}

}  // namespace

Dictionary::Dictionary(const std::vector<std::string_view>& parts, profile::Profile* profile)
    : profile_(profile) {
  const Tables tables = Split(parts);
  string_ids_.resize(strings_.size());
  for (const std::string_view bytes : tables.attributes) ReadAttribute(bytes);
  for (const std::string_view bytes : tables.links) {
    Link& link = links_.emplace_back();
    for (Fields fields(bytes); fields.Next();) {
      if (fields.tag() == LinkField::kTraceId) {
        link.trace_id = fields.Bytes();
      } else if (fields.tag() == LinkField::kSpanId) {
        link.span_id = fields.Bytes();
      } else {
        fields.Skip();
      }
    }
  }
  for (const std::string_view bytes : tables.mappings) mappings_.push_back(ReadMapping(bytes));
  if (!mappings_.empty()) mappings_[0] = profile::kNoMapping;
  functions_.Begin();
  locations_.Begin();
  stacks_.Begin();
  has_function_0_ = !functions_.bytes.empty() && !functions_.bytes[0].empty();
  has_location_0_ = !locations_.bytes.empty() && !locations_.bytes[0].empty();
}

template <typename Id>
std::optional<Id> Dictionary::Find(LazyTable<Id>* table, uint64_t index,
                                   std::optional<Id> (Dictionary::*read)(std::string_view bytes,
                                                                         size_t row)) {
  if (index >= table->bytes.size()) return std::nullopt;
  const auto row = static_cast<size_t>(index);
  if (!table->is_read[row]) {
    table->is_read[row] = true;
    table->ids[row] = (this->*read)(table->bytes[row], row);
  }
  return table->ids[row];
}

std::optional<profile::StackId> Dictionary::Stack(uint64_t index) {
  if (index == 0 && stacks_.bytes.empty()) return profile::StackId{};
  return Find(&stacks_, index, &Dictionary::ReadStack);
}

std::optional<LocationId> Dictionary::Location(uint64_t index) {
  if (index == 0 && !has_location_0_) return std::nullopt;
  return Find(&locations_, index, &Dictionary::ReadLocation);
}

Dictionary::Tables Dictionary::Split(const std::vector<std::string_view>& parts) {
  Tables tables;
  for (const std::string_view part : parts) {
    for (Fields fields(part); fields.Next();) {
      switch (fields.wire_type() == protozero::pbf_wire_type::length_delimited ? fields.tag() : 0) {
        case DictionaryField::kMappings:
          tables.mappings.push_back(fields.Bytes());
          break;
        case DictionaryField::kLocations:
          locations_.bytes.push_back(fields.Bytes());
          break;
        case DictionaryField::kFunctions:
          functions_.bytes.push_back(fields.Bytes());
          break;
        case DictionaryField::kLinks:
          tables.links.push_back(fields.Bytes());
          break;
        case DictionaryField::kStrings:
          strings_.push_back(fields.Bytes());
          break;
        case DictionaryField::kAttributes:
          tables.attributes.push_back(fields.Bytes());
          break;
        case DictionaryField::kStacks:
          stacks_.bytes.push_back(fields.Bytes());
          break;
        default:
          fields.Skip();
      }
    }
  }
  return tables;
}

void Dictionary::Fault(const char* table, size_t row, const char* what, uint64_t index,
                       size_t size) {
  if (!first_fault_.empty()) return;
  first_fault_ = std::string(table) + " " + std::to_string(row) + " has " + what + " " +
                 std::to_string(static_cast<int64_t>(index)) + " of a table of " +
                 std::to_string(size);
}

std::optional<std::string_view> Dictionary::String(uint64_t index) const {
  if (index < strings_.size()) return strings_[static_cast<size_t>(index)];
  if (index == 0) return std::string_view();
  return std::nullopt;
}

profile::StringId Dictionary::Intern(std::string_view text) {
  return base::IsUtf8(text) ? profile_->InternString(text)
                            : profile_->InternString(base::ToUtf8(text));
}

std::optional<profile::StringId> Dictionary::InternAt(uint64_t index) {
  if (index == 0) return profile::StringId{};
  if (index >= strings_.size()) return std::nullopt;
  auto& id = string_ids_[static_cast<size_t>(index)];
  if (!id) id = Intern(strings_[static_cast<size_t>(index)]);
  return id;
}

const Attribute* Dictionary::FindAttribute(uint64_t index) const {
  static const Attribute kNotSet;
  if (index < attributes_.size()) return &attributes_[static_cast<size_t>(index)];
  return index == 0 ? &kNotSet : nullptr;
}

std::optional<Link> Dictionary::FindLink(uint64_t index) const {
  if (index == 0) return Link{};
  if (index >= links_.size()) return std::nullopt;
  return links_[static_cast<size_t>(index)];
}

void Dictionary::ReadAttribute(std::string_view bytes) {
  Attribute attribute;
  const size_t row = attributes_.size();
  for (Fields fields(bytes); fields.Next();) {
    if (fields.tag() == KeyValueAndUnitField::kValue) {
      attribute.value = ReadValue(fields.Bytes(), strings_);
    } else if (fields.tag() == KeyValueAndUnitField::kKey ||
               fields.tag() == KeyValueAndUnitField::kUnit) {
      const bool is_key = fields.tag() == KeyValueAndUnitField::kKey;
      const uint64_t index = fields.Varint();
      const auto text = String(index);
      if (!text) Fault("attribute", row, is_key ? "key" : "unit", index, strings_.size());
      (is_key ? attribute.key : attribute.unit) = text.value_or(std::string_view());
    } else {
      fields.Skip();
    }
  }
  attributes_.push_back(attribute);
}

void Dictionary::SetFromAttribute(const Attribute& attribute, profile::Mapping* mapping) {
  const std::string_view key = attribute.key;
  const bool is_text = attribute.value.kind == Value::Kind::kText;
  const bool is_int = attribute.value.kind == Value::Kind::kInt;
  if (key == kHasFunctions) mapping->has_functions = IsTrue(attribute);
  if (key == kHasFilenames) mapping->has_filenames = IsTrue(attribute);
  if (key == kHasLineNumbers) mapping->has_line_numbers = IsTrue(attribute);
  if (key == kHasInlineFrames) mapping->has_inline_frames = IsTrue(attribute);
  if (key == kMemoryStart && is_int)
    mapping->memory_start = static_cast<uint64_t>(attribute.value.number);
  if (key == kMemoryLimit && is_int)
    mapping->memory_limit = static_cast<uint64_t>(attribute.value.number);
  if (!is_text) return;
  // The better one wins, whatever comes first.
  const std::string_view text = attribute.value.bytes;
  const bool is_first = mapping->build_id == profile::StringId{};
  if (key == kBuildIdGnu || (key == kImageId && is_first)) mapping->build_id = Intern(text);
  const std::string_view known = profile_->String(mapping->build_id);
  const bool is_better = is_first || known.starts_with(kHashPrefix);
  if (key == kBuildIdGo && is_better) mapping->build_id = Intern(text);
  if ((key == kBuildIdHash || key == kBuildIdProfiling) && is_first)
    mapping->build_id = Intern(std::string(kHashPrefix) + std::string(text));
}

std::optional<MappingId> Dictionary::ReadMapping(std::string_view bytes) {
  profile::Mapping mapping;
  const size_t row = mappings_.size();
  bool is_good = true;
  indices_.clear();
  for (Fields fields(bytes); fields.Next();) {
    switch (fields.tag()) {
      case MappingField::kMemoryStart:
        mapping.memory_start = fields.Varint();
        break;
      case MappingField::kMemoryLimit:
        mapping.memory_limit = fields.Varint();
        break;
      case MappingField::kFileOffset:
        mapping.file_offset = fields.Varint();
        break;
      case MappingField::kFilename: {
        const uint64_t index = fields.Varint();
        const auto path = InternAt(index);
        if (!path) Fault("mapping", row, "filename", index, strings_.size());
        is_good = is_good && path;
        mapping.path = path.value_or(profile::StringId{});
        break;
      }
      case MappingField::kAttributeIndices:
        fields.Varints(&indices_);
        break;
      default:
        fields.Skip();
    }
  }
  for (const uint64_t index : indices_) {
    if (const Attribute* attribute = FindAttribute(index)) {
      SetFromAttribute(*attribute, &mapping);
    } else {
      Fault("mapping", row, "attribute", index, attributes_.size());
      is_good = false;
    }
  }
  // Entry 0 says "none" and needs no row.
  if (!is_good || row == 0) return std::nullopt;
  return profile_->AddMapping(mapping);
}

std::optional<profile::FunctionId> Dictionary::ReadFunction(std::string_view bytes, size_t row) {
  profile::Function function;
  bool is_good = true;
  const auto read = [&](Fields& fields, const char* what) {
    const uint64_t index = fields.Varint();
    const auto text = InternAt(index);
    if (!text) Fault("function", row, what, index, strings_.size());
    is_good = is_good && text;
    return text.value_or(profile::StringId{});
  };
  for (Fields fields(bytes); fields.Next();) {
    switch (fields.tag()) {
      case FunctionField::kName:
        function.name = read(fields, "name");
        break;
      case FunctionField::kSystemName:
        function.system_name = read(fields, "system name");
        break;
      case FunctionField::kFilename:
        function.file = read(fields, "filename");
        break;
      case FunctionField::kStartLine:
        function.start_line = static_cast<int64_t>(fields.Varint());
        break;
      default:
        fields.Skip();
    }
  }
  if (!is_good) return std::nullopt;
  return profile_->InternFunction(function);
}

std::optional<profile::Line> Dictionary::ReadLine(std::string_view bytes, size_t location_row) {
  profile::Line line;
  uint64_t function = 0;
  for (Fields fields(bytes); fields.Next();) {
    switch (fields.tag()) {
      case LineField::kFunction:
        function = fields.Varint();
        break;
      case LineField::kLine:
        line.line = static_cast<int64_t>(fields.Varint());
        break;
      case LineField::kColumn:
        line.column = static_cast<int64_t>(fields.Varint());
        break;
      default:
        fields.Skip();
    }
  }
  const auto id = function == 0 && !has_function_0_
                      ? profile_->InternFunction({})
                      : Find(&functions_, function, &Dictionary::ReadFunction);
  if (!id) {
    Fault("location", location_row, "function", function, functions_.bytes.size());
    return std::nullopt;
  }
  line.function = *id;
  return line;
}

std::optional<LocationId> Dictionary::ReadLocation(std::string_view bytes, size_t row) {
  profile::Location location;
  bool is_good = true;
  uint64_t mapping = 0;
  lines_.clear();
  indices_.clear();
  for (Fields fields(bytes); fields.Next();) {
    switch (fields.tag()) {
      case LocationField::kMapping:
        mapping = fields.Varint();
        break;
      case LocationField::kAddress:
        location.address = fields.Varint();
        break;
      case LocationField::kLines:
        if (const auto line = ReadLine(fields.Bytes(), row)) {
          lines_.push_back(*line);
        } else {
          is_good = false;
        }
        break;
      case LocationField::kAttributeIndices:
        fields.Varints(&indices_);
        break;
      default:
        fields.Skip();
    }
  }
  if (mapping != 0) {
    const auto id =
        mapping < mappings_.size() ? mappings_[static_cast<size_t>(mapping)] : std::nullopt;
    if (!id) Fault("location", row, "mapping", mapping, mappings_.size());
    is_good = is_good && id;
    location.mapping = id.value_or(profile::kNoMapping);
  }
  location.lines = lines_;
  for (const uint64_t index : indices_) {
    const Attribute* attribute = FindAttribute(index);
    if (attribute == nullptr) {
      Fault("location", row, "attribute", index, attributes_.size());
      is_good = false;
    } else if (attribute->key == kIsFolded) {
      location.is_folded = IsTrue(*attribute);
    } else if (attribute->key == kFrameType && attribute->value.bytes == kFrameKernel &&
               !profile::IsKernelLocation(*profile_, location)) {
      location.mapping = KernelMapping(location.mapping);
    }
  }
  if (!is_good) return std::nullopt;
  return profile_->InternLocation(location);
}

// "[kernel]", or "[module]" with all else of its own.
MappingId Dictionary::KernelMapping(MappingId mapping) {
  const auto [known, is_new] = kernel_mappings_.try_emplace(mapping, mapping);
  if (!is_new) return known->second;
  profile::Mapping kernel;
  if (mapping != profile::kNoMapping) kernel = profile_->mapping(mapping);
  const std::string module = "[" + std::string(profile::MappingShortName(*profile_, mapping)) + "]";
  const bool is_module =
      !IsKernelFile(profile_->String(kernel.path)) && profile::IsKernelCode(module, 0);
  kernel.path = profile_->InternString(is_module ? std::string_view(module) : profile::kKernelPath);
  known->second = profile_->AddMapping(kernel);
  return known->second;
}

std::optional<profile::StackId> Dictionary::ReadStack(std::string_view bytes, size_t row) {
  stack_indices_.clear();
  stack_.clear();
  for (Fields fields(bytes); fields.Next();) {
    if (fields.tag() == StackField::kLocationIndices) {
      fields.Varints(&stack_indices_);
    } else {
      fields.Skip();
    }
  }
  for (const uint64_t index : stack_indices_) {
    const auto id = index == 0 && !has_location_0_ ? profile_->InternLocation({}) : Location(index);
    if (!id) {
      Fault("stack", row, "location", index, locations_.bytes.size());
      return std::nullopt;
    }
    stack_.push_back(*id);
  }
  return profile_->InternStack(stack_);
}

}  // namespace vesta::wire::otlp
