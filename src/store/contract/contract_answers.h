// Answers of stores in a form that does not depend on their numbers, to compare two stores.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/store/store.h"

namespace vesta::store {

enum class ContractRegroup : uint8_t { kNone, kPid, kTid, kThread };

// What is asked, in words that every store understands.
struct ContractQuestion {
  TimeRange range = {};
  std::vector<ProfileType> types = {};
  std::map<Labels, uint32_t> groups = {};  // series -> group; others are not asked for
  uint32_t group_count = 1;
  ContractRegroup regroup = ContractRegroup::kNone;  // splits each group into four, drops tasks
  int64_t step_ms = 60'000;                          // of timelines
  std::string Text() const;
};

// All the series and types that the store has, each series in group 0.
base::Result<ContractQuestion> AskForAll(Store& store);

// The question in the store's numbers; what it does not have is left out.
base::Result<ReadRequest> RequestOf(Store& store, const ContractQuestion& question);

// Sorted lines, equal where the answers are: blocks are added up by what their numbers stand for.
// A block that does not keep to its shape (store.h) is an error, code Internal.
using ContractAnswer = std::vector<std::string>;
base::Result<ContractAnswer> SeriesAnswer(Store& store, TimeRange range);
base::Result<ContractAnswer> StacksAnswer(Store& store, const ContractQuestion& question);
base::Result<ContractAnswer> FunctionsAnswer(Store& store, const ContractQuestion& question);
base::Result<ContractAnswer> TimelineAnswer(Store& store, const ContractQuestion& question);
base::Result<ContractAnswer> RowsAnswer(Store& store, const ContractQuestion& question);

// What each read says of the sum of all that is asked for. They are one number.
struct ContractTotals {
  int64_t value = 0;
  int64_t count = 0;
  friend bool operator==(const ContractTotals&, const ContractTotals&) = default;
};
base::Result<ContractTotals> StacksTotals(Store& store, const ContractQuestion& question);
base::Result<ContractTotals> TimelineTotals(Store& store, const ContractQuestion& question);
base::Result<ContractTotals> RowsTotals(Store& store, const ContractQuestion& question);
base::Result<ContractTotals> SeriesTotals(Store& store, TimeRange range);

// The first lines of which only one answer has one; "" when they are equal.
std::string Difference(const ContractAnswer& wanted, const ContractAnswer& given);

}  // namespace vesta::store
