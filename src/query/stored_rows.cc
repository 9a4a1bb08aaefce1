#include "src/query/stored_rows.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "src/profile/id_index.h"
#include "src/store/symbol_check.h"

namespace vesta::query {
namespace {

using profile::HashWord;

uint64_t HashText(uint64_t seed, std::string_view text) {
  return HashWord(seed, std::hash<std::string_view>{}(text));
}

// What a frame is in any store. `lines` adds to a hash what stands at an address without image.
template <typename Lines>
uint64_t FrameKey(std::string_view image, uint64_t address, bool is_folded, const Lines& lines) {
  uint64_t hash = HashText(1, image);
  if (!image.empty() && address != 0 && !is_folded) return HashWord(hash, address);
  return lines(HashWord(hash, address));
}

uint64_t LineKey(uint64_t hash, std::string_view name, std::string_view system_name,
                 std::string_view file, int64_t line) {
  hash = HashText(HashText(HashText(hash, name), system_name), file);
  return HashWord(hash, static_cast<uint64_t>(line));
}

struct RowKey {
  uint32_t series = 0;  // of the batch
  uint32_t type = 0;    // of the batch
  uint64_t stack = 0;
  uint64_t task = 0;
  template <typename Row>
  uint64_t Of(const Row& row) const {
    uint64_t hash = HashWord(uint64_t{series} << 32 | type, stack);
    hash = HashWord(HashWord(hash, task), static_cast<uint64_t>(row.time_unix_ms));
    hash = HashWord(HashWord(hash, static_cast<uint64_t>(row.value)),
                    static_cast<uint64_t>(row.count));
    return HashWord(hash, std::bit_cast<uint32_t>(row.weight));
  }
};

uint64_t TaskKey(const store::Task& task) {
  return HashText(
      HashWord(HashWord(3, static_cast<uint64_t>(task.pid)), static_cast<uint64_t>(task.tid)),
      task.thread);
}

// Rows of the batch by what they are.
class BatchKeys {
 public:
  explicit BatchKeys(const store::Batch& batch) : batch_(batch), profile_(*batch.profile) {
    frames_.resize(profile_.location_count());
    stacks_.resize(profile_.stack_count());
    for (uint32_t i = 0; i < batch.rows.size(); ++i) {
      const store::BatchRow& row = batch.rows[i];
      const RowKey key{row.series, row.type, StackKey(row.stack), TaskKey(batch.tasks[row.task])};
      rows_[key.Of(row)].push_back(i);
    }
  }

  // Takes a row that has the key, if one is left.
  void Take(uint64_t key, std::vector<bool>& taken) {
    const auto found = rows_.find(key);
    if (found == rows_.end() || found->second.empty()) return;
    taken[found->second.back()] = true;
    found->second.pop_back();
  }

 private:
  uint64_t StackKey(profile::StackId id) {
    uint64_t& known = stacks_[id.value()];
    const auto stack = profile_.stack(id);
    if (known != 0 || stack.empty()) return known;
    for (size_t i = stack.size(); i-- > 0;) known = HashWord(known, LocationKey(stack[i]));
    return known;
  }

  uint64_t LocationKey(profile::LocationId id) {
    uint64_t& known = frames_[id.value()];
    if (known != 0) return known;
    const profile::Location location = profile_.location(id);
    const std::string_view image = location.mapping == profile::kNoMapping
                                       ? std::string_view()
                                       : store::SymbolImageOf(profile_, location).text;
    known = FrameKey(image, location.address, location.is_folded, [&](uint64_t hash) {
      for (const profile::Line& line : location.lines) {
        const profile::Function& function = profile_.function(line.function);
        hash = LineKey(hash, profile_.String(function.name), profile_.String(function.system_name),
                       profile_.String(function.file), line.line);
      }
      return hash;
    });
    return known;
  }

  const store::Batch& batch_;
  const profile::Profile& profile_;
  std::vector<uint64_t> frames_;
  std::vector<uint64_t> stacks_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> rows_;
};

base::Result<uint64_t> StoredFrameKey(const store::Names& names, uint32_t id) {
  ASSIGN_OR_RETURN(const store::FrameView frame, names.frame(id));
  std::string_view image;
  if (frame.image != 0) {
    ASSIGN_OR_RETURN(const store::ImageView view, names.image(frame.image));
    image = store::SymbolImageOf(view.path, view.build_id).text;
  }
  base::Result<void> done;
  const uint64_t key = FrameKey(image, frame.address, frame.is_folded, [&](uint64_t hash) {
    for (const store::FrameLine& line : frame.lines) {
      const auto function = names.function(line.function);
      if (!function.ok()) {
        done = function.error();
        break;
      }
      hash = LineKey(hash, function->name, function->system_name, function->file, line.line);
    }
    return hash;
  });
  RETURN_IF_ERROR(std::move(done));
  return key;
}

// The stacks of a block, by node.
base::Result<std::vector<uint64_t>> StackKeys(const store::RowBlock& block) {
  std::unordered_map<uint32_t, uint64_t> frames;
  std::vector<uint64_t> keys(block.parent.size());
  for (size_t node = 1; node < keys.size(); ++node) {
    const auto [known, is_new] = frames.try_emplace(block.frame[node]);
    if (is_new) {
      ASSIGN_OR_RETURN(known->second, StoredFrameKey(*block.names, block.frame[node]));
    }
    keys[node] = HashWord(keys[block.parent[node]], known->second);
  }
  return keys;
}

}  // namespace

base::Result<std::vector<bool>> FindStoredRows(store::Store& store, const store::ReadLimits& limits,
                                               const store::Batch& batch) {
  std::vector<bool> is_stored(batch.rows.size());
  if (batch.rows.empty()) return is_stored;
  const auto [first, last] = std::ranges::minmax(batch.rows, {}, &store::BatchRow::time_unix_ms);
  store::ReadRequest request;
  request.range.from_unix_ms = first.time_unix_ms;
  if (last.time_unix_ms != request.range.to_unix_ms)
    request.range.to_unix_ms = last.time_unix_ms + 1;
  request.limits = limits;
  store::ReadReport report;
  ASSIGN_OR_RETURN(const auto listed, store.Series(request.range, limits, &report));
  std::map<store::SeriesId, uint32_t> series;
  std::map<store::TypeId, uint32_t> types;
  const auto number_of = [](const auto& list, const auto& wanted) {
    return static_cast<uint32_t>(std::ranges::find(list, wanted) - list.begin());
  };
  for (const store::SeriesTotal& row : listed) {
    const uint32_t theirs = number_of(batch.series, store.labels(row.series));
    const uint32_t type = number_of(batch.types, store.type(row.type));
    if (theirs == batch.series.size() || type == batch.types.size()) continue;
    if (series.emplace(row.series, theirs).second) request.series.push_back({row.series, theirs});
    if (types.emplace(row.type, type).second) request.types.push_back(row.type);
  }
  if (request.series.empty()) return is_stored;
  request.group_count = static_cast<uint32_t>(batch.series.size());
  BatchKeys keys(batch);
  RETURN_IF_ERROR(
      store.Rows(request, &report, [&](const store::RowBlock& block) -> base::Result<void> {
        ASSIGN_OR_RETURN(const std::vector<uint64_t> stacks, StackKeys(block));
        for (const store::StoredRow& row : block.rows) {
          const RowKey key{row.group, types.at(row.type), stacks[row.node],
                           TaskKey(block.tasks[row.task])};
          keys.Take(key.Of(row), is_stored);
        }
        return {};
      }));
  return is_stored;
}

}  // namespace vesta::query
