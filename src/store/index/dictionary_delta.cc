// Dictionary: what is new since a moment, as bytes.
//
// delta = "VDD1", LEB128 x 9: rows before, LEB128 x 9: rows in it, columns of each table that has
//         rows (in the order of Table), u64 XXH3 of all that
#include <cstring>
#include <string>

#include "src/store/index/dictionary.h"

namespace vesta::store::index {
namespace {

constexpr std::string_view kMagic = "VDD1";

base::Error Bad(const std::string& what) {
  return {base::ErrorCode::kCorrupt, "delta of a dictionary: " + what};
}

}  // namespace

std::vector<uint8_t> Dictionary::EncodeDelta(const DictionaryMarks& since,
                                             const DictionaryMarks& until) const {
  if (until == since) return {};
  ColumnWriter writer;
  writer.PutBytes(kMagic.data(), kMagic.size());
  for (size_t i = 0; i < kTableCount; ++i) writer.PutNumber(since.of(static_cast<Table>(i)));
  for (size_t i = 0; i < kTableCount; ++i) {
    const auto table = static_cast<Table>(i);
    CHECK(since.of(table) <= until.of(table));
    writer.PutNumber(until.of(table) - since.of(table));
  }
  for (size_t i = 0; i < kTableCount; ++i) {
    const auto table = static_cast<Table>(i);
    const uint32_t first = since.of(table);
    const uint32_t count = until.of(table) - first;
    if (count == 0) continue;
    DictionaryRows rows;
    CopyRows(table, first, count, &rows);
    EncodeRows(table, rows, first, &writer);
  }
  const uint64_t checksum = Checksum(writer.bytes().data(), writer.bytes().size());
  writer.PutBytes(&checksum, sizeof(checksum));
  return writer.Take();
}

base::Result<void> Dictionary::ApplyDelta(std::span<const uint8_t> delta) {
  if (delta.empty()) return {};
  uint64_t checksum = 0;
  if (delta.size() < kMagic.size() + sizeof(checksum)) return Bad("it is cut off");
  const size_t body = delta.size() - sizeof(checksum);
  std::memcpy(&checksum, delta.data() + body, sizeof(checksum));
  if (Checksum(delta.data(), body) != checksum) return Bad("wrong checksum");
  if (std::memcmp(delta.data(), kMagic.data(), kMagic.size()) != 0)
    return Bad("it does not begin with " + std::string(kMagic));

  ColumnReader reader(std::as_bytes(delta.subspan(kMagic.size(), body - kMagic.size())));
  const DictionaryMarks now = marks();
  for (size_t i = 0; i < kTableCount; ++i) {
    const auto table = static_cast<Table>(i);
    const uint64_t first = reader.ReadNumber();
    if (!reader.ok() || first != now.of(table)) {
      return Bad("it begins with row " + std::to_string(first) + " of " + TableName(table) +
                 ", not with row " + std::to_string(now.of(table)));
    }
  }
  std::array<uint64_t, kTableCount> counts = {};
  for (uint64_t& count : counts) count = reader.ReadNumber();
  DictionaryRows rows;
  for (size_t i = 0; i < kTableCount; ++i) {
    const auto table = static_cast<Table>(i);
    if (counts[i] == 0) continue;
    DecodeRows(table, &reader, now.of(table), static_cast<size_t>(counts[i]), &rows);
    if (!reader.ok()) return Bad(std::string(TableName(table)) + " do not fit into it");
  }
  if (!reader.AtEnd()) return Bad("there are bytes behind its end");
  return Append(rows);
}

}  // namespace vesta::store::index
