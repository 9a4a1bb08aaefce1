#include "src/store/disk/symbol_merge.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <vector>

#include "src/base/descriptor.h"
#include "src/store/disk/files.h"

namespace vesta::store {

using symbols::Hash128;
using symbols::Place;
using symbols::RunWriter;
using symbols::SymbolRun;

namespace {

constexpr size_t kWriteBytes = size_t{1} << 20;

base::Error NotWritten(const std::string& path) {
  const base::Error error = base::ErrnoError("writing " + path, errno);
  return base::Error(base::ErrorCode::kUnavailable, error.message());
}

// A file that is being written, some bytes at a time.
class Output {
 public:
  Output(base::Descriptor file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}
  base::Result<void> Add(std::string_view bytes) {
    waiting_ += bytes;
    return waiting_.size() < kWriteBytes ? base::Result<void>() : Flush();
  }
  base::Result<void> Finish() {
    RETURN_IF_ERROR(Flush());
    if (::fsync(file_.fd()) != 0) return NotWritten(path_);
    return {};
  }

 private:
  base::Result<void> Flush() {
    std::string_view rest = waiting_;
    while (!rest.empty()) {
      const ssize_t count = ::write(file_.fd(), rest.data(), rest.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return NotWritten(path_);
      rest.remove_prefix(static_cast<size_t>(count));
    }
    waiting_.clear();
    return {};
  }

  base::Descriptor file_;
  const std::string path_;
  std::string waiting_;
};

base::Result<void> WriteOutput(const std::string& path,
                               const std::function<base::Result<void>(RunWriter*)>& fill) {
  base::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640));
  if (file.fd() < 0) return NotWritten(path);
  Output output(std::move(file), path);
  RunWriter writer([&output](std::string_view bytes) { return output.Add(bytes); });
  RETURN_IF_ERROR(fill(&writer));
  return output.Finish();
}

// Where the reading of one file is.
class Cursor {
 public:
  explicit Cursor(const SymbolRun* run) : run_(run) {}

  base::Result<bool> Next() {
    ++at_;
    while (block_ == nullptr || at_ >= block_->count()) {
      if (next_block_ == run_->block_count()) return false;
      ASSIGN_OR_RETURN(block_, run_->block(next_block_++));
      at_ = 0;
    }
    return true;
  }
  const SymbolRun* run() const { return run_; }
  Place place() const { return block_->place(at_); }
  symbols::Fact fact() const { return block_->fact(at_); }

 private:
  const SymbolRun* run_;
  size_t next_block_ = 0;
  size_t at_ = 0;
  std::shared_ptr<const symbols::FactBlock> block_;
};

}  // namespace

base::Result<void> WriteRunFile(const std::string& path,
                                const std::function<base::Result<void>(RunWriter*)>& fill) {
  const std::string aside = path + std::string(kAsideSuffix);
  auto written = WriteOutput(aside, fill);
  if (written.ok()) written = RenameDurably(aside, path);
  if (!written.ok()) ::unlink(aside.c_str());
  return written;
}

base::Result<void> MergeRuns(std::span<const std::shared_ptr<const SymbolRun>> runs,
                             uint64_t oldest_version, size_t batches_max, RunWriter* writer,
                             const SymbolRun** damaged) {
  std::vector<Cursor> cursors;  // newest first; that have something left
  uint64_t new_places = 0;
  std::vector<Hash128> batches;
  for (const auto& run : runs) {
    new_places += run->facts().new_places;
    batches.insert(batches.begin(), run->batches().begin(), run->batches().end());
    cursors.emplace_back(run.get());
  }
  const auto advance = [&](size_t cursor) -> base::Result<bool> {
    auto next = cursors[cursor].Next();
    if (!next.ok()) *damaged = cursors[cursor].run();
    return next;
  };
  for (size_t i = 0; i < cursors.size();) {
    ASSIGN_OR_RETURN(const bool has_more, advance(i));
    if (has_more) {
      ++i;
    } else {
      cursors.erase(cursors.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  uint64_t places = 0;
  while (!cursors.empty()) {
    const auto first =
        std::min_element(cursors.begin(), cursors.end(),
                         [](const Cursor& a, const Cursor& b) { return a.place() < b.place(); });
    const Place place = first->place();
    if (first->fact().version >= oldest_version) {
      RETURN_IF_ERROR(writer->Add(place, first->fact()));
      ++places;
    }
    for (size_t i = 0; i < cursors.size();) {
      bool has_more = true;
      if (cursors[i].place() == place) {
        ASSIGN_OR_RETURN(has_more, advance(i));
      }
      if (has_more) {
        ++i;
      } else {
        cursors.erase(cursors.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }
  const size_t known = std::min(batches.size(), batches_max);
  return writer->Finish(runs.back()->facts().first_file, std::min(new_places, places),
                        std::span(batches).last(known));
}

}  // namespace vesta::store
