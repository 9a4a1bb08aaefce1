#include "src/query/export_rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "src/query/asking.h"
#include "src/query/row_profile.h"
#include "src/store/row_labels.h"

namespace vesta::query {
namespace {

constexpr size_t kPartRowsMax = 100'000;

std::string WeightText(float weight) {
  std::array<char, 32> text;
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), weight);
  return error == std::errc() ? std::string(text.data(), end) : "1";
}

class Exporter {
 public:
  Exporter(Asking& asking, const std::function<base::Result<void>(ExportPart)>& sink)
      : asking_(asking), sink_(sink) {}

  // Rows of one series and type stand together in a part.
  base::Result<void> Add(const store::RowBlock& block) {
    std::vector<uint32_t> order(block.rows.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto key = [&](uint32_t i) {
      const store::StoredRow& row = block.rows[i];
      return std::tuple(row.series, row.type, row.time_unix_ms);
    };
    std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
    for (size_t begin = 0; begin < order.size();) {
      const store::StoredRow& first = block.rows[order[begin]];
      size_t end = begin;
      while (end < order.size() && end - begin < kPartRowsMax &&
             block.rows[order[end]].series == first.series &&
             block.rows[order[end]].type == first.type)
        ++end;
      RETURN_IF_ERROR(asking_.CheckLimits());
      RETURN_IF_ERROR(Part(block, std::span(order).subspan(begin, end - begin)));
      begin = end;
    }
    return {};
  }

 private:
  base::Result<void> Part(const store::RowBlock& block, std::span<const uint32_t> rows) {
    const store::StoredRow& first = block.rows[rows[0]];
    ExportPart part{
        asking_.listing().types.at(first.type), asking_.listing().labels.at(first.series), {}};
    RowProfile made(part.type);
    made.StartBlock(block.names, block.parent, block.frame);
    int64_t last_ms = first.time_unix_ms;
    for (const uint32_t index : rows) {
      const store::StoredRow& row = block.rows[index];
      ASSIGN_OR_RETURN(const profile::StackId stack, made.StackOf(row.node));
      const bool counts = part.type.count_type.empty() && row.count != 1;
      made.Append(stack, LabelsOf(part.labels, row, block.tasks[row.task], counts, made.profile()),
                  row.value, row.count);
      last_ms = std::max(last_ms, row.time_unix_ms);
      asking_.AddTotal(0, {row.value, row.count});
    }
    made.profile().header().time_unix_ns = first.time_unix_ms * 1'000'000;
    made.profile().header().duration_ns = (last_ms - first.time_unix_ms) * 1'000'000;
    part.profile = std::move(made.profile());
    return sink_(std::move(part));
  }

  static profile::LabelSetId LabelsOf(const store::Labels& series, const store::StoredRow& row,
                                      const store::Task& task, bool counts,
                                      profile::Profile& profile) {
    std::vector<profile::Label> labels;
    for (const store::Label& label : series)
      labels.push_back(profile.TextLabel(label.name, label.value));
    if (task.pid != 0) labels.push_back(profile.NumberLabel(profile::kLabelPid, task.pid));
    if (task.tid != 0) labels.push_back(profile.NumberLabel(profile::kLabelTid, task.tid));
    if (!task.thread.empty())
      labels.push_back(profile.TextLabel(profile::kLabelThread, task.thread));
    labels.push_back(profile.NumberLabel(store::kRowTime, row.time_unix_ms, "milliseconds"));
    if (row.weight != 1)
      labels.push_back(profile.TextLabel(store::kRowWeight, WeightText(row.weight)));
    if (counts) labels.push_back(profile.NumberLabel(store::kRowCount, row.count));
    return profile.InternLabels(labels);
  }

  Asking& asking_;
  const std::function<base::Result<void>(ExportPart)>& sink_;
};

}  // namespace

base::Result<About> ExportRows(store::Store& store, const Request& request,
                               const AskOptions& options,
                               const std::function<base::Result<void>(ExportPart)>& sink) {
  Request rows = request;
  rows.question = Question::kRows;
  Asking asking(store, rows, options);
  RETURN_IF_ERROR(asking.Start());
  Exporter exporter(asking, sink);
  for (const PlanRead& read : asking.plan().reads) {
    RETURN_IF_ERROR(
        asking.Rows(read, [&](const store::RowBlock& block) { return exporter.Add(block); }));
  }
  return asking.TakeAbout();
}

}  // namespace vesta::query
