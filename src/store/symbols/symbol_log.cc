#include "src/store/symbols/symbol_log.h"

#include <cstring>
#include <utility>

namespace vesta::store::symbols {
namespace {

constexpr std::string_view kMagic = "VESTALOG";
constexpr uint64_t kVersion = 1;
constexpr size_t kHeaderBytes = 16;
constexpr size_t kRecordHeaderBytes = 16;  // bytes of the block, its checksum

uint64_t FixedAt(std::string_view bytes, size_t at) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

// The block of the record that begins there; nothing = none does.
std::shared_ptr<const FactBlock> BlockAt(std::string_view bytes, size_t at, size_t* end) {
  if (bytes.size() - at < kRecordHeaderBytes) return nullptr;
  const uint64_t size = FixedAt(bytes, at);
  const size_t begin = at + kRecordHeaderBytes;
  if (size == 0 || size > kBlockBytesMax || size > bytes.size() - begin) return nullptr;
  const std::string_view block = bytes.substr(begin, static_cast<size_t>(size));
  if (ChecksumOf(block) != FixedAt(bytes, at + sizeof(uint64_t))) return nullptr;
  auto decoded = FactBlock::Decode(std::string(block));
  if (!decoded.ok()) return nullptr;
  *end = begin + static_cast<size_t>(size);
  return *std::move(decoded);
}

}  // namespace

std::string LogHeader() {
  std::string bytes(kMagic);
  PutFixed(kVersion, &bytes);
  return bytes;
}

std::string LogRecord(std::string_view block) {
  std::string bytes;
  PutFixed(block.size(), &bytes);
  PutFixed(ChecksumOf(block), &bytes);
  bytes += block;
  return bytes;
}

base::Result<LogContent> ReadLog(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes || !bytes.starts_with(kMagic)) {
    return base::Error(base::ErrorCode::kCorrupt, "it is no log of names");
  }
  if (FixedAt(bytes, kMagic.size()) != kVersion) {
    return base::Error(base::ErrorCode::kUnsupported, "a log of names of another version");
  }
  LogContent content;
  content.good_bytes = kHeaderBytes;
  bool is_whole = true;
  for (size_t at = kHeaderBytes; at < bytes.size();) {
    size_t end = 0;
    auto block = BlockAt(bytes, at, &end);
    if (block == nullptr) {
      is_whole = false;
      ++at;
      continue;
    }
    content.blocks.push_back(std::move(block));
    content.is_damaged = content.is_damaged || !is_whole;
    if (is_whole) content.good_bytes = end;
    at = end;
  }
  return content;
}

}  // namespace vesta::store::symbols
