#include "src/profile/frame_name.h"

#include <array>
#include <cstdio>

namespace vesta::profile {

StringId FunctionName(const Profile& profile, FunctionId function) {
  const Function& row = profile.function(function);
  return row.name == StringId{} ? row.system_name : row.name;
}

AddressPlace PlaceOfAddress(const Profile& profile, const Location& location) {
  if (location.mapping == kNoMapping) return {.path = {}, .address = location.address};
  const Mapping& mapping = profile.mapping(location.mapping);
  return {profile.String(mapping.path), mapping.memory_start, mapping.memory_limit,
          mapping.file_offset, location.address};
}

std::string AddressName(const AddressPlace& place) {
  uint64_t offset = place.address;
  if (offset >= place.memory_start && offset < place.memory_limit)
    offset = offset - place.memory_start + place.file_offset;
  std::string name(place.path.substr(place.path.rfind('/') + 1));
  if (!name.empty()) name += '+';
  std::array<char, 24> text;
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(offset));
  return name + text.data();
}

std::string AddressName(const Profile& profile, const Location& location) {
  return AddressName(PlaceOfAddress(profile, location));
}

std::string LabelFrameName(const Profile& profile, const Label& label) {
  if (!label.is_number()) return std::string(profile.String(label.text));
  std::string name(profile.String(label.key));
  name += ' ' + std::to_string(label.number);
  if (label.unit != StringId{}) name += ' ' + std::string(profile.String(label.unit));
  return name;
}

}  // namespace vesta::profile
