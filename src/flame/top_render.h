// The top table as text for people and as JSON for programs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "src/flame/top_table.h"

namespace vesta::flame {

struct TopRenderOptions {
  size_t rows_max = 25;                 // 0 = all
  size_t width_columns = 0;             // of the terminal; names are shortened to fit; 0 = never
  std::vector<std::string> notes = {};  // lines below the heading: lost, incomplete, ...
};

// Shape: heading, notes, column titles, one line per function, and a line that sums up the rest:
//
//        cpu: 9.81s over 10.01s (0.98 of 2 CPUs), 971 samples
//
//              self   self%      total  total%  function [binary]
//             5.03s  51.27%      5.03s  51.27%  slowValidate [app]
//             1.20s  12.23%      1.21s  12.33%  (18 addresses without a name) [libfoo.so]
//        ... 41 more functions: 0.33s (3.36%) self
//
//        Control characters of names are shown as '?'.
std::string RenderTopText(const TopTable& table, const TopRenderOptions& options = {});

// Shape: one object on one line: sample_type {type, unit}, total, samples, duration_ns,
//        time_unix_ns, cpu_count (0 = unknown), notes [], function_count, functions [{name, binary,
//        file, self, total}]; file is "" where the binary is known; a row without a name has name
//        null and unnamed_addresses.
std::string RenderTopJson(const TopTable& table, const TopRenderOptions& options = {});

// Cuts characters out of the middle, so that at most `columns` remain, '…' included.
// Shape: UTF-8; never cuts through a character.
std::string ShortenMiddle(std::string_view name, size_t columns);

}  // namespace vesta::flame
