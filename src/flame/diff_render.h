// The table of differences as text for people and as JSON for programs.
#pragma once

#include <string>

#include "src/flame/diff_table.h"
#include "src/flame/top_render.h"

namespace vesta::flame {

// Shape: heading with both sides, notes, column titles, one line per function that changed, lines
//        for the rest, and the sums; where none changed, one line that says so instead:
//
//        cpu: 9.81s -> 10.42s, +0.61s (+6.2%)
//        before: a.pb.gz, 981 samples over 10.01s
//        after: b.pb.gz, 1042 samples over 10.02s
//        ~ = sampling alone shows such differences (2 standard deviations)
//
//            before      after  difference   change           share  self of function [binary]
//             5.03s      5.63s      +0.60s   +11.9%  51.27%->54.03%  slowValidate [app]
//                 0      0.21s      +0.21s      new      0%-> 2.02%  Escape [app]
//             1.21s      1.20s      -0.01s    -0.8%~ 12.33%->11.52%  parse [app]
//        ... 41 more functions: -0.19s self
//        ... 12 functions did not change
//             9.81s     10.42s      +0.61s    +6.2%       100%->100% all
//
//        Figures are self, or total where the table is in that order. No meaning is in colour.
std::string RenderDiffText(const DiffTable& table, const TopRenderOptions& options = {});

// Shape: one object on one line: sample_type {type, unit}, before and after {name, sum, samples,
//        duration_ns, time_unix_ns}, difference, within_noise, normalized, after_scale,
//        noise_known, notes [], function_count, functions [{name, binary, file, change, self,
//        total}]; change is "new", "gone" or "both"; self and total are {before, after, difference,
//        within_noise}; a row without a name has name null and unnamed_addresses.
std::string RenderDiffJson(const DiffTable& table, const TopRenderOptions& options = {});

}  // namespace vesta::flame
