// Answers computed from raw rows, one by one, in the plainest way: what Ask is compared with.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "src/flame/stack_tree.h"
#include "src/query/answer.h"
#include "src/query/matcher.h"
#include "src/store/store.h"

namespace vesta::query {

// One frame of a path, as a tree tells functions apart.
struct NaiveFrame {
  std::string name, image, file;  // file only where the image is unknown
  int kind = 0;
  int64_t line = 0;
  bool unnamed = false;
  friend auto operator<=>(const NaiveFrame&, const NaiveFrame&) = default;
};
struct NaiveRow {
  store::Labels labels;
  store::Task task;
  store::ProfileType type;
  int64_t time_unix_ms = 0;
  int64_t value = 0;
  int64_t count = 0;
  std::vector<NaiveFrame> root_first;
};

// All rows that match, with their frames. Types by name and unit as chosen by the answer.
std::vector<NaiveRow> NaiveRows(store::Store& store, const Selector& selector,
                                store::TimeRange range, const PlanType& type);

// The value of a label of a series or a task.
std::string NaiveLabel(const NaiveRow& row, const std::string& name);

// Paths of "name [image] (file) kind" -> self, of rows below their `by` labels.
using NaiveTree = std::map<std::vector<std::string>, ValueCount>;
NaiveTree TreeOfRows(const std::vector<NaiveRow>& rows, const std::vector<std::string>& by);
// The same of a tree: nodes that have self values.
NaiveTree TreeOfNodes(const flame::StackTree& tree, size_t side);

std::string FrameKey(const NaiveFrame& frame);

}  // namespace vesta::query
