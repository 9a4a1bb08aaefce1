#include "src/store/batch_check.h"

#include <cmath>
#include <string>
#include <string_view>

#include "src/base/printable.h"
#include "src/base/utf8.h"

namespace vesta::store {
namespace {

base::Error Invalid(const std::string& message) {
  return base::Error(base::ErrorCode::kInvalidInput, message);
}

bool IsText(std::string_view text, size_t bytes_max) {
  return text.size() <= bytes_max && base::IsUtf8(text);
}

// `what` names the text for people.
base::Result<void> CheckText(std::string_view text, size_t bytes_max, const std::string& what) {
  if (text.size() > bytes_max) {
    return Invalid(what + " is longer than " + std::to_string(bytes_max) + " bytes");
  }
  if (!base::IsUtf8(text)) return Invalid(what + " is no UTF-8");
  return {};
}

base::Result<void> CheckType(const ProfileType& type) {
  if (type.type.empty()) return Invalid("type is empty");
  RETURN_IF_ERROR(CheckText(type.type, kTypeNameBytesMax, "type"));
  RETURN_IF_ERROR(CheckText(type.unit, kTypeNameBytesMax, "unit"));
  RETURN_IF_ERROR(CheckText(type.count_type, kTypeNameBytesMax, "count_type"));
  RETURN_IF_ERROR(CheckText(type.period_type, kTypeNameBytesMax, "period_type"));
  return CheckText(type.period_unit, kTypeNameBytesMax, "period_unit");
}

// What is wrong with the row's field, "" when nothing is. No string is made for good rows.
std::string_view RowFault(const Batch& batch, size_t stack_count, const BatchRow& row) {
  if (row.type >= batch.types.size()) return "type is none of the batch's types";
  if (row.series >= batch.series.size()) return "series is none of the batch's series";
  if (row.task >= batch.tasks.size()) return "task is none of the batch's tasks";
  if (row.stack.value() >= stack_count) return "stack is none of the profile's stacks";
  if (row.time_unix_ms < 0) return "time_unix_ms is before 1970";
  if (row.time_unix_ms >= kTimeUnixMsEnd) return "time_unix_ms is after the year 9999";
  if (row.value < 0) return "value is negative";
  if (row.count < 0) return "count is negative";
  if (row.value == 0 && row.count == 0) return "value and count are both 0";
  if (!(row.weight > 0) || !std::isfinite(row.weight)) return "weight is not above 0 and finite";
  return {};
}

base::Result<void> CheckNames(const Batch& batch) {
  if (batch.id) RETURN_IF_ERROR(CheckBatchId(*batch.id));
  for (size_t i = 0; i < batch.types.size(); ++i) {
    const auto checked = CheckType(batch.types[i]);
    if (!checked.ok()) return checked.error().Context("types[" + std::to_string(i) + "]");
  }
  for (size_t i = 0; i < batch.series.size(); ++i) {
    const auto checked = CheckLabels(batch.series[i]);
    if (!checked.ok()) return checked.error().Context("series[" + std::to_string(i) + "]");
  }
  for (size_t i = 0; i < batch.tasks.size(); ++i) {
    const auto checked = CheckText(batch.tasks[i].thread, kThreadNameBytesMax, "thread");
    if (!checked.ok()) return checked.error().Context("tasks[" + std::to_string(i) + "]");
  }
  return {};
}

}  // namespace

base::Result<void> CheckLabels(const Labels& labels) {
  if (labels.size() > kLabelsMax) {
    return Invalid(std::to_string(labels.size()) + " labels are more than " +
                   std::to_string(kLabelsMax));
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    const Label& label = labels[i];
    if (label.name.empty()) return Invalid("a label's name is empty");
    // Names are made only for what is wrong.
    const auto what = [&label] { return "the label " + base::Printable(label.name.substr(0, 64)); };
    if (!IsText(label.name, kLabelNameBytesMax)) {
      return CheckText(label.name, kLabelNameBytesMax, "the name of " + what());
    }
    if (label.value.empty()) return Invalid(what() + " has an empty value");
    if (!IsText(label.value, kLabelValueBytesMax)) {
      return CheckText(label.value, kLabelValueBytesMax, "the value of " + what());
    }
    if (i == 0) continue;
    if (labels[i - 1].name == label.name) return Invalid(what() + " is there twice");
    if (labels[i - 1].name > label.name) return Invalid(what() + " is not in order");
  }
  return {};
}

base::Result<void> CheckBatchId(const BatchId& id) {
  RETURN_IF_ERROR(CheckText(id.agent, kBatchNameBytesMax, "id.agent"));
  return CheckText(id.boot, kBatchNameBytesMax, "id.boot");
}

base::Result<void> CheckBatch(const Batch& batch) {
  RETURN_IF_ERROR(CheckNames(batch));
  if (batch.profile == nullptr && !batch.rows.empty()) return Invalid("profile is missing");
  const size_t stack_count = batch.profile == nullptr ? 0 : batch.profile->stack_count();
  for (size_t i = 0; i < batch.rows.size(); ++i) {
    const std::string_view fault = RowFault(batch, stack_count, batch.rows[i]);
    if (!fault.empty()) return Invalid("rows[" + std::to_string(i) + "]." + std::string(fault));
  }
  return {};
}

}  // namespace vesta::store
