// Text of protocols and settings: letters are those of ASCII, whatever the locale is.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace vesta::base {

constexpr char LowerCase(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}
inline std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) letter = LowerCase(letter);
  return lower;
}
constexpr bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return LowerCase(x) == LowerCase(y);
         });
}

// Without the spaces, tabs and line ends around it.
constexpr std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace vesta::base
