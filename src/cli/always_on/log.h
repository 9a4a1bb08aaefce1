// What a command that runs for long says while it does.
#pragma once

#include <functional>
#include <string>

namespace vesta::cli {

// A line that a person can act on. Any thread may call it.
using Log = std::function<void(const std::string& sentence)>;

// On standard error, behind "vesta COMMAND: ".
Log LogOf(const std::string& command);

}  // namespace vesta::cli
