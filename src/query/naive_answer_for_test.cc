#include "src/query/naive_answer_for_test.h"

#include <gtest/gtest.h>

#include <set>

#include "src/base/utf8.h"
#include "src/profile/frame_name.h"

namespace vesta::query {
namespace {

std::string KeyOf(const std::string& name, const std::string& image, const std::string& file,
                  int kind) {
  return name + " [" + image + "] (" + (image.empty() && kind != 3 ? file : "") + ") " +
         std::to_string(kind);
}

std::vector<NaiveFrame> FramesOf(const store::Names& names, uint32_t frame) {
  const auto view = names.frame(frame);
  EXPECT_TRUE(view.ok());
  const std::vector<store::FrameLine> lines(view->lines.begin(), view->lines.end());
  store::ImageView image;
  if (view->image != 0) image = *names.image(view->image);
  const std::string path = base::ToUtf8(image.path);
  const bool kernel = profile::IsKernelCode(image.path, view->address);
  const std::string unnamed = base::ToUtf8(profile::AddressName(
      {image.path, image.memory_start, image.memory_limit, image.file_offset, view->address}));
  std::vector<NaiveFrame> frames;
  for (size_t i = lines.size(); i-- > 0;) {
    const auto function = names.function(lines[i].function);
    EXPECT_TRUE(function.ok());
    const std::string name =
        base::ToUtf8(function->name.empty() ? function->system_name : function->name);
    if (name.empty()) {
      frames.push_back({unnamed, path, "", 3, lines[i].line, true});
    } else {
      frames.push_back({name, path, path.empty() ? base::ToUtf8(function->file) : "",
                        kernel         ? 2
                        : path.empty() ? 4
                                       : 1,
                        lines[i].line, false});
    }
  }
  if (frames.empty()) frames.push_back({unnamed, path, "", 3, 0, true});
  return frames;
}

void Add(ValueCount& sum, int64_t value, int64_t count) {
  sum.value = profile::AddSaturating(sum.value, value);
  sum.count = profile::AddSaturating(sum.count, count);
}

}  // namespace

std::string FrameKey(const NaiveFrame& frame) {
  return KeyOf(frame.name, frame.image, frame.file, frame.kind);
}

std::vector<NaiveRow> NaiveRows(store::Store& store, const Selector& selector,
                                store::TimeRange range, const PlanType& type) {
  const auto matcher = LabelMatcher::Compile(selector.matchers);
  store::ReadReport report;
  const auto series = store.Series({}, {}, &report);
  store::ReadRequest request;
  request.range = range;
  std::set<store::SeriesId> ids;
  std::set<store::TypeId> types;
  for (const store::SeriesTotal& row : *series) {
    const store::ProfileType its = store.type(row.type);
    const bool fits = type.shows_count ? its.count_type == type.type.count_type
                                       : its.type == type.type.type && its.unit == type.type.unit;
    if (fits) types.insert(row.type);
    ids.insert(row.series);
  }
  request.types.assign(types.begin(), types.end());
  for (const store::SeriesId id : ids) request.series.push_back({id, 0});
  std::vector<NaiveRow> rows;
  const auto read =
      store.Rows(request, &report, [&](const store::RowBlock& block) -> base::Result<void> {
        for (const store::StoredRow& row : block.rows) {
          NaiveRow made{store.labels(row.series),
                        block.tasks[row.task],
                        store.type(row.type),
                        row.time_unix_ms,
                        row.value,
                        row.count,
                        {}};
          if (!matcher->MatchesSeries(made.labels) || !matcher->MatchesTask(made.task)) continue;
          std::vector<uint32_t> nodes;
          for (uint32_t node = row.node; node != 0; node = block.parent[node])
            nodes.push_back(node);
          for (size_t i = nodes.size(); i-- > 0;) {
            for (NaiveFrame& frame : FramesOf(*block.names, block.frame[nodes[i]]))
              made.root_first.push_back(std::move(frame));
          }
          rows.push_back(std::move(made));
        }
        return {};
      });
  EXPECT_TRUE(read.ok());
  return rows;
}

std::string NaiveLabel(const NaiveRow& row, const std::string& name) {
  return IsTaskLabel(name) ? TaskLabelValue(row.task, name)
                           : std::string(LabelValue(row.labels, name));
}

NaiveTree TreeOfRows(const std::vector<NaiveRow>& rows, const std::vector<std::string>& by) {
  NaiveTree tree;
  for (const NaiveRow& row : rows) {
    std::vector<std::string> path;
    for (const std::string& name : by) {
      const std::string value = NaiveLabel(row, name);
      if (!value.empty()) path.push_back(KeyOf(value, "", "", 0));
    }
    for (const NaiveFrame& frame : row.root_first) path.push_back(FrameKey(frame));
    if (row.root_first.empty())
      path.push_back(KeyOf(std::string(profile::kNoStackName), "", "", 4));
    const int64_t count = row.type.count_type.empty() ? 0 : row.count;
    if (row.value != 0 || count != 0) Add(tree[path], row.value, count);
  }
  return tree;
}

NaiveTree TreeOfNodes(const flame::StackTree& tree, size_t side) {
  NaiveTree nodes;
  std::vector<std::string> path;
  const size_t types = tree.value_types.size();
  for (size_t node = 0; node < tree.node_count(); ++node) {
    if (node == 0) continue;
    path.resize(tree.depth[node] - 1);
    const flame::TreeFunction& row = tree.functions[tree.function[node]];
    path.push_back(KeyOf(tree.strings[row.name], tree.strings[row.image], tree.strings[row.file],
                         static_cast<int>(row.kind)));
    ValueCount sum;
    sum.value = tree.self[tree.column(types - 1, side)][node];
    if (types == 2) sum.count = tree.self[tree.column(0, side)][node];
    if (sum != ValueCount{}) Add(nodes[path], sum.value, sum.count);
  }
  return nodes;
}

}  // namespace vesta::query
