#include "src/cli/settings/arguments.h"

#include <cstddef>
#include <string_view>
#include <utility>

#include "src/cli/settings/nearest_word.h"

namespace vesta::cli {
namespace {

constexpr std::string_view kJsonAlias = "json";  // --json is short for --format json

class Splitter {
 public:
  Splitter(const CommandSpec& command, Collector& collector)
      : command_(command), collector_(collector) {}

  Arguments Split(const std::vector<std::string>& words) {
    for (next_ = 0; next_ < words.size();) {
      const std::string word = words[next_++];
      if (word == "--") {
        result_.has_dashes = true;
        result_.after_dashes.assign(words.begin() + static_cast<ptrdiff_t>(next_), words.end());
        break;
      }
      if (word.rfind("--", 0) == 0) {
        Long(word.substr(2), words);
      } else if (word.size() > 1 && word.front() == '-') {
        Short(word.substr(1), words);
      } else {
        result_.words.push_back(word);
      }
    }
    return std::move(result_);
  }

 private:
  // The value of an option: behind "=", else the next word. Empty when there is none: reported.
  std::optional<std::string> Value(const std::string& written,
                                   const std::optional<std::string>& own,
                                   const std::vector<std::string>& words) {
    if (own) return own;
    if (next_ < words.size() && words[next_] != "--") return words[next_++];
    collector_.Problem(written + " needs a value: " + written + " VALUE");
    return std::nullopt;
  }

  void Long(const std::string& word, const std::vector<std::string>& words) {
    const size_t equals = word.find('=');
    std::string name = word.substr(0, equals);
    std::optional<std::string> own;
    if (equals != std::string::npos) own = word.substr(equals + 1);
    if (name == "help") {
      result_.help = true;
    } else if (name == "expert") {
      result_.expert = true;
    } else if (name == "config") {
      result_.config = Value("--config", own, words);
    } else if (name == kJsonAlias && !own) {
      const OptionSpec* format = FindOption("format", command_.bit);
      if (Belongs(*format, "--json")) result_.given.push_back({format, "json", "--json"});
    } else if (const OptionSpec* option = FindOption(name, command_.bit); option != nullptr) {
      Take(*option, "--" + name, own, words);
    } else {
      Unknown(name);
    }
  }

  // -F 99, -F99, -aq
  void Short(const std::string& letters, const std::vector<std::string>& words) {
    for (size_t i = 0; i < letters.size(); ++i) {
      const std::string written = std::string("-") + letters[i];
      if (letters[i] == 'h') {
        result_.help = true;
        continue;
      }
      const OptionSpec* option = FindShortOption(letters[i], command_.bit);
      if (option == nullptr) {
        return collector_.Problem(written + " is not an option of `vesta " +
                                  std::string(command_.name) + "`");
      }
      const bool last = i + 1 == letters.size();
      if (option->kind != OptionKind::kFlag && !last) {
        return Take(*option, written, letters.substr(i + 1), words);
      }
      Take(*option, written, std::nullopt, words);
    }
  }

  void Take(const OptionSpec& option, const std::string& written,
            const std::optional<std::string>& own, const std::vector<std::string>& words) {
    std::optional<std::string> value = own;
    if (option.kind == OptionKind::kFlag) {
      value = own.value_or("yes");
    } else if (!own) {
      value = Value(written, own, words);
    }
    if (!value || !Belongs(option, written)) return;
    const bool bare = option.kind == OptionKind::kFlag && !own;
    result_.given.push_back({&option, *value, bare ? written : written + " " + *value});
  }

  bool Belongs(const OptionSpec& option, const std::string& written) {
    if ((option.commands & command_.bit) != 0) return true;
    collector_.Problem(written + " is an option of " + CommandsOf(option) + ", not of `vesta " +
                       std::string(command_.name) + "`");
    return false;
  }

  void Unknown(const std::string& name) {
    std::vector<std::string> known = {"help", "config"};
    for (const OptionSpec& option : AllOptions()) {
      if ((option.commands & command_.bit) != 0) known.emplace_back(option.flag);
    }
    const std::string near = NearestWord(name, known);
    collector_.Problem("--" + name + " is not an option of `vesta " + std::string(command_.name) +
                       "`" + (near.empty() ? "" : "; did you mean --" + near + "?"));
  }

  const CommandSpec& command_;
  Collector& collector_;
  Arguments result_;
  size_t next_ = 0;
};

}  // namespace

Arguments SplitArguments(const CommandSpec& command, const std::vector<std::string>& words,
                         Collector& collector) {
  return Splitter(command, collector).Split(words);
}

}  // namespace vesta::cli
