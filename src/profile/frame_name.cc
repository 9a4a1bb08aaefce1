#include "src/profile/frame_name.h"

#include <array>
#include <cstdio>

namespace vesta::profile {

StringId FunctionName(const Profile& profile, FunctionId function) {
  const Function& row = profile.function(function);
  return row.name == StringId{} ? row.system_name : row.name;
}

std::string AddressName(const Profile& profile, const Location& location) {
  uint64_t offset = location.address;
  std::string name(MappingShortName(profile, location.mapping));
  if (location.mapping != kNoMapping) {
    const Mapping& mapping = profile.mapping(location.mapping);
    if (offset >= mapping.memory_start && offset < mapping.memory_limit)
      offset = offset - mapping.memory_start + mapping.file_offset;
  }
  if (!name.empty()) name += '+';
  std::array<char, 24> text;
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(offset));
  return name + text.data();
}

std::string LabelFrameName(const Profile& profile, const Label& label) {
  if (!label.is_number()) return std::string(profile.String(label.text));
  std::string name(profile.String(label.key));
  name += ' ' + std::to_string(label.number);
  if (label.unit != StringId{}) name += ' ' + std::string(profile.String(label.unit));
  return name;
}

}  // namespace vesta::profile
