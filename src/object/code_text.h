// Machine code whose functions are looked for: its instructions, found by place, and what is known
// of each byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "src/object/code_frames.h"
#include "src/object/x86_instruction.h"

namespace vesta::object {

// A byte of code, counted through all pieces.
using Place = uint32_t;

inline constexpr Place kNowhere = std::numeric_limits<Place>::max();

// What is known of a byte of code.
enum CodeMark : uint8_t {
  kEntry = 1,           // a function begins here
  kStart = 2,           // an instruction begins here, and has a state
  kInside = 4,          // the rest of such an instruction
  kAfterCall = 8,       // reached only because a call may return
  kFresh = 16,          // in the part that is being tried
  kDoesNotReturn = 32,  // a call that does not return; at an entry: such a function
  kConfirmed = 64,
  kPointedAt = 128,  // its address stands in code
};

// Shape: pieces sorted by address, without overlap, of less than 4 GiB together.
// Cost:  three bytes per byte of code; in all, about one instruction per byte is decoded, so that
//        nobody may make a search quadratic; then Decode() finds none any more.
class CodeText {
 public:
  struct Piece {
    uint64_t start_vaddr = 0;
    Place first = 0;
    Place end = 0;
    uint64_t VaddrOf(Place place) const { return start_vaddr + (place - first); }
  };

  explicit CodeText(std::span<const CodePiece> pieces);

  const std::vector<Piece>& pieces() const { return pieces_; }
  size_t size_bytes() const { return code_.size(); }
  bool is_used_up() const { return decodes_left_ == 0; }
  std::vector<uint8_t>& marks() { return marks_; }

  const Piece& PieceOf(Place place);
  // kNowhere when it lies in no piece.
  Place PlaceOf(uint64_t vaddr) const;
  Place TargetOf(Place place, const X86Instruction& instruction);
  // The constant of an instruction that matters only by its length is told the first time only.
  std::optional<X86Instruction> Decode(Place place);
  // The next instruction that is none for padding; kNowhere at the end of the piece.
  Place SkipPadding(Place place);

 private:
  std::vector<Piece> pieces_;
  std::vector<std::byte> code_;
  std::vector<uint8_t> marks_;
  size_t piece_number_ = 0;  // of the last look-up
  X86Decoder decoder_;
  // Of instructions that matter only by their length, which most do, with a bit for padding; 0: not
  // known.
  std::vector<uint8_t> known_length_;
  uint64_t decodes_left_ = 0;
};

}  // namespace vesta::object
