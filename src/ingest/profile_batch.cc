#include "src/ingest/profile_batch.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/printable.h"
#include "src/ingest/series_table.h"
#include "src/store/batch_check.h"

namespace vesta::ingest {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;

base::Error Invalid(const std::string& message) {
  return base::Error(base::ErrorCode::kInvalidInput, message);
}

// A type as it is stored, and where its numbers are among a sample's values.
struct Column {
  size_t value = 0;
  std::optional<size_t> count = std::nullopt;
};

std::string_view BeforeLastUnderscore(std::string_view name) {
  const size_t at = name.rfind('_');
  return at == std::string_view::npos ? std::string_view() : name.substr(0, at);
}

// Whether type `at` counts what the type behind it measures.
bool IsCountOfNext(const profile::Profile& profile, size_t at) {
  const auto types = profile.sample_types();
  if (at + 1 >= types.size() || profile.String(types[at].unit) != "count") return false;
  const std::string_view count = profile.String(types[at].type);
  const std::string_view next = profile.String(types[at + 1].type);
  if (profile.String(types[at + 1].unit) == "count") return count == "samples" && types.size() == 2;
  if (count == "samples" || count == "contentions" || count == "objects") return true;
  const std::string_view prefix = BeforeLastUnderscore(count);
  if (prefix.empty()) return false;
  return prefix == BeforeLastUnderscore(next) || (prefix == next && count.ends_with("_samples"));
}

std::vector<Column> ColumnsOf(const profile::Profile& profile) {
  std::vector<Column> columns;
  for (size_t i = 0; i < profile.sample_types().size(); ++i) {
    if (IsCountOfNext(profile, i)) {
      columns.push_back({.value = i + 1, .count = i});
      ++i;
    } else {
      columns.push_back({.value = i});
    }
  }
  return columns;
}

base::Result<std::vector<store::ProfileType>> TypesOf(const profile::Profile& profile,
                                                      const std::vector<Column>& columns,
                                                      const std::string& counted_type) {
  const auto text = [&](profile::StringId id) { return std::string(profile.String(id)); };
  const auto types = profile.sample_types();
  if (types.empty()) return Invalid("the profile has no sample types");
  std::vector<store::ProfileType> stored;
  std::set<std::pair<std::string, std::string>> seen;
  for (const Column& column : columns) {
    const profile::ValueType& value = types[column.value];
    store::ProfileType type = {.type = text(value.type),
                               .unit = text(value.unit),
                               .count_type = column.count ? text(types[*column.count].type) : "",
                               .period_type = text(profile.header().period_type.type),
                               .period_unit = text(profile.header().period_type.unit)};
    if (types.size() == 1 && type.type == "samples" && type.unit == "count") {
      type.type = counted_type;
    }
    if (!seen.emplace(type.type, type.unit).second) {
      return Invalid("the profile has the sample type " +
                     base::Printable(type.type + "/" + type.unit) + " twice");
    }
    stored.push_back(std::move(type));
  }
  return stored;
}

base::Result<int64_t> TimeOf(const profile::Profile& profile, const BatchOptions& options) {
  if (options.time_unix_ms) return *options.time_unix_ms;
  const profile::Header& header = profile.header();
  if (header.time_unix_ns > 0) {
    const int64_t duration_ns = header.duration_ns > 0 ? header.duration_ns : 0;
    return profile::AddSaturating(header.time_unix_ns, duration_ns) / kNsPerMs;
  }
  if (options.fallback_time_unix_ms) return *options.fallback_time_unix_ms;
  return Invalid("the profile does not say when it was recorded, and no time was given");
}

base::Error NegativeValue(const profile::Profile& profile, size_t sample, size_t type) {
  const profile::ValueType& value_type = profile.sample_types()[type];
  return Invalid("sample " + std::to_string(sample) + " has " +
                 std::to_string(profile.sample_values(sample)[type]) + " as its value of " +
                 base::Printable(profile.String(value_type.type)) + "/" +
                 base::Printable(profile.String(value_type.unit)) +
                 ": a difference of profiles cannot be stored");
}

base::Result<void> AddRows(const profile::Profile& profile, const std::vector<Column>& columns,
                           std::optional<int64_t> given, int64_t otherwise, SeriesTable* series,
                           ProfileBatch* made) {
  std::vector<store::BatchRow>& rows = made->batch.rows;
  rows.reserve(profile.sample_count() * columns.size());
  for (size_t sample = 0; sample < profile.sample_count(); ++sample) {
    const auto values = profile.sample_values(sample);
    const SeriesTable::Place& place = series->Add(profile.sample_labels(sample));
    for (size_t type = 0; type < columns.size(); ++type) {
      const Column& column = columns[type];
      const int64_t value = values[column.value];
      const int64_t count =
          column.count ? values[*column.count] : place.count.value_or(int64_t{value != 0});
      if (value < 0) return NegativeValue(profile, sample, column.value);
      if (count < 0) return NegativeValue(profile, sample, *column.count);
      if (value == 0 && count == 0) {
        ++made->report.values_empty;
        continue;
      }
      rows.push_back({.type = static_cast<uint32_t>(type),
                      .series = place.series,
                      .task = place.task,
                      .stack = profile.sample_stack(sample),
                      .time_unix_ms = given ? *given : place.time_unix_ms.value_or(otherwise),
                      .value = value,
                      .count = count,
                      .weight = place.weight});
    }
  }
  return {};
}

}  // namespace

base::Result<ProfileBatch> MakeBatch(const profile::Profile& profile, const BatchOptions& options) {
  const std::vector<Column> columns = ColumnsOf(profile);
  ProfileBatch made;
  made.batch.id = options.id;
  made.batch.profile = &profile;
  ASSIGN_OR_RETURN(made.batch.types, TypesOf(profile, columns, options.counted_type));
  ASSIGN_OR_RETURN(const int64_t time_unix_ms, TimeOf(profile, options));
  SeriesTable series(profile, options.labels);
  RETURN_IF_ERROR(AddRows(profile, columns, options.time_unix_ms, time_unix_ms, &series, &made));
  made.batch.has_times_of_arrival =
      !options.time_unix_ms && profile.header().time_unix_ns <= 0 &&
      std::all_of(made.batch.rows.begin(), made.batch.rows.end(),
                  [&](const store::BatchRow& row) { return row.time_unix_ms == time_unix_ms; });
  made.batch.series = series.TakeSeries();
  made.batch.tasks = series.TakeTasks();
  made.report.samples = profile.sample_count();
  made.report.rows = made.batch.rows.size();
  made.report.labels_dropped = series.Dropped();
  RETURN_IF_ERROR(store::CheckBatch(made.batch));
  return made;
}

}  // namespace vesta::ingest
