// Values over time, by labels.
#include <algorithm>
#include <map>
#include <utility>

#include "src/query/asking.h"

namespace vesta::query {
namespace {

using Cells = std::map<uint64_t, ValueCount>;

SeriesRow RowOf(std::vector<std::string> values, const Cells& cells) {
  SeriesRow row{std::move(values), {}, {}};
  for (const auto& [step, sum] : cells) {
    row.total.Add(sum);
    row.cells.push_back({step, sum});
  }
  return row;
}

}  // namespace

base::Result<Answer> AskSeries(Asking& asking) {
  const Request& request = asking.request();
  SeriesAnswer answer;
  const store::TimeRange range = asking.plan().ranges[0];
  answer.step_ms = asking.plan().step_ms;
  answer.step_count = static_cast<uint64_t>(
      (range.to_unix_ms - range.from_unix_ms + answer.step_ms - 1) / answer.step_ms);
  std::map<std::vector<std::string>, Cells> rows;
  for (const PlanRead& read : asking.plan().reads) {
    ASSIGN_OR_RETURN(const auto cells, asking.Timeline(read));
    for (const store::TimelineCell& cell : cells)
      rows[asking.groups()[cell.group].values][cell.step].Add({cell.value, cell.count});
  }
  for (const auto& [values, cells] : rows) {
    answer.rows.push_back(RowOf(values, cells));
    asking.AddTotal(0, answer.rows.back().total);
  }
  const bool by_count = asking.plan().type.shows_count;
  std::ranges::stable_sort(answer.rows, [&](const SeriesRow& a, const SeriesRow& b) {
    return by_count ? a.total.count > b.total.count : a.total.value > b.total.value;
  });
  if (request.rows_max != 0 && answer.rows.size() > request.rows_max) {
    Cells rest;
    for (size_t i = request.rows_max; i < answer.rows.size(); ++i) {
      for (const SeriesCell& cell : answer.rows[i].cells) rest[cell.step].Add(cell.sum);
    }
    answer.rows_behind = answer.rows.size() - request.rows_max;
    answer.rest = RowOf({}, rest);
    answer.rows.resize(request.rows_max);
  }
  answer.about = asking.TakeAbout();
  return Answer(std::move(answer));
}

}  // namespace vesta::query
