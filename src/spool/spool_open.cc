// What a spool finds in its folder.
#include <time.h>

#include <algorithm>
#include <utility>

#include "src/spool/spool_queue.h"

namespace vesta::spool {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr uint64_t kBytesMin = 64 << 10;
constexpr const char* kBootIdPath = "/proc/sys/kernel/random/boot_id";

int64_t NowMs(clockid_t clock) {
  timespec now = {};
  ::clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000 + now.tv_nsec / 1'000'000;
}

SpoolOptions WithDefaults(SpoolOptions options) {
  if (!options.now_unix_ms) options.now_unix_ms = [] { return NowMs(CLOCK_REALTIME); };
  if (!options.now_boot_ms) options.now_boot_ms = [] { return NowMs(CLOCK_BOOTTIME); };
  if (options.boot_id.empty()) {
    auto boot_id = base::ReadSmallFile(kBootIdPath, 64);
    if (boot_id.ok()) options.boot_id = *std::move(boot_id);
  }
  return options;
}

}  // namespace

Result<std::unique_ptr<Spool>> Spool::Open(const SpoolOptions& options) {
  if (options.bytes_max < kBytesMin) {
    return Error(ErrorCode::kInvalidInput,
                 "a spool has at least " + std::to_string(kBytesMin) + " bytes");
  }
  ASSIGN_OR_RETURN(SpoolFolder folder, SpoolFolder::Take(options.folder));
  auto spool = std::make_unique<SpoolQueue>(WithDefaults(options), std::move(folder));
  RETURN_IF_ERROR(spool->Load());
  return std::unique_ptr<Spool>(std::move(spool));
}

SpoolQueue::SpoolQueue(const SpoolOptions& options, SpoolFolder folder)
    : options_(options),
      file_bytes_max_(std::min(options.file_bytes_max, options.bytes_max / 8)),
      record_bytes_max_(std::min(options.record_bytes_max,
                                 options.bytes_max - kFileHeaderBytes - kRecordHeaderBytes)),
      boot_(options.boot_id.empty() ? 0 : CheckOf(options.boot_id)),
      opened_unix_ms_(options.now_unix_ms()),
      opened_boot_ms_(options.now_boot_ms()),
      folder_(std::move(folder)),
      synced_boot_ms_(opened_boot_ms_) {}

Result<void> SpoolQueue::Load() {
  ASSIGN_OR_RETURN(const std::vector<FolderFile> listed, folder_.List());
  for (const FolderFile& file : listed) LoadFile(file);
  RETURN_IF_ERROR(FindEnd());
  FindHead(marks_.empty() ? std::nullopt : marks_.front());
  marks_.clear();
  state_.found += Between(head_, end_);
  state_.found += damaged_at_end_;
  Lose(kLostDamaged, damaged_at_end_);
  return {};
}

void SpoolQueue::SetAside(const FolderFile& listed, const std::string& why) {
  aside_.push_back(listed);
  disk_bytes_ += listed.disk_bytes;
  Notice(listed.name, folder_.PathOf(listed.name) + " is left alone: " + why);
}

void SpoolQueue::LoadFile(const FolderFile& listed) {
  last_name_ = std::max(last_name_, listed.first_sequence);
  const std::string path = folder_.PathOf(listed.name);
  const auto source = base::FileSource::Open(path);
  if (!source.ok()) return SetAside(listed, source.error().message());
  const FileReader reader(**source, record_bytes_max_);
  FileHeader header;
  std::optional<ReadMark> mark;
  const auto kind = reader.ReadHeader(&header, &mark);
  if (!kind.ok()) return SetAside(listed, kind.error().message());
  if (*kind == FileKind::kNewer) {
    return SetAside(listed, "a newer vesta wrote it, and can deliver it");
  }
  if (*kind == FileKind::kDamaged) {
    const auto first = reader.Next(0, {});
    if (!first.ok()) return SetAside(listed, first.error().message());
    if (!first->has_value()) {
      // Nothing can be had of it. What it held is the difference of the files around it, if there
      // is one behind it.
      if (listed.disk_bytes > kFileHeaderBytes) {
        damaged_at_end_ += {1, listed.disk_bytes - kFileHeaderBytes, 0};
        Notice(listed.name, path + " is damaged throughout and was removed");
      }
      if (!folder_.Remove(listed.name).ok()) SetAside(listed, "it is damaged");
      return;
    }
    header.start = (*first)->header.before;
  }
  if (!files_.empty() && !IsOrdered(files_.back().start, header.start)) {
    return SetAside(listed, "it does not belong to the files around it");
  }
  damaged_at_end_ = {};
  files_.push_back({listed.name, header.start, listed.disk_bytes, header.boot});
  marks_.push_back(mark);
  disk_bytes_ += listed.disk_bytes;
}

// Reads the last file through. An empty one goes.
Result<void> SpoolQueue::FindEnd() {
  if (files_.empty()) return {};
  File& last = files_.back();
  ASSIGN_OR_RETURN(const auto source, base::FileSource::Open(folder_.PathOf(last.name)));
  const FileReader reader(*source, record_bytes_max_);
  end_ = last.start;
  uint64_t end_offset = kFileHeaderBytes;
  while (true) {
    ASSIGN_OR_RETURN(const auto found, reader.Next(end_offset, end_));
    if (!found) break;
    end_ = found->header.after();
    end_offset = found->end_offset();
  }
  if (source->size_bytes() > end_offset) CutTail(last, reader, end_offset);
  if (end_ != last.start) return {};
  disk_bytes_ -= last.disk_bytes;
  auto removed = folder_.Remove(last.name);
  files_.pop_back();
  marks_.pop_back();
  return removed;
}

void SpoolQueue::CutTail(File& file, const FileReader& reader, uint64_t end_offset) {
  Amount torn{1, file.disk_bytes - end_offset, 0};
  const auto header = reader.HeaderAt(end_offset);
  if (header.ok() && header->has_value()) torn = {1, (*header)->payload_bytes, (*header)->samples};
  state_.found += torn;
  Lose(kLostTorn, torn);
  if (folder_.Cut(file.name, end_offset).ok()) {
    disk_bytes_ -= file.disk_bytes - end_offset;
    file.disk_bytes = end_offset;
  }
}

void SpoolQueue::FindHead(const std::optional<ReadMark>& mark) {
  head_ = files_.empty() ? end_ : files_.front().start;
  if (files_.empty() || !mark) return;
  if (!IsOrdered(head_, mark->read) || !IsOrdered(mark->read, EndOf(0))) return;
  head_ = mark->read;
  head_offset_ = std::max<uint64_t>(mark->offset, kFileHeaderBytes);
  if (head_ == EndOf(0)) RemoveFront();
}

}  // namespace vesta::spool
