// Notes of an answer whose format has no place for them, as a header.
#pragma once

#include <string>
#include <vector>

namespace vesta::server {

inline constexpr char kNotesHeader[] = "Vesta-Notes";
// "true" when there is nothing in the answer: no sample, no row.
inline constexpr char kEmptyHeader[] = "Vesta-Empty";

// Shape: a JSON array in ASCII of at most 4 KiB; what is left out is counted by the last text.
std::string HeaderTexts(const std::vector<std::string>& texts);

}  // namespace vesta::server
