#include "src/ingest/pusher_labels.h"

#include <algorithm>
#include <string>
#include <utility>

#include "src/base/ascii.h"
#include "src/base/printable.h"
#include "src/store/batch_check.h"
#include "src/store/label_alias.h"

namespace vesta::ingest {
namespace {

base::Error Invalid(const std::string& message) {
  return base::Error(base::ErrorCode::kInvalidInput, message);
}

// Takes pairs from the front of a text.
class PairReader {
 public:
  explicit PairReader(std::string_view text) : rest_(base::Trim(text)) {}
  bool at_end() const { return rest_.empty(); }

  base::Result<store::Label> Next() {
    const size_t sign = rest_.find_first_of("=,");
    if (sign == std::string_view::npos || rest_[sign] == ',') {
      return Invalid("the label '" + Shown(rest_.substr(0, sign)) + "' has no '='");
    }
    store::Label label = {.name = std::string(base::Trim(rest_.substr(0, sign))), .value = {}};
    rest_ = base::Trim(rest_.substr(sign + 1));
    if (!rest_.empty() && rest_.front() == '"') {
      ASSIGN_OR_RETURN(label.value, TakeQuoted(label.name));
    } else {
      const size_t comma = std::min(rest_.find(','), rest_.size());
      label.value = base::Trim(rest_.substr(0, comma));
      rest_.remove_prefix(comma);
    }
    RETURN_IF_ERROR(TakeComma(label.name));
    return label;
  }

 private:
  static std::string Shown(std::string_view text) { return base::Printable(text.substr(0, 60)); }

  base::Result<std::string> TakeQuoted(std::string_view name) {
    std::string value;
    for (size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '"') {
        rest_ = base::Trim(rest_.substr(i + 1));
        return value;
      }
      const bool is_escape =
          rest_[i] == '\\' && i + 1 < rest_.size() && (rest_[i + 1] == '"' || rest_[i + 1] == '\\');
      if (is_escape) ++i;
      value += rest_[i];
    }
    return Invalid("the quoted value of the label '" + Shown(name) + "' does not end");
  }

  // One comma between pairs; none at the end.
  base::Result<void> TakeComma(std::string_view name) {
    if (rest_.empty()) return {};
    if (rest_.front() != ',') {
      return Invalid("behind the value of the label '" + Shown(name) + "' stands '" + Shown(rest_) +
                     "' instead of a comma");
    }
    rest_ = base::Trim(rest_.substr(1));
    if (rest_.empty()) return Invalid("the labels end with a comma");
    return {};
  }

  std::string_view rest_;
};

}  // namespace

base::Result<store::Labels> ParsePusherLabels(std::string_view text) {
  store::Labels pairs;
  PairReader reader(text);
  while (!reader.at_end()) {
    ASSIGN_OR_RETURN(store::Label label, reader.Next());
    pairs.push_back(std::move(label));
  }
  return PusherLabels(std::move(pairs));
}

base::Result<store::Labels> PusherLabels(store::Labels pairs) {
  for (store::Label& label : pairs) {
    if (label.name.empty()) {
      return Invalid("the label with the value '" + base::Printable(label.value.substr(0, 60)) +
                     "' has no name");
    }
    label.name = store::ResolveLabelAlias(label.name);
  }
  // Two of one name are refused even if one is empty: it is not clear which was meant.
  std::ranges::stable_sort(pairs, {}, &store::Label::name);
  for (size_t i = 1; i < pairs.size(); ++i) {
    if (pairs[i - 1].name == pairs[i].name) {
      return Invalid("the label " + base::Printable(pairs[i].name) + " is there twice");
    }
  }
  std::erase_if(pairs, [](const store::Label& label) { return label.value.empty(); });
  RETURN_IF_ERROR(store::CheckLabels(pairs));
  return pairs;
}

}  // namespace vesta::ingest
