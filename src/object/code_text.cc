#include "src/object/code_text.h"

#include <algorithm>

namespace vesta::object {
namespace {

constexpr uint8_t kNoInstruction = 0xff;
constexpr uint8_t kIsPadding = 0x80;
// Real code needs less than one per byte.
constexpr uint64_t kDecodesPerByte = 1;
constexpr uint64_t kDecodesMin = 4096;

}  // namespace

CodeText::CodeText(std::span<const CodePiece> pieces) {
  for (const CodePiece& piece : pieces) {
    const auto first = static_cast<Place>(code_.size());
    code_.insert(code_.end(), piece.bytes.begin(), piece.bytes.end());
    pieces_.push_back({piece.start_vaddr, first, static_cast<Place>(code_.size())});
  }
  marks_.resize(code_.size());
  known_length_.resize(code_.size());
  decodes_left_ = code_.size() * kDecodesPerByte + kDecodesMin;
}

const CodeText::Piece& CodeText::PieceOf(Place place) {
  const Piece& last = pieces_[piece_number_];
  if (place >= last.first && place < last.end) return last;
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), place,
                                      [](Place p, const Piece& piece) { return p < piece.first; });
  piece_number_ = static_cast<size_t>(after - pieces_.begin()) - 1;
  return pieces_[piece_number_];
}

Place CodeText::PlaceOf(uint64_t vaddr) const {
  const auto after =
      std::upper_bound(pieces_.begin(), pieces_.end(), vaddr,
                       [](uint64_t v, const Piece& piece) { return v < piece.start_vaddr; });
  if (after == pieces_.begin()) return kNowhere;
  const Piece& piece = *std::prev(after);
  const uint64_t inside = vaddr - piece.start_vaddr;
  return inside < piece.end - piece.first ? piece.first + static_cast<Place>(inside) : kNowhere;
}

Place CodeText::TargetOf(Place place, const X86Instruction& instruction) {
  const Piece& piece = PieceOf(place);
  return PlaceOf(piece.VaddrOf(place) + static_cast<uint64_t>(instruction.target_offset));
}

std::optional<X86Instruction> CodeText::Decode(Place place) {
  if (decodes_left_ == 0) return std::nullopt;
  --decodes_left_;
  const uint8_t known = known_length_[place];
  if (known == kNoInstruction) return std::nullopt;
  if (known != 0) {
    const auto length = static_cast<uint8_t>(known & ~kIsPadding);
    return X86Instruction{.length_bytes = length, .is_padding = length != known};
  }
  const Piece& piece = PieceOf(place);
  const auto instruction = decoder_.Decode(std::span(code_).subspan(place, piece.end - place));
  if (!instruction.has_value()) {
    known_length_[place] = kNoInstruction;
  } else if (instruction->flow == CodeFlow::kNext && instruction->effect == FrameEffect::kNone &&
             instruction->store_base == StoreBase::kNone) {
    known_length_[place] = instruction->length_bytes | (instruction->is_padding ? kIsPadding : 0);
  }
  return instruction;
}

Place CodeText::SkipPadding(Place place) {
  const Place end = PieceOf(place - 1).end;
  while (place < end) {
    if ((marks_[place] & (kEntry | kStart)) != 0) return place;
    // Some fill with zeros, which would be an instruction.
    if (code_[place] == std::byte{0}) {
      ++place;
      continue;
    }
    const auto instruction = Decode(place);
    if (!instruction.has_value()) return kNowhere;
    if (!instruction->is_padding) return place;
    place += instruction->length_bytes;
  }
  return kNowhere;
}

}  // namespace vesta::object
