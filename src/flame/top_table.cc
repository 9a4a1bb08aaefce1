#include "src/flame/top_table.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <tuple>

#include "src/profile/frame_name.h"

namespace vesta::flame {
namespace {

using profile::AddSaturating;
using profile::Location;
using profile::LocationId;
using profile::Profile;
using profile::StackId;
using profile::StringId;

class Builder {
 public:
  explicit Builder(const Profile& profile) : profile_(profile) {}

  void AddStack(StackId id, int64_t value) {
    const auto stack = profile_.stack(id);
    if (stack.empty() || value == 0) return;
    ++stamp_;
    for (size_t i = 0; i < stack.size(); ++i) {
      const auto rows = location_rows_[stack[i].value()];
      if (i == 0) rows_[rows[0]].self = AddSaturating(rows_[rows[0]].self, value);
      for (const uint32_t row : rows) {
        if (rows_[row].stamp == stamp_) continue;
        rows_[row].stamp = stamp_;
        rows_[row].total = AddSaturating(rows_[row].total, value);
      }
      if (is_unnamed_[stack[i].value()]) {
        is_unnamed_[stack[i].value()] = false;
        ++rows_[rows[0]].unnamed_address_count;
      }
    }
  }

  // Gives every location the rows that its lines count for, innermost first.
  void MapLocations() {
    is_unnamed_.resize(profile_.location_count());
    std::vector<uint32_t> rows;
    for (uint32_t i = 0; i < profile_.location_count(); ++i) {
      const Location location = profile_.location(LocationId{i});
      StringId path;
      if (location.mapping != profile::kNoMapping) path = profile_.mapping(location.mapping).path;
      rows.clear();
      for (const profile::Line& line : location.lines) {
        const StringId name = profile::FunctionName(profile_, line.function);
        const bool by_file = path == StringId{} && name != StringId{};
        rows.push_back(
            FindRow(name, path, by_file ? profile_.function(line.function).file : StringId{}));
      }
      if (rows.empty()) rows.push_back(FindRow({}, path, {}));
      is_unnamed_[i] = rows_[rows[0]].name == StringId{};
      location_rows_.Append(rows);
    }
  }

  std::vector<TopRow> Take() const {
    std::vector<TopRow> rows;
    for (const Row& row : rows_) {
      if (row.self == 0 && row.total == 0) continue;
      const std::string_view path = profile_.String(row.path);
      rows.push_back(
          {std::string(profile_.String(row.name)), std::string(path.substr(path.rfind('/') + 1)),
           std::string(profile_.String(row.file)), row.self, row.total, row.unnamed_address_count});
    }
    return rows;
  }

 private:
  struct Row {
    StringId name;
    StringId path;
    StringId file;  // "" where there is a path
    int64_t self = 0;
    int64_t total = 0;
    size_t unnamed_address_count = 0;
    size_t stamp = 0;  // of the last stack that counted it
  };

  uint32_t FindRow(StringId name, StringId path, StringId file) {
    const auto fresh = static_cast<uint32_t>(rows_.size());
    const uint64_t hash =
        profile::HashWord(profile::HashWord(name.value(), path.value()), file.value());
    const uint32_t id = index_.FindOrInsert(hash, fresh, [&](uint32_t other) {
      const Row& row = rows_[other];
      return row.name == name && row.path == path && row.file == file;
    });
    if (id == fresh) rows_.push_back({.name = name, .path = path, .file = file});
    return id;
  }

  const Profile& profile_;
  std::vector<Row> rows_;
  profile::IdIndex index_;
  profile::FlatLists<uint32_t> location_rows_;
  std::vector<bool> is_unnamed_;  // and not counted yet
  size_t stamp_ = 0;
};

int64_t CountSamples(const Profile& profile) {
  const auto types = profile.sample_types();
  for (size_t i = 0; i < types.size(); ++i) {
    if (profile.String(types[i].type) != "samples" || profile.String(types[i].unit) != "count")
      continue;
    int64_t count = 0;
    for (size_t j = 0; j < profile.sample_count(); ++j)
      count = AddSaturating(count, profile.sample_values(j)[i]);
    return count;
  }
  return static_cast<int64_t>(profile.sample_count());
}

int64_t Magnitude(int64_t value) {
  if (value == std::numeric_limits<int64_t>::min()) return std::numeric_limits<int64_t>::max();
  return std::abs(value);
}

}  // namespace

TopTable MakeTopTable(const Profile& profile, size_t sample_type, TopOrder order) {
  TopTable table;
  table.duration_ns = profile.header().duration_ns;
  table.time_unix_ns = profile.header().time_unix_ns;
  const auto types = profile.sample_types();
  if (types.empty()) return table;
  CHECK(sample_type < types.size());
  table.type = profile.String(types[sample_type].type);
  table.unit = profile.String(types[sample_type].unit);
  table.sample_count = CountSamples(profile);

  std::vector<int64_t> stack_values(profile.stack_count());
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    const int64_t value = profile.sample_values(i)[sample_type];
    int64_t& sum = stack_values[profile.sample_stack(i).value()];
    sum = AddSaturating(sum, value);
    table.sum = AddSaturating(table.sum, Magnitude(value));
  }
  Builder builder(profile);
  builder.MapLocations();
  for (uint32_t i = 0; i < stack_values.size(); ++i) builder.AddStack(StackId{i}, stack_values[i]);
  table.rows = builder.Take();
  std::ranges::sort(table.rows, [order](const TopRow& a, const TopRow& b) {
    const auto key = [order](const TopRow& row) {
      return order == TopOrder::kSelf ? std::pair(row.self, row.total)
                                      : std::pair(row.total, row.self);
    };
    if (key(a) != key(b)) return key(a) > key(b);
    return std::tie(a.name, a.image, a.file) < std::tie(b.name, b.image, b.file);
  });
  return table;
}

}  // namespace vesta::flame
