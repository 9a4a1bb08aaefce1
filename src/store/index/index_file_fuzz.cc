// Input: a byte that says what follows, two bytes with a number of rows (or of bytes before the
// directory), and the unpacked bytes of a block: in a file they stand behind a checksum and zstd.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "src/base/check.h"
#include "src/store/index/column_codec.h"
#include "src/store/index/dictionary_rows.h"
#include "src/store/index/index_file.h"
#include "src/store/index/index_format.h"
#include "src/store/index/list_codec.h"

namespace vesta::store::index {
namespace {

constexpr uint32_t kIdLimit = 1000;

void ReadPage(Table table, std::span<const std::byte> bytes, uint32_t rows) {
  DictionaryRows page;
  ColumnReader reader(bytes);
  DecodeRows(table, &reader, 0, rows, &page);
  if (!reader.ok()) return;
  DictionaryMarks marks;
  for (size_t i = 0; i < kTableCount; ++i) marks.of(static_cast<Table>(i)) = kIdLimit;
  marks.of(table) = rows;
  if (!CheckRows(table, page, 0, marks).ok()) return;
  size_t text_bytes = 0;
  for (size_t i = 0; i < page.string_ends.size(); ++i) text_bytes += page.string(i).size();
  CHECK(text_bytes == page.text.size());
  for (size_t i = 1; i < page.nodes.size(); ++i) CHECK(page.nodes[i].parent < i);
  for (const FrameRow& frame : page.frames)
    CHECK(size_t{frame.first_line} + frame.line_count <= page.lines.size());
}

template <typename Total>
void ReadList(std::span<const std::byte> bytes, uint32_t rows) {
  std::vector<Total> list;
  if (!DecodeList(bytes, rows, kIdLimit, 0, &list).ok()) return;
  CHECK(list.size() == rows && rows <= kIdLimit);
}

void ReadMinutes(std::span<const std::byte> bytes, uint32_t rows) {
  std::vector<MinuteTotal> list;
  if (!DecodeList(bytes, rows, 0, &list).ok()) return;
  CHECK(list.size() == rows);
  CHECK(std::is_sorted(list.begin(), list.end(), [](const MinuteTotal& a, const MinuteTotal& b) {
    return a.minute < b.minute;
  }));
}

void ReadFile(std::span<const std::byte> bytes) {
  const auto file = IndexFile::Open(bytes, nullptr);
  if (file.ok()) (void)file->CheckAll().ok();
}

// A file whose directory these bytes are; its blocks are zeros.
void ReadDirectory(std::span<const std::byte> bytes, uint32_t block_bytes) {
  std::vector<std::byte> file(sizeof(IndexHeader) + block_bytes);
  ColumnWriter columns;
  columns.PutBytes(bytes.data(), bytes.size());
  const BlockRef directory = BlockPacker().Append(columns, 0, &file);
  IndexHeader header = {.magic = kIndexMagic,
                        .version = kIndexVersion,
                        .directory_bytes = directory.bytes,
                        .directory_offset = directory.offset,
                        .directory_checksum = directory.checksum,
                        .header_checksum = 0};
  header.header_checksum = Checksum(&header, offsetof(IndexHeader, header_checksum));
  std::memcpy(file.data(), &header, sizeof(header));
  ReadFile(file);
}

void Read(uint8_t what, uint32_t number, std::span<const std::byte> bytes) {
  if (what < kTableCount) return ReadPage(static_cast<Table>(what), bytes, number);
  switch (what) {
    case kTableCount:
      return ReadList<StackTotal>(bytes, number);
    case kTableCount + 1:
      return ReadList<FunctionTotal>(bytes, number);
    case kTableCount + 2:
      return ReadMinutes(bytes, number);
    case kTableCount + 3:
      return ReadDirectory(bytes, number);
    default:
      return ReadFile(bytes);
  }
}

}  // namespace
}  // namespace vesta::store::index

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const auto number = static_cast<uint32_t>(data[1] | data[2] << 8);
  vesta::store::index::Read(data[0], number, std::as_bytes(std::span(data + 3, size - 3)));
  return 0;
}
