#include "src/wire/otlp_profile_decoder.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/wire/otlp_dictionary.h"
#include "src/wire/otlp_fields.h"
#include "src/wire/otlp_layout.h"
#include "src/wire/otlp_reader.h"

namespace vesta::wire::otlp {
namespace {

using profile::Label;
using profile::LabelSetId;
using profile::Profile;
using profile::StackId;
using profile::StringId;

// A message with its tables, which are in the profile already.
struct Message {
  RawRequest request;
  OtlpLayout layout = OtlpLayout::kV1_10;
  std::unique_ptr<Dictionary> dictionary;
};

// As our recordings call it.
std::string_view OurKey(std::string_view key) {
  if (key == kProcessPid) return profile::kLabelPid;
  if (key == kThreadId) return profile::kLabelTid;
  if (key == kThreadName) return profile::kLabelThread;
  return key;
}

std::string Hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char byte : bytes) {
    hex += kDigits[static_cast<unsigned char>(byte) >> 4];
    hex += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return hex;
}

class ValuesDecoder {
 public:
  base::Result<Profile> Run(std::span<const std::string_view> messages) {
    for (const std::string_view bytes : messages) {
      Message& message = messages_.emplace_back();
      message.request = ReadRequest(bytes);
      ASSIGN_OR_RETURN(const LayoutFound found, FindLayout(message.request, std::nullopt));
      message.layout = found.layout;
      message.dictionary = std::make_unique<Dictionary>(message.request.dictionaries, &profile_);
    }
    ForEachScope([this](const RawResource&, const RawScope& scope) { FindColumns(scope); });
    profile_.SetSampleTypes(types_);
    ForEachScope([this](const RawResource& resource, const RawScope& scope) {
      ReadSamples(resource, scope);
    });
    if (rejected_ > 0 && profile_.sample_count() == 0)
      return base::Error(base::ErrorCode::kCorrupt, "no valid OTLP profiles: " + first_fault_);
    if (rejected_ > 0) {
      profile_.header().comments.push_back(profile_.InternString(
          std::to_string(rejected_) + " samples were left out: " + first_fault_));
    }
    return std::move(profile_);
  }

 private:
  // The samples that a stack with its labels has in one scope.
  struct Row {
    StackId stack;
    LabelSetId labels;
    friend bool operator==(const Row&, const Row&) = default;
  };
  struct RowHash {
    size_t operator()(const Row& row) const {
      return profile::HashWord(row.stack.value(), row.labels.value());
    }
  };
  // Rows of one kind, of which the first `used` have a value of the profile at hand.
  struct SameRows {
    std::vector<uint32_t> rows;
    size_t used = 0;
    size_t profile = 0;
  };

  template <typename Visit>
  void ForEachScope(const Visit& visit) {
    for (const Message& message : messages_) {
      message_ = &message;
      for (const std::string_view resource_bytes : message.request.resources) {
        const RawResource resource = otlp::ReadResource(resource_bytes);
        for (const std::string_view scope : resource.scopes) visit(resource, ReadScope(scope));
      }
    }
  }

  Dictionary& dictionary() { return *message_->dictionary; }

  profile::ValueType ValueTypeOf(std::string_view bytes) {
    const RawValueType raw = ReadValueType(bytes);
    const auto text = [this](uint64_t index) {
      return message_->dictionary->Intern(dictionary().String(index).value_or(std::string_view()));
    };
    return {text(raw.type), text(raw.unit)};
  }

  // Places of a scope's profiles in what it was made from; nothing if it does not say so.
  std::optional<std::vector<size_t>> OrderOf(const RawScope& scope) {
    std::optional<std::vector<size_t>> order;
    for (const std::string_view bytes : scope.attributes) {
      const Attribute attribute = ReadKeyValue(bytes, dictionary().strings());
      if (attribute.key == kDefaultSampleType && attribute.value.kind == Value::Kind::kText)
        profile_.header().default_sample_type = message_->dictionary->Intern(attribute.value.bytes);
      if (attribute.key == kSampleTypeOrder && attribute.value.kind == Value::Kind::kArray)
        order = PlacesOf(ReadArray(attribute.value, dictionary().strings()));
    }
    return order;
  }

  // Nothing unless each place is there once.
  static std::optional<std::vector<size_t>> PlacesOf(const std::vector<Value>& values) {
    std::vector<size_t> places;
    std::vector<bool> seen(values.size());
    for (const Value& value : values) {
      const auto place = static_cast<size_t>(value.number);
      if (place >= seen.size() || seen[place]) return std::nullopt;
      seen[place] = true;
      places.push_back(place);
    }
    return places;
  }

  // The column of the nth profile of a scope that has this type.
  size_t ColumnOf(const profile::ValueType& type, size_t nth) {
    size_t column = 0;
    for (; column < types_.size(); ++column) {
      if (types_[column] == type && nth-- == 0) return column;
    }
    types_.push_back(type);
    return column;
  }

  struct ScopeColumns {
    std::vector<size_t> of_profile;
    // Of a profile that counts samples: where the same stands in the period's unit.
    std::vector<std::optional<size_t>> of_period;
  };

  void FindColumns(const RawScope& scope) {
    ScopeColumns columns;
    const auto order = OrderOf(scope);
    const size_t count = scope.profiles.size();
    std::vector<profile::ValueType> types;
    std::vector<profile::ValueType> period_types;
    for (const std::string_view bytes : scope.profiles) {
      const RawProfile raw = otlp::ReadProfile(bytes, message_->layout);
      types.push_back(ValueTypeOf(raw.sample_type));
      const profile::ValueType period = ValueTypeOf(raw.period_type);
      const bool is_counts = types.back() == profile_.InternValueType("samples", "count");
      const bool has_period = is_counts && raw.period > 0 && period.type != StringId{} && !order;
      period_types.push_back(has_period ? period : profile::ValueType{});
      ReadHeader(raw, period);
    }
    // A profile of nothing, as a file without sample types is written.
    const bool is_empty = order && order->empty();
    std::vector<size_t> by_place(count);
    for (size_t i = 0; i < count; ++i) by_place[i] = i;
    if (order && order->size() == count) {
      for (size_t i = 0; i < count; ++i) by_place[(*order)[i]] = i;
    }
    columns.of_profile.resize(count);
    columns.of_period.resize(count);
    for (size_t at = 0; at < count && !is_empty; ++at) {
      const size_t i = by_place[at];
      const auto nth =
          std::count_if(by_place.begin(), by_place.begin() + static_cast<std::ptrdiff_t>(at),
                        [&](size_t other) { return types[other] == types[i]; });
      columns.of_profile[i] = ColumnOf(types[i], static_cast<size_t>(nth));
      const bool is_alone = std::ranges::find(types, period_types[i]) == types.end();
      if (period_types[i] != profile::ValueType{} && is_alone)
        columns.of_period[i] = ColumnOf(period_types[i], 0);
    }
    columns_.push_back(std::move(columns));
  }

  void ReadHeader(const RawProfile& raw, const profile::ValueType& period_type) {
    profile::Header& header = profile_.header();
    const auto start = static_cast<int64_t>(raw.time_unix_ns);
    if (header.time_unix_ns == 0 || (start > 0 && start < header.time_unix_ns))
      header.time_unix_ns = std::max<int64_t>(start, 0);
    header.duration_ns =
        std::max(header.duration_ns, std::max<int64_t>(static_cast<int64_t>(raw.duration_ns), 0));
    if (header.period == 0 && header.period_type == profile::ValueType{}) {
      header.period = raw.period;
      header.period_type = period_type;
    }
    for (const uint64_t index : raw.attribute_indices) {
      const Attribute* attribute = dictionary().FindAttribute(index);
      if (attribute == nullptr) continue;
      const auto take = [&](std::string_view key, StringId* field) {
        if (attribute->key == key && attribute->value.kind == Value::Kind::kText)
          *field = message_->dictionary->Intern(attribute->value.bytes);
      };
      take(kDropFrames, &header.drop_frames);
      take(kKeepFrames, &header.keep_frames);
      take(kDocUrl, &header.doc_url);
      if (attribute->key != kComment || attribute->value.kind != Value::Kind::kArray) continue;
      if (!header.comments.empty()) continue;
      for (const Value& value : ReadArray(attribute->value, dictionary().strings()))
        header.comments.push_back(message_->dictionary->Intern(value.bytes));
    }
  }

  void ReadSamples(const RawResource& resource, const RawScope& scope) {
    const ScopeColumns& columns = columns_[scope_number_++];
    resource_labels_.clear();
    for (const std::string_view bytes : resource.attributes)
      AddLabels(ReadKeyValue(bytes, dictionary().strings()), &resource_labels_);
    if (attribute_labels_of_ != message_) {
      attribute_labels_of_ = message_;
      attribute_labels_.assign(dictionary().attribute_count(), std::nullopt);
    }
    rows_.clear();
    values_.clear();
    same_rows_.clear();
    for (size_t i = 0; i < scope.profiles.size(); ++i) {
      const RawProfile raw = otlp::ReadProfile(scope.profiles[i], message_->layout);
      for (const std::string_view sample : raw.samples) {
        otlp::ReadSample(sample, message_->layout, &sample_);
        AddSample(raw, columns, i);
      }
      ++profile_number_;
    }
    for (size_t row = 0; row < rows_.size(); ++row) {
      profile_.AppendSample(rows_[row].stack, rows_[row].labels,
                            {values_.data() + row * types_.size(), types_.size()});
    }
  }

  void Reject(const std::string& what) {
    if (rejected_++ == 0)
      first_fault_ = "a sample of profile " + std::to_string(profile_number_) + ": " + what;
  }

  void AddSample(const RawProfile& raw, const ScopeColumns& columns, size_t at) {
    const auto stack = dictionary().Stack(sample_.stack);
    if (!stack) return Reject("it has a stack that is not there. " + dictionary().first_fault());
    if (sample_.values.empty()) return Reject("it has neither values nor times");
    if (types_.empty()) return Reject("its profile has no sample type");
    const auto labels = Labels();
    if (!labels) return Reject("it has an attribute or a link that is not there");
    int64_t value = 0;
    for (const uint64_t part : sample_.values)
      value = profile::AddSaturating(value, static_cast<int64_t>(part));
    int64_t* const row = RowOf({*stack, *labels}, profile_number_);
    row[columns.of_profile[at]] = value;
    if (columns.of_period[at]) {
      int64_t in_unit = 0;
      if (__builtin_mul_overflow(value, raw.period, &in_unit)) {
        using Limits = std::numeric_limits<int64_t>;
        in_unit = value < 0 ? Limits::min() : Limits::max();
      }
      row[*columns.of_period[at]] = in_unit;
    }
  }

  // The values of the first row like this that has none of this profile yet.
  int64_t* RowOf(const Row& row, size_t profile_number) {
    SameRows& same = same_rows_[row];
    if (same.profile != profile_number) {
      same.profile = profile_number;
      same.used = 0;
    }
    if (same.used == same.rows.size()) {
      same.rows.push_back(static_cast<uint32_t>(rows_.size()));
      rows_.push_back(row);
      values_.resize(values_.size() + types_.size());
    }
    return values_.data() + same.rows[same.used++] * types_.size();
  }

  // Nothing for an index of nothing.
  std::optional<LabelSetId> Labels() {
    labels_.clear();
    for (const uint64_t index : sample_.attribute_indices) {
      const Attribute* attribute = dictionary().FindAttribute(index);
      if (attribute == nullptr) return std::nullopt;
      if (index >= attribute_labels_.size()) continue;
      auto& known = attribute_labels_[static_cast<size_t>(index)];
      if (!known) AddLabels(*attribute, &known.emplace());
      labels_.insert(labels_.end(), known->begin(), known->end());
    }
    const auto link = dictionary().FindLink(sample_.link);
    if (!link) return std::nullopt;
    if (!link->trace_id.empty())
      labels_.push_back(profile_.TextLabel("trace_id", Hex(link->trace_id)));
    if (!link->span_id.empty())
      labels_.push_back(profile_.TextLabel("span_id", Hex(link->span_id)));
    labels_.insert(labels_.end(), resource_labels_.begin(), resource_labels_.end());
    for (Label& label : labels_) Rename(&label);
    return profile_.InternLabels(labels_);
  }

  // As our recordings call it, unless there is one that is called so.
  void Rename(Label* label) {
    const std::string_view key = profile_.String(label->key);
    const std::string_view ours = OurKey(key);
    if (ours == key) return;
    const StringId id = profile_.InternString(ours);
    const bool is_taken =
        std::ranges::any_of(labels_, [id](const Label& other) { return other.key == id; });
    if (!is_taken) label->key = id;
  }

  // One per element of a list.
  void AddLabels(const Attribute& attribute, std::vector<Label>* labels) {
    if (attribute.key.empty()) return;
    Dictionary& dictionary = *message_->dictionary;
    Label label;
    label.key = dictionary.Intern(attribute.key);
    label.unit = dictionary.Intern(attribute.unit);
    if (attribute.value.kind != Value::Kind::kArray)
      return AddLabel(attribute.value, label, labels);
    for (const Value& value : ReadArray(attribute.value, dictionary.strings()))
      AddLabel(value, label, labels);
  }

  // A text that is empty is no label.
  void AddLabel(const Value& value, Label label, std::vector<Label>* labels) {
    Dictionary& dictionary = *message_->dictionary;
    bool has_number = value.kind == Value::Kind::kInt;
    if (has_number) {
      label.number = value.number;
    } else if (value.kind == Value::Kind::kKvlist) {
      for (const Attribute& part : ReadKvlist(value, dictionary.strings())) {
        if (part.key == kLabelNumber && part.value.kind == Value::Kind::kInt) {
          label.number = part.value.number;
          has_number = true;
        }
        if (part.value.kind != Value::Kind::kText) continue;
        if (part.key == kLabelText) label.text = dictionary.Intern(part.value.bytes);
        if (part.key == kLabelUnit) label.unit = dictionary.Intern(part.value.bytes);
      }
    } else if (const auto text = TextOf(value)) {
      label.text = dictionary.Intern(*text);
    }
    if (has_number || label.text != StringId{}) labels->push_back(label);
  }

  Profile profile_;
  std::vector<Message> messages_;
  const Message* message_ = nullptr;  // at hand
  std::vector<profile::ValueType> types_;
  std::vector<ScopeColumns> columns_;  // scope by scope
  size_t scope_number_ = 0;
  size_t profile_number_ = 1;
  uint64_t rejected_ = 0;
  std::string first_fault_;

  std::vector<Label> resource_labels_;
  const Message* attribute_labels_of_ = nullptr;
  std::vector<std::optional<std::vector<Label>>> attribute_labels_;
  // Of the scope at hand.
  std::vector<Row> rows_;
  std::vector<int64_t> values_;  // one per type and row
  std::unordered_map<Row, SameRows, RowHash> same_rows_;

  RawSample sample_;
  std::vector<Label> labels_;
};

}  // namespace

base::Result<bool> HasTimes(std::span<const std::string_view> messages) {
  return Guarded(messages, [&]() -> base::Result<bool> {
    RawSample sample;
    for (const std::string_view bytes : messages) {
      const RawRequest request = ReadRequest(bytes);
      ASSIGN_OR_RETURN(const LayoutFound found, FindLayout(request, std::nullopt));
      for (const std::string_view resource : request.resources) {
        for (const std::string_view scope : ReadResource(resource).scopes) {
          for (const std::string_view profile : ReadScope(scope).profiles) {
            for (const std::string_view one : ReadProfile(profile, found.layout).samples) {
              ReadSample(one, found.layout, &sample);
              if (!sample.times_unix_ns.empty()) return true;
            }
          }
        }
      }
    }
    return false;
  });
}

base::Result<Profile> DecodeValues(std::span<const std::string_view> messages) {
  return Guarded(messages, [&] { return ValuesDecoder().Run(messages); });
}

}  // namespace vesta::wire::otlp
