#include "src/cli/settings/nearest_word.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace vesta::cli {
namespace {

// Number of insertions, deletions, replacements and swaps of neighbours between two words.
size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> previous(b.size() + 1);
  std::vector<size_t> current(b.size() + 1);
  std::iota(previous.begin(), previous.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    before = previous;
    previous = current;
  }
  return previous[b.size()];
}

}  // namespace

std::string NearestWord(const std::string& given, const std::vector<std::string>& known) {
  std::string nearest;
  size_t best = std::min<size_t>(3, 1 + given.size() / 5) + 1;
  for (const std::string& word : known) {
    const size_t distance = EditDistance(given, word);
    if (distance < best && distance < word.size()) {
      best = distance;
      nearest = word;
    }
  }
  return nearest;
}

}  // namespace vesta::cli
