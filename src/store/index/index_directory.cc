#include "src/store/index/index_directory.h"

#include <algorithm>
#include <string>
#include <utility>

#include "src/base/check.h"

namespace vesta::store::index {
namespace {

base::Error Bad(const std::string& what) {
  return {base::ErrorCode::kCorrupt, "index file: " + what};
}

template <typename Row, typename Field>
void ReadField(ColumnReader* reader, std::vector<Row>* rows, const Field& field) {
  using Value = std::make_unsigned_t<std::remove_reference_t<decltype(field((*rows)[0]))>>;
  std::vector<Value> column(rows->size());
  reader->Read(column.data(), column.size());
  using Own = std::remove_reference_t<decltype(field((*rows)[0]))>;
  for (size_t i = 0; i < column.size(); ++i) field((*rows)[i]) = static_cast<Own>(column[i]);
}

}  // namespace

IndexDirectory::~IndexDirectory() {
  if (cache_ != nullptr) cache_->DropFile(cache_file_);
}

base::Result<std::unique_ptr<IndexDirectory>> IndexDirectory::Read(
    std::unique_ptr<const base::ByteSource> file, PageCache* cache) {
  const uint64_t file_bytes = file->size_bytes();
  if (file_bytes < sizeof(IndexHeader)) return Bad("it is cut off");
  ASSIGN_OR_RETURN(const auto header, file->ReadObject<IndexHeader>(0));
  if (header.magic != kIndexMagic) return Bad("it does not begin with VESTAIDX");
  if (header.header_checksum != Checksum(&header, offsetof(IndexHeader, header_checksum)))
    return Bad("its header has a wrong checksum");
  if (header.version != kIndexVersion) {
    return base::Error(base::ErrorCode::kUnsupported,
                       "index file: it has version " + std::to_string(header.version) +
                           ", this vesta reads version " + std::to_string(kIndexVersion));
  }
  if (header.directory_offset < sizeof(header) || header.directory_offset > file_bytes ||
      header.directory_bytes != file_bytes - header.directory_offset)
    return Bad("its directory does not end where the file does");
  auto raw = ReadBlock(*file, {.offset = header.directory_offset,
                               .bytes = header.directory_bytes,
                               .rows = 0,
                               .checksum = header.directory_checksum});
  if (!raw.ok()) return raw.error().Context("index file: directory");

  auto directory = std::make_unique<IndexDirectory>();
  directory->file_ = std::move(file);
  ColumnReader reader(raw->span());
  RETURN_IF_ERROR(directory->ReadColumns(&reader, header.directory_offset));
  if (cache != nullptr) {
    directory->cache_ = cache;
    directory->cache_file_ = cache->NewFile();
  }
  return directory;
}

base::Result<void> IndexDirectory::ReadColumns(ColumnReader* reader, uint64_t directory_offset) {
  for (size_t i = 0; i < kTableCount; ++i) {
    const uint64_t rows = reader->ReadNumber();
    if (rows >= 0xffffffffu) return Bad("it has too many rows");
    marks_.of(static_cast<Table>(i)) = static_cast<uint32_t>(rows);
  }
  if ((marks_.nodes == 0) != (marks_.strings == 0) || (marks_.nodes == 0) != (marks_.images == 0))
    return Bad("a table of its dictionary is missing");
  const uint64_t block_count = reader->ReadNumber();
  const uint64_t series_count = reader->ReadNumber();
  const uint64_t fleet_count = reader->ReadNumber();
  RETURN_IF_ERROR(PlaceBlocks(reader, block_count, directory_offset));
  RETURN_IF_ERROR(ReadSummaries(reader, series_count));
  fleet_types_ = reader->ReadBounded<uint32_t>(static_cast<size_t>(fleet_count));
  std::vector<uint32_t> fleet_counts(fleet_types_.size());
  reader->Read(fleet_counts.data(), fleet_counts.size());
  if (!reader->ok() || !reader->AtEnd()) return Bad("its directory does not fit its size");
  for (size_t i = 1; i < fleet_types_.size(); ++i) {
    if (fleet_types_[i - 1] >= fleet_types_[i]) return Bad("its types are out of order");
  }
  return AssignBlocks(list_blocks_, fleet_counts);
}

base::Result<void> IndexDirectory::PlaceBlocks(ColumnReader* reader, uint64_t block_count,
                                               uint64_t directory_offset) {
  const auto bytes = reader->ReadBounded<uint32_t>(static_cast<size_t>(block_count));
  blocks_.resize(bytes.size());
  uint64_t offset = sizeof(IndexHeader);
  for (size_t i = 0; i < bytes.size(); ++i) {
    blocks_[i].offset = offset;
    blocks_[i].bytes = bytes[i];
    offset += bytes[i];
  }
  ReadField(reader, &blocks_, [](BlockRef& b) -> uint32_t& { return b.rows; });
  ReadField(reader, &blocks_, [](BlockRef& b) -> uint64_t& { return b.checksum; });
  if (!reader->ok() || offset != directory_offset)
    return Bad("its blocks do not end where the directory begins");
  return {};
}

base::Result<void> IndexDirectory::ReadSummaries(ColumnReader* reader, uint64_t count) {
  const auto types = reader->ReadBounded<uint32_t>(static_cast<size_t>(count));
  summaries_.resize(types.size());
  for (size_t i = 0; i < types.size(); ++i) summaries_[i].type = types[i];
  ReadField(reader, &summaries_, [](SeriesSummary& s) -> uint32_t& { return s.series; });
  ReadField(reader, &summaries_, [](SeriesSummary& s) -> uint64_t& { return s.rows; });
  ReadField(reader, &summaries_, [](SeriesSummary& s) -> int64_t& { return s.value; });
  ReadField(reader, &summaries_, [](SeriesSummary& s) -> int64_t& { return s.count; });
  ReadField(reader, &summaries_, [](SeriesSummary& s) -> int64_t& { return s.time_min; });
  ReadField(reader, &summaries_, [](SeriesSummary& s) -> int64_t& { return s.time_max; });
  list_blocks_.resize(types.size());
  ReadField(reader, &list_blocks_, [](ListBlocks& l) -> uint32_t& { return l.stacks; });
  ReadField(reader, &list_blocks_, [](ListBlocks& l) -> uint32_t& { return l.functions; });
  ReadField(reader, &list_blocks_, [](ListBlocks& l) -> uint32_t& { return l.minutes; });
  if (!reader->ok()) return Bad("its list of series does not fit its size");
  for (size_t i = 0; i < summaries_.size(); ++i) {
    const SeriesSummary& its = summaries_[i];
    if (i != 0 && std::pair(summaries_[i - 1].type, summaries_[i - 1].series) >=
                      std::pair(its.type, its.series))
      return Bad("its series are out of order");
    if (marks_.nodes != 0 && (its.type >= marks_.types || its.series >= marks_.series))
      return Bad("it has sums of a series that does not exist");
  }
  return {};
}

base::Result<IndexDirectory::Blocks> IndexDirectory::TakeList(uint64_t count) {
  if (count > blocks_.size() - blocks_taken_) return Bad("a list has more blocks than there are");
  const Blocks list = {blocks_taken_, static_cast<size_t>(count)};
  blocks_taken_ += list.count;
  for (size_t i = 0; i < list.count; ++i) {
    const uint32_t rows = blocks_[list.first + i].rows;
    if (rows == 0 || rows > kListRows) return Bad("a block of a list has a wrong size");
  }
  return list;
}

base::Result<void> IndexDirectory::AssignBlocks(const std::vector<ListBlocks>& counts,
                                                const std::vector<uint32_t>& fleet_counts) {
  for (const ListBlocks& count : counts) {
    Lists lists;
    ASSIGN_OR_RETURN(lists.stacks, TakeList(count.stacks));
    ASSIGN_OR_RETURN(lists.functions, TakeList(count.functions));
    ASSIGN_OR_RETURN(lists.minutes, TakeList(count.minutes));
    lists_.push_back(lists);
  }
  for (size_t i = 0; i < kTableCount; ++i) {
    const auto table = static_cast<Table>(i);
    const uint32_t rows = marks_.of(table);
    const uint32_t pages = PageCount(table, rows);
    if (pages > blocks_.size() - blocks_taken_) return Bad("pages of the dictionary are missing");
    first_page_[i] = blocks_taken_;
    for (uint32_t page = 0; page < pages; ++page) {
      const uint32_t expected = std::min(PageRows(table), rows - page * PageRows(table));
      if (blocks_[blocks_taken_++].rows != expected)
        return Bad("a page of the dictionary has a wrong size");
    }
  }
  for (const uint32_t count : fleet_counts) {
    ASSIGN_OR_RETURN(const Blocks list, TakeList(count));
    fleet_.push_back(list);
  }
  if (blocks_taken_ != blocks_.size()) return Bad("it has blocks that belong to nothing");
  list_blocks_ = {};
  return {};
}

IndexDirectory::Blocks IndexDirectory::fleet(uint32_t type) const {
  const auto place = std::lower_bound(fleet_types_.begin(), fleet_types_.end(), type);
  if (place == fleet_types_.end() || *place != type) return {};
  return fleet_[static_cast<size_t>(place - fleet_types_.begin())];
}

base::Result<std::shared_ptr<const DictionaryRows>> IndexDirectory::Page(Table table,
                                                                         uint32_t page) const {
  CHECK(page < PageCount(table, marks_.of(table)));
  const size_t block = first_page_[static_cast<size_t>(table)] + page;
  if (cache_ != nullptr) {
    if (auto found = cache_->Find(cache_file_, block); found != nullptr)
      return std::static_pointer_cast<const DictionaryRows>(found);
  }
  ASSIGN_OR_RETURN(const RawBlock raw, Read(block));
  const uint32_t first = page * PageRows(table);
  auto rows = std::make_shared<DictionaryRows>();
  ColumnReader reader(raw.span());
  DecodeRows(table, &reader, first, blocks_[block].rows, rows.get());
  if (!reader.ok() || !reader.AtEnd()) {
    return Bad("page " + std::to_string(page) + " of " + TableName(table) +
               " does not fit its size");
  }
  RETURN_IF_ERROR(CheckRows(table, *rows, first, marks_));
  std::shared_ptr<const DictionaryRows> done = std::move(rows);
  if (cache_ != nullptr) cache_->Insert(cache_file_, block, done, done->memory_bytes());
  return done;
}

}  // namespace vesta::store::index
