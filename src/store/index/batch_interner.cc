#include "src/store/index/batch_interner.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "src/base/check.h"
#include "src/store/index/dictionary_indexes.h"

namespace vesta::store::index {
namespace {

using profile::FunctionId;
using profile::Location;
using profile::LocationId;
using profile::Profile;
using profile::StackId;
using profile::StringId;

// Look-ups that wait for memory together.
constexpr size_t kGroup = 16;

}  // namespace

// The steps of one batch, each over all that the step before found.
class BatchInterner::Work {
 public:
  explicit Work(Dictionary* dictionary) : dictionary_(*dictionary) {}

  void Run(const Profile& profile, std::span<const StackId> stacks, std::span<uint32_t> nodes) {
    CHECK(stacks.size() == nodes.size());
    profile_ = &profile;
    indexes_ = &dictionary_.MakeIndexes();
    MakeLocalTrie(stacks);
    FindLocations();
    InternStrings();
    InternFunctions();
    InternFrames();
    FindNodes();
    AddNodes();
    for (size_t i = 0; i < stacks.size(); ++i) nodes[i] = global_[stack_local_[stacks[i].value()]];
  }

 private:
  struct LocalNode {
    uint32_t parent;
    uint32_t location;
  };

  // A trie of just this batch's stacks, over locations: small enough for the processor's cache.
  void MakeLocalTrie(std::span<const StackId> stacks) {
    if (local_index_.memory_bytes() > kIndexBytesMax) local_index_ = {};
    local_index_.Clear();
    local_.assign(1, {0, 0});
    depth_.assign(1, 0);
    local_index_.CatchUp(1, [](uint32_t) { return uint64_t{0}; });
    stack_local_.assign(profile_->stack_count(), kNoRow);
    stack_local_[0] = 0;
    path_.clear();
    std::span<const LocationId> before;
    for (const StackId stack : stacks) {
      uint32_t& local = stack_local_[stack.value()];
      if (local != kNoRow) continue;
      const auto frames = profile_->stack(stack);
      size_t shared = 0;  // frames at the root that the stack before has, too
      const size_t shared_max = std::min(frames.size(), before.size());
      while (shared < shared_max &&
             frames[frames.size() - 1 - shared] == before[before.size() - 1 - shared])
        ++shared;
      path_.resize(frames.size());
      uint32_t node = shared == 0 ? 0 : path_[shared - 1];
      for (size_t i = shared; i < frames.size(); ++i)
        node = path_[i] = FindLocal(node, frames[frames.size() - 1 - i].value());
      before = frames;
      local = node;
    }
  }

  uint32_t FindLocal(uint32_t parent, uint32_t location) {
    const auto fresh = static_cast<uint32_t>(local_.size());
    const uint32_t id = local_index_.FindOrInsert(
        HashWord(parent, location), fresh,
        [&](uint32_t other) {
          return local_[other].parent == parent && local_[other].location == location && other != 0;
        },
        [&](uint32_t other) { return HashWord(local_[other].parent, local_[other].location); });
    if (id == fresh) {
      local_.push_back({parent, location});
      depth_.push_back(depth_[parent] + 1);
    }
    return id;
  }

  // What the nodes use, each once: locations, their functions, and the strings of these.
  void FindLocations() {
    location_frame_.assign(profile_->location_count(), kNoRow);
    function_id_.assign(profile_->function_count(), kNoRow);
    string_id_.assign(profile_->string_count(), kNoRow);
    mapping_id_.assign(profile_->mapping_count(), kNoRow);
    locations_.clear();
    functions_.clear();
    texts_.clear();
    for (size_t i = 1; i < local_.size(); ++i) {
      const uint32_t id = local_[i].location;
      if (!Mark(&location_frame_[id])) continue;
      locations_.push_back(id);
      const Location location = profile_->location(LocationId{id});
      if (location.mapping != profile::kNoMapping && Mark(&mapping_id_[location.mapping.value()])) {
        const profile::Mapping& mapping = profile_->mapping(location.mapping);
        NeedText(mapping.path);
        NeedText(mapping.build_id);
      }
      for (const profile::Line& line : location.lines) {
        if (!Mark(&function_id_[line.function.value()])) continue;
        functions_.push_back(line.function.value());
        const profile::Function& function = profile_->function(line.function);
        NeedText(function.name);
        NeedText(function.system_name);
        NeedText(function.file);
      }
    }
  }

  // Whether this is the first time.
  static bool Mark(uint32_t* id) {
    if (*id != kNoRow) return false;
    *id = 0;
    return true;
  }
  void NeedText(StringId text) {
    if (Mark(&string_id_[text.value()])) texts_.push_back(text.value());
  }

  void InternStrings() {
    std::array<uint64_t, kGroup> hash = {};
    std::array<uint32_t, kGroup> guess = {};
    for (size_t begin = 0; begin < texts_.size(); begin += kGroup) {
      const size_t count = std::min(kGroup, texts_.size() - begin);
      for (size_t i = 0; i < count; ++i) {
        hash[i] = HashString(profile_->String(StringId{texts_[begin + i]}));
        indexes_->strings.Prefetch(hash[i]);
      }
      for (size_t i = 0; i < count; ++i) {
        guess[i] = indexes_->strings.Guess(hash[i]);
        if (guess[i] != kNoRow) PrefetchRow(&dictionary_.strings_[guess[i]]);
      }
      for (size_t i = 0; i < count; ++i) {
        if (guess[i] != kNoRow) PrefetchRow(dictionary_.strings_[guess[i]].text);
      }
      for (size_t i = 0; i < count; ++i) {
        const uint32_t text = texts_[begin + i];
        string_id_[text] =
            dictionary_.FindString(*indexes_, hash[i], profile_->String(StringId{text}));
      }
    }
    for (size_t i = 0; i < mapping_id_.size(); ++i) {
      if (mapping_id_[i] == kNoRow) continue;
      const profile::Mapping& its = profile_->mapping(profile::MappingId{static_cast<uint32_t>(i)});
      mapping_id_[i] =
          dictionary_.InternImage({string_id_[its.path.value()], string_id_[its.build_id.value()],
                                   its.memory_start, its.memory_limit, its.file_offset});
    }
  }

  void InternFunctions() {
    std::array<FunctionRow, kGroup> row = {};
    std::array<uint64_t, kGroup> hash = {};
    for (size_t begin = 0; begin < functions_.size(); begin += kGroup) {
      const size_t count = std::min(kGroup, functions_.size() - begin);
      for (size_t i = 0; i < count; ++i) {
        const profile::Function& its = profile_->function(FunctionId{functions_[begin + i]});
        row[i] = {string_id_[its.name.value()], string_id_[its.system_name.value()],
                  string_id_[its.file.value()], its.start_line};
        hash[i] = HashRow(row[i]);
        indexes_->functions.Prefetch(hash[i]);
      }
      for (size_t i = 0; i < count; ++i) {
        const uint32_t guess = indexes_->functions.Guess(hash[i]);
        if (guess != kNoRow) PrefetchRow(&dictionary_.functions_[guess]);
      }
      for (size_t i = 0; i < count; ++i)
        function_id_[functions_[begin + i]] = dictionary_.FindFunction(*indexes_, hash[i], row[i]);
    }
  }

  void InternFrames() {
    std::array<uint64_t, kGroup> hash = {};
    std::array<uint32_t, kGroup> guess = {};
    std::array<size_t, kGroup + 1> end = {};
    for (size_t begin = 0; begin < locations_.size(); begin += kGroup) {
      const size_t count = std::min(kGroup, locations_.size() - begin);
      lines_.clear();
      for (size_t i = 0; i < count; ++i) {
        const Location location = profile_->location(LocationId{locations_[begin + i]});
        for (const profile::Line& line : location.lines)
          lines_.push_back({function_id_[line.function.value()], line.line, line.column});
        end[i + 1] = lines_.size();
        hash[i] = HashFrame(ImageOf(location), location.address, location.is_folded,
                            std::span(lines_).subspan(end[i]));
        indexes_->frames.Prefetch(hash[i]);
      }
      for (size_t i = 0; i < count; ++i) {
        guess[i] = indexes_->frames.Guess(hash[i]);
        if (guess[i] != kNoRow) PrefetchRow(&dictionary_.frames_[guess[i]]);
      }
      for (size_t i = 0; i < count; ++i) {
        if (guess[i] == kNoRow) continue;
        const auto lines = dictionary_.lines_of(dictionary_.frames_[guess[i]]);
        if (!lines.empty()) PrefetchRow(lines.data());
      }
      for (size_t i = 0; i < count; ++i) {
        const uint32_t id = locations_[begin + i];
        const Location location = profile_->location(LocationId{id});
        location_frame_[id] = dictionary_.FindFrame(
            *indexes_, hash[i], ImageOf(location), location.address, location.is_folded,
            std::span(lines_).subspan(end[i], end[i + 1] - end[i]));
      }
    }
  }
  uint32_t ImageOf(const Location& location) const {
    return location.mapping == profile::kNoMapping ? 0 : mapping_id_[location.mapping.value()];
  }

  // Finds the nodes that the dictionary has already, level by level: within a level no look-up
  // waits for another one.
  void FindNodes() {
    SortByDepth();
    global_.assign(local_.size(), kNoRow);
    global_[0] = 0;
    std::array<uint64_t, kGroup> hash = {};
    std::array<TrieNode, kGroup> wanted = {};
    size_t begin = 1;
    while (begin < by_depth_.size()) {
      const uint32_t depth = depth_[by_depth_[begin]];
      size_t count = 0;
      while (count < kGroup && begin + count < by_depth_.size() &&
             depth_[by_depth_[begin + count]] == depth)
        ++count;
      for (size_t i = 0; i < count; ++i) {
        const LocalNode& local = local_[by_depth_[begin + i]];
        wanted[i] = {global_[local.parent], location_frame_[local.location]};
        hash[i] = HashRow(wanted[i]);
        if (wanted[i].parent != kNoRow) indexes_->nodes.Prefetch(hash[i]);
      }
      for (size_t i = 0; i < count; ++i) {
        if (wanted[i].parent == kNoRow) continue;
        const uint32_t guess = indexes_->nodes.Guess(hash[i]);
        if (guess != kNoRow) PrefetchRow(&dictionary_.nodes_[guess]);
      }
      for (size_t i = 0; i < count; ++i) {
        if (wanted[i].parent == kNoRow) continue;
        global_[by_depth_[begin + i]] = indexes_->nodes.Find(hash[i], [&](uint32_t other) {
          const TrieNode& row = dictionary_.nodes_[other];
          return row.parent == wanted[i].parent && row.frame == wanted[i].frame && other != 0;
        });
      }
      begin += count;
    }
  }

  void SortByDepth() {
    level_ends_.clear();
    for (const uint32_t depth : depth_) {
      if (depth + 1 >= level_ends_.size()) level_ends_.resize(depth + 2);
      ++level_ends_[depth + 1];
    }
    for (size_t i = 1; i < level_ends_.size(); ++i) level_ends_[i] += level_ends_[i - 1];
    by_depth_.resize(local_.size());
    for (uint32_t i = 0; i < local_.size(); ++i) by_depth_[level_ends_[depth_[i]]++] = i;
  }

  // Adds those that are missing, stack by stack, so that a node mostly follows its parent: that is
  // what makes them small on disk.
  void AddNodes() {
    for (size_t i = 1; i < local_.size(); ++i) {
      if (global_[i] != kNoRow) continue;
      const TrieNode node = {global_[local_[i].parent], location_frame_[local_[i].location]};
      // Two locations may be one frame, so it may have been added a moment ago.
      global_[i] = dictionary_.FindNode(*indexes_, HashRow(node), node);
    }
  }

  static constexpr size_t kIndexBytesMax = 1 << 20;

  Dictionary& dictionary_;
  const Profile* profile_ = nullptr;
  Dictionary::Indexes* indexes_ = nullptr;

  std::vector<LocalNode> local_;
  std::vector<uint32_t> depth_;
  BareIndex local_index_;
  std::vector<uint32_t> stack_local_;  // by StackId
  std::vector<uint32_t> path_;         // local nodes of the stack before, root first

  // By the ids of the profile; kNoRow = not needed.
  std::vector<uint32_t> location_frame_, function_id_, string_id_, mapping_id_;
  std::vector<uint32_t> locations_, functions_, texts_;  // those that are needed
  std::vector<FrameLine> lines_;

  std::vector<uint32_t> by_depth_, level_ends_;
  std::vector<uint32_t> global_;  // node of each local one
};

BatchInterner::BatchInterner(Dictionary* dictionary) : work_(std::make_unique<Work>(dictionary)) {}
BatchInterner::~BatchInterner() = default;

void BatchInterner::Intern(const profile::Profile& profile, std::span<const StackId> stacks,
                           std::span<uint32_t> nodes) {
  work_->Run(profile, stacks, nodes);
}

}  // namespace vesta::store::index
