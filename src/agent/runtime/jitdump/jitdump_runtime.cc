#include "src/agent/runtime/jitdump/jitdump_runtime.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "src/object/jitdump.h"

namespace vesta::agent::runtime {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using object::JitRecord;
using object::JitRecordKind;

constexpr size_t kRecordsPerPart = 4096;
constexpr size_t kPlacesMax = 1024;
// V8 writes the lines of its code as if the code lay behind an ELF header; its functions' names
// start so. Source: v8/src/diagnostics/perf-jit.cc, kElfHeaderSize.
constexpr uint64_t kV8LineShift = 0x40;
constexpr std::string_view kV8Name = "JS:";

// The pid in ".../jit-PID.dump"; empty for other paths.
std::string_view PidOfDump(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with("jit-") || !name.ends_with(".dump")) return {};
  const std::string_view pid = name.substr(4, name.size() - 4 - 5);
  return pid.find_first_not_of("0123456789") == std::string_view::npos ? pid : std::string_view();
}

bool CoversAny(std::span<const uint64_t> sorted, uint64_t start, uint64_t size_bytes) {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), start);
  return at != sorted.end() && *at - start < size_bytes;
}

// A part is up to kRecordsPerPart whole records.
class JitDumpFile final : public CodeFile {
 public:
  using CodeFile::CodeFile;

 private:
  Result<uint64_t> ReadPart(uint64_t offset, CodeHistory& history,
                            std::span<const uint64_t> only_for) override {
    uint64_t at = offset;
    if (offset == 0) {
      ASSIGN_OR_RETURN(header_, object::ParseJitDumpHeader(source()));
      at = header_.records_offset;
    }
    added_.clear();
    for (size_t i = 0; i < kRecordsPerPart; ++i) {
      auto record = object::ReadJitRecord(source(), at);
      if (!record.ok()) {
        // Nothing tells where the next one starts: what follows is as good as not there.
        ++book().parts_damaged;
        history.Add(added_);
        return source().size_bytes() - offset;
      }
      if (!*record || (*record)->end_offset > source().size_bytes()) break;
      TakeRecord(**record, history, only_for);
      at = (*record)->end_offset;
    }
    history.Add(added_);
    ForgetLines();
    return at - offset;
  }

  void TakeRecord(const JitRecord& record, CodeHistory& history,
                  std::span<const uint64_t> only_for) {
    const uint64_t from_mono_ns =
        header_.has_arch_clock ? WrittenMonoNs(record.end_offset) : record.time_ns;
    if (record.kind == JitRecordKind::kDebug) {
      debug_ = record;
      return;
    }
    const bool has_code =
        record.kind == JitRecordKind::kLoad || record.kind == JitRecordKind::kMove;
    if (!has_code ||
        (!only_for.empty() && !CoversAny(only_for, record.address, record.size_bytes))) {
      return;
    }
    CodeRange range{record.address, record.address + record.size_bytes, from_mono_ns,
                    NumberOf(record.offset), record.address};
    if (record.kind == JitRecordKind::kLoad) {
      if (debug_ && debug_->address == record.address &&
          (lines_.empty() || lines_.back().load_offset < record.offset)) {
        lines_.push_back({record.offset, debug_->offset});
      }
      debug_.reset();
    } else {
      history.Add(added_);
      added_.clear();
      const CodeRange* moved = history.Find(record.old_address);
      if (moved == nullptr || moved->origin != record.old_address) return;
      range.function = moved->function;
    }
    added_.push_back(range);
  }

  std::string ReadName(const CodeRange& range, uint64_t offset) override {
    const auto load = ReadLoad(offset);
    if (!load || load->size_bytes < range.end - range.origin) return {};
    auto name = object::ReadJitName(source(), *load);
    return name.ok() ? std::move(name).value() : std::string();
  }

  void ReadLine(const CodeRange& range, uint64_t offset, uint64_t address,
                symbolize::FunctionLine& line) override {
    const auto lines = std::lower_bound(
        lines_.begin(), lines_.end(), offset,
        [](const Lines& each, uint64_t wanted) { return each.load_offset < wanted; });
    if (lines == lines_.end() || lines->load_offset != offset) return;
    const auto load = ReadLoad(offset);
    const auto debug = object::ReadJitRecord(source(), lines->debug_offset);
    if (!load || !debug.ok() || !*debug || (*debug)->kind != JitRecordKind::kDebug) return;
    uint64_t wanted = address - range.origin + load->address;
    if (line.name.starts_with(kV8Name)) wanted += kV8LineShift;
    auto found = object::FindJitLine(source(), **debug, wanted);
    if (!found.ok() || !*found) return;
    line.file = std::move((*found)->file);
    line.line = (*found)->line;
  }

  void StartAnew() override {
    lines_.clear();
    debug_.reset();
  }

  std::optional<JitRecord> ReadLoad(uint64_t offset) const {
    const auto record = object::ReadJitRecord(source(), offset);
    if (!record.ok() || !*record || (*record)->kind != JitRecordKind::kLoad) return std::nullopt;
    return **record;
  }

  // Of functions that are forgotten.
  void ForgetLines() {
    if (lines_.size() <= 2 * ranges_max()) return;
    std::vector<uint64_t> known;
    history().ForEachFunction([&](uint64_t function) { known.push_back(function); });
    std::sort(known.begin(), known.end());
    std::erase_if(lines_, [&](const Lines& each) {
      return !std::binary_search(known.begin(), known.end(), NumberOf(each.load_offset));
    });
  }

  struct Lines {
    uint64_t load_offset = 0;
    uint64_t debug_offset = 0;
  };

  object::JitDumpHeader header_;
  std::vector<CodeRange> added_;
  std::vector<Lines> lines_;        // in the order of the file
  std::optional<JitRecord> debug_;  // whose code is still to come
};

}  // namespace

JitDumpRuntime::JitDumpRuntime(std::string proc_root, CodeFileLimits limits)
    : CodeFileRuntime(std::move(proc_root), limits) {}

std::optional<std::string> JitDumpRuntime::Detect(const ImageFacts& image) const {
  if (image.is_generated || PidOfDump(image.path).empty()) return std::nullopt;
  return std::string();
}

Result<KernelPart> JitDumpRuntime::Prepare(const ProcessKey& process, const ImageFacts& image) {
  if (PidOfDump(image.path).empty()) {
    return Error(ErrorCode::kUnsupported, std::string(image.path) + " is no jitdump file");
  }
  if (places_.size() >= kPlacesMax && places_.count(process.pid) == 0) places_.clear();
  Place& place = places_[process.pid];
  if (place.process == process && place.path == image.path) return KernelPart{};
  place = {process, std::string(image.path)};
  // While the process is there.
  Remember(process, {});
  return KernelPart{};
}

void JitDumpRuntime::Forget(uint32_t pid) {
  places_.erase(pid);
  CodeFileRuntime::Forget(pid);
}

Result<ProcessFile> JitDumpRuntime::Open(const ProcessKey& process) {
  const auto place = places_.find(process.pid);
  if (place == places_.end() || !(place->second.process == process)) {
    return Error(ErrorCode::kNotFound, "the process maps no jitdump file");
  }
  const std::string& path = place->second.path;
  ASSIGN_OR_RETURN(const ProcessFacts facts, ReadProcessFacts(proc_root(), process.pid));
  if (PidOfDump(path) != facts.inner_pid) {
    return Error(ErrorCode::kNotFound, path + " is another process's");
  }
  return OpenProcessFile(proc_root(), process, facts, path);
}

std::unique_ptr<CodeFile> JitDumpRuntime::Make(size_t kept_bytes_max, uint64_t since_mono_ns) {
  return std::make_unique<JitDumpFile>(kept_bytes_max, since_mono_ns, mutable_book());
}

}  // namespace vesta::agent::runtime
