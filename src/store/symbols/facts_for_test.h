// Made-up facts for tests of this folder.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/store/symbols/symbol_fact.h"

namespace vesta::store::symbols {

inline Place PlaceAt(const std::string& build_id, uint64_t address) {
  return {HashOf(SymbolImage{true, build_id}), address};
}

// A fact in a form that can be compared: "version name|system|file:start@line:column ...".
inline std::string Text(const std::optional<Fact>& fact) {
  if (!fact) return "none";
  std::string text = std::to_string(fact->version);
  for (const FactLine& line : fact->lines) {
    text += " " + std::string(line.function->name) + "|" + std::string(line.function->system_name) +
            "|" + std::string(line.function->file) + ":" +
            std::to_string(line.function->start_line) + "@" + std::to_string(line.line) + ":" +
            std::to_string(line.column);
  }
  return text;
}

// Owns what its facts point at.
class GivenFacts {
 public:
  // One line per name, innermost first.
  Fact Of(uint64_t version, const std::vector<std::string>& names) {
    std::vector<FactLine>& lines = lines_.emplace_back();
    for (const std::string& name : names) {
      const std::string& kept = texts_.emplace_back(name);
      const std::string& file = texts_.emplace_back(name + ".cc");
      functions_.push_back({kept, kept, file, -3});
      lines.push_back({&functions_.back(), 7, static_cast<int64_t>(lines.size())});
    }
    return {version, lines};
  }

 private:
  std::deque<std::string> texts_;
  std::deque<FunctionText> functions_;
  std::deque<std::vector<FactLine>> lines_;
};

}  // namespace vesta::store::symbols
