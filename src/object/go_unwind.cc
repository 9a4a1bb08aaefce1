#include "src/object/go_unwind.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "abi/unwind.h"
#include "src/object/cached_reader.h"
#include "src/object/go_pclntab.h"
#include "src/object/unwind_row.h"

namespace vesta::object {
namespace {

using base::ByteSource;
using base::ErrorCode;
using base::Result;

constexpr uint64_t kNever = ~uint64_t{0};
constexpr size_t kRangesMax = 16 << 20;  // as many rows as a table can have

bool IsOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What a function does with the stack beyond its table. Older toolchains have no marks, so the
// names say it too.
enum class Habit {
  kOrdinary,
  kRoot,           // nothing lies above it
  kSignalReturn,   // the kernel's signal frame lies above it
  kSwitch,         // goes to another stack, the frame pointer leads back
  kSwitchForGood,  // goes to another stack and leaves the way it came from
  kJump,           // goes to another stack and on, without a way back
};

Habit HabitOf(const GoFunction& function, std::string_view name) {
  if (name.ends_with(".abi0")) name.remove_suffix(5);
  // The handler is a root for the runtime; the interrupted code lies behind the signal frame.
  if (IsOneOf(name, {"runtime.sigtramp", "runtime.cgoSigtramp"})) return Habit::kOrdinary;
  if (IsOneOf(name, {"runtime.sigreturn", "runtime.sigreturn__sigaction"})) {
    return Habit::kSignalReturn;
  }
  if (IsOneOf(name, {"runtime.mcall", "runtime.morestack", "runtime.clone"})) {
    return Habit::kSwitchForGood;
  }
  if (IsOneOf(name, {"gogo", "runtime.gogo"})) return Habit::kJump;
  if ((function.flags & GoFunction::kTopFrame) != 0 ||
      IsOneOf(name, {"runtime.goexit", "runtime.mstart", "runtime.rt0_go", "_rt0_amd64_linux",
                     "_rt0_amd64"})) {
    return Habit::kRoot;
  }
  if ((function.flags & GoFunction::kSpWrite) != 0 ||
      IsOneOf(name, {"runtime.systemstack", "runtime.asmcgocall", "runtime.cgocallback",
                     "runtime.cgocallback_gofunc", "runtime.nanotime", "runtime.nanotime1",
                     "runtime.walltime", "runtime.walltime1", "time.now"})) {
    return Habit::kSwitch;
  }
  return Habit::kOrdinary;
}

// The machine code that a few bytes start with.
class Code {
 public:
  static constexpr size_t kBytesMax = 24;
  Code() = default;
  Code(const std::array<std::byte, kBytesMax>& bytes, size_t size) : bytes_(bytes), size_(size) {}

  size_t size() const { return size_; }
  uint8_t at(size_t i) const { return i < size_ ? std::to_integer<uint8_t>(bytes_[i]) : 0; }

  bool Is(size_t at_index, std::initializer_list<uint8_t> pattern) const {
    if (at_index + pattern.size() > size_) return false;
    return std::equal(pattern.begin(), pattern.end(), bytes_.begin() + static_cast<long>(at_index),
                      [](uint8_t a, std::byte b) { return a == std::to_integer<uint8_t>(b); });
  }
  // Length of `mov` or `lea` (by the opcode) between %rbp and distance(%rsp); 0 = another one.
  size_t FrameAccess(size_t at_index, uint8_t opcode, int32_t distance) const {
    if (Is(at_index, {0x48, opcode, 0x2c, 0x24})) return distance == 0 ? 4 : 0;
    if (Is(at_index, {0x48, opcode, 0x6c, 0x24})) {
      return static_cast<int8_t>(at(at_index + 4)) == distance ? 5 : 0;
    }
    if (!Is(at_index, {0x48, opcode, 0xac, 0x24})) return 0;
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value |= uint32_t{at(at_index + 4 + i)} << (8 * i);
    return static_cast<int32_t>(value) == distance ? 8 : 0;
  }
  // Length of an instruction that gives the stack pointer a new value; 0 = another one.
  size_t StackPointerWrite() const;

 private:
  std::array<std::byte, kBytesMax> bytes_{};
  size_t size_ = 0;
};

constexpr uint8_t kRsp = 4;

size_t Code::StackPointerWrite() const {
  if (Is(0, {0x48, 0x83}) && (at(2) & 0xc7) == (0xc0 | kRsp)) return 4;  // and, add, sub imm8
  if (Is(0, {0x48, 0x81}) && (at(2) & 0xc7) == (0xc0 | kRsp)) return 7;  // the same with imm32
  const uint8_t rex = at(0);
  const uint8_t modrm = at(2);
  const uint8_t mode = modrm >> 6;
  if ((rex & 0xfb) == 0x48 && at(1) == 0x89 && (modrm & 0xc7) == (0xc0 | kRsp)) return 3;
  // mov or lea from memory, or mov from a register, to %rsp: REX.W without REX.R.
  if ((rex & 0xfc) != 0x48 || (at(1) != 0x8b && at(1) != 0x8d) || (modrm >> 3 & 7) != kRsp) {
    return 0;
  }
  size_t size = 3;
  if (mode == 3) return size;
  const bool has_sib = (modrm & 7) == 4;
  if (has_sib) ++size;
  if (mode == 1) size += 1;
  if (mode == 2 || (mode == 0 && ((modrm & 7) == 5 || (has_sib && (at(3) & 7) == 5)))) size += 4;
  return size;
}

class RangeBuilder {
 public:
  RangeBuilder(const ElfFile& elf, const ByteSource& source, GoPclntab& table)
      : elf_(elf), file_(source, 0, source.size_bytes()), table_(table) {}

  std::vector<RowRange> Build() {
    ranges_.reserve(std::min<size_t>(size_t{table_.function_count()} * 4, kRangesMax));
    // Older tables carry no marks.
    const bool needs_all_names =
        table_.version() == GoVersion::k1_2 || table_.version() == GoVersion::k1_16;
    uint64_t last_end = 0;
    for (uint32_t i = 0; i < table_.function_count() && ranges_.size() < kRangesMax; ++i) {
      const auto function = table_.FunctionAt(i);
      if (!function || function->start_vaddr < last_end || !IsCode(*function)) continue;
      last_end = function->end_vaddr;
      const bool is_special = needs_all_names || function->flags != 0;
      AddFunction(*function, is_special ? table_.NameOf(*function) : std::string());
    }
    return std::move(ranges_);
  }

 private:
  // Where in the function the rules change beside the stack depth.
  struct Turns {
    uint64_t frame_saved = kNever;    // from here on, the caller's frame pointer lies at CFA - 16
    uint64_t frame_pointer = kNever;  // and the frame pointer is our own
    uint64_t switched = kNever;       // the stack pointer belongs to another stack
  };

  bool IsCode(const GoFunction& function) const {
    for (const LoadSegment& segment : elf_.load_segments()) {
      if (segment.executable && function.start_vaddr >= segment.vaddr &&
          function.end_vaddr - segment.vaddr <= segment.file_size_bytes) {
        return true;
      }
    }
    return false;
  }

  Code CodeAt(uint64_t vaddr) {
    const auto offset = elf_.FileOffsetOf(vaddr);
    if (!offset) return {};
    std::array<std::byte, Code::kBytesMax> bytes{};
    const size_t size =
        static_cast<size_t>(std::min<uint64_t>(bytes.size(), file_.size_bytes() - *offset));
    if (!file_.ReadBytes(*offset, std::span(bytes).first(size))) return {};
    return {bytes, size};
  }

  // Since Go 1.21: push %rbp; mov %rsp, %rbp; sub. Before: sub; mov %rbp, n(%rsp); lea n(%rsp),
  // %rbp. Assembly without a frame of its own may push something else. `push_end` is where the
  // depth first changes, to depth_bytes.
  void FindFrame(const GoFunction& function, uint64_t push_end, int32_t depth_bytes, Turns& turns) {
    if (push_end > function.start_vaddr && depth_bytes == 8 &&
        CodeAt(push_end - 1).Is(0, {0x55, 0x48, 0x89, 0xe5})) {
      turns.frame_saved = push_end;
      turns.frame_pointer = push_end + 3;
      return;
    }
    const Code code = CodeAt(push_end);
    const int32_t place = depth_bytes - 8;  // just below the return address
    const size_t saved = code.FrameAccess(0, 0x89, place);
    if (saved == 0) return;
    turns.frame_saved = push_end + saved;
    const size_t set = code.FrameAccess(saved, 0x8d, place);
    if (set != 0) turns.frame_pointer = turns.frame_saved + set;
  }

  // Each line of assembly is an instruction, so the line table tells where they start. What moves
  // the stack pointer without the table of depths saying so goes to another stack.
  uint64_t FindSwitch(const GoFunction& function) {
    GoValueWalk depths = table_.StackDepths(function);
    auto depth = depths.Next();
    GoValueWalk lines = table_.Lines(function);
    while (const auto line = lines.Next()) {
      const size_t size = CodeAt(line->start_vaddr).StackPointerWrite();
      if (size == 0) continue;
      const uint64_t after = line->start_vaddr + size;
      while (depth && depth->end_vaddr < after) depth = depths.Next();
      if (!depth || depth->end_vaddr != after) return after;
    }
    return kNever;
  }

  void AddFunction(const GoFunction& function, const std::string& name) {
    const Habit habit = HabitOf(function, name);
    if (habit == Habit::kRoot) {
      return Add(function.start_vaddr, function.end_vaddr, SpecialRowBits(ABI_SPECIAL_ROOT));
    }
    if (habit == Habit::kSignalReturn) {
      return Add(function.start_vaddr, function.end_vaddr, SpecialRowBits(ABI_SPECIAL_SIGNAL));
    }
    Turns turns;
    if (habit != Habit::kOrdinary) turns.switched = FindSwitch(function);
    GoValueWalk walk = table_.StackDepths(function);
    bool is_first_push = true;
    while (auto range = walk.Next()) {
      if (range->value != 0 && is_first_push) {
        is_first_push = false;
        FindFrame(function, range->start_vaddr, range->value, turns);
      }
      std::array<uint64_t, 3> cuts{turns.frame_saved, turns.frame_pointer, turns.switched};
      std::sort(cuts.begin(), cuts.end());
      uint64_t start = range->start_vaddr;
      for (const uint64_t cut : cuts) {
        if (cut <= start || cut >= range->end_vaddr) continue;
        Add(start, cut, RowAt(start, range->value, turns, habit));
        start = cut;
      }
      Add(start, range->end_vaddr, RowAt(start, range->value, turns, habit));
    }
  }

  static uint32_t RowAt(uint64_t vaddr, int32_t depth_bytes, const Turns& turns, Habit habit) {
    const bool has_frame = turns.frame_pointer != kNever;
    if (vaddr >= turns.switched) {
      if (habit == Habit::kSwitchForGood) return SpecialRowBits(ABI_SPECIAL_ROOT);
      if (habit == Habit::kJump) return SpecialRowBits(ABI_SPECIAL_UNSUPPORTED);
      // Without a frame of its own, the frame pointer is the caller's: a wrapper that the compiler
      // made, whose frame is passed over. With one, depth 0 is where it has been given up again.
      if (!has_frame || depth_bytes != 0) return SpecialRowBits(ABI_SPECIAL_FP_SWITCH);
    }
    if (depth_bytes < 0 || depth_bytes % 8 != 0) {
      return SpecialRowBits(ABI_SPECIAL_UNSUPPORTED);
    }
    const auto cfa_words = static_cast<uint32_t>(depth_bytes) / 8 + 1;
    const bool is_saved = depth_bytes != 0 && vaddr >= turns.frame_saved;
    const uint32_t saved_at = is_saved ? 2u << ABI_OPERAND_CFA_BITS : 0;
    if (cfa_words <= ABI_OPERAND_CFA_MASK) return RowBits(ABI_ROW_SP, cfa_words | saved_at);
    // Too far for the row: the frame pointer is as good.
    if (is_saved && vaddr >= turns.frame_pointer) return RowBits(ABI_ROW_FP, 2 | saved_at);
    return SpecialRowBits(ABI_SPECIAL_UNSUPPORTED);
  }

  void Add(uint64_t start, uint64_t end, uint32_t row_bits) {
    if (!ranges_.empty() && ranges_.back().end_vaddr == start &&
        ranges_.back().row_bits == row_bits) {
      ranges_.back().end_vaddr = end;
      return;
    }
    ranges_.push_back({start, end, row_bits});
  }

  const ElfFile& elf_;
  CachedReader file_;
  GoPclntab& table_;
  std::vector<RowRange> ranges_;
};

}  // namespace

Result<std::vector<RowRange>> GoUnwindRanges(const ElfFile& elf, const ByteSource& source) {
  auto table = GoPclntab::Find(elf, source);
  if (!table.ok()) {
    if (table.error().code() == ErrorCode::kNotFound) return std::vector<RowRange>();
    return std::move(table).error();
  }
  if (elf.machine() != Machine::kX86_64) {
    return base::Error(ErrorCode::kUnsupported, "Go code of another machine than x86-64");
  }
  return RangeBuilder(elf, source, *table).Build();
}

}  // namespace vesta::object
