// Labels of a sample that carry what a row of a store has and a pprof sample lacks: written by an
// export of rows, understood when a profile is taken in.
#pragma once

#include <string_view>

namespace vesta::batch {

inline constexpr std::string_view kRowTime = "vesta.time";      // number, "milliseconds" since 1970
inline constexpr std::string_view kRowWeight = "vesta.weight";  // text; absent = 1
// A number; absent = 1. Only of types whose count has no name, else it is a sample type.
inline constexpr std::string_view kRowCount = "vesta.count";

}  // namespace vesta::batch
