#include "src/agent/runtime/code_file.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/agent/runtime/frame_names.h"
#include "src/symbolize/demangle.h"

namespace vesta::agent::runtime {
namespace {

using base::FileSource;
using base::Result;

constexpr size_t kTailBytes = 64;
constexpr size_t kLooksMax = 4096;
constexpr size_t kNameBytes = 80;                      // what a kept name takes beside its text
constexpr uint64_t kFileBytesMax = uint64_t{4} << 30;  // what lies behind is not read
// A function's number is where the file tells of it, and which writing of the file that is.
constexpr int kWritingShift = 40;
constexpr uint64_t kOffsetMask = (uint64_t{1} << kWritingShift) - 1;

}  // namespace

CodeFile::CodeFile(size_t kept_bytes_max, uint64_t since_mono_ns, CodeFileBook& book)
    : ranges_max_(kept_bytes_max / 2 / sizeof(CodeRange)),
      names_bytes_max_(kept_bytes_max / 4),
      since_mono_ns_(since_mono_ns),
      book_(book),
      history_(ranges_max_, since_mono_ns) {}

uint64_t CodeFile::NumberOf(uint64_t offset) const { return writing_ << kWritingShift | offset; }

uint64_t CodeFile::WrittenMonoNs(uint64_t end_offset) const {
  const auto look = std::lower_bound(
      looks_.begin(), looks_.end(), end_offset,
      [](const PastLook& past, uint64_t offset) { return past.size_bytes < offset; });
  return look == looks_.end() ? looked_mono_ns_ : look->written_mono_ns;
}

void CodeFile::Take(ProcessFile file, uint64_t looked_mono_ns) {
  if (file.state != state_) {
    if (source_ != nullptr && !BeginsAsBefore(*file.source, file.state)) ForgetFile();
    // What is there at the first look may have been there for long.
    const uint64_t written_mono_ns =
        source_ == nullptr
            ? 0
            : std::clamp(MonoOfUnixNs(file.state.mtime_unix_ns), looked_mono_ns_, looked_mono_ns);
    source_ = std::move(file.source);
    state_ = file.state;
    if (looks_.size() == kLooksMax) looks_.erase(looks_.begin() + kLooksMax / 2);
    looks_.push_back({state_.size_bytes, written_mono_ns});
  }
  looked_mono_ns_ = looked_mono_ns;
}

// Whether the file still begins with what was read.
bool CodeFile::BeginsAsBefore(const FileSource& source, const FileState& now) const {
  if (now.device != state_.device || now.inode != state_.inode || now.size_bytes < read_bytes_) {
    return false;
  }
  std::string part(tail_.size(), '\0');
  return source
             .ReadAt(read_bytes_ - part.size(),
                     std::as_writable_bytes(std::span(part.data(), part.size())))
             .ok() &&
         part == tail_;
}

Result<void> CodeFile::KeepTail() {
  tail_.resize(static_cast<size_t>(std::min<uint64_t>(kTailBytes, read_bytes_)));
  return source_->ReadAt(read_bytes_ - tail_.size(),
                         std::as_writable_bytes(std::span(tail_.data(), tail_.size())));
}

void CodeFile::ForgetFile() {
  ++book_.files_rewritten;
  StartAnew();
  history_.EndAll(looked_mono_ns_);
  // Names that were read are all that is left of it.
  history_.ForgetPast([this](uint64_t function) { return names_.count(function) != 0; });
  ++writing_;
  read_bytes_ = 0;
  tail_.clear();
  looks_.clear();
  unnamed_.clear();
  reread_next_mono_ns_ = 0;
}

Result<void> CodeFile::ReadAdded(uint64_t bytes_max) {
  if (source_ == nullptr) return {};
  const uint64_t stop = std::min({state_.size_bytes, read_bytes_ + bytes_max, kFileBytesMax});
  while (read_bytes_ < stop) {
    auto taken = ReadPart(read_bytes_, history_, {});
    if (!taken.ok()) return std::move(taken).error();
    if (*taken == 0) break;
    read_bytes_ += *taken;
    history_.Trim(wanted_);
  }
  return KeepTail();
}

void CodeFile::Want(std::span<const uint64_t> addresses) {
  std::vector<uint64_t> all;
  all.reserve(wanted_.size() + addresses.size());
  std::set_union(wanted_.begin(), wanted_.end(), addresses.begin(), addresses.end(),
                 std::back_inserter(all));
  if (all.size() <= ranges_max_) wanted_ = std::move(all);
}

void CodeFile::ReadNames(std::span<const uint64_t> addresses) {
  for (const uint64_t address : addresses) {
    if (const CodeRange* range = history_.Find(address)) NameOf(*range);
  }
}

void CodeFile::ReadForgotten(std::span<const uint64_t> addresses, const CodeFileLimits& limits) {
  if (!history_.has_forgotten() || source_ == nullptr) return;
  std::vector<uint64_t> missing;
  for (const uint64_t address : addresses) {
    if (history_.Find(address) == nullptr &&
        !std::binary_search(unnamed_.begin(), unnamed_.end(), address)) {
      missing.push_back(address);
    }
  }
  const uint64_t now_mono_ns = NowMonoNs();
  if (missing.empty() || now_mono_ns < reread_next_mono_ns_) return;
  reread_next_mono_ns_ = now_mono_ns + limits.reread_pause_ns;
  ++book_.files_reread;
  const uint64_t damaged_before = book_.parts_damaged;
  CodeHistory found(ranges_max_, since_mono_ns_);
  const uint64_t stop = std::min(read_bytes_, limits.name_bytes_max);
  for (uint64_t at = 0; at < stop;) {
    auto taken = ReadPart(at, found, missing);
    if (!taken.ok() || *taken == 0) break;
    at += *taken;
  }
  book_.parts_damaged = damaged_before;
  for (const uint64_t address : missing) {
    if (const CodeRange* range = found.Find(address)) {
      // What is kept beside this address may be newer.
      CodeRange part = *range;
      part.start = address;
      part.end = address + 1;
      history_.Add(std::span(&part, 1));
    } else {
      unnamed_.insert(std::upper_bound(unnamed_.begin(), unnamed_.end(), address), address);
    }
  }
}

std::vector<FrameNames> CodeFile::NamesOf(std::span<const uint64_t> addresses) {
  const auto eras = history_.Eras(addresses);
  std::vector<FrameNames> names(addresses.size());
  for (size_t i = 0; i < addresses.size(); ++i) {
    for (const CodeEra& era : eras[i]) {
      FrameEra named;
      named.from_mono_ns = era.from_mono_ns;
      if (era.range != nullptr) {
        symbolize::FunctionLine line;
        line.system_name = NameOf(*era.range);
        line.name = symbolize::Demangle(line.system_name);
        const uint64_t function = era.range->function;
        if (!line.name.empty() && function >> kWritingShift == writing_) {
          ReadLine(*era.range, function & kOffsetMask, addresses[i], line);
        }
        if (!line.name.empty()) named.symbol.lines.push_back(std::move(line));
      }
      AppendEra(std::move(named), names[i]);
    }
  }
  return names;
}

std::string CodeFile::NameOf(const CodeRange& range) {
  if (const auto known = names_.find(range.function); known != names_.end()) return known->second;
  if (range.function >> kWritingShift != writing_) return {};
  std::string name = ReadName(range, range.function & kOffsetMask);
  if (name.empty()) ++book_.names_changed;
  if (names_bytes_ > names_bytes_max_) ForgetNames();
  names_bytes_ += kNameBytes + name.size();
  names_.emplace(range.function, name);
  return name;
}

// Those of this writing of the file first: they can be read again.
void CodeFile::ForgetNames() {
  std::erase_if(names_,
                [this](const auto& known) { return known.first >> kWritingShift == writing_; });
  names_bytes_ = 0;
  for (const auto& [function, name] : names_) names_bytes_ += kNameBytes + name.size();
  if (names_bytes_ <= names_bytes_max_ / 2) return;
  names_.clear();
  names_bytes_ = 0;
}

size_t CodeFile::memory_bytes() const {
  return history_.memory_bytes() + names_bytes_ +
         (wanted_.capacity() + unnamed_.capacity()) * sizeof(uint64_t) +
         looks_.capacity() * sizeof(PastLook);
}

}  // namespace vesta::agent::runtime
