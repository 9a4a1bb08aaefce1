#include "src/symbolize/kernel_symbolizer.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace vesta::symbolize {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr uint64_t kTextLinkedAt = 0xffffffff81000000;  // x86-64: START_KERNEL_map + 16 MiB
constexpr uint64_t kKernelMapX86 = 0xffffffff80000000;
// How far the last function before a gap may reach.
constexpr uint64_t kFunctionBytesMax = 1 << 20;
constexpr uint16_t kNoModule = 0xffff;
constexpr size_t kModulesMax = 0xffff;
constexpr size_t kSymbolsMax = 16 << 20;
constexpr size_t kNameBytesMax = 512;  // the kernel's own limit (KSYM_NAME_LEN)

// Takes the next word off the front of a line.
std::string_view TakeWord(std::string_view& line) {
  const size_t start = line.find_first_not_of(" \t");
  if (start == std::string_view::npos) {
    line = {};
    return {};
  }
  line.remove_prefix(start);
  const size_t size = std::min(line.find_first_of(" \t"), line.size());
  const std::string_view word = line.substr(0, size);
  line.remove_prefix(size);
  return word;
}

std::optional<uint64_t> ParseNumber(std::string_view text, int base) {
  if (base == 16 && text.starts_with("0x")) text.remove_prefix(2);
  uint64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

template <typename OnLine>
void ForEachLine(std::string_view text, OnLine on_line) {
  while (!text.empty()) {
    const size_t size = std::min(text.find('\n'), text.size());
    on_line(text.substr(0, size));
    text.remove_prefix(std::min(size + 1, text.size()));
  }
}

bool IsEndOfText(std::string_view name) { return name == "_etext" || name == "_einittext"; }

// Names that the linker script or the build puts beside those of functions.
bool IsMarker(std::string_view name) {
  return name == "_text" || name == "_stext" || name == "_sinittext" || name.ends_with("_start") ||
         name.ends_with("_end") || name.starts_with("__start_") || name.starts_with("__stop_") ||
         name.starts_with("__pi_");
}

// Padding in front of a function; nothing runs there.
bool IsPadding(std::string_view name) {
  return name.starts_with("__pfx_") || name.starts_with("__cfi_");
}

// One function as kallsyms has it, before the index is built.
struct Line {
  uint64_t address = 0;
  uint32_t name_offset = 0;  // in the text
  uint16_t name_size = 0;
  uint16_t module = kNoModule;
  char type = 0;
  std::string_view name(std::string_view text) const { return text.substr(name_offset, name_size); }
};

// Which of two names of one address people expect: the global one, not a marker, the entry point
// that says "system call" most plainly, fewer underscores, then any but always the same.
bool IsBetterName(std::string_view text, const Line& a, const Line& b) {
  const auto rank = [&](const Line& line) {
    const std::string_view name = line.name(text);
    int value = 0;
    if (IsEndOfText(name)) value -= 8;
    if (IsMarker(name)) value -= 4;
    if (line.type == 'T') value += 2;
    if (name.starts_with("__x64_sys_") || name.starts_with("__arm64_sys_")) value += 1;
    return value;
  };
  const int rank_a = rank(a);
  const int rank_b = rank(b);
  if (rank_a != rank_b) return rank_a > rank_b;
  const std::string_view name_a = a.name(text);
  const std::string_view name_b = b.name(text);
  const size_t underscores_a = name_a.find_first_not_of('_');
  const size_t underscores_b = name_b.find_first_not_of('_');
  if (underscores_a != underscores_b) return underscores_a < underscores_b;
  return name_a < name_b;
}

struct Module {
  std::string name;
  uint64_t base = 0;  // 0 = unknown
  uint64_t size_bytes = 0;
};

class ModuleList {
 public:
  void ReadModules(std::string_view text) {
    ForEachLine(text, [this](std::string_view line) {
      const std::string_view name = TakeWord(line);
      const auto size = ParseNumber(TakeWord(line), 10);
      TakeWord(line);  // reference count
      TakeWord(line);  // users
      TakeWord(line);  // state
      const auto base = ParseNumber(TakeWord(line), 16);
      if (name.empty() || !size || !base || modules_.size() == kModulesMax) return;
      modules_.push_back({std::string(name), *base, *size});
    });
  }

  // kallsyms lists a module's symbols together, so the last one asked for is the likely one.
  uint16_t IdOf(std::string_view name) {
    if (last_ < modules_.size() && modules_[last_].name == name) return last_;
    const auto found = std::find_if(modules_.begin(), modules_.end(),
                                    [&](const Module& module) { return module.name == name; });
    if (found == modules_.end()) {
      if (modules_.size() == kModulesMax) return kNoModule;
      modules_.push_back({std::string(name), 0, 0});
      last_ = static_cast<uint16_t>(modules_.size() - 1);
    } else {
      last_ = static_cast<uint16_t>(found - modules_.begin());
    }
    return last_;
  }

  const Module& at(uint16_t id) const { return modules_[id]; }
  const Module* Find(uint64_t address) const {
    for (const Module& module : modules_) {
      if (module.base != 0 && address - module.base < module.size_bytes) return &module;
    }
    return nullptr;
  }
  size_t memory_bytes() const { return modules_.capacity() * sizeof(Module); }

 private:
  std::vector<Module> modules_;
  uint16_t last_ = 0;
};

// Sorted functions in 8 bytes each: the lower half of the address and where the name starts. The
// upper halves and the modules change only a few times, so they are kept as runs.
class Index final : public KernelSymbolizer {
 public:
  Index(std::string_view text, std::vector<Line> lines, ModuleList modules, uint64_t text_base)
      : modules_(std::move(modules)), text_base_(text_base) {
    std::sort(lines.begin(), lines.end(), [&](const Line& a, const Line& b) {
      return a.address != b.address ? a.address < b.address : IsBetterName(text, a, b);
    });
    lines.erase(std::unique(lines.begin(), lines.end(),
                            [](const Line& a, const Line& b) { return a.address == b.address; }),
                lines.end());
    size_t names_bytes = 0;
    for (const Line& line : lines) names_bytes += line.name_size;
    names_.reserve(names_bytes);
    functions_.reserve(lines.size() + 1);
    for (const Line& line : lines) {
      const auto high = static_cast<uint32_t>(line.address >> 32);
      if (runs_.empty() || runs_.back().high != high || runs_.back().module != line.module) {
        runs_.push_back({static_cast<uint32_t>(functions_.size()), high, line.module});
      }
      functions_.push_back(
          {static_cast<uint32_t>(line.address), static_cast<uint32_t>(names_.size())});
      names_.append(line.name(text));
    }
    runs_.push_back({static_cast<uint32_t>(functions_.size()), 0, kNoModule});
    functions_.push_back({0, static_cast<uint32_t>(names_.size())});
  }

  KernelLocation Resolve(uint64_t address) const override {
    const auto found = Find(address);
    const Module* module = nullptr;
    if (found && found->module != kNoModule) {
      module = &modules_.at(found->module);
    } else if (!found) {
      module = modules_.Find(address);
    }
    KernelLocation location;
    location.image_address = address;
    if (module != nullptr) {
      location.module = module->name;
      if (module->base != 0) location.image_address = address - module->base;
    } else if (text_base_ >= kKernelMapX86 && address >= kKernelMapX86) {
      location.image_address = address - text_base_ + kTextLinkedAt;
    }
    if (found && !IsEndOfText(found->name)) {
      FunctionLine line;
      line.name = found->name;
      line.system_name = found->name;
      location.symbol.lines.push_back(std::move(line));
    }
    return location;
  }

  size_t function_count() const override { return functions_.size() - 1; }
  size_t memory_bytes() const override {
    return functions_.capacity() * sizeof(Function) + names_.capacity() +
           runs_.capacity() * sizeof(Run) + modules_.memory_bytes();
  }

 private:
  struct Function {
    uint32_t address_low = 0;
    uint32_t name_offset = 0;
  };
  struct Run {
    uint32_t first = 0;
    uint32_t high = 0;
    uint16_t module = kNoModule;
  };
  struct Found {
    std::string_view name;
    uint16_t module = kNoModule;
  };

  uint64_t AddressOf(const Run& run, uint32_t index) const {
    return uint64_t{run.high} << 32 | functions_[index].address_low;
  }

  std::optional<Found> Find(uint64_t address) const {
    // The last entry ends the list and is no run.
    const auto runs_end = runs_.end() - 1;
    const auto next_run = std::upper_bound(
        runs_.begin(), runs_end, address,
        [this](uint64_t value, const Run& run) { return value < AddressOf(run, run.first); });
    if (next_run == runs_.begin()) return std::nullopt;
    const Run& run = *std::prev(next_run);
    const auto first = functions_.begin() + run.first;
    const auto last = functions_.begin() + next_run->first;
    // Every address of the run shares its upper half; what lies beyond belongs to the last one.
    auto after = last;
    if (address >> 32 == run.high) {
      after = std::upper_bound(
          first, last, static_cast<uint32_t>(address),
          [](uint32_t value, const Function& function) { return value < function.address_low; });
    }
    const auto index = static_cast<uint32_t>(after - functions_.begin() - 1);
    if (after == last && address - AddressOf(run, index) >= kFunctionBytesMax) return std::nullopt;
    const uint32_t name = functions_[index].name_offset;
    return Found{std::string_view(names_).substr(name, functions_[index + 1].name_offset - name),
                 run.module};
  }

  std::vector<Function> functions_;  // and one more that ends the last name
  std::string names_;
  std::vector<Run> runs_;
  ModuleList modules_;
  uint64_t text_base_;
};

}  // namespace

Result<std::unique_ptr<KernelSymbolizer>> KernelSymbolizer::Parse(std::string_view kallsyms,
                                                                  std::string_view modules_text) {
  if (kallsyms.size() > 0xffffffff) {
    return Error(ErrorCode::kExhausted, "/proc/kallsyms is longer than 4 GiB");
  }
  ModuleList modules;
  modules.ReadModules(modules_text);
  std::vector<Line> lines;
  lines.reserve(std::min<size_t>(kallsyms.size() / 40, kSymbolsMax));
  uint64_t text_base = 0;
  uint64_t zero_count = 0;
  ForEachLine(kallsyms, [&](std::string_view line) {
    const auto address = ParseNumber(TakeWord(line), 16);
    const std::string_view type = TakeWord(line);
    const std::string_view name = TakeWord(line);
    std::string_view module = TakeWord(line);
    if (!address || type.size() != 1 || name.empty() || name.size() > kNameBytesMax) return;
    if (*address == 0) {
      ++zero_count;
      return;
    }
    if (name == "_text" || (name == "_stext" && text_base == 0)) text_base = *address;
    if (std::string_view("tTwW").find(type[0]) == std::string_view::npos || IsPadding(name) ||
        lines.size() == kSymbolsMax) {
      return;
    }
    Line entry;
    entry.address = *address;
    entry.name_offset = static_cast<uint32_t>(name.data() - kallsyms.data());
    entry.name_size = static_cast<uint16_t>(name.size());
    entry.type = type[0];
    if (module.size() > 2 && module.front() == '[' && module.back() == ']') {
      entry.module = modules.IdOf(module.substr(1, module.size() - 2));
    }
    lines.push_back(entry);
  });
  if (lines.empty() && zero_count != 0) {
    return Error(ErrorCode::kPermission,
                 "/proc/kallsyms shows no addresses: run as root, or `sysctl "
                 "kernel.kptr_restrict=1` where even root sees none");
  }
  if (lines.empty()) {
    return Error(ErrorCode::kCorrupt, "/proc/kallsyms holds no function");
  }
  return std::unique_ptr<KernelSymbolizer>(
      std::make_unique<Index>(kallsyms, std::move(lines), std::move(modules), text_base));
}

}  // namespace vesta::symbolize
