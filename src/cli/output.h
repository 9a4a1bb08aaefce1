// What all commands share when they print.
#pragma once

#include <string>
#include <string_view>

#include "src/base/result.h"
#include "src/cli/settings/options.h"

namespace vesta::cli {

// Exit status of a failure of our own, so that it differs from a recorded command's.
constexpr int kOwnFailure = 125;

// What a shell shows of a program whose reader left, 128 + SIGPIPE.
constexpr int kReaderLeft = 141;

// Writes all of it to standard output. Returns 0, kReaderLeft, or kOwnFailure after saying why.
int PrintOut(std::string_view text);

// Says what went wrong on standard error and returns kOwnFailure.
int ReportFailure(const std::string& command, const base::Error& error);

// Whether standard output gets colours.
bool UseColor(ColorMode mode);

}  // namespace vesta::cli
