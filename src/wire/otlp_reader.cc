#include "src/wire/otlp_reader.h"

#include <charconv>

#include "src/base/utf8.h"
#include "src/wire/otlp_fields.h"

namespace vesta::wire::otlp {
namespace {

using protozero::pbf_wire_type;

std::string_view StringAt(uint64_t index, const std::vector<std::string_view>& strings) {
  return index < strings.size() ? strings[static_cast<size_t>(index)] : std::string_view();
}

}  // namespace

bool Fields::Is(pbf_wire_type type) {
  if (reader_.wire_type() == type) return true;
  reader_.skip();
  return false;
}

std::string_view Fields::Bytes() {
  if (!Is(pbf_wire_type::length_delimited)) return {};
  const auto view = reader_.get_view();
  return {view.data(), view.size()};
}

uint64_t Fields::Varint() { return Is(pbf_wire_type::varint) ? reader_.get_uint64() : 0; }

uint64_t Fields::Fixed64() { return Is(pbf_wire_type::fixed64) ? reader_.get_fixed64() : 0; }

double Fields::Double() { return Is(pbf_wire_type::fixed64) ? reader_.get_double() : 0; }

void Fields::Varints(std::vector<uint64_t>* values) {
  if (reader_.wire_type() == pbf_wire_type::varint) {
    values->push_back(reader_.get_uint64());
  } else if (Is(pbf_wire_type::length_delimited)) {
    const auto view = reader_.get_view();
    const char* at = view.data();
    const char* const end = at + view.size();
    while (at != end) values->push_back(protozero::decode_varint(&at, end));
  }
}

void Fields::Fixed64s(std::vector<uint64_t>* values) {
  if (reader_.wire_type() == pbf_wire_type::fixed64) {
    values->push_back(reader_.get_fixed64());
  } else if (Is(pbf_wire_type::length_delimited)) {
    const auto range = reader_.get_packed_fixed64();
    values->insert(values->end(), range.begin(), range.end());
  }
}

Value ReadValue(std::string_view bytes, const std::vector<std::string_view>& strings) {
  Value value;
  const auto set_bytes = [&value](Value::Kind kind, std::string_view of) {
    value = {.kind = kind, .bytes = of};
  };
  for (Fields fields(bytes); fields.Next();) {
    switch (fields.tag()) {
      case AnyValueField::kString:
        set_bytes(Value::Kind::kText, fields.Bytes());
        break;
      case AnyValueField::kBool:
        value = {.kind = Value::Kind::kBool, .bytes = {}, .number = fields.Varint() != 0 ? 1 : 0};
        break;
      case AnyValueField::kInt:
        value = {.kind = Value::Kind::kInt,
                 .bytes = {},
                 .number = static_cast<int64_t>(fields.Varint())};
        break;
      case AnyValueField::kDouble:
        value = {.kind = Value::Kind::kDouble, .bytes = {}, .number = 0, .real = fields.Double()};
        break;
      case AnyValueField::kArray:
        set_bytes(Value::Kind::kArray, fields.Bytes());
        break;
      case AnyValueField::kKvlist:
        set_bytes(Value::Kind::kKvlist, fields.Bytes());
        break;
      case AnyValueField::kBytes:
        set_bytes(Value::Kind::kBytes, fields.Bytes());
        break;
      case AnyValueField::kStringIndex: {
        const uint64_t index = fields.Varint();
        value = {};
        if (index < strings.size()) set_bytes(Value::Kind::kText, StringAt(index, strings));
        break;
      }
      default:
        fields.Skip();
    }
  }
  return value;
}

std::optional<std::string> TextOf(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kText:
      return base::ToUtf8(value.bytes);
    case Value::Kind::kBool:
      return value.number != 0 ? "true" : "false";
    case Value::Kind::kInt:
      return std::to_string(value.number);
    case Value::Kind::kDouble: {
      char text[32];
      const auto end = std::to_chars(text, text + sizeof(text), value.real);
      return std::string(text, end.ptr);
    }
    default:
      return std::nullopt;
  }
}

std::vector<Value> ReadArray(const Value& array, const std::vector<std::string_view>& strings) {
  std::vector<Value> values;
  for (Fields fields(array.bytes); fields.Next();) {
    if (fields.tag() == ListField::kValues) {
      values.push_back(ReadValue(fields.Bytes(), strings));
    } else {
      fields.Skip();
    }
  }
  return values;
}

Attribute ReadKeyValue(std::string_view bytes, const std::vector<std::string_view>& strings) {
  Attribute attribute;
  for (Fields fields(bytes); fields.Next();) {
    switch (fields.tag()) {
      case KeyValueField::kKey:
        attribute.key = fields.Bytes();
        break;
      case KeyValueField::kValue:
        attribute.value = ReadValue(fields.Bytes(), strings);
        break;
      case KeyValueField::kKeyIndex:
        attribute.key = StringAt(fields.Varint(), strings);
        break;
      default:
        fields.Skip();
    }
  }
  return attribute;
}

std::vector<Attribute> ReadKvlist(const Value& list, const std::vector<std::string_view>& strings) {
  std::vector<Attribute> attributes;
  for (Fields fields(list.bytes); fields.Next();) {
    if (fields.tag() == ListField::kValues) {
      attributes.push_back(ReadKeyValue(fields.Bytes(), strings));
    } else {
      fields.Skip();
    }
  }
  return attributes;
}

RawRequest ReadRequest(std::string_view bytes) {
  RawRequest request;
  for (Fields fields(bytes); fields.Next();) {
    if (fields.wire_type() != pbf_wire_type::length_delimited) {
      fields.Skip();
    } else if (fields.tag() == RequestField::kResourceProfiles) {
      request.resources.push_back(fields.Bytes());
    } else if (fields.tag() == RequestField::kDictionary) {
      request.dictionaries.push_back(fields.Bytes());
    } else {
      fields.Skip();
    }
  }
  return request;
}

RawScope ReadScope(std::string_view bytes) {
  RawScope scope;
  for (Fields fields(bytes); fields.Next();) {
    if (fields.tag() == ScopeProfilesField::kProfiles &&
        fields.wire_type() == pbf_wire_type::length_delimited) {
      scope.profiles.push_back(fields.Bytes());
    } else if (fields.tag() == ScopeProfilesField::kScope) {
      for (Fields inner(fields.Bytes()); inner.Next();) {
        if (inner.tag() == ScopeField::kName) {
          scope.name = inner.Bytes();
        } else if (inner.tag() == ScopeField::kVersion) {
          scope.version = inner.Bytes();
        } else if (inner.tag() == ScopeField::kAttributes) {
          scope.attributes.push_back(inner.Bytes());
        } else {
          inner.Skip();
        }
      }
    } else {
      fields.Skip();
    }
  }
  return scope;
}

RawResource ReadResource(std::string_view bytes) {
  RawResource resource;
  for (Fields fields(bytes); fields.Next();) {
    if (fields.tag() == ResourceProfilesField::kScopeProfiles) {
      resource.scopes.push_back(fields.Bytes());
    } else if (fields.tag() == ResourceProfilesField::kResource) {
      for (Fields inner(fields.Bytes()); inner.Next();) {
        if (inner.tag() == ResourceField::kAttributes) {
          resource.attributes.push_back(inner.Bytes());
        } else {
          inner.Skip();
        }
      }
    } else {
      fields.Skip();
    }
  }
  return resource;
}

RawProfile ReadProfile(std::string_view bytes, OtlpLayout layout) {
  const uint32_t attribute_indices = layout == OtlpLayout::kV1_8
                                         ? ProfileField::kAttributeIndicesV1_8
                                         : ProfileField::kAttributeIndices;
  RawProfile profile;
  for (Fields fields(bytes); fields.Next();) {
    if (fields.tag() == attribute_indices) {
      fields.Varints(&profile.attribute_indices);
      continue;
    }
    switch (fields.tag()) {
      case ProfileField::kSampleType:
        profile.sample_type = fields.Bytes();
        break;
      case ProfileField::kSamples:
        if (fields.wire_type() == pbf_wire_type::length_delimited) {
          profile.samples.push_back(fields.Bytes());
        } else {
          fields.Skip();
        }
        break;
      case ProfileField::kTime:
        profile.time_unix_ns = fields.Fixed64();
        break;
      case ProfileField::kDuration:
        profile.duration_ns = fields.Varint();
        break;
      case ProfileField::kPeriodType:
        profile.period_type = fields.Bytes();
        break;
      case ProfileField::kPeriod:
        profile.period = static_cast<int64_t>(fields.Varint());
        break;
      default:
        fields.Skip();
    }
  }
  return profile;
}

void ReadSample(std::string_view bytes, OtlpLayout layout, RawSample* sample) {
  // v1.10 moved the values behind the others.
  const bool is_new = layout == OtlpLayout::kV1_10;
  sample->stack = 0;
  sample->link = 0;
  sample->attribute_indices.clear();
  sample->values.clear();
  sample->times_unix_ns.clear();
  for (Fields fields(bytes); fields.Next();) {
    switch (fields.tag()) {
      case SampleField::kStack:
        sample->stack = fields.Varint();
        break;
      case 2:
        fields.Varints(is_new ? &sample->attribute_indices : &sample->values);
        break;
      case 3:
        if (is_new) {
          sample->link = fields.Varint();
        } else {
          fields.Varints(&sample->attribute_indices);
        }
        break;
      case 4:
        if (is_new) {
          fields.Varints(&sample->values);
        } else {
          sample->link = fields.Varint();
        }
        break;
      case SampleField::kTimestamps:
        fields.Fixed64s(&sample->times_unix_ns);
        break;
      default:
        fields.Skip();
    }
  }
}

RawValueType ReadValueType(std::string_view bytes) {
  RawValueType type;
  for (Fields fields(bytes); fields.Next();) {
    if (fields.tag() == ValueTypeField::kType) {
      type.type = fields.Varint();
    } else if (fields.tag() == ValueTypeField::kUnit) {
      type.unit = fields.Varint();
    } else {
      fields.Skip();
    }
  }
  return type;
}

}  // namespace vesta::wire::otlp
