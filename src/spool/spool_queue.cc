#include "src/spool/spool_queue.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace vesta::spool {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr int64_t kReadFailingMsMax = 600'000;
constexpr int64_t kNoticePeriodMs = 600'000;

std::string AmountText(const Amount& amount) {
  return std::to_string(amount.records) + " records with " + std::to_string(amount.samples) +
         " samples";
}

// What a person reads about records that were lost.
std::string LossText(const std::string& folder, std::string_view reason, const Amount& so_far) {
  const std::string records = AmountText(so_far) + " so far";
  if (reason == kLostBytes) {
    return "the spool in " + folder + " is full and drops its oldest records, " + records +
           ": look at why nothing is delivered, or give it more room";
  }
  if (reason == kLostAge) {
    return "the spool in " + folder + " drops what nobody took in time, " + records +
           ": look at why nothing is delivered";
  }
  if (reason == kLostDamaged) {
    return "files in " + folder + " are damaged, " + records + " are lost: look at the disk";
  }
  return "the last write to the spool in " + folder + " was cut short, " + records +
         " were dropped";
}

}  // namespace

SpoolQueue::~SpoolQueue() { static_cast<void>(Sync().ok()); }

const Total& SpoolQueue::EndOf(size_t file) const {
  return file + 1 < files_.size() ? files_[file + 1].start : end_;
}

uint64_t SpoolQueue::OpenFileFirst() const {
  return write_file_.fd() < 0 ? 0 : files_.back().start.records + 1;
}

Result<uint64_t> SpoolQueue::Append(const NewRecord& record) {
  if (record.payload.size() > record_bytes_max_) {
    return Error(ErrorCode::kInvalidInput, "a record of " + std::to_string(record.payload.size()) +
                                               " bytes is larger than the spool takes: at most " +
                                               std::to_string(record_bytes_max_));
  }
  const uint64_t bytes = kRecordHeaderBytes + record.payload.size();
  MakeRoom(bytes + kFileHeaderBytes);
  if (record.reference != 0 && record.reference != OpenFileFirst()) {
    return Error(ErrorCode::kNotFound, "the record that it refers to made room");
  }
  if (write_file_.fd() < 0) RETURN_IF_ERROR(OpenNewFile());
  File& file = files_.back();
  RecordHeader header;
  header.before = end_;
  header.kind = record.kind;
  header.samples = record.samples;
  header.time_unix_ms = options_.now_unix_ms();
  header.time_boot_ms = options_.now_boot_ms();
  header.reference = record.reference;
  header.payload_bytes = static_cast<uint32_t>(record.payload.size());
  header.payload_check = CheckOf(record.payload);
  const auto head = EncodeRecordHeader(header);
  const std::string path = folder_.PathOf(file.name);
  auto written = WriteAt(write_file_.fd(), path, file.disk_bytes, {head.data(), head.size()});
  if (written.ok()) {
    written = WriteAt(write_file_.fd(), path, file.disk_bytes + kRecordHeaderBytes, record.payload);
  }
  if (!written.ok()) {
    UndoWrite();
    return std::move(written).error();
  }
  end_ = header.after();
  file.disk_bytes += bytes;
  disk_bytes_ += bytes;
  state_.appended += {1, record.payload.size(), record.samples};
  is_unsynced_ = true;
  if (file.disk_bytes >= file_bytes_max_) CloseFile();
  return end_.records;
}

// The file as it was before a write that failed.
void SpoolQueue::UndoWrite() {
  File& file = files_.back();
  const bool is_cut = ::ftruncate(write_file_.fd(), static_cast<off_t>(file.disk_bytes)) == 0;
  const bool is_empty = file.start == end_;
  // What cannot be cut off is passed over when the file is read.
  if (is_empty || !is_cut) CloseFile();
  if (!is_empty) return;
  disk_bytes_ -= file.disk_bytes;
  if (!folder_.Remove(file.name).ok()) Notice("remove", "cannot remove " + file.name);
  const bool was_first = files_.size() == 1;
  files_.pop_back();
  if (was_first) head_offset_ = kFileHeaderBytes;
}

Result<void> SpoolQueue::OpenNewFile() {
  File file;
  last_name_ = std::max(last_name_ + 1, end_.records + 1);
  file.name = FileName(last_name_);
  file.start = end_;
  file.boot = boot_;
  ASSIGN_OR_RETURN(base::Descriptor made, folder_.Make(file.name));
  const auto header = EncodeFileHeader({file.start, file.boot});
  auto written = WriteAt(made.fd(), folder_.PathOf(file.name), 0, {header.data(), header.size()});
  if (!written.ok()) {
    static_cast<void>(
        folder_.Remove(file.name).ok());  // else it is empty, and goes at the next start
    return std::move(written).error();
  }
  file.disk_bytes = header.size();
  disk_bytes_ += file.disk_bytes;
  if (files_.empty()) head_offset_ = kFileHeaderBytes;
  files_.push_back(std::move(file));
  write_file_ = std::move(made);
  is_folder_unsynced_ = true;
  return {};
}

void SpoolQueue::CloseFile() {
  static_cast<void>(Sync().ok());  // it has said so
  write_file_ = base::Descriptor();
}

void SpoolQueue::MakeRoom(uint64_t bytes) {
  while (disk_bytes_ + bytes > options_.bytes_max && !aside_.empty()) {
    const FolderFile& file = aside_.front();
    Notice("aside", folder_.PathOf(file.name) + " makes room: the spool is full");
    static_cast<void>(folder_.Remove(file.name).ok());
    disk_bytes_ -= file.disk_bytes;
    aside_.erase(aside_.begin());
  }
  while (disk_bytes_ + bytes > options_.bytes_max && !files_.empty()) DropFront(kLostBytes);
}

void SpoolQueue::DropFront(std::string_view reason) {
  Lose(reason, Between(head_, EndOf(0)));
  head_ = EndOf(0);
  RemoveFront();
}

void SpoolQueue::RemoveFront() {
  const File& file = files_.front();
  if (files_.size() == 1) write_file_ = base::Descriptor();
  const auto removed = folder_.Remove(file.name);
  if (!removed.ok()) Notice("remove", removed.error().message());
  disk_bytes_ -= file.disk_bytes;
  files_.pop_front();
  head_offset_ = kFileHeaderBytes;
  current_.reset();
  read_failing_since_.reset();
}

Result<const Record*> SpoolQueue::Oldest() {
  while (!current_ && !files_.empty()) {
    const auto is_found = ReadNext();
    if (!is_found.ok()) {
      const int64_t now = options_.now_boot_ms();
      if (!read_failing_since_) read_failing_since_ = now;
      if (now - *read_failing_since_ < kReadFailingMsMax) return is_found.error();
      Notice("read", is_found.error().message());
    }
    if (!is_found.ok() || !*is_found) DropFront(kLostDamaged);
  }
  return current_ ? &current_record_ : nullptr;
}

// Whether there is one in the first file.
Result<bool> SpoolQueue::ReadNext() {
  const File& file = files_.front();
  const auto source = base::FileSource::Open(folder_.PathOf(file.name));
  if (!source.ok()) {
    if (source.error().code() == ErrorCode::kNotFound) return false;
    return source.error();
  }
  const FileReader reader(**source, record_bytes_max_);
  ASSIGN_OR_RETURN(auto found, reader.Next(head_offset_, head_));
  if (!found || !IsOrdered(found->header.after(), EndOf(0))) return false;
  read_failing_since_.reset();
  Lose(kLostDamaged, Between(head_, found->header.before));
  head_ = found->header.before;
  head_offset_ = found->offset;
  current_ = std::move(found);
  current_record_.sequence = head_.records + 1;
  current_record_.kind = current_->header.kind;
  current_record_.samples = current_->header.samples;
  current_record_.reference = current_->header.reference;
  current_record_.payload = std::move(current_->payload);
  return true;
}

Result<std::string> SpoolQueue::Referenced(uint64_t sequence) {
  if (files_.empty()) return Error(ErrorCode::kNotFound, "the spool is empty");
  ASSIGN_OR_RETURN(const auto source, base::FileSource::Open(folder_.PathOf(files_.front().name)));
  const FileReader reader(*source, record_bytes_max_);
  ASSIGN_OR_RETURN(auto first, reader.Next(kFileHeaderBytes, files_.front().start));
  if (!first || first->header.before.records + 1 != sequence) {
    return Error(ErrorCode::kCorrupt, "the record that others of its file refer to is damaged");
  }
  return std::move(first->payload);
}

void SpoolQueue::Acknowledge(uint64_t sequence) {
  if (!current_ || current_record_.sequence != sequence) return;
  state_.acknowledged += Between(head_, current_->header.after());
  Pass();
}

void SpoolQueue::Discard(uint64_t sequence, std::string_view reason) {
  if (!current_ || current_record_.sequence != sequence) return;
  Lose(reason, Between(head_, current_->header.after()));
  Pass();
}

// The oldest record is done with. Its file says so, or goes.
void SpoolQueue::Pass() {
  head_ = current_->header.after();
  head_offset_ = current_->offset + kRecordHeaderBytes + current_->header.payload_bytes;
  current_.reset();
  if (head_ == EndOf(0)) return RemoveFront();
  const auto mark = EncodeReadMark({head_, head_offset_});
  const auto written =
      folder_.WriteAt(files_.front().name, kReadMarkOffset, {mark.data(), mark.size()});
  if (!written.ok()) {
    Notice("mark", written.error().message() + ": records may be delivered a second time");
  }
}

uint64_t SpoolQueue::AgeMs(const RecordHeader& header, uint64_t boot) const {
  const int64_t now_boot_ms = options_.now_boot_ms();
  if (boot != 0 && boot == boot_) {
    return static_cast<uint64_t>(std::max<int64_t>(now_boot_ms - header.time_boot_ms, 0));
  }
  // The wall clock is asked only for the time before this start.
  const int64_t before_ms = std::max<int64_t>(opened_unix_ms_ - header.time_unix_ms, 0);
  return static_cast<uint64_t>(before_ms + std::max<int64_t>(now_boot_ms - opened_boot_ms_, 0));
}

uint64_t SpoolQueue::OldestAgeMs() {
  const auto oldest = Oldest();
  if (!oldest.ok() || *oldest == nullptr) return 0;
  return AgeMs(current_->header, files_.front().boot);
}

void SpoolQueue::Maintain() {
  while (OldestAgeMs() > options_.age_ms_max) Discard(current_record_.sequence, kLostAge);
  MakeRoom(0);
  if (options_.now_boot_ms() - synced_boot_ms_ >= static_cast<int64_t>(options_.sync_period_ms)) {
    static_cast<void>(Sync().ok());  // it has said so
  }
}

Result<void> SpoolQueue::Sync() {
  synced_boot_ms_ = options_.now_boot_ms();
  if (is_unsynced_ && write_file_.fd() >= 0 && ::fdatasync(write_file_.fd()) != 0) {
    const Error error = base::ErrnoError("syncing " + folder_.PathOf(files_.back().name), errno);
    Notice("sync", error.message() + ": a power failure now would lose records");
    return error;
  }
  is_unsynced_ = false;
  if (is_folder_unsynced_) RETURN_IF_ERROR(folder_.Sync());
  is_folder_unsynced_ = false;
  return {};
}

SpoolState SpoolQueue::State() const {
  SpoolState state = state_;
  state.waiting = Between(head_, end_);
  state.files = files_.size();
  state.files_aside = aside_.size();
  state.disk_bytes = disk_bytes_;
  return state;
}

void SpoolQueue::Lose(std::string_view reason, const Amount& amount) {
  if (amount == Amount{}) return;
  Amount& so_far = state_.lost[std::string(reason)];
  so_far += amount;
  const bool is_ours =
      reason == kLostBytes || reason == kLostAge || reason == kLostDamaged || reason == kLostTorn;
  if (is_ours) Notice(std::string(reason), LossText(options_.folder, reason, so_far));
}

// Once in a while for each topic.
void SpoolQueue::Notice(const std::string& topic, const std::string& sentence) {
  if (!options_.on_notice) return;
  const int64_t now = options_.now_boot_ms();
  const auto [at, is_new] = noticed_boot_ms_.emplace(topic, now);
  if (!is_new && now - at->second < kNoticePeriodMs) return;
  at->second = now;
  options_.on_notice(sentence);
}

}  // namespace vesta::spool
