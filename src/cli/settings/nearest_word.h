// What a misspelt word was probably meant to be.
#pragma once

#include <string>
#include <vector>

namespace vesta::cli {

// The word of `known` that `given` is probably a misspelling of; empty when none is near.
std::string NearestWord(const std::string& given, const std::vector<std::string>& known);

}  // namespace vesta::cli
