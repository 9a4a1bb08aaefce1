#include "src/object/code_frames.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "src/object/code_frame_state.h"
#include "src/object/x86_instruction.h"

namespace vesta::object {
namespace {

// A byte of code, counted through all pieces.
using Place = uint32_t;
using StateId = uint32_t;

constexpr Place kNowhere = std::numeric_limits<Place>::max();
constexpr uint8_t kNoInstruction = 0xff;
constexpr uint8_t kIsPadding = 0x80;
constexpr StateId kEntryState = 0;
constexpr StateId kLostState = 1;  // nothing is known: no function is believed that comes to it
// Each function may be tried again when a call turns out not to return.
constexpr int kTriesMax = 32;
constexpr int kTriesOfGuessMax = 4;
// In all, so many instructions are decoded: nobody may make this quadratic. Real code needs less
// than one per byte.
constexpr uint64_t kDecodesPerByte = 1;
constexpr uint64_t kDecodesMin = 4096;
// Code behind computed jumps may change what was found before it, which is then looked at again:
// for so many instructions per byte of code, in all.
constexpr uint64_t kSecondLooksPerByte = 4;
// Of all functions together: real code has some hundred, and each takes a hundred bytes.
constexpr size_t kStatesMax = 1 << 16;
// Stack depths at computed jumps that are tried for the code behind them.
constexpr size_t kJumpStatesMax = 4;
// The stack pointer at calls, by the psABI. Not all assembly obeys, so that it counts only against
// guesses.
constexpr int32_t kCallAlignmentBytes = 16;
constexpr size_t kReturnStepsMax = 4096;
constexpr int kReturnRoundsMax = 4;
// Less than this between two functions is padding.
constexpr uint32_t kPaddingBytesMax = 15;

enum Mark : uint8_t {
  kEntry = 1,           // a function begins here
  kStart = 2,           // an instruction begins here, and has a state
  kInside = 4,          // the rest of such an instruction
  kAfterCall = 8,       // reached only because a call may return
  kFresh = 16,          // in the part that is being tried
  kDoesNotReturn = 32,  // a call that does not return; at an entry: such a function
  kConfirmed = 64,
  kPointedAt = 128,  // its address stands in code
};

// Why a place is taken for the start of a function.
enum class Evidence {
  kNamed,      // by a symbol or a call
  kPointedAt,  // by a constant in code: it must return, or call with the stack aligned
  kPosition,   // behind another one: it must return
};

struct Visit {
  Place place = 0;
  StateId state = 0;
  Place call = kNowhere;  // set: the visit holds only if this call returns
};

struct Step {
  Place place = 0;
  Place call = kNowhere;
  Place last_call = kNowhere;  // of this step or those before it, in the part that is being tried
  uint8_t length_bytes = 0;
  CodeFlow flow = CodeFlow::kNext;
  bool leaves = false;  // jumps out of the pieces
};

struct Call {
  Place from = 0;
  Place to = 0;
};

struct OldState {
  Place place = 0;
  StateId state = 0;
};

class CodeFrameFinder {
 public:
  CodeFrameFinder(std::span<const CodePiece> pieces, std::span<const uint64_t> function_vaddrs,
                  uint64_t root_vaddr);

  CodeFrames Run();

 private:
  struct Piece {
    uint64_t start_vaddr = 0;
    Place first = 0;
    Place end = 0;
  };

  const Piece& PieceOf(Place place);
  Place PlaceOf(uint64_t vaddr) const;
  Place TargetOf(Place place, const X86Instruction& instruction);
  std::optional<X86Instruction> Decode(Place place);
  Place SkipPadding(Place place);
  StateId Intern(const CodeFrameState& state);
  void FindCalls();
  std::vector<Place> EntriesCalleesFirst();
  bool MayReturn(Place entry);
  void FindWhatNeverReturns();

  // One function.
  bool TryFunction(Place entry, Evidence evidence);
  bool Explore(Place from, StateId state);
  bool ExploreAgainWithoutCalls(Place from, StateId state);
  bool Arrive(const Visit& visit);
  bool Meet(const Visit& visit);
  void GoOn(const Visit& visit, const X86Instruction& instruction);
  void SetState(Place place, StateId state);
  void SuspectCallBefore(size_t step_end);
  bool IsContradiction(size_t step_number);
  bool Check();
  void AddCodeBehindJumps();

  // Undo what was written since.
  struct Point {
    size_t step_count = 0;
    size_t old_count = 0;
    uint64_t return_count = 0;
    uint64_t meeting_count = 0;
  };
  Point Here() const { return {steps_.size(), old_states_.size(), return_count_, meeting_count_}; }
  void GoBack(const Point& point);
  void Settle(size_t first_step);

  void TryEntries(CodeFrames& result);
  void TryTheRest(CodeFrames& result);
  void WriteRows(std::vector<RowRange>& rows);

  std::vector<Piece> pieces_;
  std::vector<std::byte> code_;
  std::vector<StateId> state_at_;
  std::vector<uint8_t> marks_;
  std::vector<Place> entries_;  // sorted
  std::vector<Call> calls_;     // sorted by where they stand
  Place outermost_ = kNowhere;  // nobody calls this one
  size_t piece_number_ = 0;     // of the last look-up
  X86Decoder decoder_;
  // Of instructions that matter only by their length, which most do, with kIsPadding; 0: not known.
  // The constant of one is told only the first time, by which FindCalls() has all of them.
  std::vector<uint8_t> known_length_;
  uint64_t decodes_left_ = 0;
  uint64_t second_looks_left_ = 0;
  std::vector<CodeFrameState> states_;
  std::map<CodeFrameState, StateId> id_of_state_;

  // The function that is being tried.
  Place root_ = 0;
  std::vector<Visit> sure_;    // ways that the code certainly takes
  std::vector<Visit> unsure_;  // ways on after calls
  std::vector<Step> steps_;
  std::vector<OldState> old_states_;
  std::vector<Place> calls_without_return_;
  uint64_t return_count_ = 0;  // rightly, or by a jump to another function
  uint64_t call_count_ = 0;
  uint64_t meeting_count_ = 0;  // with code that was known before, in agreement
  size_t first_step_ = 0;       // of the part that is being tried
  StateId first_state_ = 0;
  bool is_guess_ = false;          // that this part begins with this state
  bool changed_older_ = false;     // it changed states of the parts before
  Place suspect_call_ = kNowhere;  // if it returned, the code would contradict itself
};

CodeFrameFinder::CodeFrameFinder(std::span<const CodePiece> pieces,
                                 std::span<const uint64_t> function_vaddrs, uint64_t root_vaddr) {
  for (const CodePiece& piece : pieces) {
    const auto first = static_cast<Place>(code_.size());
    code_.insert(code_.end(), piece.bytes.begin(), piece.bytes.end());
    pieces_.push_back({piece.start_vaddr, first, static_cast<Place>(code_.size())});
  }
  state_at_.resize(code_.size());
  marks_.resize(code_.size());
  known_length_.resize(code_.size());
  decodes_left_ = code_.size() * kDecodesPerByte + kDecodesMin;
  second_looks_left_ = code_.size() * kSecondLooksPerByte + kDecodesMin;
  Intern(CodeFrameState{});
  Intern(CodeFrameState{.sp_offset = 0, .sp_known = false, .fp_is_callers = false});
  for (const uint64_t vaddr : function_vaddrs) {
    if (const Place place = PlaceOf(vaddr); place != kNowhere) marks_[place] |= kEntry;
  }
  outermost_ = PlaceOf(root_vaddr);
  if (outermost_ != kNowhere) marks_[outermost_] |= kEntry;
}

const CodeFrameFinder::Piece& CodeFrameFinder::PieceOf(Place place) {
  const Piece& last = pieces_[piece_number_];
  if (place >= last.first && place < last.end) return last;
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), place,
                                      [](Place p, const Piece& piece) { return p < piece.first; });
  piece_number_ = static_cast<size_t>(after - pieces_.begin()) - 1;
  return pieces_[piece_number_];
}

Place CodeFrameFinder::PlaceOf(uint64_t vaddr) const {
  const auto after =
      std::upper_bound(pieces_.begin(), pieces_.end(), vaddr,
                       [](uint64_t v, const Piece& piece) { return v < piece.start_vaddr; });
  if (after == pieces_.begin()) return kNowhere;
  const Piece& piece = *std::prev(after);
  const uint64_t inside = vaddr - piece.start_vaddr;
  return inside < piece.end - piece.first ? piece.first + static_cast<Place>(inside) : kNowhere;
}

Place CodeFrameFinder::TargetOf(Place place, const X86Instruction& instruction) {
  const Piece& piece = PieceOf(place);
  return PlaceOf(piece.start_vaddr + (place - piece.first) +
                 static_cast<uint64_t>(instruction.target_offset));
}

std::optional<X86Instruction> CodeFrameFinder::Decode(Place place) {
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

// The next instruction that is none for padding; kNowhere at the end of the piece.
Place CodeFrameFinder::SkipPadding(Place place) {
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

StateId CodeFrameFinder::Intern(const CodeFrameState& state) {
  if (states_.size() >= kStatesMax) {
    const auto known = id_of_state_.find(state);
    return known == id_of_state_.end() ? kLostState : known->second;
  }
  const auto [found, is_new] =
      id_of_state_.try_emplace(state, static_cast<StateId>(states_.size()));
  if (is_new) states_.push_back(state);
  return found->second;
}

// Instruction after instruction, data included: what is found so is a start only if the code there
// agrees.
void CodeFrameFinder::FindCalls() {
  for (const Piece& piece : pieces_) {
    for (Place place = piece.first; place < piece.end;) {
      const auto instruction = Decode(place);
      if (!instruction.has_value()) {
        ++place;
        continue;
      }
      if (instruction->flow == CodeFlow::kCall && instruction->has_target) {
        const Place target = TargetOf(place, *instruction);
        // A call to the next instruction asks for its own address.
        if (target != kNowhere && target != place + instruction->length_bytes) {
          marks_[target] |= kEntry;
          calls_.push_back({place, target});
        }
      }
      if (instruction->has_pointer) {
        const uint64_t base =
            instruction->pointer_is_relative ? piece.start_vaddr + (place - piece.first) : 0;
        const Place pointed = PlaceOf(base + static_cast<uint64_t>(instruction->pointer));
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
std::vector<Place> CodeFrameFinder::EntriesCalleesFirst() {
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
bool CodeFrameFinder::MayReturn(Place entry) {
  std::vector<Place> seen;
  std::vector<Place> ways(1, entry);
  bool may_return = false;
  while (!ways.empty() && !may_return) {
    const Place place = ways.back();
    ways.pop_back();
    if ((marks_[place] & kFresh) != 0) continue;
    const auto instruction = Decode(place);
    if (!instruction.has_value() || seen.size() >= kReturnStepsMax) {
      may_return = true;
      break;
    }
    marks_[place] |= kFresh;
    seen.push_back(place);
    const Place target = instruction->has_target ? TargetOf(place, *instruction) : kNowhere;
    const Place next = place + instruction->length_bytes;
    const bool is_last = next >= PieceOf(place).end;
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

void CodeFrameFinder::FindWhatNeverReturns() {
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

void CodeFrameFinder::SetState(Place place, StateId state) {
  old_states_.push_back({place, state_at_[place]});
  state_at_[place] = state;
}

void CodeFrameFinder::GoBack(const Point& point) {
  for (size_t i = old_states_.size(); i > point.old_count; --i) {
    state_at_[old_states_[i - 1].place] = old_states_[i - 1].state;
  }
  for (size_t i = point.step_count; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    marks_[step.place] &= static_cast<uint8_t>(~(kStart | kAfterCall | kFresh));
    for (Place p = step.place + 1; p < step.place + step.length_bytes; ++p) {
      marks_[p] &= static_cast<uint8_t>(~kInside);
    }
  }
  old_states_.resize(point.old_count);
  steps_.resize(point.step_count);
  return_count_ = point.return_count;
  meeting_count_ = point.meeting_count;
}

void CodeFrameFinder::Settle(size_t first_step) {
  for (size_t i = first_step; i < steps_.size(); ++i) {
    marks_[steps_[i].place] &= static_cast<uint8_t>(~kFresh);
  }
}

// Comes to an instruction that was reached before.
bool CodeFrameFinder::Meet(const Visit& visit) {
  const bool is_sure = visit.call == kNowhere;
  const uint8_t marks = marks_[visit.place];
  const StateId known = state_at_[visit.place];
  StateId merged = known;
  if (visit.state != known) {
    const auto both = MergeStates(states_[known], states_[visit.state]);
    if (!both.has_value()) {
      if (!is_sure) return true;  // the call does not return
      if ((marks & kAfterCall) != 0 && (marks & kConfirmed) == 0) {
        const auto from = steps_.begin() + static_cast<std::ptrdiff_t>(first_step_);
        const auto step =
            std::find_if(from, steps_.end(), [&](const Step& s) { return s.place == visit.place; });
        if (step != steps_.end()) suspect_call_ = step->call;
      }
      return false;
    }
    merged = Intern(*both);
  }
  if (merged == known) {
    if (is_sure && (marks & kFresh) == 0) ++meeting_count_;
    return true;
  }
  if ((marks & kConfirmed) != 0) return !is_sure;
  changed_older_ = changed_older_ || (marks & kFresh) == 0;
  SetState(visit.place, merged);
  const auto instruction = Decode(visit.place);
  if (!instruction.has_value()) return false;
  GoOn({visit.place, merged, kNowhere}, *instruction);
  return true;
}

// False: the code contradicts itself, or cannot be followed.
bool CodeFrameFinder::Arrive(const Visit& visit) {
  const bool is_sure = visit.call == kNowhere;
  const uint8_t marks = marks_[visit.place];
  if ((marks & kEntry) != 0 && visit.place != root_) {
    // On into another function: with the stack as it expects it, or not at all.
    if (!states_[visit.state].IsAtEntry()) return !is_sure;
    if (is_sure) ++return_count_;
    return true;
  }
  if ((marks & kInside) != 0 || visit.state == kLostState) return !is_sure;
  if ((marks & kStart) != 0) return Meet(visit);
  const auto instruction = Decode(visit.place);
  if (!instruction.has_value()) return !is_sure;
  for (Place p = visit.place + 1; p < visit.place + instruction->length_bytes; ++p) {
    if ((marks_[p] & (kStart | kEntry)) != 0) return !is_sure;
  }
  SetState(visit.place, visit.state);
  marks_[visit.place] |= kStart | kFresh | (is_sure ? 0 : kAfterCall);
  for (Place p = visit.place + 1; p < visit.place + instruction->length_bytes; ++p) {
    marks_[p] |= kInside;
  }
  Step step{visit.place,       visit.call, visit.call, instruction->length_bytes,
            instruction->flow, false};
  if (step.call == kNowhere && steps_.size() > first_step_) {
    step.last_call = steps_.back().last_call;
  }
  const bool jumps = instruction->flow == CodeFlow::kJump || instruction->flow == CodeFlow::kBranch;
  step.leaves = jumps && TargetOf(visit.place, *instruction) == kNowhere;
  steps_.push_back(step);
  // The padding behind a call that does not return leads nowhere either.
  const Place call = instruction->is_padding ? visit.call : kNowhere;
  GoOn({visit.place, visit.state, call}, *instruction);
  return true;
}

// All ways on from an instruction. visit.call: what its fall-through depends on.
void CodeFrameFinder::GoOn(const Visit& visit, const X86Instruction& instruction) {
  StateId state = visit.state;
  if (instruction.effect != FrameEffect::kNone || instruction.store_base != StoreBase::kNone) {
    const CodeFrameState after = StateAfter(states_[state], instruction);
    if (!(after == states_[state])) state = Intern(after);
  }
  const Place next = visit.place + instruction.length_bytes;
  const Place end = PieceOf(visit.place).end;
  const auto fall_through = [&](Place call) {
    // Off the end of the piece: Check() finds it when the code is sure to go there.
    if (next < end) (call == kNowhere ? sure_ : unsure_).push_back({next, state, call});
  };
  if (instruction.flow == CodeFlow::kJump || instruction.flow == CodeFlow::kBranch) {
    const Place target = TargetOf(visit.place, instruction);
    if (target != kNowhere) sure_.push_back({target, state, kNowhere});
  }
  if (instruction.flow == CodeFlow::kNext || instruction.flow == CodeFlow::kBranch) {
    fall_through(visit.call);
  }
  if (instruction.flow == CodeFlow::kCall && (marks_[visit.place] & kDoesNotReturn) == 0) {
    const Place target = instruction.has_target ? TargetOf(visit.place, instruction) : kNowhere;
    const bool returns = target == kNowhere || target == root_ || (marks_[target] & kEntry) == 0 ||
                         (marks_[target] & kDoesNotReturn) == 0;
    if (returns) fall_through(visit.place);
  }
}

bool CodeFrameFinder::Explore(Place from, StateId state) {
  sure_.assign(1, {from, state, kNowhere});
  unsure_.clear();
  suspect_call_ = kNowhere;
  while (!sure_.empty() || !unsure_.empty()) {
    auto& ways = sure_.empty() ? unsure_ : sure_;
    const Visit visit = ways.back();
    ways.pop_back();
    if (!Arrive(visit)) {
      if (suspect_call_ == kNowhere) SuspectCallBefore(steps_.size());
      return false;
    }
  }
  return true;
}

// When a contradiction comes only from the way on after a call, that call does not return.
bool CodeFrameFinder::ExploreAgainWithoutCalls(Place from, StateId state) {
  const Point start = Here();
  first_step_ = start.step_count;
  first_state_ = state;
  const int tries_max = is_guess_ ? kTriesOfGuessMax : kTriesMax;
  for (int i = 0; i < tries_max; ++i) {
    changed_older_ = false;
    if (Explore(from, state) && Check()) return true;
    if (suspect_call_ == kNowhere) return false;
    const Place call = suspect_call_;
    GoBack(start);
    marks_[call] |= kDoesNotReturn;
    calls_without_return_.push_back(call);
  }
  return false;
}

// Ways on after calls are taken one after the other, when no other way is left: what was reached
// since the last one depends on it.
void CodeFrameFinder::SuspectCallBefore(size_t step_end) {
  suspect_call_ = step_end > first_step_ ? steps_[step_end - 1].last_call : kNowhere;
}

bool CodeFrameFinder::IsContradiction(size_t step_number) {
  const Step& step = steps_[step_number];
  const CodeFrameState& state = states_[state_at_[step.place]];
  if (!state.IsSound()) return true;
  if (step.flow == CodeFlow::kReturn || step.leaves) return !state.IsAtEntry();
  if (step.flow == CodeFlow::kCall && state.sp_known &&
      state.sp_offset % kCallAlignmentBytes != 0) {
    SuspectCallBefore(step_number);
    return is_guess_ || suspect_call_ != kNowhere;
  }
  const bool goes_on = step.flow == CodeFlow::kNext || step.flow == CodeFlow::kBranch;
  return goes_on && step.call == kNowhere &&
         step.place + step.length_bytes >= PieceOf(step.place).end;
}

// Looks at what was reached, now that all states are final.
bool CodeFrameFinder::Check() {
  if (changed_older_) {
    if (second_looks_left_ < first_step_) return false;
    second_looks_left_ -= first_step_;
  }
  for (size_t i = changed_older_ ? 0 : first_step_; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (IsContradiction(i)) {
      SuspectCallBefore(i + 1);
      return false;
    }
    if (i < first_step_) continue;
    const CodeFrameState& state = states_[state_at_[step.place]];
    if (step.flow == CodeFlow::kReturn || step.leaves) ++return_count_;
    if (step.flow == CodeFlow::kCall && state.sp_known) ++call_count_;
    if (step.flow == CodeFlow::kJumpByTable && state.IsAtEntry()) ++return_count_;
    if (step.flow == CodeFlow::kJumpElsewhere && first_step_ > 0 && !state.IsAtEntry() &&
        state_at_[step.place] == first_state_) {
      ++meeting_count_;
    }
  }
  return true;
}

// Computed jumps lead to code that nothing else reaches, mostly the cases of a switch. What lies
// behind an end in this function belongs to it if, entered as deep as the stack is at such a jump,
// it returns rightly or comes back into code that is known.
void CodeFrameFinder::AddCodeBehindJumps() {
  std::vector<StateId> jump_states;
  const auto next_entry = std::upper_bound(entries_.begin(), entries_.end(), root_);
  const Place end = next_entry == entries_.end() ? static_cast<Place>(code_.size()) : *next_entry;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step step = steps_[i];
    if (step.flow != CodeFlow::kJumpElsewhere && step.flow != CodeFlow::kJumpByTable) continue;
    const StateId state = state_at_[step.place];
    if (std::find(jump_states.begin(), jump_states.end(), state) == jump_states.end() &&
        jump_states.size() < kJumpStatesMax) {
      jump_states.push_back(state);
    }
  }
  if (jump_states.empty()) return;
  is_guess_ = true;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step step = steps_[i];
    if (step.flow == CodeFlow::kNext || step.flow == CodeFlow::kBranch) continue;
    if (step.place < root_ || step.place >= end) continue;
    const Place place = SkipPadding(step.place + step.length_bytes);
    if (place == kNowhere || place >= end || (marks_[place] & (kStart | kInside)) != 0) continue;
    for (const StateId state : jump_states) {
      const Point before = Here();
      if (ExploreAgainWithoutCalls(place, state) &&
          return_count_ + meeting_count_ > before.return_count + before.meeting_count) {
        Settle(before.step_count);
        break;
      }
      GoBack(before);
    }
  }
}

// A function that is believed gets its states; of another one nothing stays.
bool CodeFrameFinder::TryFunction(Place entry, Evidence evidence) {
  root_ = entry;
  const bool is_guess = evidence != Evidence::kNamed;
  is_guess_ = is_guess;
  call_count_ = 0;
  steps_.clear();
  old_states_.clear();
  calls_without_return_.clear();
  return_count_ = 0;
  meeting_count_ = 0;
  const Point start = Here();
  bool is_good = ExploreAgainWithoutCalls(entry, kEntryState);
  if (is_good) {
    Settle(0);
    AddCodeBehindJumps();
    is_good =
        !is_guess || return_count_ > 0 || (evidence == Evidence::kPointedAt && call_count_ > 0);
  }
  if (!is_good) {
    GoBack(start);
    for (const Place call : calls_without_return_) {
      marks_[call] &= static_cast<uint8_t>(~kDoesNotReturn);
    }
    return false;
  }
  for (const Step& step : steps_) marks_[step.place] |= kConfirmed;
  return true;
}

void CodeFrameFinder::TryEntries(CodeFrames& result) {
  for (const Place entry : entries_) {
    if (entry == outermost_) continue;
    ++(TryFunction(entry, Evidence::kNamed) ? result.confirmed_count : result.rejected_count);
  }
}

// Functions that nothing names or calls: behind the end of another one, or first in their piece.
void CodeFrameFinder::TryTheRest(CodeFrames& result) {
  for (const Piece& piece : pieces_) {
    bool may_begin = true;
    for (Place place = piece.first; place < piece.end && decodes_left_ > 0;) {
      if ((marks_[place] & (kStart | kInside)) != 0) {
        ++place;
        may_begin = true;
        continue;
      }
      const auto instruction = Decode(place);
      if (!instruction.has_value()) {
        ++place;
        may_begin = false;
        continue;
      }
      if (may_begin && !instruction->is_padding && (marks_[place] & kEntry) == 0 &&
          TryFunction(place, (marks_[place] & kPointedAt) != 0 ? Evidence::kPointedAt
                                                               : Evidence::kPosition)) {
        ++result.confirmed_count;
        continue;
      }
      may_begin =
          instruction->flow == CodeFlow::kReturn || instruction->flow == CodeFlow::kJump ||
          instruction->flow == CodeFlow::kStop || instruction->flow == CodeFlow::kJumpElsewhere ||
          instruction->flow == CodeFlow::kJumpByTable || (may_begin && instruction->is_padding);
      place += instruction->length_bytes;
    }
  }
}

void CodeFrameFinder::WriteRows(std::vector<RowRange>& rows) {
  for (const Piece& piece : pieces_) {
    const size_t first_row = rows.size();
    const auto vaddr_of = [&](Place place) { return piece.start_vaddr + (place - piece.first); };
    for (Place place = piece.first; place < piece.end; ++place) {
      if ((marks_[place] & kConfirmed) == 0) continue;
      const auto row_bits = RowBitsOf(states_[state_at_[place]]);
      if (!row_bits.has_value()) continue;
      Place end = place + 1;
      while (end < piece.end && (marks_[end] & kInside) != 0) ++end;
      const RowRange row{vaddr_of(place), vaddr_of(end), *row_bits};
      if (rows.size() > first_row) {
        RowRange& last = rows.back();
        const Place last_end = piece.first + static_cast<Place>(last.end_vaddr - piece.start_vaddr);
        // Padding between functions needs no row of its own.
        if (place - last_end <= kPaddingBytesMax && SkipPadding(last_end) == place) {
          last.end_vaddr = row.start_vaddr;
        }
        if (last.end_vaddr == row.start_vaddr && last.row_bits == row.row_bits) {
          last.end_vaddr = row.end_vaddr;
          continue;
        }
      }
      rows.push_back(row);
    }
  }
}

CodeFrames CodeFrameFinder::Run() {
  CodeFrames result;
  if (code_.empty()) return result;
  FindCalls();
  FindWhatNeverReturns();
  TryEntries(result);
  TryTheRest(result);
  WriteRows(result.rows);
  return result;
}

}  // namespace

CodeFrames FindCodeFrames(std::span<const CodePiece> pieces,
                          std::span<const uint64_t> function_vaddrs, uint64_t root_vaddr) {
  return CodeFrameFinder(pieces, function_vaddrs, root_vaddr).Run();
}

}  // namespace vesta::object
