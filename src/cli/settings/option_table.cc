#include "src/cli/settings/option_table.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <type_traits>

#include "src/cli/settings/values.h"

namespace vesta::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

template <OptionKind kKind>
Result<uint64_t> ParseNumber(std::string_view text) {
  if constexpr (kKind == OptionKind::kDuration) return ParseDurationNs(text);
  if constexpr (kKind == OptionKind::kSize) return ParseSizeBytes(text);
  if constexpr (kKind == OptionKind::kPercent) return ParseMilliPercent(text);
  return ParseCount(text);
}

// The default may be a word that stands for 0, such as "auto".
bool IsZeroWord(const OptionSpec& spec, std::string_view text) {
  return text == spec.default_text && !text.empty() &&
         std::isalpha(static_cast<unsigned char>(text.front())) != 0;
}

template <OptionKind kKind>
Result<uint64_t> ParseInRange(const OptionSpec& spec, std::string_view text) {
  if (IsZeroWord(spec, text)) return uint64_t{0};
  const auto value = ParseNumber<kKind>(text);
  if (!value.ok()) {
    return Error(ErrorCode::kInvalidInput, value.error().message() + "; " + PossibleValues(spec));
  }
  const auto minimum = ParseNumber<kKind>(spec.minimum);
  const auto maximum = ParseNumber<kKind>(spec.maximum);
  if (*value < minimum.value() || *value > maximum.value()) {
    return Error(ErrorCode::kInvalidInput, "is out of range: give " + PossibleValues(spec));
  }
  return *value;
}

// "a, b or c" for a|b|c.
std::string WordList(std::string_view words) {
  std::string list(words);
  size_t bar = list.rfind('|');
  list.replace(bar, 1, " or ");
  while ((bar = list.find('|')) != std::string::npos) list.replace(bar, 1, ", ");
  return list;
}

// Position of text among words separated by |.
Result<size_t> ParseChoice(std::string_view words, std::string_view text) {
  size_t index = 0;
  std::string_view rest = words;
  for (;; ++index) {
    const size_t bar = rest.find('|');
    if (rest.substr(0, bar) == text) return index;
    if (bar == std::string_view::npos) break;
    rest.remove_prefix(bar + 1);
  }
  return Error(ErrorCode::kInvalidInput, "is not known: give " + WordList(words));
}

template <OptionKind kKind, auto kMember>
Result<void> Store(const OptionSpec& spec, std::string_view text, Settings& settings) {
  auto& member = settings.*kMember;
  using Member = std::remove_reference_t<decltype(member)>;
  if constexpr (kKind == OptionKind::kChoice) {
    ASSIGN_OR_RETURN(const size_t index, ParseChoice(spec.value_name, text));
    member = static_cast<Member>(index);
  } else if constexpr (kKind == OptionKind::kFlag) {
    ASSIGN_OR_RETURN(member, ParseFlag(text));
  } else if constexpr (kKind == OptionKind::kText || kKind == OptionKind::kPaths) {
    if (text.empty()) return Error(ErrorCode::kInvalidInput, "must not be empty");
    if constexpr (kKind == OptionKind::kText) {
      member = std::string(text);
    } else {
      member.emplace_back(text);
    }
  } else if constexpr (kKind == OptionKind::kPids) {
    ASSIGN_OR_RETURN(const uint64_t pid, ParseInRange<kKind>(spec, text));
    if (std::find(member.begin(), member.end(), pid) == member.end()) {
      member.push_back(static_cast<uint32_t>(pid));
    }
  } else {
    ASSIGN_OR_RETURN(const uint64_t value, ParseInRange<kKind>(spec, text));
    member = static_cast<Member>(value);
  }
  return {};
}

constexpr OptionSpec kOptions[] = {
#define OPTION(member, kind, flag, short_flag, default_text, minimum, maximum, value_name, \
               commands, scope, audience, doc)                                             \
  {flag,                                                                                   \
   short_flag,                                                                             \
   OptionKind::k##kind,                                                                    \
   default_text,                                                                           \
   minimum,                                                                                \
   maximum,                                                                                \
   value_name,                                                                             \
   (commands),                                                                             \
   OptionScope::scope,                                                                     \
   OptionAudience::audience,                                                               \
   doc,                                                                                    \
   &Store<OptionKind::k##kind, &Settings::member>},
#define CHOICE(member, type, words, flag, short_flag, default_text, commands, scope, audience, \
               doc)                                                                            \
  {flag,                                                                                       \
   short_flag,                                                                                 \
   OptionKind::kChoice,                                                                        \
   default_text,                                                                               \
   "",                                                                                         \
   "",                                                                                         \
   words,                                                                                      \
   (commands),                                                                                 \
   OptionScope::scope,                                                                         \
   OptionAudience::audience,                                                                   \
   doc,                                                                                        \
   &Store<OptionKind::kChoice, &Settings::member>},
#include "src/cli/settings/options.def"
#undef CHOICE
#undef OPTION
};

// Of the rows that match: one of these commands, else one for config files, else the first.
template <typename Matches>
const OptionSpec* BestOf(const Matches& matches, unsigned commands) {
  const OptionSpec* best = nullptr;
  for (const OptionSpec& option : kOptions) {
    if (!matches(option)) continue;
    if ((option.commands & commands) != 0) return &option;
    if (best == nullptr ||
        (best->scope == OptionScope::kCommandLine && option.scope == OptionScope::kEverywhere)) {
      best = &option;
    }
  }
  return best;
}

}  // namespace

std::span<const OptionSpec> AllOptions() { return kOptions; }

const OptionSpec* FindOption(std::string_view flag, unsigned commands) {
  std::string name(flag);
  std::replace(name.begin(), name.end(), '_', '-');
  return BestOf([&name](const OptionSpec& option) { return option.flag == name; }, commands);
}

const OptionSpec* FindShortOption(char short_flag, unsigned commands) {
  return BestOf(
      [short_flag](const OptionSpec& option) {
        return option.short_flag == short_flag && short_flag != 0;
      },
      commands);
}

std::string PossibleValues(const OptionSpec& option) {
  if (option.kind == OptionKind::kChoice) return WordList(option.value_name);
  if (option.kind == OptionKind::kFlag) return "yes or no";
  if (option.minimum.empty()) return std::string(option.value_name);
  const bool has_word = IsZeroWord(option, option.default_text);
  return std::string(option.minimum) + " to " + std::string(option.maximum) +
         (has_word ? ", or " + std::string(option.default_text) : "");
}

std::string EnvironmentName(const OptionSpec& option) {
  std::string name = "VESTA_";
  for (const char character : option.flag) {
    name += character == '-'
                ? '_'
                : static_cast<char>(std::toupper(static_cast<unsigned char>(character)));
  }
  return name;
}

}  // namespace vesta::cli
