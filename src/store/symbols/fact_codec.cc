#include "src/store/symbols/fact_codec.h"

#include <array>
#include <cstring>
#include <utility>

#include "src/base/byte_reader.h"
#include "src/store/callable_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace vesta::store::symbols {
namespace {

// The fewest bytes of each.
constexpr size_t kStringBytesMin = 1;
constexpr size_t kFunctionBytesMin = 4;
constexpr size_t kFactBytesMin = 7;
constexpr size_t kLineBytesMin = 3;

uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
int64_t UnZigZag(uint64_t value) { return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1)); }

base::Error Damaged(const char* what) {
  return base::Error(base::ErrorCode::kCorrupt, std::string("a block of names: ") + what);
}

std::string_view Text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Hash128 ReadHash(base::ByteReader* reader) {
  const auto high = reader->Read<uint64_t>();
  return {high, reader->Read<uint64_t>()};
}

// A count of things that take so many bytes each, which must be there.
size_t ReadCount(base::ByteReader* reader, size_t bytes_min) {
  const uint64_t count = reader->ReadUleb128();
  if (count > reader->remaining() / bytes_min) reader->Fail();
  return reader->ok() ? static_cast<size_t>(count) : 0;
}

Hash128 HashBytes(std::string_view bytes, uint64_t seed) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
  return {hash.high64, hash.low64};
}

}  // namespace

Hash128 HashOf(const SymbolImage& image) {
  return HashBytes(image.text, image.is_build_id ? 1 : 2);
}

Hash128 HashOf(const BatchId& id) {
  std::string bytes = id.agent;
  bytes.push_back('\0');
  bytes += id.boot;
  PutFixed(id.sequence, &bytes);
  return HashBytes(bytes, 3);
}

size_t FunctionTextHash::operator()(const FunctionText& function) const {
  const uint64_t hash =
      HashText(HashText(HashText(1, function.name), function.system_name), function.file);
  return static_cast<size_t>(hash ^ static_cast<uint64_t>(function.start_line));
}

bool SameLines(std::span<const FactLine> a, std::span<const FactLine> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const FactLine& x, const FactLine& y) {
                      return x.line == y.line && x.column == y.column && *x.function == *y.function;
                    });
}

void PutNumber(uint64_t value, std::string* bytes) {
  for (; value >= 0x80; value >>= 7) bytes->push_back(static_cast<char>((value & 0x7f) | 0x80));
  bytes->push_back(static_cast<char>(value));
}

void PutFixed(uint64_t value, std::string* bytes) {
  std::array<char, sizeof(value)> raw;
  std::memcpy(raw.data(), &value, sizeof(value));
  bytes->append(raw.data(), raw.size());
}

void PutHash(const Hash128& hash, std::string* bytes) {
  PutFixed(hash.high, bytes);
  PutFixed(hash.low, bytes);
}

uint64_t ChecksumOf(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

uint32_t FactWriter::StringNumber(std::string_view text) {
  const auto [place, is_new] =
      string_numbers_.try_emplace(std::string(text), static_cast<uint32_t>(string_numbers_.size()));
  if (is_new) {
    PutNumber(text.size(), &strings_);
    strings_ += text;
  }
  return place->second;
}

uint32_t FactWriter::FunctionNumber(const FunctionText& function) {
  std::string bytes;
  for (const std::string_view text : {function.name, function.system_name, function.file}) {
    PutNumber(StringNumber(text), &bytes);
  }
  PutNumber(ZigZag(function.start_line), &bytes);
  const auto [place, is_new] =
      function_numbers_.try_emplace(bytes, static_cast<uint32_t>(function_numbers_.size()));
  if (is_new) functions_ += bytes;
  return place->second;
}

void FactWriter::Add(const Place& place, const Fact& fact) {
  const auto [image, is_new] =
      image_numbers_.try_emplace(place.image, static_cast<uint32_t>(images_.size()));
  if (is_new) images_.push_back(place.image);
  PutNumber(image->second, &facts_);
  PutNumber(place.address, &facts_);
  PutNumber(ZigZag(static_cast<int64_t>(fact.version - std::exchange(last_version_, fact.version))),
            &facts_);
  PutNumber(fact.lines.size(), &facts_);
  for (const FactLine& line : fact.lines) {
    PutNumber(FunctionNumber(*line.function), &facts_);
    PutNumber(ZigZag(line.line), &facts_);
    PutNumber(ZigZag(line.column), &facts_);
  }
  ++fact_count_;
}

std::string FactWriter::Finish() {
  std::string bytes;
  PutNumber(batches_.size(), &bytes);
  for (const Hash128& batch : batches_) PutHash(batch, &bytes);
  PutNumber(string_numbers_.size(), &bytes);
  bytes += strings_;
  PutNumber(function_numbers_.size(), &bytes);
  bytes += functions_;
  PutNumber(images_.size(), &bytes);
  for (const Hash128& image : images_) PutHash(image, &bytes);
  PutNumber(fact_count_, &bytes);
  bytes += facts_;
  *this = FactWriter();
  return bytes;
}

base::Result<std::shared_ptr<const FactBlock>> FactBlock::Decode(std::string bytes) {
  if (bytes.size() > kBlockBytesMax) return Damaged("it is too long");
  auto block = std::make_shared<FactBlock>();
  block->bytes_ = std::move(bytes);
  RETURN_IF_ERROR(block->Read());
  return std::shared_ptr<const FactBlock>(std::move(block));
}

base::Result<void> FactBlock::Read() {
  base::ByteReader reader(std::as_bytes(std::span(bytes_)));
  batches_.resize(ReadCount(&reader, sizeof(Hash128)));
  for (Hash128& batch : batches_) batch = ReadHash(&reader);
  std::vector<std::string_view> strings(ReadCount(&reader, kStringBytesMin));
  for (std::string_view& text : strings) text = Text(reader.ReadBytes(reader.ReadUleb128()));
  functions_.resize(ReadCount(&reader, kFunctionBytesMin));
  for (FunctionText& function : functions_) {
    for (std::string_view* text : {&function.name, &function.system_name, &function.file}) {
      const uint64_t number = reader.ReadUleb128();
      if (!reader.ok() || number >= strings.size()) return Damaged("a text that is not there");
      *text = strings[number];
    }
    function.start_line = UnZigZag(reader.ReadUleb128());
  }
  images_.resize(ReadCount(&reader, sizeof(Hash128)));
  for (Hash128& image : images_) image = ReadHash(&reader);
  rows_.resize(ReadCount(&reader, kFactBytesMin));
  uint64_t version = 0;
  for (Row& row : rows_) {
    const uint64_t image = reader.ReadUleb128();
    row.address = reader.ReadUleb128();
    version += static_cast<uint64_t>(UnZigZag(reader.ReadUleb128()));
    row.version = version;
    row.first_line = static_cast<uint32_t>(lines_.size());
    row.line_count = static_cast<uint32_t>(ReadCount(&reader, kLineBytesMin));
    if (!reader.ok() || image >= images_.size()) return Damaged("an image that is not there");
    if (row.line_count == 0) return Damaged("a place without a name");
    row.image = static_cast<uint32_t>(image);
    for (uint32_t i = 0; i < row.line_count; ++i) {
      const uint64_t function = reader.ReadUleb128();
      if (!reader.ok() || function >= functions_.size())
        return Damaged("a function that is not there");
      const int64_t line = UnZigZag(reader.ReadUleb128());
      lines_.push_back({&functions_[function], line, UnZigZag(reader.ReadUleb128())});
    }
  }
  if (!reader.ok()) return Damaged("it ends too early");
  if (!reader.AtEnd()) return Damaged("something is behind it");
  return {};
}

size_t FactBlock::memory_bytes() const {
  return sizeof(FactBlock) + bytes_.capacity() + batches_.capacity() * sizeof(Hash128) +
         functions_.capacity() * sizeof(FunctionText) + images_.capacity() * sizeof(Hash128) +
         rows_.capacity() * sizeof(Row) + lines_.capacity() * sizeof(FactLine);
}

}  // namespace vesta::store::symbols
