#include "src/store/symbols/symbol_run.h"

#include <algorithm>

#include "src/base/byte_reader.h"
#include "src/base/check.h"

namespace vesta::store::symbols {
namespace {

constexpr std::string_view kMagic = "VESTASYM";
constexpr uint64_t kVersion = 1;
// magic, version, offset and bytes of the directory, its checksum, checksum of what is before
constexpr size_t kFooterBytes = 48;
constexpr size_t kBlockEntryBytes = 40;
constexpr size_t kImageEntryBytes = 24;

base::Error Damaged(const std::string& what) {
  return base::Error(base::ErrorCode::kCorrupt, "a file of names: " + what);
}

Hash128 ReadHash(base::ByteReader* reader) {
  const auto high = reader->Read<uint64_t>();
  return {high, reader->Read<uint64_t>()};
}

size_t ReadCount(base::ByteReader* reader, size_t bytes_each) {
  const auto count = reader->Read<uint64_t>();
  if (count > reader->remaining() / bytes_each) reader->Fail();
  return reader->ok() ? static_cast<size_t>(count) : 0;
}

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

base::Result<void> RunWriter::Add(const Place& place, const Fact& fact) {
  if (block_.count() == 0) first_ = place;
  block_.Add(place, fact);
  if (images_.empty() || images_.back().first != place.image) images_.emplace_back(place.image, 0);
  images_.back().second = std::max(images_.back().second, fact.version);
  facts_.oldest_version =
      facts_.places == 0 ? fact.version : std::min(facts_.oldest_version, fact.version);
  facts_.newest_version = std::max(facts_.newest_version, fact.version);
  ++facts_.places;
  return block_.size_bytes() < kBlockBytes ? base::Result<void>() : EndBlock();
}

base::Result<void> RunWriter::EndBlock() {
  if (block_.count() == 0) return {};
  const std::string bytes = block_.Finish();
  blocks_.push_back({first_, bytes.size(), ChecksumOf(bytes)});
  offset_ += bytes.size();
  return sink_(bytes);
}

base::Result<void> RunWriter::Finish(uint64_t first_file, uint64_t new_places,
                                     std::span<const Hash128> batches) {
  RETURN_IF_ERROR(EndBlock());
  std::string directory;
  for (const uint64_t number :
       {first_file, facts_.places, new_places, facts_.oldest_version, facts_.newest_version}) {
    PutFixed(number, &directory);
  }
  PutFixed(blocks_.size(), &directory);
  for (const BlockEntry& block : blocks_) {
    PutHash(block.first.image, &directory);
    PutFixed(block.first.address, &directory);
    PutFixed(block.bytes, &directory);
    PutFixed(block.checksum, &directory);
  }
  PutFixed(images_.size(), &directory);
  for (const auto& [image, newest] : images_) {
    PutHash(image, &directory);
    PutFixed(newest, &directory);
  }
  PutFixed(batches.size(), &directory);
  for (const Hash128& batch : batches) PutHash(batch, &directory);
  std::string footer(kMagic);
  for (const uint64_t number :
       {kVersion, offset_, static_cast<uint64_t>(directory.size()), ChecksumOf(directory)}) {
    PutFixed(number, &footer);
  }
  PutFixed(ChecksumOf(footer), &footer);
  return sink_(directory + footer);
}

base::Result<std::shared_ptr<const SymbolRun>> SymbolRun::Open(
    std::unique_ptr<const base::ByteSource> file, index::PageCache* cache) {
  std::shared_ptr<SymbolRun> run(new SymbolRun(std::move(file), cache));
  RETURN_IF_ERROR(run->ReadDirectory());
  return std::shared_ptr<const SymbolRun>(std::move(run));
}

SymbolRun::~SymbolRun() { cache_->DropFile(cache_file_); }

base::Result<void> SymbolRun::ReadDirectory() {
  const uint64_t size = file_->size_bytes();
  if (size < kFooterBytes) return Damaged("it is too short");
  ASSIGN_OR_RETURN(const auto footer, file_->Read(size - kFooterBytes, kFooterBytes));
  base::ByteReader reader(footer);
  if (TextOf(reader.ReadBytes(kMagic.size())) != kMagic) return Damaged("it does not end as one");
  const auto version = reader.Read<uint64_t>();
  const auto offset = reader.Read<uint64_t>();
  const auto bytes = reader.Read<uint64_t>();
  const auto checksum = reader.Read<uint64_t>();
  const std::string_view checked = TextOf(footer).substr(0, kFooterBytes - sizeof(uint64_t));
  if (reader.Read<uint64_t>() != ChecksumOf(checked)) return Damaged("its end is damaged");
  if (version != kVersion) {
    return base::Error(base::ErrorCode::kUnsupported,
                       "a file of names: its version is " + std::to_string(version));
  }
  if (offset > size - kFooterBytes || bytes != size - kFooterBytes - offset) {
    return Damaged("it has another length than it says");
  }
  ASSIGN_OR_RETURN(const auto directory, file_->Read(offset, bytes));
  if (ChecksumOf(TextOf(directory)) != checksum) return Damaged("its directory is damaged");
  return ParseDirectory(directory, offset);
}

base::Result<void> SymbolRun::ParseDirectory(std::span<const std::byte> bytes,
                                             uint64_t blocks_end) {
  base::ByteReader reader(bytes);
  for (uint64_t* number : {&facts_.first_file, &facts_.places, &facts_.new_places,
                           &facts_.oldest_version, &facts_.newest_version}) {
    *number = reader.Read<uint64_t>();
  }
  blocks_.resize(ReadCount(&reader, kBlockEntryBytes));
  uint64_t offset = 0;
  for (Block& block : blocks_) {
    block.first.image = ReadHash(&reader);
    block.first.address = reader.Read<uint64_t>();
    block.offset = offset;
    block.bytes = reader.Read<uint64_t>();
    block.checksum = reader.Read<uint64_t>();
    if (block.bytes > kBlockBytesMax || block.bytes > blocks_end - offset) {
      return Damaged("a block that is not there");
    }
    offset += block.bytes;
  }
  images_.resize(ReadCount(&reader, kImageEntryBytes));
  for (auto& [image, newest] : images_) {
    image = ReadHash(&reader);
    newest = reader.Read<uint64_t>();
  }
  batches_.resize(ReadCount(&reader, sizeof(Hash128)));
  for (Hash128& batch : batches_) batch = ReadHash(&reader);
  if (!reader.ok() || !reader.AtEnd() || offset != blocks_end) {
    return Damaged("its directory is not whole");
  }
  const auto blocks_in_order = [](const Block& a, const Block& b) { return a.first < b.first; };
  if (!std::is_sorted(blocks_.begin(), blocks_.end(), blocks_in_order) ||
      !std::is_sorted(images_.begin(), images_.end())) {
    return Damaged("its directory is not sorted");
  }
  return {};
}

size_t SymbolRun::memory_bytes() const {
  return sizeof(SymbolRun) + blocks_.capacity() * sizeof(Block) +
         images_.capacity() * sizeof(images_[0]) + batches_.capacity() * sizeof(Hash128);
}

uint64_t SymbolRun::newest(const Hash128& image) const {
  const auto known =
      std::lower_bound(images_.begin(), images_.end(), std::pair(image, uint64_t{0}));
  return known == images_.end() || known->first != image ? 0 : known->second;
}

base::Result<std::shared_ptr<const FactBlock>> SymbolRun::block(size_t number) const {
  CHECK(number < blocks_.size());
  if (auto known = cache_->Find(cache_file_, number)) {
    return std::static_pointer_cast<const FactBlock>(std::move(known));
  }
  const Block& entry = blocks_[number];
  std::string bytes(entry.bytes, '\0');
  RETURN_IF_ERROR(file_->ReadAt(entry.offset, std::as_writable_bytes(std::span(bytes))));
  if (ChecksumOf(bytes) != entry.checksum) return Damaged("a block is damaged");
  ASSIGN_OR_RETURN(auto block, FactBlock::Decode(std::move(bytes)));
  for (size_t i = 1; i < block->count(); ++i) {
    if (!(block->place(i - 1) < block->place(i))) return Damaged("a block is not sorted");
  }
  cache_->Insert(cache_file_, number, block, block->memory_bytes());
  return block;
}

base::Result<std::optional<Fact>> SymbolRun::Find(const Place& place, uint64_t after,
                                                  std::shared_ptr<const FactBlock>* owner) const {
  if (newest(place.image) <= after) return std::optional<Fact>();
  const auto behind = std::upper_bound(blocks_.begin(), blocks_.end(), place,
                                       [](const Place& a, const Block& b) { return a < b.first; });
  if (behind == blocks_.begin()) return std::optional<Fact>();
  ASSIGN_OR_RETURN(*owner, block(static_cast<size_t>(behind - blocks_.begin()) - 1));
  const FactBlock& facts = **owner;
  size_t begin = 0;
  for (size_t end = facts.count(); begin < end;) {
    const size_t middle = begin + (end - begin) / 2;
    if (facts.place(middle) < place) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  if (begin == facts.count() || facts.place(begin) != place) return std::optional<Fact>();
  const Fact fact = facts.fact(begin);
  return fact.version > after ? std::optional(fact) : std::nullopt;
}

}  // namespace vesta::store::symbols
