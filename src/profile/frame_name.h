// How a frame is called in every output, so that a name found in one is found in the others.
#pragma once

#include <string>
#include <string_view>

#include "src/profile/profile.h"

namespace vesta::profile {

// Stands for the frames of a sample that has none.
inline constexpr std::string_view kNoStackName = "[no stack]";

// The name for people, else the one that the image has; "" when there is neither.
StringId FunctionName(const Profile& profile, FunctionId function);

// Where an address lies.
// Units: the first three as in Mapping.
struct AddressPlace {
  std::string_view path;  // "" = in no binary
  uint64_t memory_start = 0;
  uint64_t memory_limit = 0;
  uint64_t file_offset = 0;
  uint64_t address = 0;
};
AddressPlace PlaceOfAddress(const Profile& profile, const Location& location);

// Of code without a name: "binary+0x1234", "0x1234" without a binary.
// Units: the place in the file, or in the mapping's own count where that is unknown.
std::string AddressName(const AddressPlace& place);
std::string AddressName(const Profile& profile, const Location& location);

// Of a frame that stands for a label: its text, or "pid 1234" for a number.
std::string LabelFrameName(const Profile& profile, const Label& label);

}  // namespace vesta::profile
