#include "src/store/index/index_file.h"

#include <algorithm>
#include <string>
#include <utility>

#include "src/store/index/index_directory.h"
#include "src/store/index/list_codec.h"

namespace vesta::store::index {
namespace {

uint32_t Limit(const DictionaryMarks& marks, uint32_t rows) {
  return marks.nodes == 0 ? 0xffffffffu : rows;  // a segment's file does not know
}

base::Result<void> InBlock(size_t block, base::Result<void> result) {
  if (result.ok()) return result;
  return result.error().Context("index file: block " + std::to_string(block));
}

// Blocks of a list whose ids are rows of a table of the dictionary.
template <typename Total>
base::Result<void> ReadList(const IndexDirectory& directory, IndexDirectory::Blocks list,
                            uint32_t table_rows, std::vector<Total>* out) {
  const size_t begin = out->size();
  const uint32_t limit = Limit(directory.marks(), table_rows);
  for (size_t block = list.first; block < list.first + list.count; ++block) {
    ASSIGN_OR_RETURN(const RawBlock raw, directory.Read(block));
    RETURN_IF_ERROR(
        InBlock(block, DecodeList(raw.span(), directory.rows(block), limit, begin, out)));
  }
  return {};
}

}  // namespace

IndexFile::IndexFile(std::unique_ptr<IndexDirectory> directory)
    : directory_(std::move(directory)) {}
IndexFile::IndexFile(IndexFile&&) noexcept = default;
IndexFile& IndexFile::operator=(IndexFile&&) noexcept = default;
IndexFile::~IndexFile() = default;

base::Result<IndexFile> IndexFile::Open(std::unique_ptr<const base::ByteSource> file,
                                        PageCache* cache) {
  ASSIGN_OR_RETURN(auto directory, IndexDirectory::Read(std::move(file), cache));
  return IndexFile(std::move(directory));
}

base::Result<IndexFile> IndexFile::Open(std::span<const std::byte> bytes, PageCache* cache) {
  return Open(std::make_unique<base::MemorySource>(bytes), cache);
}

std::span<const SeriesSummary> IndexFile::summaries() const { return directory_->summaries(); }
const DictionaryMarks& IndexFile::marks() const { return directory_->marks(); }

std::optional<size_t> IndexFile::Find(uint32_t type, uint32_t series) const {
  const auto& all = directory_->summaries();
  const auto place =
      std::lower_bound(all.begin(), all.end(), std::pair(type, series),
                       [](const SeriesSummary& a, const std::pair<uint32_t, uint32_t>& key) {
                         return std::pair(a.type, a.series) < key;
                       });
  if (place == all.end() || place->type != type || place->series != series) return std::nullopt;
  return static_cast<size_t>(place - all.begin());
}

base::Result<void> IndexFile::ReadStacks(size_t place, std::vector<StackTotal>* out) const {
  return ReadList(*directory_, directory_->lists(place).stacks, marks().nodes, out);
}

base::Result<void> IndexFile::ReadFunctions(size_t place, std::vector<FunctionTotal>* out) const {
  return ReadList(*directory_, directory_->lists(place).functions, marks().callables, out);
}

base::Result<void> IndexFile::ReadFleetFunctions(uint32_t type,
                                                 std::vector<FunctionTotal>* out) const {
  return ReadList(*directory_, directory_->fleet(type), marks().callables, out);
}

base::Result<void> IndexFile::ReadMinutes(size_t place, std::vector<MinuteTotal>* out) const {
  const IndexDirectory::Blocks list = directory_->lists(place).minutes;
  const size_t begin = out->size();
  for (size_t block = list.first; block < list.first + list.count; ++block) {
    ASSIGN_OR_RETURN(const RawBlock raw, directory_->Read(block));
    RETURN_IF_ERROR(InBlock(block, DecodeList(raw.span(), directory_->rows(block), begin, out)));
  }
  return {};
}

base::Result<SeriesRollup> IndexFile::ReadRollup(size_t place) const {
  SeriesRollup rollup;
  rollup.summary = summaries()[place];
  RETURN_IF_ERROR(ReadStacks(place, &rollup.stacks));
  RETURN_IF_ERROR(ReadFunctions(place, &rollup.functions));
  RETURN_IF_ERROR(ReadMinutes(place, &rollup.minutes));
  return rollup;
}

base::Result<void> IndexFile::CheckAll() const {
  for (size_t place = 0; place < summaries().size(); ++place) RETURN_IF_ERROR(ReadRollup(place));
  std::vector<FunctionTotal> functions;
  for (const uint32_t type : directory_->fleet_types()) {
    functions.clear();
    RETURN_IF_ERROR(ReadFleetFunctions(type, &functions));
  }
  for (size_t i = 0; i < kTableCount; ++i) {
    const auto table = static_cast<Table>(i);
    for (uint32_t page = 0; page < PageCount(table, marks().of(table)); ++page)
      RETURN_IF_ERROR(directory_->Page(table, page));
  }
  return {};
}

base::Result<Dictionary> LoadDictionary(const IndexFile& file) {
  CHECK(file.has_dictionary());
  const IndexDirectory& directory = *file.directory_;
  Dictionary dictionary;
  for (size_t i = 0; i < kTableCount; ++i) {
    const auto table = static_cast<Table>(i);
    for (uint32_t page = 0; page < PageCount(table, file.marks().of(table)); ++page) {
      ASSIGN_OR_RETURN(const auto rows, directory.Page(table, page));
      DictionaryRows part = *rows;
      if (page == 0) {
        // Every dictionary begins with these.
        if (table == Table::kStrings) part.string_ends.erase(part.string_ends.begin());
        if (table == Table::kImages) part.images.erase(part.images.begin());
        if (table == Table::kNodes) part.nodes.erase(part.nodes.begin());
      }
      RETURN_IF_ERROR(dictionary.Append(part));
    }
  }
  return dictionary;
}

}  // namespace vesta::store::index
