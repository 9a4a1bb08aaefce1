#include "src/object/code_frames.h"

#include <algorithm>
#include <map>
#include <optional>

#include "src/object/code_calls.h"
#include "src/object/code_frame_state.h"
#include "src/object/code_text.h"
#include "src/object/x86_instruction.h"

namespace vesta::object {
namespace {

using StateId = uint32_t;

constexpr StateId kEntryState = 0;
constexpr StateId kLostState = 1;  // nothing is known: no function is believed that comes to it
// Each function may be tried again when a call turns out not to return.
constexpr int kTriesMax = 32;
constexpr int kTriesOfGuessMax = 4;
// Code behind computed jumps may change what was found before it, which is then looked at again:
// for so many instructions per byte of code, in all.
constexpr uint64_t kSecondLooksPerByte = 4;
constexpr uint64_t kSecondLooksMin = 4096;
// Of all functions together: real code has some hundred, and each takes a hundred bytes.
constexpr size_t kStatesMax = 1 << 16;
// Stack depths at computed jumps that are tried for the code behind them.
constexpr size_t kJumpStatesMax = 4;
// The stack pointer at calls, by the psABI. Not all assembly obeys, so that it counts only against
// guesses.
constexpr int32_t kCallAlignmentBytes = 16;
// Less than this between two functions is padding.
constexpr uint32_t kPaddingBytesMax = 15;

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
  StateId Intern(const CodeFrameState& state);

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

  CodeText code_;
  std::vector<uint8_t>& marks_;
  std::vector<StateId> state_at_;
  std::vector<Place> entries_;  // sorted
  Place outermost_ = kNowhere;  // nobody calls this one
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
                                 std::span<const uint64_t> function_vaddrs, uint64_t root_vaddr)
    : code_(pieces), marks_(code_.marks()) {
  state_at_.resize(code_.size_bytes());
  second_looks_left_ = code_.size_bytes() * kSecondLooksPerByte + kSecondLooksMin;
  Intern(CodeFrameState{});
  Intern(CodeFrameState{.sp_offset = 0, .sp_known = false, .fp_is_callers = false});
  for (const uint64_t vaddr : function_vaddrs) {
    if (const Place place = code_.PlaceOf(vaddr); place != kNowhere) marks_[place] |= kEntry;
  }
  outermost_ = code_.PlaceOf(root_vaddr);
  if (outermost_ != kNowhere) marks_[outermost_] |= kEntry;
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
  const auto instruction = code_.Decode(visit.place);
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
  const auto instruction = code_.Decode(visit.place);
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
  step.leaves = jumps && code_.TargetOf(visit.place, *instruction) == kNowhere;
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
  const Place end = code_.PieceOf(visit.place).end;
  const auto fall_through = [&](Place call) {
    // Off the end of the piece: Check() finds it when the code is sure to go there.
    if (next < end) (call == kNowhere ? sure_ : unsure_).push_back({next, state, call});
  };
  if (instruction.flow == CodeFlow::kJump || instruction.flow == CodeFlow::kBranch) {
    const Place target = code_.TargetOf(visit.place, instruction);
    if (target != kNowhere) sure_.push_back({target, state, kNowhere});
  }
  if (instruction.flow == CodeFlow::kNext || instruction.flow == CodeFlow::kBranch) {
    fall_through(visit.call);
  }
  if (instruction.flow == CodeFlow::kCall && (marks_[visit.place] & kDoesNotReturn) == 0) {
    const Place target =
        instruction.has_target ? code_.TargetOf(visit.place, instruction) : kNowhere;
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
         step.place + step.length_bytes >= code_.PieceOf(step.place).end;
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
  const Place end =
      next_entry == entries_.end() ? static_cast<Place>(code_.size_bytes()) : *next_entry;
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
    const Place place = code_.SkipPadding(step.place + step.length_bytes);
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
  for (const CodeText::Piece& piece : code_.pieces()) {
    bool may_begin = true;
    for (Place place = piece.first; place < piece.end && !code_.is_used_up();) {
      if ((marks_[place] & (kStart | kInside)) != 0) {
        ++place;
        may_begin = true;
        continue;
      }
      const auto instruction = code_.Decode(place);
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
  for (const CodeText::Piece& piece : code_.pieces()) {
    const size_t first_row = rows.size();
    for (Place place = piece.first; place < piece.end; ++place) {
      if ((marks_[place] & kConfirmed) == 0) continue;
      const auto row_bits = RowBitsOf(states_[state_at_[place]]);
      if (!row_bits.has_value()) continue;
      Place end = place + 1;
      while (end < piece.end && (marks_[end] & kInside) != 0) ++end;
      const RowRange row{piece.VaddrOf(place), piece.VaddrOf(end), *row_bits};
      if (rows.size() > first_row) {
        RowRange& last = rows.back();
        const Place last_end = piece.first + static_cast<Place>(last.end_vaddr - piece.start_vaddr);
        // Padding between functions needs no row of its own.
        if (place - last_end <= kPaddingBytesMax && code_.SkipPadding(last_end) == place) {
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
  if (code_.size_bytes() == 0) return result;
  entries_ = FindCalledFunctions(code_);
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
