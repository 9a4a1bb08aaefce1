// Which functions became more and which less between two profiles: the table of `vesta diff`.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "src/flame/stack_tree.h"

namespace vesta::flame {

// Units: of the value type; `after` is scaled where the table is normalized.
struct DiffFigure {
  int64_t before = 0;
  int64_t after = 0;
  // Whether sampling alone would show such a difference: it is at most two standard deviations of
  // the difference of two counts.
  bool within_noise = false;
  int64_t difference() const { return after - before; }
};

// What one sample of each side stands for, to tell noise from change.
struct NoiseRule {
  double before_per_sample = 0;  // 0 = unknown: nothing is noise
  double after_per_sample = 0;
  double after_scale = 1;  // that values of after are multiplied by

  bool known() const { return before_per_sample > 0 && after_per_sample > 0; }
  // `after` as it was, not scaled.
  DiffFigure Figure(int64_t before, int64_t after) const;
};

struct DiffRow {
  std::string name;   // "" = code without a name, one row per binary
  std::string image;  // the binary's short name; "" = unknown
  std::string file;   // path of the source where the binary is unknown; "" = unknown, too
  DiffFigure self = {};
  DiffFigure total = {};
  size_t unnamed_address_count = 0;  // addresses behind a row without a name
  bool is_new() const { return total.before == 0; }
  bool is_gone() const { return total.after == 0; }
};

enum class DiffOrder : uint8_t { kSelf, kTotal };

struct DiffOptions {
  DiffOrder order = DiffOrder::kSelf;
  // Scales `after` so that both sides have the same sum, as pprof does: shares are compared, not
  // amounts.
  bool normalize = false;
};

struct DiffTable {
  std::string type;
  std::string unit;
  std::array<TreeSide, 2> sides;
  DiffFigure sum;                             // after as it was, not scaled
  std::array<int64_t, 2> sample_counts = {};  // 0 = unknown
  bool normalized = false;
  double after_scale = 1;    // that `after` of the rows was multiplied by
  bool noise_known = false;  // else nothing is marked
  DiffOrder order = DiffOrder::kSelf;
  std::vector<DiffRow> rows;
};

// Shape: a row per (function name, binary's path), or per (name, source file) where no binary is
//        known; processes are no rows. Order: absolute difference of self (or total), then of the
//        other, largest first, then name, binary, file. Rows that are 0 on both sides are left out.
// Units: value_type < number of value types of a tree with two sides.
// Source: noise: a count of independent samples varies by its square root.
DiffTable MakeDiffTable(const StackTree& tree, size_t value_type, const DiffOptions& options = {});

}  // namespace vesta::flame
