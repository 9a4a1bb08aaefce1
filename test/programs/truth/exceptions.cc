// Exceptions thrown deep and caught far up, with destructors between: work below the throw, in a
// destructor while the stack is unwound, in the handler, and in the unwinder of libgcc itself.
#include <stdexcept>

#include "truth.h"

TRUTH_LEAF(below_leaf)
TRUTH_LEAF(destructor_leaf)
TRUTH_LEAF(handler_leaf)

struct Guard {
  unsigned rounds;
  TRUTH_FRAME ~Guard() {
    unsigned value = rounds != 0 ? destructor_leaf(rounds) : 0;
    TRUTH_KEEP(value);
  }
};

enum class Work { kBelow, kDestructor, kHandler, kUnwinder };

TRUTH_FRAME unsigned throwing(Work work, unsigned rounds) {
  unsigned value = work == Work::kBelow ? below_leaf(rounds) : 1;
  TRUTH_KEEP(value);
  throw std::runtime_error("thrown");
}

TRUTH_FRAME unsigned guarded(Work work, unsigned rounds) {
  const Guard guard{work == Work::kDestructor ? rounds : 0};
  unsigned value = throwing(work, rounds);
  TRUTH_KEEP(value);
  return value;
}

template <int Level>
TRUTH_FRAME unsigned deeper(Work work, unsigned rounds) {
  unsigned value = 0;
  if constexpr (Level == 0) {
    value = guarded(work, rounds);
  } else {
    value = deeper<Level - 1>(work, rounds);
  }
  TRUTH_KEEP(value);
  return value + Level;
}

TRUTH_FRAME unsigned catching(Work work, unsigned rounds) {
  unsigned value = 0;
  try {
    value = deeper<4>(work, rounds);
  } catch (const std::exception& error) {
    value = work == Work::kHandler ? handler_leaf(rounds) : 2;
    TRUTH_KEEP(value);
    value += static_cast<unsigned char>(error.what()[0]);
  }
  TRUTH_KEEP(value);
  return value;
}

TRUTH_FRAME unsigned below(unsigned rounds) { return catching(Work::kBelow, rounds) + 1; }
TRUTH_FRAME unsigned destructor(unsigned rounds) { return catching(Work::kDestructor, rounds) + 1; }
TRUTH_FRAME unsigned handler(unsigned rounds) { return catching(Work::kHandler, rounds) + 1; }

// Nothing but throwing: the leaf lies in the unwinder, wherever that is.
TRUTH_FRAME unsigned unwinder(unsigned rounds) {
  unsigned value = 0;
  for (unsigned i = 0; i < rounds / 20000; ++i) value += catching(Work::kUnwinder, 0);
  return value;
}

static truth_path paths[] = {
    {"below_leaf;throwing;guarded;deeper<0>;deeper<1>;deeper<2>;deeper<3>;deeper<4>;catching;below;"
     "main",
     below, 30, nullptr, 0},
    {"destructor_leaf;Guard::~Guard;~guarded;deeper<0>;deeper<1>;deeper<2>;deeper<3>;deeper<4>;"
     "catching;destructor;main",
     destructor, 20, nullptr, 0},
    {"handler_leaf;~catching;handler;main", handler, 20, nullptr, 0},
    {"**;unwinder;main", unwinder, 30, nullptr, 0},
};

TRUTH_MAIN(paths)
