#include "src/query/row_profile.h"

#include <algorithm>

namespace vesta::query {
namespace {

uint32_t& At(std::vector<uint32_t>& rows, uint32_t index) {
  if (index >= rows.size()) rows.resize(std::max<size_t>(index + size_t{1}, rows.size() * 2));
  return rows[index];
}

}  // namespace

RowProfile::RowProfile(const store::ProfileType& type) : has_count_(!type.count_type.empty()) {
  std::vector<profile::ValueType> types;
  if (has_count_) types.push_back(profile_.InternValueType(type.count_type, "count"));
  types.push_back(profile_.InternValueType(type.type, type.unit));
  profile_.SetSampleTypes(std::move(types));
  if (!type.period_type.empty())
    profile_.header().period_type = profile_.InternValueType(type.period_type, type.period_unit);
}

void RowProfile::StartBlock(const store::Names* names, std::span<const uint32_t> parent,
                            std::span<const uint32_t> frame) {
  names_ = names;
  parent_ = parent;
  frame_ = frame;
  locations_.clear();
  functions_.clear();
  mappings_.clear();
}

base::Result<profile::StackId> RowProfile::StackOf(uint32_t node) {
  leaf_first_.clear();
  for (; node != 0; node = parent_[node]) {
    ASSIGN_OR_RETURN(const profile::LocationId location, LocationOf(frame_[node]));
    leaf_first_.push_back(location);
  }
  return profile_.InternStack(leaf_first_);
}

base::Result<profile::LocationId> RowProfile::LocationOf(uint32_t frame) {
  uint32_t& known = At(locations_, frame);
  if (known != 0) return profile::LocationId{known - 1};
  ASSIGN_OR_RETURN(const store::FrameView view, names_->frame(frame));
  lines_.clear();
  for (const store::FrameLine& line : view.lines) {
    ASSIGN_OR_RETURN(const profile::FunctionId function, FunctionOf(line.function));
    lines_.push_back({function, line.line, line.column});
  }
  profile::Location location{profile::kNoMapping, view.address, view.is_folded, lines_};
  if (view.image != 0) {
    ASSIGN_OR_RETURN(location.mapping, MappingOf(view.image));
  }
  const profile::LocationId id = profile_.InternLocation(location);
  known = id.value() + 1;
  return id;
}

base::Result<profile::FunctionId> RowProfile::FunctionOf(uint32_t function) {
  uint32_t& known = At(functions_, function);
  if (known != 0) return profile::FunctionId{known - 1};
  ASSIGN_OR_RETURN(const store::FunctionView view, names_->function(function));
  const profile::FunctionId id = profile_.InternFunction(
      {profile_.InternString(view.name), profile_.InternString(view.system_name),
       profile_.InternString(view.file), view.start_line});
  known = id.value() + 1;
  return id;
}

base::Result<profile::MappingId> RowProfile::MappingOf(uint32_t image) {
  uint32_t& known = At(mappings_, image);
  if (known != 0) return profile::MappingId{known - 1};
  ASSIGN_OR_RETURN(const store::ImageView view, names_->image(image));
  const profile::Mapping mapping{profile_.InternString(view.path),
                                 profile_.InternString(view.build_id),
                                 view.memory_start,
                                 view.memory_limit,
                                 view.file_offset,
                                 true,
                                 true,
                                 true,
                                 true};
  const auto [place, is_new] =
      mapping_of_.try_emplace({mapping.path, mapping.build_id, mapping.memory_start,
                               mapping.memory_limit, mapping.file_offset});
  if (is_new) place->second = profile_.AddMapping(mapping);
  known = place->second.value() + 1;
  return place->second;
}

std::span<const int64_t> RowProfile::Values(int64_t value, int64_t count) {
  values_[0] = has_count_ ? count : value;
  values_[1] = value;
  return {values_, has_count_ ? size_t{2} : size_t{1}};
}

void RowProfile::Add(profile::StackId stack, profile::LabelSetId labels, int64_t value,
                     int64_t count) {
  profile_.AddSample(stack, labels, Values(value, count));
}

void RowProfile::Append(profile::StackId stack, profile::LabelSetId labels, int64_t value,
                        int64_t count) {
  profile_.AppendSample(stack, labels, Values(value, count));
}

}  // namespace vesta::query
