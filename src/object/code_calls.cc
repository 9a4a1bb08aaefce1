#include "src/object/code_calls.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace vesta::object {
namespace {

constexpr size_t kReturnStepsMax = 4096;
constexpr int kReturnRoundsMax = 4;

struct Call {
  Place from = 0;
  Place to = 0;
};

class CallFinder {
 public:
  explicit CallFinder(CodeText& code) : code_(code), marks_(code.marks()) {}

  std::vector<Place> Run() {
    FindCalls();
    FindWhatNeverReturns();
    return std::move(entries_);
  }

 private:
  void FindCalls();
  std::vector<Place> EntriesCalleesFirst();
  bool MayReturn(Place entry);
  void FindWhatNeverReturns();

  CodeText& code_;
  std::vector<uint8_t>& marks_;
  std::vector<Place> entries_;  // sorted
  std::vector<Call> calls_;     // sorted by where they stand
};

// Instruction after instruction, data included: what is found so is a start only if the code there
// agrees.
void CallFinder::FindCalls() {
  for (const CodeText::Piece& piece : code_.pieces()) {
    for (Place place = piece.first; place < piece.end;) {
      const auto instruction = code_.Decode(place);
      if (!instruction.has_value()) {
        ++place;
        continue;
      }
      if (instruction->flow == CodeFlow::kCall && instruction->has_target) {
        const Place target = code_.TargetOf(place, *instruction);
        // A call to the next instruction asks for its own address.
        if (target != kNowhere && target != place + instruction->length_bytes) {
          marks_[target] |= kEntry;
          calls_.push_back({place, target});
        }
      }
      if (instruction->has_pointer) {
        const uint64_t base = instruction->pointer_is_relative ? piece.VaddrOf(place) : 0;
        const Place pointed = code_.PlaceOf(base + static_cast<uint64_t>(instruction->pointer));
        if (pointed != kNowhere) marks_[pointed] |= kPointedAt;
      }
      place += instruction->length_bytes;
    }
  }
  for (Place place = 0; place < marks_.size(); ++place) {
    if ((marks_[place] & kEntry) != 0) entries_.push_back(place);
  }
}

// So that it is known of most callees whether they return when their callers are looked at. Who
// calls is guessed from the order of addresses.
std::vector<Place> CallFinder::EntriesCalleesFirst() {
  std::vector<Place> ordered;
  std::vector<bool> is_seen(entries_.size());
  struct Open {
    size_t entry = 0;
    size_t next_call = 0;
  };
  std::vector<Open> open;
  const auto begin = [&](size_t entry) {
    is_seen[entry] = true;
    const auto first = std::lower_bound(calls_.begin(), calls_.end(), entries_[entry],
                                        [](const Call& c, Place p) { return c.from < p; });
    open.push_back({entry, static_cast<size_t>(first - calls_.begin())});
  };
  for (size_t entry = 0; entry < entries_.size(); ++entry) {
    if (!is_seen[entry]) begin(entry);
    while (!open.empty()) {
      Open& top = open.back();
      const Place end = top.entry + 1 < entries_.size() ? entries_[top.entry + 1] : kNowhere;
      if (top.next_call < calls_.size() && calls_[top.next_call].from < end) {
        const Place target = calls_[top.next_call++].to;
        const auto callee = static_cast<size_t>(
            std::lower_bound(entries_.begin(), entries_.end(), target) - entries_.begin());
        if (!is_seen[callee]) begin(callee);
        continue;
      }
      ordered.push_back(entries_[top.entry]);
      open.pop_back();
    }
  }
  calls_ = {};
  return ordered;
}

// Whether some way from here reaches an end that leads back to a caller. Most do after a few
// instructions.
bool CallFinder::MayReturn(Place entry) {
  std::vector<Place> seen;
  std::vector<Place> ways(1, entry);
  bool may_return = false;
  while (!ways.empty() && !may_return) {
    const Place place = ways.back();
    ways.pop_back();
    if ((marks_[place] & kFresh) != 0) continue;
    const auto instruction = code_.Decode(place);
    if (!instruction.has_value() || seen.size() >= kReturnStepsMax) {
      may_return = true;
      break;
    }
    marks_[place] |= kFresh;
    seen.push_back(place);
    const Place target = instruction->has_target ? code_.TargetOf(place, *instruction) : kNowhere;
    const Place next = place + instruction->length_bytes;
    const bool is_last = next >= code_.PieceOf(place).end;
    switch (instruction->flow) {
      case CodeFlow::kReturn:
      case CodeFlow::kJumpElsewhere:
      case CodeFlow::kJumpByTable:
        may_return = true;
        break;
      case CodeFlow::kJump:
      case CodeFlow::kBranch:
        if (target == kNowhere) {
          may_return = true;
        } else if ((marks_[target] & kEntry) == 0) {
          ways.push_back(target);
        } else if (target != entry && (marks_[target] & kDoesNotReturn) == 0) {
          may_return = true;
        }
        if (instruction->flow == CodeFlow::kBranch && !is_last) ways.push_back(next);
        break;
      case CodeFlow::kCall:
        if (target != kNowhere && (marks_[target] & kDoesNotReturn) != 0) break;
        [[fallthrough]];
      case CodeFlow::kNext:
        // Into the next function code goes only after a call that does not return.
        if (!is_last && (marks_[next] & kEntry) == 0) ways.push_back(next);
        break;
      case CodeFlow::kStop:
        break;
    }
  }
  for (const Place place : seen) marks_[place] &= static_cast<uint8_t>(~kFresh);
  return may_return;
}

void CallFinder::FindWhatNeverReturns() {
  const std::vector<Place> ordered = EntriesCalleesFirst();
  for (int round = 0; round < kReturnRoundsMax; ++round) {
    bool found = false;
    for (const Place entry : ordered) {
      if ((marks_[entry] & kDoesNotReturn) != 0 || MayReturn(entry)) continue;
      marks_[entry] |= kDoesNotReturn;
      found = true;
    }
    if (!found) return;
  }
}

}  // namespace

std::vector<Place> FindCalledFunctions(CodeText& code) { return CallFinder(code).Run(); }

}  // namespace vesta::object
