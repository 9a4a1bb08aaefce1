// C++ calls: virtual functions, lambdas, std::function, templates, and a comparison inside of
// std::sort. Also built with -O3, with LTO and with -fcf-protection.
#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "truth.h"

TRUTH_LEAF(virtual_leaf)
TRUTH_LEAF(function_leaf)
TRUTH_LEAF(template_leaf)
TRUTH_LEAF(sort_leaf)
unsigned elsewhere_step(unsigned rounds);  // in calls_elsewhere.cc, for LTO

class Shape {
 public:
  virtual ~Shape() = default;
  virtual unsigned Area(unsigned rounds) = 0;
};

class Square : public Shape {
 public:
  TRUTH_FRAME unsigned Area(unsigned rounds) override {
    unsigned value = virtual_leaf(rounds);
    TRUTH_KEEP(value);
    return value + 1;
  }
};

// Calls arrive here through a thunk that adjusts `this`.
class Named {
 public:
  virtual ~Named() = default;
  virtual unsigned Name(unsigned rounds) = 0;
};

class NamedSquare : public Square, public Named {
 public:
  TRUTH_FRAME unsigned Name(unsigned rounds) override {
    unsigned value = Area(rounds);
    TRUTH_KEEP(value);
    return value + 1;
  }
};

TRUTH_FRAME unsigned virtual_outer(unsigned rounds) {
  const std::unique_ptr<Shape> shape = std::make_unique<Square>();
  unsigned value = shape->Area(rounds);
  TRUTH_KEEP(value);
  return value + 1;
}

TRUTH_FRAME unsigned thunk_outer(unsigned rounds) {
  const std::unique_ptr<Named> named = std::make_unique<NamedSquare>();
  unsigned value = named->Name(rounds);
  TRUTH_KEEP(value);
  return value + 1;
}

TRUTH_FRAME unsigned call_function(const std::function<unsigned(unsigned)>& function,
                                   unsigned rounds) {
  unsigned value = function(rounds);
  TRUTH_KEEP(value);
  return value + 1;
}

TRUTH_FRAME unsigned function_outer(unsigned rounds) {
  std::vector<unsigned> seen;
  unsigned value = call_function(
      [&seen](unsigned inner) {
        seen.push_back(inner);
        unsigned result = function_leaf(inner);
        TRUTH_KEEP(result);
        return result + 1;
      },
      rounds);
  TRUTH_KEEP(value);
  return value + static_cast<unsigned>(seen.size());
}

template <int Level>
TRUTH_FRAME unsigned template_step(unsigned rounds) {
  unsigned value = 0;
  if constexpr (Level == 0) {
    value = template_leaf(rounds);
  } else {
    value = template_step<Level - 1>(rounds);
  }
  TRUTH_KEEP(value);
  return value + Level;
}

TRUTH_FRAME unsigned sort_outer(unsigned rounds) {
  std::vector<unsigned> numbers = {3, 1};
  std::sort(numbers.begin(), numbers.end(), [rounds](unsigned left, unsigned right) {
    unsigned value = sort_leaf(rounds / 2);
    TRUTH_KEEP(value);
    return left < right;
  });
  return numbers[0];
}

static truth_path paths[] = {
    {"virtual_leaf;Square::Area;virtual_outer;main", virtual_outer, 25, nullptr, 0},
    {"virtual_leaf;Square::Area;NamedSquare::Name;thunk_outer;main", thunk_outer, 20, nullptr, 0},
    {"function_leaf;*;call_function;function_outer;main", function_outer, 20, nullptr, 0},
    {"template_leaf;template_step<0>;template_step<1>;template_step<2>;main", template_step<2>, 15,
     nullptr, 0},
    {"sort_leaf;*;sort_outer;main", sort_outer, 10, nullptr, 0},
    {"elsewhere_leaf;elsewhere_step;main", elsewhere_step, 10, nullptr, 0},
};

TRUTH_MAIN(paths)
