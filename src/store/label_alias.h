// Short names of labels for people who type them; stored are only OpenTelemetry's names.
#pragma once

#include <span>
#include <string_view>

namespace vesta::store {

struct LabelAlias {
  std::string_view alias;  // "service"
  std::string_view name;   // "service.name"
};

// Sorted by alias. No alias is itself a label that agents or OpenTelemetry give.
// Source: semantic conventions of OpenTelemetry, resource attributes.
std::span<const LabelAlias> LabelAliases();

// The stored name behind an alias; other text is its own name.
std::string_view ResolveLabelAlias(std::string_view text);

}  // namespace vesta::store
