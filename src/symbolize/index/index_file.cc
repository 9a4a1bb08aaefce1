#include "src/symbolize/index/index_file.h"

#include <unistd.h>

#include <cerrno>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace vesta::symbolize {

namespace {

constexpr size_t kBufferBytes = size_t{256} << 10;
constexpr size_t kSectionAlignment = 8;

}  // namespace

struct IndexFile::Checksum {
  XXH3_state_t state;
};

IndexFile::IndexFile(int fd) : fd_(fd), checksum_(std::make_unique<Checksum>()) {
  buffer_.reserve(kBufferBytes);
}

IndexFile::~IndexFile() = default;

void IndexFile::BeginSection(IndexSection section) {
  section_ = &sections_[static_cast<size_t>(section)];
  section_->offset = written_bytes_ + buffer_.size();
  XXH3_64bits_reset(&checksum_->state);
}

void IndexFile::Append(IndexBytes bytes) {
  XXH3_64bits_update(&checksum_->state, bytes.data(), bytes.size());
  section_->size_bytes += bytes.size();
  if (bytes.size() >= kBufferBytes) {
    Flush();
    WriteAt(written_bytes_, bytes);
    written_bytes_ += bytes.size();
    return;
  }
  if (buffer_.size() + bytes.size() > kBufferBytes) Flush();
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void IndexFile::EndSection() {
  section_->checksum = XXH3_64bits_digest(&checksum_->state);
  while ((written_bytes_ + buffer_.size()) % kSectionAlignment != 0) AppendByte(buffer_, 0);
}

base::Result<uint64_t> IndexFile::Finish(IndexHeader header) {
  Flush();
  header.magic = kIndexMagic;
  header.version = kIndexVersion;
  header.file_bytes = written_bytes_;
  header.sections = sections_;
  header.checksum = XXH3_64bits(&header, offsetof(IndexHeader, checksum));
  WriteAt(0, std::as_bytes(std::span(&header, 1)));
  if (failure_) return *failure_;
  return written_bytes_;
}

void IndexFile::Flush() {
  WriteAt(written_bytes_, buffer_);
  written_bytes_ += buffer_.size();
  buffer_.clear();
}

void IndexFile::WriteAt(uint64_t offset, IndexBytes bytes) {
  while (!bytes.empty() && !failure_) {
    const ssize_t count = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      failure_ = base::ErrnoError("writing a symbol index", errno);
      return;
    }
    bytes = bytes.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
}

}  // namespace vesta::symbolize
