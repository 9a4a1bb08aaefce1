#include "src/wire/otlp_layout.h"

#include <string>

#include "src/wire/otlp_fields.h"

namespace vesta::wire::otlp {
namespace {

using base::Error;
using base::ErrorCode;
using protozero::pbf_wire_type;

constexpr std::string_view kHowTo = "; vesta reads v1.8 and later: update the sender";

// What the fields seen so far speak for.
struct Evidence {
  bool is_v1_5 = false;       // tables inside of the profile
  bool is_v1_7 = false;       // times as varints, or attributes with text as keys
  bool is_v1_8_or_9 = false;  // values before attributes
  bool is_v1_10 = false;      // attributes before values
  bool is_v1_8 = false;       // a profile's id where later ones have a number
  bool may_be_v1_8 = false;   // attributes where later layouts have nothing
  // Links, unless the sender writes lists one by one.
  bool has_number_at_3 = false;
  bool has_number_at_4 = false;
  // Samples that would have neither values nor times in the other layout.
  bool fits_v1_9_only = false;
  bool fits_v1_10_only = false;
  bool is_ours = false;
  size_t profiles = 0;
  std::string first_old;     // where something of v1.7 or before stands
  bool is_unpacked = false;  // the sender writes lists one by one, so that a number may be of one
  // Of samples that would fit both.
  bool has_second_list = false;
  bool lists_are_equal = true;  // the second is as long as the times, in each sample
};

// How often a sample has fields 2 to 5, and how.
struct SampleFields {
  int bytes[6] = {};
  int varints[6] = {};
  std::vector<uint64_t> second;
  std::vector<uint64_t> times;
};

SampleFields FieldsOf(std::string_view bytes, Evidence* evidence) {
  SampleFields found;
  for (Fields fields(bytes); fields.Next();) {
    const uint32_t tag = fields.tag();
    const pbf_wire_type type = fields.wire_type();
    if (tag >= 2 && tag <= 5) {
      if (type == pbf_wire_type::length_delimited) ++found.bytes[tag];
      if (type == pbf_wire_type::varint) ++found.varints[tag];
    }
    if (tag == 5 && type == pbf_wire_type::fixed64) evidence->is_unpacked = true;
    if (tag == 2) {
      fields.Varints(&found.second);
    } else if (tag == 5 && type != pbf_wire_type::varint) {
      fields.Fixed64s(&found.times);
    } else {
      fields.Skip();
    }
  }
  return found;
}

void LookAtSample(std::string_view bytes, Evidence* evidence) {
  const SampleFields found = FieldsOf(bytes, evidence);
  const auto count = [&found](int tag) { return found.bytes[tag] + found.varints[tag]; };
  for (int tag = 2; tag <= 4; ++tag) {
    if (found.varints[tag] > 1) evidence->is_unpacked = true;
  }
  if (found.varints[5] > 0) evidence->is_v1_7 = true;  // its link
  if (found.bytes[3] > 0 || found.varints[3] > 1) evidence->is_v1_8_or_9 = true;
  if (found.bytes[4] > 0 || found.varints[4] > 1) evidence->is_v1_10 = true;
  if (found.varints[3] == 1) evidence->has_number_at_3 = true;
  if (found.varints[4] == 1) evidence->has_number_at_4 = true;
  if (found.times.empty() && count(2) > 0 && count(4) == 0) evidence->fits_v1_9_only = true;
  if (found.times.empty() && count(4) > 0 && count(2) == 0) evidence->fits_v1_10_only = true;
  if (!found.second.empty()) evidence->has_second_list = true;
  if (found.second.size() != found.times.size()) evidence->lists_are_equal = false;
}

void NoteOld(const char* table, size_t row, Evidence* evidence) {
  const bool is_old = evidence->is_v1_5 || evidence->is_v1_7;
  if (is_old && evidence->first_old.empty())
    evidence->first_old = std::string(table) + " " + std::to_string(row);
}

void LookAtProfile(std::string_view bytes, Evidence* evidence) {
  std::vector<std::string_view> samples;
  bool has_number_at_5 = false;
  bool has_number_at_7 = false;
  bool has_bytes_at_3 = false;
  bool has_bytes_at_4 = false;
  for (Fields fields(bytes); fields.Next();) {
    const uint32_t tag = fields.tag();
    const bool is_bytes = fields.wire_type() == pbf_wire_type::length_delimited;
    const bool is_number = fields.wire_type() == pbf_wire_type::varint;
    if (tag == 3 && is_bytes) has_bytes_at_3 = true;
    if (tag == 4 && is_bytes) has_bytes_at_4 = true;
    if (tag == 5 && is_number) has_number_at_5 = true;
    if (tag == 7 && is_number) has_number_at_7 = true;
    if (tag == 8 && is_bytes) evidence->is_v1_8 = true;
    if (tag == ProfileField::kAttributeIndicesV1_8) evidence->may_be_v1_8 = true;
    if (tag == ProfileField::kSamples && is_bytes) {
      samples.push_back(fields.Bytes());
    } else {
      fields.Skip();
    }
  }
  if (has_bytes_at_4) evidence->is_v1_5 = true;
  if (has_bytes_at_3 || has_number_at_5 || has_number_at_7) evidence->is_v1_7 = true;
  for (const std::string_view sample : samples) LookAtSample(sample, evidence);
  NoteOld("profile", evidence->profiles++, evidence);
}

void LookAtKeyValue(std::string_view bytes, Evidence* evidence) {
  for (Fields fields(bytes); fields.Next();) {
    if (fields.tag() == KeyValueField::kKeyIndex && fields.wire_type() == pbf_wire_type::varint) {
      evidence->is_v1_10 = true;
    }
    fields.Skip();
  }
}

void LookAtDictionary(std::string_view bytes, Evidence* evidence) {
  size_t attribute = 0;
  for (Fields fields(bytes); fields.Next();) {
    if (fields.tag() == DictionaryField::kAttributes) {
      for (Fields inner(fields.Bytes()); inner.Next();) {
        const bool is_bytes = inner.wire_type() == pbf_wire_type::length_delimited;
        if (inner.tag() == KeyValueAndUnitField::kKey && is_bytes) evidence->is_v1_7 = true;
        inner.Skip();
      }
      NoteOld("attribute", attribute++, evidence);
    } else if (fields.tag() == DictionaryField::kStacks) {
      for (Fields inner(fields.Bytes()); inner.Next();) {
        if (inner.wire_type() == pbf_wire_type::varint) evidence->is_unpacked = true;
        inner.Skip();
      }
    } else {
      fields.Skip();
    }
  }
}

Error Refuse(const std::string& what) {
  return Error(ErrorCode::kUnsupported, what + std::string(kHowTo));
}

base::Result<LayoutFound> Judge(const Evidence& evidence, std::optional<OtlpLayout> peer) {
  if (evidence.is_v1_5 || evidence.is_v1_7) {
    return Refuse("these are OTLP Profiles in the layout of " +
                  std::string(evidence.is_v1_5 ? "v1.4 or v1.5" : "v1.6 or v1.7") + ", as " +
                  evidence.first_old + " tells");
  }
  const OtlpLayout older =
      evidence.is_v1_8 || evidence.may_be_v1_8 ? OtlpLayout::kV1_8 : OtlpLayout::kV1_9;
  const bool has_links = !evidence.is_unpacked;
  const bool is_new =
      evidence.is_v1_10 || evidence.is_ours || (has_links && evidence.has_number_at_3);
  const bool is_old =
      evidence.is_v1_8_or_9 || evidence.is_v1_8 || (has_links && evidence.has_number_at_4);
  if (is_new && is_old) {
    return Refuse(
        "these OTLP Profiles have parts in the layout of v1.8 and others in that of v1.10");
  }
  if (is_new) return LayoutFound{OtlpLayout::kV1_10, true};
  if (is_old) return LayoutFound{older, true};
  if (evidence.fits_v1_9_only != evidence.fits_v1_10_only)
    return LayoutFound{evidence.fits_v1_10_only ? OtlpLayout::kV1_10 : older, true};
  // Were they values, they would be as many as the times.
  if (evidence.has_second_list && !evidence.lists_are_equal)
    return LayoutFound{OtlpLayout::kV1_10, true};
  if (peer) return LayoutFound{*peer, false};
  const bool may_be_values = evidence.has_second_list && !evidence.is_unpacked;
  return LayoutFound{may_be_values ? older : OtlpLayout::kV1_10, false};
}

}  // namespace

base::Result<LayoutFound> FindLayout(const RawRequest& request,
                                     std::optional<OtlpLayout> layout_of_peer) {
  Evidence evidence;
  for (const std::string_view dictionary : request.dictionaries)
    LookAtDictionary(dictionary, &evidence);
  for (const std::string_view resource_bytes : request.resources) {
    const RawResource resource = ReadResource(resource_bytes);
    for (const std::string_view attribute : resource.attributes)
      LookAtKeyValue(attribute, &evidence);
    for (const std::string_view scope_bytes : resource.scopes) {
      const RawScope scope = ReadScope(scope_bytes);
      if (scope.name == kOurScope) evidence.is_ours = true;
      for (const std::string_view profile : scope.profiles) LookAtProfile(profile, &evidence);
    }
  }
  if (evidence.profiles > 0 && request.dictionaries.empty()) {
    return Refuse(
        "the message of OTLP Profiles has no dictionary: it is cut off, or in the layout of v1.6 "
        "or "
        "older");
  }
  return Judge(evidence, layout_of_peer);
}

}  // namespace vesta::wire::otlp
