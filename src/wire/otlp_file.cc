#include "src/wire/otlp_file.h"

#include <array>
#include <charconv>
#include <map>
#include <string>
#include <utility>

#include "src/batch/row_labels.h"
#include "src/wire/otlp_decoder.h"
#include "src/wire/otlp_fields.h"
#include "src/wire/otlp_profile_decoder.h"
#include "src/wire/otlp_reader.h"
#include "src/wire/zstd.h"

namespace vesta::wire {
namespace {

using base::Error;
using base::ErrorCode;
using profile::Label;
using profile::LabelSetId;
using profile::Profile;
using protozero::pbf_wire_type;

constexpr size_t kLengthBytes = 4;

uint64_t LengthAt(std::string_view bytes) {
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i)
    length = length << 8 | static_cast<unsigned char>(bytes[i]);
  return length;
}

// Whether a message is a ResourceProfiles or, in pprof, a ValueType.
enum class Kind : uint8_t { kUnknown, kOtlp, kOther };

Kind KindOfFirstField(std::string_view inner) {
  if (inner.empty()) return Kind::kUnknown;
  const auto tag = static_cast<unsigned char>(inner.front());
  const bool is_bytes = (tag & 7) == 2;
  if (!is_bytes) return Kind::kOther;
  return tag >> 3 <= 3 ? Kind::kOtlp : Kind::kOther;
}

// Whether the bytes are whole fields of these numbers, and of the kind that messages and text have.
bool HasOnlyMessages(std::string_view bytes, uint32_t tag_max) {
  for (otlp::Fields fields(bytes); fields.Next();) {
    if (fields.wire_type() != pbf_wire_type::length_delimited || fields.tag() > tag_max)
      return false;
    fields.Skip();
  }
  return true;
}

// A whole message, down to the fields of resources and of the dictionary: no text is that by
// chance.
bool IsWholeOtlp(std::string_view bytes) {
  constexpr uint32_t kDictionaryTagMax = otlp::DictionaryField::kStacks;
  constexpr uint32_t kResourceTagMax = 3;
  bool has_content = false;
  for (otlp::Fields fields(bytes); fields.Next();) {
    const bool is_dictionary = fields.tag() == otlp::RequestField::kDictionary;
    if (fields.wire_type() != pbf_wire_type::length_delimited) return false;
    if (!is_dictionary && fields.tag() != otlp::RequestField::kResourceProfiles) return false;
    const std::string_view inner = fields.Bytes();
    if (!HasOnlyMessages(inner, is_dictionary ? kDictionaryTagMax : kResourceTagMax)) return false;
    has_content = has_content || !inner.empty();
  }
  return has_content;
}

// As far as the first fields tell, of a message that may be damaged further on.
bool BeginsLikeOtlp(std::string_view bytes) {
  std::string_view rest = bytes;
  while (rest.size() >= 2 && (rest[0] == '\x0a' || rest[0] == '\x12')) {
    const char* at = rest.data() + 1;
    const char* const end = rest.data() + rest.size();
    const uint64_t length = protozero::decode_varint(&at, end);
    const std::string_view inner(at, static_cast<size_t>(end - at));
    if (rest[0] == '\x0a') {
      const Kind kind = KindOfFirstField(inner.substr(0, length));
      if (kind != Kind::kUnknown) return kind == Kind::kOtlp;
    }
    // The table of links or one of those behind: samples of pprof have no such fields.
    if (rest[0] == '\x12' && !inner.empty() && inner[0] >= '\x22' && (inner[0] & 7) == 2)
      return true;
    if (length >= inner.size()) return false;
    rest = inner.substr(static_cast<size_t>(length));
  }
  return false;
}

bool IsOneMessage(std::string_view bytes) {
  try {
    if (IsWholeOtlp(bytes)) return true;
  } catch (const protozero::exception&) {
    // Damaged, or something else.
  }
  return false;
}

bool MayBeOneMessage(std::string_view bytes) {
  try {
    return BeginsLikeOtlp(bytes);
  } catch (const protozero::exception&) {
    return false;
  }
}

// Lengths that fit the file to its end.
bool IsFramed(std::string_view bytes) {
  size_t messages = 0;
  while (bytes.size() >= kLengthBytes) {
    const uint64_t length = LengthAt(bytes);
    if (length == 0 || length > bytes.size() - kLengthBytes) return false;
    bytes.remove_prefix(kLengthBytes + static_cast<size_t>(length));
    ++messages;
  }
  return bytes.empty() && messages > 0;
}

std::string_view FirstFrame(std::string_view bytes) {
  return bytes.substr(kLengthBytes, static_cast<size_t>(LengthAt(bytes)));
}

// Rows of a batch become samples of the batch's own profile.
class RowWriter {
 public:
  explicit RowWriter(OtlpBatch* made)
      : batch_(made->batch),
        profile_(*made->profile),
        series_labels_(batch_.series.size()),
        task_labels_(batch_.tasks.size()) {}

  void Run() {
    AddSampleTypes();
    for (size_t i = 0; i < batch_.series.size(); ++i) {
      for (const batch::Label& label : batch_.series[i])
        series_labels_[i].push_back(profile_.TextLabel(label.name, label.value));
    }
    for (size_t i = 0; i < batch_.tasks.size(); ++i) AddTaskLabels(batch_.tasks[i], i);
    std::vector<int64_t> values(profile_.sample_types().size());
    for (const batch::BatchRow& row : batch_.rows) {
      std::fill(values.begin(), values.end(), 0);
      const Columns& columns = columns_[row.type];
      values[columns.value] = row.value;
      if (columns.count) values[*columns.count] = row.count;
      profile_.AppendSample(row.stack, LabelsOf(row, columns), values);
    }
  }

 private:
  struct Columns {
    size_t value = 0;
    std::optional<size_t> count = std::nullopt;
  };

  void AddSampleTypes() {
    std::vector<profile::ValueType> types;
    for (const batch::ProfileType& type : batch_.types) {
      Columns& columns = columns_.emplace_back();
      if (!type.count_type.empty()) {
        columns.count = types.size();
        types.push_back(profile_.InternValueType(type.count_type, "count"));
      }
      columns.value = types.size();
      types.push_back(profile_.InternValueType(type.type, type.unit));
    }
    profile_.SetSampleTypes(std::move(types));
  }

  void AddTaskLabels(const batch::Task& task, size_t i) {
    std::vector<Label>& labels = task_labels_[i];
    if (task.pid != 0) labels.push_back(profile_.NumberLabel(profile::kLabelPid, task.pid));
    if (task.tid != 0) labels.push_back(profile_.NumberLabel(profile::kLabelTid, task.tid));
    if (!task.thread.empty())
      labels.push_back(profile_.TextLabel(profile::kLabelThread, task.thread));
  }

  LabelSetId LabelsOf(const batch::BatchRow& row, const Columns& columns) {
    labels_ = series_labels_[row.series];
    labels_.insert(labels_.end(), task_labels_[row.task].begin(), task_labels_[row.task].end());
    labels_.push_back(profile_.NumberLabel(batch::kRowTime, row.time_unix_ms, "milliseconds"));
    if (row.weight != 1) {
      std::array<char, 32> text;
      const auto end = std::to_chars(text.data(), text.data() + text.size(), row.weight);
      labels_.push_back(profile_.TextLabel(
          batch::kRowWeight, {text.data(), static_cast<size_t>(end.ptr - text.data())}));
    }
    if (!columns.count && row.count != 1)
      labels_.push_back(profile_.NumberLabel(batch::kRowCount, row.count));
    return profile_.InternLabels(labels_);
  }

  const batch::Batch& batch_;
  Profile& profile_;
  std::vector<Columns> columns_;  // of the batch's types
  std::vector<std::vector<Label>> series_labels_;
  std::vector<std::vector<Label>> task_labels_;
  std::vector<Label> labels_;
};

base::Result<Profile> DecodeRows(std::span<const std::string_view> messages) {
  ASSIGN_OR_RETURN(OtlpBatch made, otlp::DecodeMessages(messages, {}));
  if (made.batch.rows.empty() && !made.rejected.empty()) {
    return Error(ErrorCode::kCorrupt, "no valid OTLP profiles: " + made.rejected.front().example);
  }
  RowWriter(&made).Run();
  if (!made.rejected.empty()) {
    made.profile->header().comments.push_back(
        made.profile->InternString(std::to_string(made.rejected_samples()) +
                                   " samples were left out: " + made.rejected.front().example));
  }
  return std::move(*made.profile);
}

}  // namespace

bool IsOtlp(std::string_view bytes) {
  return IsOneMessage(bytes) ||
         (IsFramed(bytes) && (IsOneMessage(FirstFrame(bytes)) || IsZstd(FirstFrame(bytes))));
}

bool BeginsAsOtlp(std::string_view bytes) {
  if (IsOtlp(bytes) || MayBeOneMessage(bytes)) return true;
  if (bytes.size() <= kLengthBytes || bytes.front() != '\0') return false;
  const std::string_view first = bytes.substr(kLengthBytes);
  return first.front() == '\x0a' || first.front() == '\x12' || IsZstd(first);
}

base::Result<std::vector<std::string_view>> OtlpMessages(std::string_view bytes) {
  // The first byte of a message is a tag; that of a length is 0 as long as messages are below 16
  // MiB.
  if (!IsFramed(bytes) && (bytes.empty() || bytes.front() != '\0' || bytes.size() < kLengthBytes))
    return std::vector<std::string_view>{bytes};
  std::vector<std::string_view> messages;
  size_t at = 0;
  while (at < bytes.size()) {
    const std::string_view rest = bytes.substr(at);
    if (rest.size() < kLengthBytes || LengthAt(rest) > rest.size() - kLengthBytes) {
      return Error(ErrorCode::kCorrupt, "no valid OTLP profiles: the message at byte " +
                                            std::to_string(at) + " is longer than the file");
    }
    messages.push_back(FirstFrame(rest));
    at += kLengthBytes + messages.back().size();
  }
  return messages;
}

base::Result<Profile> DecodeOtlpFile(std::string_view bytes, uint64_t size_bytes_max) {
  ASSIGN_OR_RETURN(std::vector<std::string_view> messages, OtlpMessages(bytes));
  std::vector<std::string> unpacked;
  unpacked.reserve(messages.size());
  for (std::string_view& message : messages) {
    if (!IsZstd(message)) continue;
    ASSIGN_OR_RETURN(std::string plain, Unzstd(message, size_bytes_max));
    size_bytes_max -= plain.size();
    unpacked.push_back(std::move(plain));
    message = unpacked.back();
  }
  ASSIGN_OR_RETURN(const bool has_times, otlp::HasTimes(messages));
  return has_times ? DecodeRows(messages) : otlp::DecodeValues(messages);
}

}  // namespace vesta::wire
