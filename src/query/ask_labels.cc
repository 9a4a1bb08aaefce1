// What there is: labels, their values, types.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "src/query/asking.h"

namespace vesta::query {
namespace {

// What was selected of the listing: all types where none was named.
std::vector<store::SeriesTotal> Selected(Asking& asking) {
  std::vector<store::SeriesTotal> rows;
  const PlanType& type = asking.plan().type;
  const bool all_types = asking.request().selectors[0].type.empty();
  for (const store::SeriesTotal& row : asking.listing().series[0]) {
    if (!asking.MatchesSeries(row.series)) continue;
    const store::ProfileType& its = asking.listing().types.at(row.type);
    const bool same_type = type.shows_count
                               ? its.count_type == type.type.count_type
                               : its.type == type.type.type && its.unit == type.type.unit;
    if (all_types || same_type) rows.push_back(row);
  }
  return rows;
}

template <typename Row>
uint64_t CutRows(size_t rows_max, std::vector<Row>& rows) {
  if (rows_max == 0 || rows.size() <= rows_max) return 0;
  const uint64_t behind = rows.size() - rows_max;
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(rows_max), rows.end());
  return behind;
}

void FinishValues(Asking& asking, ValuesAnswer& answer) {
  const size_t rows_max = asking.request().rows_max;
  answer.sums_behind.resize(answer.types.size());
  for (size_t i = rows_max == 0 ? answer.rows.size() : rows_max; i < answer.rows.size(); ++i) {
    for (size_t type = 0; type < answer.types.size(); ++type)
      answer.sums_behind[type].Add(answer.rows[i].sums[type]);
  }
  answer.rows_behind = CutRows(rows_max, answer.rows);
}

// Values of pid, tid, thread, or of any label where a selector names one of these.
base::Result<Answer> AskTaskValues(Asking& asking) {
  ValuesAnswer answer;
  answer.label = asking.request().label;
  answer.types = {asking.plan().type.type};
  std::map<std::string, ValueCount> sums;
  for (const PlanRead& read : asking.plan().reads) {
    ASSIGN_OR_RETURN(const std::vector<ValueCount> totals, asking.GroupTotals(read));
    for (size_t group = 0; group < totals.size(); ++group) {
      if (totals[group] != ValueCount{}) sums[asking.groups()[group].values[0]].Add(totals[group]);
    }
  }
  for (const auto& [value, sum] : sums) {
    answer.rows.push_back({value, 0, {sum}});
    asking.AddTotal(0, sum);
  }
  FinishValues(asking, answer);
  answer.about = asking.TakeAbout();
  return Answer(std::move(answer));
}

}  // namespace

base::Result<Answer> AskLabels(Asking& asking) {
  LabelsAnswer answer;
  std::set<store::SeriesId> seen;
  struct Label {
    std::set<std::string_view> values;
    uint64_t series = 0;
  };
  std::map<std::string_view, Label> labels;
  for (const store::SeriesTotal& row : Selected(asking)) {
    if (!seen.insert(row.series).second) continue;
    for (const store::Label& label : asking.listing().labels.at(row.series)) {
      Label& known = labels[label.name];
      known.values.insert(label.value);
      ++known.series;
    }
  }
  for (const auto& [name, label] : labels)
    answer.rows.push_back({std::string(name), label.values.size(), label.series});
  answer.rows_behind = CutRows(asking.request().rows_max, answer.rows);
  answer.about = asking.TakeAbout();
  return Answer(std::move(answer));
}

base::Result<Answer> AskValues(Asking& asking) {
  if (asking.plan().by_tasks) return AskTaskValues(asking);
  const auto selected = Selected(asking);
  std::map<store::ProfileType, size_t> type_index;
  for (const store::SeriesTotal& row : selected)
    type_index.emplace(asking.listing().types.at(row.type), 0);
  ValuesAnswer answer;
  answer.label = asking.request().label;
  for (auto& [type, index] : type_index) {
    index = answer.types.size();
    answer.types.push_back(type);
  }
  std::map<std::string_view, ValueRow> rows;
  std::set<store::SeriesId> seen;
  for (const store::SeriesTotal& row : selected) {
    const std::string_view value = LabelValue(asking.listing().labels.at(row.series), answer.label);
    ValueRow& known = rows[value];
    known.value = value;
    known.sums.resize(answer.types.size());
    if (seen.insert(row.series).second) ++known.series;
    const ValueCount sum{row.value, row.count};
    known.sums[type_index.at(asking.listing().types.at(row.type))].Add(sum);
    if (answer.types.size() == 1) asking.AddTotal(0, sum);
  }
  for (auto& [value, row] : rows) answer.rows.push_back(std::move(row));
  FinishValues(asking, answer);
  answer.about = asking.TakeAbout();
  return Answer(std::move(answer));
}

base::Result<Answer> AskTypes(Asking& asking) {
  std::map<store::ProfileType, TypeRow> rows;
  for (const store::SeriesTotal& row : Selected(asking)) {
    const store::ProfileType& type = asking.listing().types.at(row.type);
    TypeRow& known = rows[type];
    known.type = type;
    ++known.series;
    known.total.Add({row.value, row.count});
  }
  TypesAnswer answer;
  for (auto& [type, row] : rows) answer.rows.push_back(std::move(row));
  answer.about = asking.TakeAbout();
  return Answer(std::move(answer));
}

}  // namespace vesta::query
