#include "src/wire/otlp_encoder.h"

#include <algorithm>
#include <limits>
#include <protozero/pbf_writer.hpp>
#include <tuple>
#include <vector>

#include "src/wire/otlp_dictionary_writer.h"
#include "src/wire/otlp_fields.h"

namespace vesta::wire {
namespace {

using batch::Batch;
using batch::BatchRow;
using batch::ProfileType;
using protozero::pbf_writer;

constexpr uint64_t kNsPerMs = 1'000'000;
// The last millisecond that 64 bits of nanoseconds can hold, of the year 2554.
constexpr uint64_t kTimeMsMax = std::numeric_limits<uint64_t>::max() / kNsPerMs - 1;

// A row knows its millisecond; each nanosecond of that is as true as another. The one with the most
// zero bits costs two bytes less when it is compressed.
constexpr uint64_t kTimeStepNs = uint64_t{1} << 19;  // < kNsPerMs: each millisecond has one

uint64_t MsOf(int64_t time_unix_ms) {
  return time_unix_ms < 0 ? 0 : std::min(static_cast<uint64_t>(time_unix_ms), kTimeMsMax);
}

uint64_t TimestampOf(int64_t time_unix_ms) {
  const uint64_t start_ns = MsOf(time_unix_ms) * kNsPerMs;
  return (start_ns + kTimeStepNs - 1) / kTimeStepNs * kTimeStepNs;
}

// Two OTLP profiles at most for the rows of a series and type, since all samples of one have the
// same form.
enum class Form : uint8_t {
  kPeriods,  // each row is one sample worth the period: times are enough
  kValues,
};

class Encoder {
 public:
  Encoder(const Batch& batch, const OtlpFacts& facts, const profile::Profile& profile,
          otlp::DictionaryTables* tables)
      : batch_(batch),
        facts_(facts),
        profile_(profile),
        tables_(*tables),
        dictionary_(profile, tables),
        task_attributes_(batch.tasks.size()),
        is_task_known_(batch.tasks.size()) {
    for (const ProfileType& type : batch.types) periods_.push_back(PeriodOf(type));
  }

  std::string Run() {
    FindRange();
    order_.reserve(batch_.rows.size());
    for (uint32_t i = 0; i < batch_.rows.size(); ++i) order_.push_back(i);
    std::ranges::stable_sort(order_, {}, [this](uint32_t i) { return KeyOf(batch_.rows[i]); });
    std::string request;
    pbf_writer writer(request);
    for (size_t begin = 0; begin < order_.size();) {
      const size_t end = EndOf(begin, [this](uint32_t i) { return batch_.rows[i].series; });
      writer.add_message(otlp::RequestField::kResourceProfiles, Resource(begin, end));
      begin = end;
    }
    if (order_.empty()) writer.add_message(otlp::RequestField::kResourceProfiles, Resource(0, 0));
    writer.add_message(otlp::RequestField::kDictionary, tables_.Message());
    return request;
  }

 private:
  Form FormOf(const BatchRow& row) const {
    const bool is_period =
        row.count == 1 && row.weight == 1 && row.value > 0 && row.value == periods_[row.type];
    return is_period ? Form::kPeriods : Form::kValues;
  }

  // 0 = the type is not sampled by a period that the profile knows.
  int64_t PeriodOf(const ProfileType& type) const {
    const profile::Header& header = profile_.header();
    const bool is_counted = type.count_type == "samples" && type.type == type.period_type &&
                            type.unit == type.period_unit && !type.type.empty();
    const bool is_of_header = profile_.String(header.period_type.type) == type.period_type &&
                              profile_.String(header.period_type.unit) == type.period_unit;
    return is_counted && is_of_header && header.period > 0 ? header.period : 0;
  }

  std::tuple<uint32_t, uint32_t, Form, profile::StackId, uint32_t, float, int64_t> KeyOf(
      const BatchRow& row) const {
    return {row.series, row.type, FormOf(row), row.stack, row.task, row.weight, row.count};
  }

  // The end of the run of rows that begins there and has one key.
  template <typename Key>
  size_t EndOf(size_t begin, const Key& key) const {
    const auto wanted = key(order_[begin]);
    size_t end = begin + 1;
    while (end < order_.size() && key(order_[end]) == wanted) ++end;
    return end;
  }

  // The window of the profile, and wider if there are rows outside.
  void FindRange() {
    uint64_t first_ms = std::numeric_limits<uint64_t>::max();
    uint64_t end_ms = 0;
    const profile::Header& header = profile_.header();
    if (header.time_unix_ns > 0) {
      first_ms = static_cast<uint64_t>(header.time_unix_ns) / kNsPerMs;
      const int64_t end_ns =
          profile::AddSaturating(header.time_unix_ns, std::max<int64_t>(header.duration_ns, 0));
      end_ms = (static_cast<uint64_t>(end_ns) + kNsPerMs - 1) / kNsPerMs;
    }
    for (const BatchRow& row : batch_.rows) {
      first_ms = std::min(first_ms, MsOf(row.time_unix_ms));
      end_ms = std::max(end_ms, MsOf(row.time_unix_ms) + 1);
    }
    if (first_ms >= end_ms) return;
    start_ns_ = first_ms * kNsPerMs;
    duration_ns_ = (end_ms - first_ms) * kNsPerMs;
  }

  std::string Resource(size_t begin, size_t end) {
    const size_t series = begin < end ? batch_.rows[order_[begin]].series : 0;
    std::string resource;
    if (series < batch_.series.size()) {
      pbf_writer writer(resource);
      for (const batch::Label& label : batch_.series[series]) {
        writer.add_message(otlp::ResourceField::kAttributes,
                           otlp::KeyValue(label.name, otlp::TextValue(label.value)));
      }
    }
    std::string scope_profiles;
    pbf_writer writer(scope_profiles);
    writer.add_message(otlp::ScopeProfilesField::kScope, Scope());
    for (size_t at = begin; at < end;) {
      const auto of_profile = [this](uint32_t i) {
        return std::pair(batch_.rows[i].type, FormOf(batch_.rows[i]));
      };
      const size_t profile_end = std::min(end, EndOf(at, of_profile));
      writer.add_message(otlp::ScopeProfilesField::kProfiles, ProfileOf(at, profile_end));
      at = profile_end;
    }
    if (begin == end) writer.add_message(otlp::ScopeProfilesField::kProfiles, EmptyProfile());
    std::string message;
    pbf_writer resource_profiles(message);
    resource_profiles.add_message(otlp::ResourceProfilesField::kResource, resource);
    resource_profiles.add_message(otlp::ResourceProfilesField::kScopeProfiles, scope_profiles);
    return message;
  }

  // The first one carries what is true for the whole batch.
  std::string Scope() {
    std::string scope;
    pbf_writer writer(scope);
    writer.add_string(otlp::ScopeField::kName, std::string(otlp::kOurScope));
    if (!facts_.scope_version.empty())
      writer.add_string(otlp::ScopeField::kVersion, facts_.scope_version);
    if (has_facts_) return scope;
    has_facts_ = true;
    const auto add = [&writer](std::string_view key, const std::string& value) {
      writer.add_message(otlp::ScopeField::kAttributes, otlp::KeyValue(key, value));
    };
    if (batch_.id) {
      add(otlp::kAgent, otlp::TextValue(batch_.id->agent));
      add(otlp::kBoot, otlp::TextValue(batch_.id->boot));
      add(otlp::kSequence, otlp::IntValue(static_cast<int64_t>(batch_.id->sequence)));
    }
    if (facts_.clock) {
      add(otlp::kClockMonotonic, otlp::IntValue(static_cast<int64_t>(facts_.clock->monotonic_ns)));
      add(otlp::kClockUnix, otlp::IntValue(facts_.clock->unix_ns));
      add(otlp::kClockError, otlp::IntValue(static_cast<int64_t>(facts_.clock->error_ns)));
    }
    if (!facts_.book.empty()) add(otlp::kBook, otlp::TextValue(facts_.book));
    return scope;
  }

  void AddTimes(pbf_writer& writer) const {
    if (start_ns_ != 0) writer.add_fixed64(otlp::ProfileField::kTime, start_ns_);
    if (duration_ns_ != 0) writer.add_uint64(otlp::ProfileField::kDuration, duration_ns_);
  }

  std::string EmptyProfile() {
    std::string message;
    pbf_writer writer(message);
    writer.add_message(otlp::ProfileField::kSampleType, dictionary_.ValueType("samples", "count"));
    AddTimes(writer);
    writer.add_message(otlp::ProfileField::kPeriodType, dictionary_.ValueType("", ""));
    return message;
  }

  std::string ProfileOf(size_t begin, size_t end) {
    const BatchRow& first = batch_.rows[order_[begin]];
    const ProfileType& type = batch_.types[first.type];
    const Form form = FormOf(first);
    std::string message;
    pbf_writer writer(message);
    writer.add_message(otlp::ProfileField::kSampleType,
                       form == Form::kPeriods ? dictionary_.ValueType("samples", "count")
                                              : dictionary_.ValueType(type.type, type.unit));
    for (size_t at = begin; at < end;) {
      const size_t sample_end =
          std::min(end, EndOf(at, [this](uint32_t i) { return KeyOf(batch_.rows[i]); }));
      AddSample(at, sample_end, form, writer);
      at = sample_end;
    }
    AddTimes(writer);
    // Parca refuses requests in which a profile has none.
    writer.add_message(otlp::ProfileField::kPeriodType,
                       dictionary_.ValueType(type.period_type, type.period_unit));
    if (const int64_t period = periods_[first.type]; period != 0)
      writer.add_int64(otlp::ProfileField::kPeriod, period);
    if (form == Form::kValues) {
      const uint32_t count_type =
          dictionary_.Attribute(otlp::kCountType, otlp::TextValue(type.count_type));
      writer.add_packed_uint32(otlp::ProfileField::kAttributeIndices, &count_type, &count_type + 1);
    }
    return message;
  }

  void AddSample(size_t begin, size_t end, Form form, pbf_writer& profile_writer) {
    const BatchRow& first = batch_.rows[order_[begin]];
    sample_.clear();
    pbf_writer writer(sample_);
    const uint32_t stack = dictionary_.Stack(first.stack);
    if (stack != 0) writer.add_uint32(otlp::SampleField::kStack, stack);
    attributes_ = AttributesOf(first.task);
    if (first.weight != 1)
      attributes_.push_back(dictionary_.Attribute(
          otlp::kWeight, otlp::DoubleValue(static_cast<double>(first.weight))));
    if (first.count != 1)
      attributes_.push_back(dictionary_.Attribute(otlp::kCount, otlp::IntValue(first.count)));
    writer.add_packed_uint32(otlp::SampleField::kAttributeIndices, attributes_.begin(),
                             attributes_.end());
    if (form == Form::kValues) {
      values_.clear();
      for (size_t i = begin; i < end; ++i) values_.push_back(batch_.rows[order_[i]].value);
      writer.add_packed_int64(otlp::SampleField::kValues, values_.begin(), values_.end());
    }
    times_.clear();
    for (size_t i = begin; i < end; ++i)
      times_.push_back(TimestampOf(batch_.rows[order_[i]].time_unix_ms));
    writer.add_packed_fixed64(otlp::SampleField::kTimestamps, times_.begin(), times_.end());
    profile_writer.add_message(otlp::ProfileField::kSamples, sample_);
  }

  const std::vector<uint32_t>& AttributesOf(uint32_t task_index) {
    std::vector<uint32_t>& attributes = task_attributes_[task_index];
    if (is_task_known_[task_index]) return attributes;
    is_task_known_[task_index] = true;
    const batch::Task& task = batch_.tasks[task_index];
    if (task.pid != 0)
      attributes.push_back(dictionary_.Attribute(otlp::kProcessPid, otlp::IntValue(task.pid)));
    if (task.tid != 0)
      attributes.push_back(dictionary_.Attribute(otlp::kThreadId, otlp::IntValue(task.tid)));
    if (!task.thread.empty())
      attributes.push_back(dictionary_.Attribute(otlp::kThreadName, otlp::TextValue(task.thread)));
    return attributes;
  }

  const Batch& batch_;
  const OtlpFacts& facts_;
  const profile::Profile& profile_;
  otlp::DictionaryTables& tables_;
  otlp::DictionaryWriter dictionary_;
  std::vector<int64_t> periods_;  // of the types
  std::vector<std::vector<uint32_t>> task_attributes_;
  std::vector<bool> is_task_known_;
  std::vector<uint32_t> order_;  // of rows
  uint64_t start_ns_ = 0;
  uint64_t duration_ns_ = 0;
  bool has_facts_ = false;

  // Reused.
  std::string sample_;
  std::vector<uint32_t> attributes_;
  std::vector<int64_t> values_;
  std::vector<uint64_t> times_;
};

}  // namespace

std::string EncodeOtlp(const Batch& batch, const OtlpFacts& facts) {
  otlp::DictionaryTables tables;
  return EncodeOtlp(batch, facts, &tables);
}

std::string EncodeOtlp(const Batch& batch, const OtlpFacts& facts, otlp::DictionaryTables* tables) {
  const profile::Profile none;
  CHECK(batch.profile != nullptr || batch.rows.empty());
  return Encoder(batch, facts, batch.profile != nullptr ? *batch.profile : none, tables).Run();
}

std::string EncodeOtlpSymbols(const batch::SymbolBatch& symbols) {
  const profile::Profile none;
  CHECK(symbols.profile != nullptr || symbols.locations.empty());
  otlp::DictionaryTables tables;
  otlp::DictionaryWriter dictionary(symbols.profile != nullptr ? *symbols.profile : none, &tables);
  if (symbols.id) {
    dictionary.Attribute(otlp::kAgent, otlp::TextValue(symbols.id->agent));
    dictionary.Attribute(otlp::kBoot, otlp::TextValue(symbols.id->boot));
    dictionary.Attribute(otlp::kSequence,
                         otlp::IntValue(static_cast<int64_t>(symbols.id->sequence)));
  }
  for (const profile::LocationId id : symbols.locations) dictionary.Location(id);
  std::string message;
  pbf_writer(message).add_message(otlp::RequestField::kDictionary, tables.Message());
  return message;
}

}  // namespace vesta::wire
