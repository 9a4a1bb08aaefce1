#include "src/wire/otlp_decoder.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "src/base/utf8.h"
#include "src/batch/limits.h"
#include "src/wire/otlp_dictionary.h"
#include "src/wire/otlp_fields.h"
#include "src/wire/otlp_layout.h"
#include "src/wire/otlp_places.h"
#include "src/wire/otlp_reader.h"

namespace vesta::wire {
namespace {

using base::Error;
using base::ErrorCode;

constexpr uint64_t kNsPerMs = 1'000'000;
constexpr uint64_t kLabelBytesBase = uint64_t{16} << 20;
constexpr uint64_t kLabelBytesRatio = 16;

// What the attributes of our scopes say, and of symbols those of their dictionary.
struct IdParts {
  std::string agent;
  std::string boot;
  std::optional<uint64_t> sequence;

  void Take(const otlp::Attribute& attribute) {
    const bool is_text = attribute.value.kind == otlp::Value::Kind::kText;
    if (attribute.key == otlp::kAgent && is_text) agent = attribute.value.bytes;
    if (attribute.key == otlp::kBoot && is_text) boot = attribute.value.bytes;
    if (attribute.key == otlp::kSequence && attribute.value.kind == otlp::Value::Kind::kInt)
      sequence = static_cast<uint64_t>(attribute.value.number);
  }

  std::optional<batch::BatchId> Id() const {
    const auto is_name = [](const std::string& name) {
      return name.size() <= batch::kBatchNameBytesMax && base::IsUtf8(name);
    };
    if (!sequence || !is_name(agent) || !is_name(boot)) return std::nullopt;
    return batch::BatchId{agent, boot, *sequence};
  }
};

class Decoder {
 public:
  explicit Decoder(const OtlpDecodeOptions& options)
      : options_(options), profile_(std::make_unique<profile::Profile>()) {
    made_.facts.scope_name.clear();
  }

  base::Result<void> Read(std::string_view bytes) {
    const otlp::RawRequest request = otlp::ReadRequest(bytes);
    ASSIGN_OR_RETURN(const otlp::LayoutFound found,
                     otlp::FindLayout(request, options_.layout_of_peer));
    made_.layout = found.layout;
    made_.layout_is_told = found.is_told;
    dictionary_ = std::make_unique<otlp::Dictionary>(request.dictionaries, profile_.get());
    places_.BeginMessage(*dictionary_, kLabelBytesBase + kLabelBytesRatio * bytes.size());
    for (const std::string_view resource : request.resources) ReadResource(resource);
    return {};
  }

  OtlpBatch Take() {
    made_.profile = std::move(profile_);
    made_.batch.id = ids_differ_ ? std::nullopt : id_;
    made_.batch.profile = made_.profile.get();
    made_.batch.series = places_.TakeSeries();
    made_.batch.tasks = places_.TakeTasks();
    made_.rejected = rejected_.Take();
    made_.dropped = places_.TakeDropped();
    for (OtlpCount& count : dropped_.Take()) made_.dropped.push_back(std::move(count));
    return std::move(made_);
  }

 private:
  void ReadResource(std::string_view bytes) {
    const otlp::RawResource raw = otlp::ReadResource(bytes);
    std::vector<otlp::Attribute> attributes;
    attributes.reserve(raw.attributes.size());
    for (const std::string_view attribute : raw.attributes)
      attributes.push_back(otlp::ReadKeyValue(attribute, dictionary_->strings()));
    places_.BeginResource(attributes);
    for (const std::string_view scope : raw.scopes) ReadScope(scope);
  }

  void ReadScope(std::string_view bytes) {
    const otlp::RawScope raw = otlp::ReadScope(bytes);
    ReadFacts(raw);
    places_.BeginScope(raw.name == otlp::kOurScope);
    for (const std::string_view profile : raw.profiles) {
      ReadProfile(profile);
      ++profile_number_;
    }
  }

  void ReadFacts(const otlp::RawScope& raw) {
    if (made_.facts.scope_name.empty() && !raw.name.empty()) {
      made_.facts.scope_name = base::ToUtf8(raw.name);
      made_.facts.scope_version = base::ToUtf8(raw.version);
    }
    if (raw.name != otlp::kOurScope) return;
    IdParts parts;
    ClockPair clock;
    int clock_parts = 0;
    for (const std::string_view bytes : raw.attributes) {
      const otlp::Attribute attribute = otlp::ReadKeyValue(bytes, dictionary_->strings());
      parts.Take(attribute);
      if (attribute.key == otlp::kBook && attribute.value.kind == otlp::Value::Kind::kText &&
          made_.facts.book.empty()) {
        made_.facts.book = base::ToUtf8(attribute.value.bytes);
      }
      if (attribute.value.kind != otlp::Value::Kind::kInt) continue;
      const int64_t number = attribute.value.number;
      if (attribute.key == otlp::kClockUnix) clock.unix_ns = number;
      if (attribute.key == otlp::kClockError) clock.error_ns = static_cast<uint64_t>(number);
      if (attribute.key == otlp::kClockMonotonic)
        clock.monotonic_ns = static_cast<uint64_t>(number);
      clock_parts += attribute.key == otlp::kClockUnix || attribute.key == otlp::kClockMonotonic;
    }
    if (clock_parts == 2 && !made_.facts.clock) made_.facts.clock = clock;
    if (const auto id = parts.Id()) {
      // Somebody put two batches into one request: neither id says what it holds.
      if (id_ && *id_ != *id) ids_differ_ = true;
      id_ = id;
    }
  }

  // How the values of a profile become rows.
  struct Kind {
    uint32_t type = 0;
    bool is_counts = false;  // values are counts, and the value of a row is that often the period
    int64_t period = 1;
    int64_t end_unix_ms = 0;
    bool is_of_arrival = false;   // nothing else says when it ended
    const char* fault = nullptr;  // why none of its samples can be taken
    const char* fault_text = "";
  };

  // Nothing for an index of no string, and for what is too long to be a name.
  std::optional<std::string> TypeName(uint64_t index) const {
    const auto text = dictionary_->String(index);
    if (!text) return std::nullopt;
    std::string name = base::ToUtf8(*text);
    if (name.size() > batch::kTypeNameBytesMax) return std::nullopt;
    return name;
  }

  int64_t EndOf(const otlp::RawProfile& raw) const {
    if (raw.time_unix_ns == 0) return options_.arrival_unix_ms;
    uint64_t end_ns = 0;
    if (__builtin_add_overflow(raw.time_unix_ns, raw.duration_ns, &end_ns))
      end_ns = raw.time_unix_ns;
    return static_cast<int64_t>(end_ns / kNsPerMs);
  }

  Kind KindOf(const otlp::RawProfile& raw) {
    Kind kind;
    kind.end_unix_ms = EndOf(raw);
    kind.is_of_arrival = raw.time_unix_ns == 0;
    const auto fail = [&kind](const char* reason, const char* text) {
      kind.fault = reason;
      kind.fault_text = text;
      return kind;
    };
    const otlp::RawValueType sample_type = otlp::ReadValueType(raw.sample_type);
    const otlp::RawValueType period_type = otlp::ReadValueType(raw.period_type);
    const auto type = TypeName(sample_type.type);
    const auto unit = TypeName(sample_type.unit);
    const auto period_name = TypeName(period_type.type);
    const auto period_unit = TypeName(period_type.unit);
    if (!type || !unit || type->empty())
      return fail("sample_type", "its sample type has no name, or one that is not there");
    if (!period_name || !period_unit)
      return fail("period_type", "its period type has a name that is not there");
    batch::ProfileType made = {*type, *unit, "", *period_name, *period_unit};
    bool has_rows = false;
    for (const uint64_t index : raw.attribute_indices) {
      const otlp::Attribute* attribute = dictionary_->FindAttribute(index);
      if (attribute == nullptr || attribute->key != otlp::kCountType) continue;
      if (attribute->value.kind != otlp::Value::Kind::kText) continue;
      std::string count_type = base::ToUtf8(attribute->value.bytes);
      if (count_type.size() > batch::kTypeNameBytesMax) continue;
      has_rows = true;
      made.count_type = std::move(count_type);
    }
    if (!has_rows && *type == "samples" && *unit == "count") {
      kind.is_counts = true;
      if (raw.period > 0 && !period_name->empty()) {
        kind.period = raw.period;
        made = {*period_name, *period_unit, "samples", *period_name, *period_unit};
      }
    }
    NotePeriod(raw, *period_name, *period_unit);
    const auto [at, is_new] =
        types_.try_emplace(made, static_cast<uint32_t>(made_.batch.types.size()));
    if (is_new) made_.batch.types.push_back(std::move(made));
    kind.type = at->second;
    return kind;
  }

  // The header is that of all: the first period, and the window from the first start to the last
  // end.
  void NotePeriod(const otlp::RawProfile& raw, const std::string& name, const std::string& unit) {
    profile::Header& header = profile_->header();
    if (header.period == 0 && raw.period > 0) {
      header.period = raw.period;
      header.period_type = profile_->InternValueType(name, unit);
    }
  }

  void NoteWindow(const otlp::RawProfile& raw) {
    constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    if (raw.time_unix_ns == 0 || raw.time_unix_ns > kMax) return;
    profile::Header& header = profile_->header();
    const auto start = static_cast<int64_t>(raw.time_unix_ns);
    const auto duration = static_cast<int64_t>(std::min(raw.duration_ns, kMax));
    const int64_t end = std::max(profile::AddSaturating(start, duration),
                                 profile::AddSaturating(header.time_unix_ns, header.duration_ns));
    if (header.time_unix_ns == 0 || start < header.time_unix_ns) header.time_unix_ns = start;
    header.duration_ns = end - header.time_unix_ns;
  }

  void ReadProfile(std::string_view bytes) {
    const otlp::RawProfile raw = otlp::ReadProfile(bytes, made_.layout);
    NoteWindow(raw);
    if (raw.samples.empty()) return;
    const Kind kind = KindOf(raw);
    for (size_t i = 0; i < raw.samples.size(); ++i) {
      sample_number_ = i;
      otlp::ReadSample(raw.samples[i], made_.layout, &sample_);
      ReadSample(kind);
    }
  }

  // How many samples of the book a message stands for, as far as it can be told.
  uint64_t Observed(const Kind& kind) const {
    if (!kind.is_counts || sample_.values.empty())
      return std::max<uint64_t>(sample_.times_unix_ns.size(), 1);
    uint64_t sum = 0;
    for (const uint64_t value : sample_.values) {
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return 1;
      if (__builtin_add_overflow(sum, value, &sum)) return 1;
    }
    return std::max<uint64_t>(sum, 1);
  }

  void Reject(const Kind& kind, const char* reason, const std::string& what) {
    const uint64_t observed = Observed(kind);
    made_.samples += observed;
    rejected_.AddWith(reason, observed, [&] {
      return "sample " + std::to_string(sample_number_) + " of profile " +
             std::to_string(profile_number_) + ": " + what;
    });
  }

  static std::string NoneOf(const char* what, uint64_t index) {
    return std::string(what) + " " + std::to_string(static_cast<int64_t>(index)) +
           " is not there, or points at something that is not";
  }

  void ReadSample(const Kind& kind) {
    if (kind.fault != nullptr) return Reject(kind, kind.fault, kind.fault_text);
    const auto stack = dictionary_->Stack(sample_.stack);
    if (!stack) {
      std::string text = NoneOf("stack", sample_.stack);
      if (!dictionary_->first_fault().empty()) text += " (" + dictionary_->first_fault() + ")";
      return Reject(kind, "stack_index", text);
    }
    otlp::Places::Place& place = places_.Of(sample_.attribute_indices);
    if (!place.is_good) return Reject(kind, "attribute_index", "an attribute is not there");
    if (!dictionary_->FindLink(sample_.link))
      return Reject(kind, "link_index", NoneOf("link", sample_.link));
    const size_t times = sample_.times_unix_ns.size();
    const size_t values = sample_.values.size();
    if (times == 0 && values == 0) return Reject(kind, "empty", "it has neither values nor times");
    if (times != 0 && values != 0 && times != values) {
      return Reject(kind, "lengths",
                    std::to_string(values) + " values for " + std::to_string(times) + " times");
    }
    const size_t rows_before = made_.batch.rows.size();
    if (const char* fault = AddRows(kind, *stack, place); fault != nullptr) {
      made_.batch.rows.resize(rows_before);
      return Reject(kind, fault, "its value is negative, or too large for 64 bits");
    }
    Account(rows_before, times != 0 ? times : 1);
    place.samples += std::max<size_t>(times, 1);
    if (sample_.link != 0) {
      dropped_.Add("link", std::max<size_t>(times, 1),
                   "the trace and span of a sample have no place in a store");
    }
  }

  void Account(size_t rows_before, size_t events) {
    uint64_t counted = 0;
    for (size_t i = rows_before; i < made_.batch.rows.size(); ++i)
      counted += static_cast<uint64_t>(made_.batch.rows[i].count);
    const uint64_t empty = events - (made_.batch.rows.size() - rows_before);
    made_.excluded += empty;
    made_.samples += counted + empty;
  }

  // The reason why not, if not.
  const char* AddRows(const Kind& kind, profile::StackId stack, const otlp::Places::Place& place) {
    batch::BatchRow row = {.type = kind.type,
                           .series = place.series,
                           .task = place.task,
                           .stack = stack,
                           .time_unix_ms = kind.end_unix_ms,
                           .value = 0,
                           .count = 0,
                           .weight = place.weight};
    const std::vector<uint64_t>& times = sample_.times_unix_ns;
    const std::vector<uint64_t>& values = sample_.values;
    if (times.empty()) {
      // Several values of one stack without times are parts of one sum.
      int64_t sum = 0;
      for (const uint64_t value : values) {
        if (static_cast<int64_t>(value) < 0) return "negative_value";
        if (__builtin_add_overflow(sum, static_cast<int64_t>(value), &sum)) return "overflow";
      }
      if (sum == 0) return nullptr;
      if (const char* fault = AddRow(kind, sum, place.count, row)) return fault;
      if (kind.is_of_arrival) made_.batch.has_times_of_arrival = true;
      return nullptr;
    }
    for (size_t i = 0; i < times.size(); ++i) {
      row.time_unix_ms = static_cast<int64_t>(times[i] / kNsPerMs);
      const int64_t value = values.empty() ? 1 : static_cast<int64_t>(values[i]);
      if (const char* fault = AddRow(kind, value, place.count, row)) return fault;
    }
    return nullptr;
  }

  const char* AddRow(const Kind& kind, int64_t value, int64_t count, batch::BatchRow row) {
    if (value < 0) return "negative_value";
    row.value = value;
    row.count = count;
    if (kind.is_counts) {
      row.count = value;
      if (__builtin_mul_overflow(value, kind.period, &row.value)) return "overflow";
    }
    if (row.value == 0 && row.count == 0) return nullptr;
    made_.batch.rows.push_back(row);
    return nullptr;
  }

  const OtlpDecodeOptions& options_;
  std::unique_ptr<profile::Profile> profile_;
  std::unique_ptr<otlp::Dictionary> dictionary_;  // of the message at hand
  otlp::Places places_;
  std::map<batch::ProfileType, uint32_t> types_;
  std::optional<batch::BatchId> id_;
  bool ids_differ_ = false;
  size_t profile_number_ = 0;
  size_t sample_number_ = 0;
  otlp::RawSample sample_;
  otlp::Counts rejected_;
  otlp::Counts dropped_;
  OtlpBatch made_;
};

base::Result<OtlpSymbols> ReadSymbols(std::string_view bytes) {
  const otlp::RawRequest request = otlp::ReadRequest(bytes);
  if (!request.resources.empty())
    return Error(ErrorCode::kCorrupt, "these are profiles and no symbols");
  OtlpSymbols made;
  made.profile = std::make_unique<profile::Profile>();
  otlp::Dictionary dictionary(request.dictionaries, made.profile.get());
  IdParts parts;
  for (size_t i = 0; i < dictionary.attribute_count(); ++i)
    parts.Take(*dictionary.FindAttribute(i));
  made.symbols.id = parts.Id();
  made.symbols.profile = made.profile.get();
  otlp::Counts rejected;
  const auto reject = [&rejected](size_t index, const char* reason, const std::string& why) {
    rejected.AddWith(reason, 1, [&] { return "location " + std::to_string(index) + ": " + why; });
  };
  for (size_t i = 1; i < dictionary.location_count(); ++i) {
    const auto id = dictionary.Location(i);
    if (!id) {
      reject(i, "location",
             "it points at something that is not there: " + dictionary.first_fault());
      continue;
    }
    const profile::Location location = made.profile->location(*id);
    bool is_known = location.mapping != profile::kNoMapping;
    if (is_known) {
      const profile::Mapping& mapping = made.profile->mapping(location.mapping);
      is_known = mapping.path != profile::StringId{} || mapping.build_id != profile::StringId{};
    }
    if (!is_known) {
      reject(i, "mapping", "it is of no binary");
    } else if (location.lines.empty()) {
      reject(i, "lines", "it has no name");
    } else {
      made.symbols.locations.push_back(*id);
    }
  }
  made.rejected = rejected.Take();
  return made;
}

}  // namespace

const char* OtlpLayoutName(OtlpLayout layout) {
  switch (layout) {
    case OtlpLayout::kV1_8:
      return "v1.8";
    case OtlpLayout::kV1_9:
      return "v1.9";
    case OtlpLayout::kV1_10:
      return "v1.10";
  }
  return "unknown";
}

uint64_t OtlpBatch::rejected_samples() const {
  uint64_t sum = 0;
  for (const OtlpCount& one : rejected) sum += one.count;
  return sum;
}

base::Result<OtlpBatch> DecodeOtlp(std::string_view bytes, const OtlpDecodeOptions& options) {
  return otlp::DecodeMessages({&bytes, 1}, options);
}

base::Result<OtlpSymbols> DecodeOtlpSymbols(std::string_view bytes) {
  return otlp::Guarded({&bytes, 1}, [&] { return ReadSymbols(bytes); });
}

base::Result<OtlpBatch> otlp::DecodeMessages(std::span<const std::string_view> messages,
                                             const OtlpDecodeOptions& options) {
  return Guarded(messages, [&]() -> base::Result<OtlpBatch> {
    Decoder decoder(options);
    for (const std::string_view message : messages) RETURN_IF_ERROR(decoder.Read(message));
    return decoder.Take();
  });
}

}  // namespace vesta::wire
