#include "src/agent/runtime/perf_map/perf_map_runtime.h"

#include <algorithm>
#include <utility>

#include "src/object/perf_map.h"

namespace vesta::agent::runtime {
namespace {

using base::Result;

constexpr uint64_t kReadBytes = 1 << 20;
constexpr uint64_t kLineBytesMax = 64 + object::kPerfMapNameBytesMax;

// A part is up to kReadBytes of whole lines.
class PerfMapFile final : public CodeFile {
 public:
  using CodeFile::CodeFile;

 private:
  Result<uint64_t> ReadPart(uint64_t offset, CodeHistory& history,
                            std::span<const uint64_t> only_for) override {
    const uint64_t size_bytes = source().size_bytes();
    RETURN_IF_ERROR(ReadText(offset, kReadBytes));
    object::PerfMapParser parser(text_);
    const uint64_t taken = parser.whole_lines_bytes();
    // A line that fills the buffer is none.
    if (taken == 0) return offset + kReadBytes > size_bytes ? 0 : kReadBytes;
    added_.clear();
    while (const auto line = parser.Next()) {
      if (!only_for.empty()) {
        const auto at = std::lower_bound(only_for.begin(), only_for.end(), line->start);
        if (at == only_for.end() || *at >= line->end) continue;
      }
      const auto name_end =
          static_cast<uint64_t>(line->name.data() + line->name.size() - text_.data());
      added_.push_back({line->start, line->end, WrittenMonoNs(offset + name_end),
                        NumberOf(offset + line->line_offset), line->start});
    }
    book().parts_damaged += parser.skipped_line_count();
    history.Add(added_);
    return taken;
  }

  std::string ReadName(const CodeRange& range, uint64_t offset) override {
    if (!ReadText(offset, kLineBytesMax).ok()) return {};
    text_.resize(std::min(text_.find('\n'), text_.size()));
    text_ += '\n';
    const auto line = object::PerfMapParser(text_).Next();
    if (!line || line->start != range.origin || line->end < range.end) return {};
    return std::string(line->name);
  }

  Result<void> ReadText(uint64_t offset, uint64_t bytes_max) {
    const uint64_t size_bytes = source().size_bytes();
    text_.resize(
        static_cast<size_t>(std::min(bytes_max, size_bytes - std::min(offset, size_bytes))));
    return source().ReadAt(offset, std::as_writable_bytes(std::span(text_.data(), text_.size())));
  }

  std::string text_;
  std::vector<CodeRange> added_;
};

}  // namespace

PerfMapRuntime::PerfMapRuntime(std::string proc_root, CodeFileLimits limits)
    : CodeFileRuntime(std::move(proc_root), limits) {}

std::optional<std::string> PerfMapRuntime::Detect(const ImageFacts& image) const {
  if (!image.is_generated) return std::nullopt;
  return std::string();
}

Result<KernelPart> PerfMapRuntime::Prepare(const ProcessKey&, const ImageFacts&) {
  return KernelPart{};
}

Result<ProcessFile> PerfMapRuntime::Open(const ProcessKey& process) {
  ASSIGN_OR_RETURN(const ProcessFacts facts, ReadProcessFacts(proc_root(), process.pid));
  return OpenProcessFile(proc_root(), process, facts, "tmp/perf-" + facts.inner_pid + ".map");
}

std::unique_ptr<CodeFile> PerfMapRuntime::Make(size_t kept_bytes_max, uint64_t since_mono_ns) {
  return std::make_unique<PerfMapFile>(kept_bytes_max, since_mono_ns, mutable_book());
}

}  // namespace vesta::agent::runtime
