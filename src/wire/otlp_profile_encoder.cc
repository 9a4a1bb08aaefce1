// EncodeOtlpProfile: a profile without times of its samples, such as a pprof file.
#include <algorithm>
#include <protozero/pbf_writer.hpp>
#include <unordered_map>
#include <vector>

#include "src/wire/otlp_dictionary_writer.h"
#include "src/wire/otlp_encoder.h"
#include "src/wire/otlp_fields.h"

namespace vesta::wire {
namespace {

using profile::Label;
using profile::LabelSetId;
using profile::MappingId;
using profile::Profile;
using profile::StringId;
using protozero::pbf_writer;

class ProfileEncoder {
 public:
  explicit ProfileEncoder(const Profile& profile)
      : profile_(profile),
        dictionary_(profile, &tables_),
        label_attributes_(profile.label_set_count()),
        is_set_known_(profile.label_set_count()) {}

  std::string Run() {
    // All of them and first, so that index 1 is the main binary.
    if (profile_.header().main_mapping != profile::kNoMapping)
      dictionary_.Mapping(profile_.header().main_mapping);
    for (uint32_t i = 0; i < profile_.mapping_count(); ++i) dictionary_.Mapping(MappingId{i});
    FindProfileAttributes();
    std::string scope_profiles;
    pbf_writer scope_writer(scope_profiles);
    scope_writer.add_message(otlp::ScopeProfilesField::kScope, Scope());
    for (size_t type = 0; type < std::max<size_t>(profile_.sample_types().size(), 1); ++type)
      scope_writer.add_message(otlp::ScopeProfilesField::kProfiles, ProfileOf(type));
    std::string resource_profiles;
    pbf_writer resource_writer(resource_profiles);
    resource_writer.add_message(otlp::ResourceProfilesField::kResource, std::string());
    resource_writer.add_message(otlp::ResourceProfilesField::kScopeProfiles, scope_profiles);
    std::string message;
    pbf_writer writer(message);
    writer.add_message(otlp::RequestField::kResourceProfiles, resource_profiles);
    writer.add_message(otlp::RequestField::kDictionary, tables_.Message());
    return message;
  }

 private:
  std::string Scope() const {
    std::string scope;
    pbf_writer writer(scope);
    writer.add_string(otlp::ScopeField::kName, std::string(otlp::kOurScope));
    std::vector<std::string> order;
    for (size_t i = 0; i < profile_.sample_types().size(); ++i)
      order.push_back(otlp::IntValue(static_cast<int64_t>(i)));
    writer.add_message(otlp::ScopeField::kAttributes,
                       otlp::KeyValue(otlp::kSampleTypeOrder, otlp::ArrayValue(order)));
    if (profile_.header().default_sample_type != StringId{}) {
      writer.add_message(
          otlp::ScopeField::kAttributes,
          otlp::KeyValue(otlp::kDefaultSampleType, Text(profile_.header().default_sample_type)));
    }
    return scope;
  }

  std::string Text(StringId id) const { return otlp::TextValue(profile_.String(id)); }

  void FindProfileAttributes() {
    const profile::Header& header = profile_.header();
    if (!header.comments.empty()) {
      std::vector<std::string> comments;
      for (const StringId comment : header.comments) comments.push_back(Text(comment));
      AddProfileAttribute(otlp::kComment, otlp::ArrayValue(comments));
    }
    const auto add = [this](std::string_view key, StringId text) {
      if (text != StringId{}) AddProfileAttribute(key, Text(text));
    };
    add(otlp::kDropFrames, header.drop_frames);
    add(otlp::kKeepFrames, header.keep_frames);
    add(otlp::kDocUrl, header.doc_url);
  }

  void AddProfileAttribute(std::string_view key, const std::string& value) {
    profile_attributes_.push_back(dictionary_.Attribute(key, value));
  }

  std::string ValueType(const profile::ValueType& type) {
    return dictionary_.ValueType(profile_.String(type.type), profile_.String(type.unit));
  }

  std::string ProfileOf(size_t type) {
    const profile::Header& header = profile_.header();
    std::string message;
    pbf_writer writer(message);
    if (type < profile_.sample_types().size())
      writer.add_message(otlp::ProfileField::kSampleType, ValueType(profile_.sample_types()[type]));
    for (size_t i = 0; i < profile_.sample_count(); ++i) AddSample(i, type, writer);
    if (header.time_unix_ns > 0)
      writer.add_fixed64(otlp::ProfileField::kTime, static_cast<uint64_t>(header.time_unix_ns));
    if (header.duration_ns > 0)
      writer.add_uint64(otlp::ProfileField::kDuration, static_cast<uint64_t>(header.duration_ns));
    writer.add_message(otlp::ProfileField::kPeriodType, ValueType(header.period_type));
    if (header.period != 0) writer.add_int64(otlp::ProfileField::kPeriod, header.period);
    writer.add_packed_uint32(otlp::ProfileField::kAttributeIndices, profile_attributes_.begin(),
                             profile_attributes_.end());
    return message;
  }

  void AddSample(size_t sample, size_t type, pbf_writer& profile_writer) {
    sample_.clear();
    pbf_writer writer(sample_);
    const uint32_t stack = dictionary_.Stack(profile_.sample_stack(sample));
    if (stack != 0) writer.add_uint32(otlp::SampleField::kStack, stack);
    const auto& attributes = AttributesOf(profile_.sample_labels(sample));
    writer.add_packed_uint32(otlp::SampleField::kAttributeIndices, attributes.begin(),
                             attributes.end());
    const int64_t value = profile_.sample_values(sample)[type];
    writer.add_packed_int64(otlp::SampleField::kValues, &value, &value + 1);
    profile_writer.add_message(otlp::ProfileField::kSamples, sample_);
  }

  const std::vector<uint32_t>& AttributesOf(LabelSetId set) {
    std::vector<uint32_t>& attributes = label_attributes_[set.value()];
    if (is_set_known_[set.value()]) return attributes;
    is_set_known_[set.value()] = true;
    const auto labels = profile_.labels(set);
    // Equal keys together, in the order in which they come first.
    first_of_key_.clear();
    groups_.clear();
    for (const Label& label : labels) {
      if (profile_.String(label.key).empty()) continue;
      const auto [at, is_new] = first_of_key_.try_emplace(label.key, groups_.size());
      if (is_new) groups_.emplace_back();
      groups_[at->second].push_back(label);
    }
    for (const std::vector<Label>& group : groups_) attributes.push_back(AttributeOf(group));
    return attributes;
  }

  // Of the labels with one key.
  uint32_t AttributeOf(const std::vector<Label>& group) {
    const Label& first = group.front();
    if (group.size() > 1) {
      std::vector<std::string> values;
      for (const Label& label : group) values.push_back(ElementOf(label));
      return dictionary_.Attribute(profile_.String(first.key), otlp::ArrayValue(values));
    }
    if (!first.is_number() && first.number != 0)
      return dictionary_.Attribute(profile_.String(first.key), ElementOf(first));
    const std::string value = first.is_number() ? otlp::IntValue(first.number) : Text(first.text);
    return dictionary_.Attribute(OtlpKey(first), value, profile_.String(first.unit));
  }

  // As others call it, unless the sample has that as well.
  std::string_view OtlpKey(const Label& label) const {
    const std::string_view key = profile_.String(label.key);
    std::string_view other;
    if (key == profile::kLabelPid && label.is_number()) other = otlp::kProcessPid;
    if (key == profile::kLabelTid && label.is_number()) other = otlp::kThreadId;
    if (key == profile::kLabelThread && !label.is_number()) other = otlp::kThreadName;
    const bool is_taken = std::ranges::any_of(groups_, [&](const std::vector<Label>& group) {
      return profile_.String(group.front().key) == other;
    });
    return other.empty() || is_taken ? key : other;
  }

  // Where an attribute has no room for the unit, or for text and number at once: a list of them.
  std::string ElementOf(const Label& label) const {
    const bool is_simple = label.unit == StringId{} && (label.is_number() || label.number == 0);
    if (is_simple) return label.is_number() ? otlp::IntValue(label.number) : Text(label.text);
    std::string list;
    pbf_writer writer(list);
    const auto add = [&writer](std::string_view key, const std::string& value) {
      writer.add_message(otlp::ListField::kValues, otlp::KeyValue(key, value));
    };
    if (!label.is_number()) add(otlp::kLabelText, Text(label.text));
    if (label.is_number() || label.number != 0)
      add(otlp::kLabelNumber, otlp::IntValue(label.number));
    if (label.unit != StringId{}) add(otlp::kLabelUnit, Text(label.unit));
    std::string value;
    pbf_writer(value).add_message(otlp::AnyValueField::kKvlist, list);
    return value;
  }

  const Profile& profile_;
  otlp::DictionaryTables tables_;
  otlp::DictionaryWriter dictionary_;
  std::vector<std::vector<uint32_t>> label_attributes_;  // by LabelSetId
  std::vector<bool> is_set_known_;
  std::vector<uint32_t> profile_attributes_;
  // Of the set at hand.
  std::unordered_map<StringId, size_t> first_of_key_;
  std::vector<std::vector<Label>> groups_;
  std::string sample_;
};

}  // namespace

std::string EncodeOtlpProfile(const Profile& profile) { return ProfileEncoder(profile).Run(); }

}  // namespace vesta::wire
