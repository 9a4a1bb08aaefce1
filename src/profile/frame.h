// The raw nouns of a sample before it has names: where code lives (Image) and one frame of a stack.
#pragma once

#include <cstdint>

#include "src/base/strong_id.h"

namespace vesta::profile {

// Dense number of an image (binary, library, kernel, module, generated code) within one agent.
using ImageId = base::StrongId<struct ImageIdTag>;

enum class FrameKind : uint8_t {
  kNative,   // address inside an ELF image, as its file counts it
  kKernel,   // raw kernel address
  kProcess,  // raw process address whose mapping was not known
};

// One raw frame. `address` is the pc of an interrupted frame, else the return address minus one
// (the walker has subtracted it, exactly once).
struct Frame {
  uint64_t address = 0;
  ImageId image;
  FrameKind kind = FrameKind::kNative;
  bool interrupted = false;
  friend bool operator==(const Frame&, const Frame&) = default;
};

}  // namespace vesta::profile
