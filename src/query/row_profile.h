// Makes a profile out of the blocks of a store, with everything that the store knows of a frame.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "src/base/result.h"
#include "src/profile/profile.h"
#include "src/store/store.h"

namespace vesta::query {

// Shape: sample types: the count where it has a name, then the value.
class RowProfile {
 public:
  explicit RowProfile(const store::ProfileType& type);

  // Numbers of names and nodes mean another thing from here on.
  void StartBlock(const store::Names* names, std::span<const uint32_t> parent,
                  std::span<const uint32_t> frame);
  // Errors: Corrupt as Names.
  base::Result<profile::StackId> StackOf(uint32_t node);
  // Adds to the sample of the same stack and labels, or makes a row of its own.
  void Add(profile::StackId stack, profile::LabelSetId labels, int64_t value, int64_t count);
  void Append(profile::StackId stack, profile::LabelSetId labels, int64_t value, int64_t count);

  profile::Profile& profile() { return profile_; }

 private:
  base::Result<profile::LocationId> LocationOf(uint32_t frame);
  base::Result<profile::FunctionId> FunctionOf(uint32_t function);
  base::Result<profile::MappingId> MappingOf(uint32_t image);
  std::span<const int64_t> Values(int64_t value, int64_t count);

  const bool has_count_;
  profile::Profile profile_;
  using MappingKey = std::tuple<profile::StringId, profile::StringId, uint64_t, uint64_t, uint64_t>;
  std::map<MappingKey, profile::MappingId> mapping_of_;  // of all blocks
  int64_t values_[2] = {};
  // Of the block at hand, by its numbers; 1 + the id, 0 = unseen.
  const store::Names* names_ = nullptr;
  std::span<const uint32_t> parent_;
  std::span<const uint32_t> frame_;
  std::vector<uint32_t> locations_;
  std::vector<uint32_t> functions_;
  std::vector<uint32_t> mappings_;
  std::vector<profile::LocationId> leaf_first_;
  std::vector<profile::Line> lines_;
};

}  // namespace vesta::query
