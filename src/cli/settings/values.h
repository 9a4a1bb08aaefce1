// Values as people write them, and back: 10s, 64k, yes.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/base/result.h"

namespace vesta::cli {

// Each refuses text that is not wholly a value of its kind, and values that do not fit 64 bits.
// Errors: InvalidInput; the message says what a right value looks like.

// Units: ns, us, ms, s, m, h, d; a fraction is fine: 1.5s. The result is in nanoseconds.
base::Result<uint64_t> ParseDurationNs(std::string_view text);

// Units: none (bytes), k, M, G, T, each 1024 times the one before, in either case. In bytes.
base::Result<uint64_t> ParseSizeBytes(std::string_view text);

// 10, 0.5 or 0.5%, in 1/1000 %; finer digits are cut.
base::Result<uint64_t> ParseMilliPercent(std::string_view text);

base::Result<uint64_t> ParseCount(std::string_view text);

// yes, true, on, 1 and no, false, off, 0.
base::Result<bool> ParseFlag(std::string_view text);

// What the name of a file that shows a difference asks for: .html, .svg or .json.
enum class DiffFormat : uint8_t { kHtml, kSvg, kJson };
base::Result<DiffFormat> ParseDiffFormat(std::string_view path);

}  // namespace vesta::cli
