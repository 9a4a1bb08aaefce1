#include "src/store/index/index_writer.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "src/base/check.h"
#include "src/profile/profile.h"
#include "src/store/index/column_codec.h"
#include "src/store/index/index_format.h"
#include "src/store/index/list_codec.h"

namespace vesta::store::index {
namespace {

using profile::AddSaturating;

template <typename Row, typename Field>
std::vector<uint64_t> Column(std::span<const Row> rows, const Field& field) {
  std::vector<uint64_t> values;
  values.reserve(rows.size());
  for (const Row& row : rows) values.push_back(static_cast<uint64_t>(field(row)));
  return values;
}

void CopyNodes(const Dictionary& dictionary, const NodeOrder& order, uint32_t first, uint32_t count,
               std::vector<TrieNode>* nodes) {
  for (uint32_t place = first; place < first + count; ++place) {
    const TrieNode& node = dictionary.node(order.node[place]);
    nodes->push_back({order.number[node.parent], node.frame});
  }
}

}  // namespace

class IndexWriter::Work {
 public:
  Work() : file_(sizeof(IndexHeader)) {}

  base::Result<void> AddRollup(const SeriesRollup& rollup) {
    const SeriesSummary& summary = rollup.summary;
    CHECK(marks_.nodes == 0);  // the dictionary comes behind all roll-ups
    if (!summaries_.empty() && std::pair(summary.type, summary.series) <=
                                   std::pair(summaries_.back().type, summaries_.back().series)) {
      return base::Error(base::ErrorCode::kInvalidInput,
                         "roll-ups do not come in order of type and series");
    }
    if (!summaries_.empty() && summaries_.back().type != summary.type) EndFleet();
    summaries_.push_back(summary);
    lists_.push_back({PutList(std::span(rollup.stacks), &file_, &blocks_),
                      PutList(std::span(rollup.functions), &file_, &blocks_),
                      PutList(std::span(rollup.minutes), &file_, &blocks_)});
    for (const FunctionTotal& total : rollup.functions) AddToFleet(total);
    return {};
  }

  void AddDictionary(const Dictionary& dictionary, const NodeOrder* order) {
    CHECK(marks_.nodes == 0);
    marks_ = dictionary.marks();
    for (size_t i = 0; i < kTableCount; ++i) {
      const auto table = static_cast<Table>(i);
      const uint32_t count = marks_.of(table);
      for (uint32_t page = 0; page < PageCount(table, count); ++page) {
        const uint32_t first = page * PageRows(table);
        const uint32_t rows = std::min(PageRows(table), count - first);
        DictionaryRows part;
        if (table == Table::kNodes && order != nullptr) {
          CopyNodes(dictionary, *order, first, rows, &part.nodes);
        } else {
          dictionary.CopyRows(table, first, rows, &part);
        }
        columns_.Clear();
        EncodeRows(table, part, first, &columns_);
        blocks_.push_back(packer_.Append(columns_, rows, &file_));
      }
    }
  }

  std::vector<std::byte> Finish() {
    if (!summaries_.empty()) EndFleet();
    file_.insert(file_.end(), fleet_file_.begin(), fleet_file_.end());
    blocks_.insert(blocks_.end(), fleet_blocks_.begin(), fleet_blocks_.end());
    EncodeDirectory();
    const BlockRef directory = packer_.Append(columns_, 0, &file_);
    IndexHeader header = {.magic = kIndexMagic,
                          .version = kIndexVersion,
                          .directory_bytes = directory.bytes,
                          .directory_offset = directory.offset,
                          .directory_checksum = directory.checksum,
                          .header_checksum = 0};
    header.header_checksum = Checksum(&header, offsetof(IndexHeader, header_checksum));
    std::memcpy(file_.data(), &header, sizeof(header));
    return std::move(file_);
  }

 private:
  template <typename Total>
  uint32_t PutList(std::span<const Total> rows, std::vector<std::byte>* file,
                   std::vector<BlockRef>* blocks) {
    uint32_t count = 0;
    for (size_t begin = 0; begin < rows.size(); begin += kListRows, ++count) {
      const auto part = rows.subspan(begin, std::min<size_t>(kListRows, rows.size() - begin));
      columns_.Clear();
      EncodeList(part, &columns_);
      blocks->push_back(packer_.Append(columns_, static_cast<uint32_t>(part.size()), file));
    }
    return count;
  }

  void AddToFleet(const FunctionTotal& total) {
    if (total.callable >= fleet_row_.size()) fleet_row_.resize(size_t{total.callable} + 1);
    uint32_t& row = fleet_row_[total.callable];  // + 1
    if (row == 0) {
      fleet_.push_back({.callable = total.callable});
      row = static_cast<uint32_t>(fleet_.size());
    }
    FunctionTotal& sum = fleet_[row - 1];
    sum.self = AddSaturating(sum.self, total.self);
    sum.total = AddSaturating(sum.total, total.total);
    sum.self_count = AddSaturating(sum.self_count, total.self_count);
    sum.total_count = AddSaturating(sum.total_count, total.total_count);
  }

  void EndFleet() {
    std::sort(fleet_.begin(), fleet_.end(), [](const FunctionTotal& a, const FunctionTotal& b) {
      return a.callable < b.callable;
    });
    fleet_types_.push_back(summaries_.back().type);
    fleet_lists_.push_back(
        PutList(std::span<const FunctionTotal>(fleet_), &fleet_file_, &fleet_blocks_));
    for (const FunctionTotal& total : fleet_) fleet_row_[total.callable] = 0;
    fleet_.clear();
  }

  void EncodeDirectory() {
    columns_.Clear();
    for (size_t i = 0; i < kTableCount; ++i) columns_.PutNumber(marks_.of(static_cast<Table>(i)));
    columns_.PutNumber(blocks_.size());
    columns_.PutNumber(summaries_.size());
    columns_.PutNumber(fleet_types_.size());

    const std::span<const BlockRef> blocks = blocks_;
    columns_.Put(Column(blocks, [](const BlockRef& b) { return b.bytes; }), 1);
    columns_.Put(Column(blocks, [](const BlockRef& b) { return b.rows; }));
    columns_.Put(Column(blocks, [](const BlockRef& b) { return b.checksum; }));

    const std::span<const SeriesSummary> all = summaries_;
    columns_.Put(Column(all, [](const SeriesSummary& s) { return s.type; }), 1);
    columns_.Put(Column(all, [](const SeriesSummary& s) { return s.series; }));
    columns_.Put(Column(all, [](const SeriesSummary& s) { return s.rows; }));
    columns_.Put(Column(all, [](const SeriesSummary& s) { return s.value; }));
    columns_.Put(Column(all, [](const SeriesSummary& s) { return s.count; }));
    columns_.Put(Column(all, [](const SeriesSummary& s) { return s.time_min; }));
    columns_.Put(Column(all, [](const SeriesSummary& s) { return s.time_max; }));
    const std::span<const ListBlocks> lists = lists_;
    columns_.Put(Column(lists, [](const ListBlocks& l) { return l.stacks; }));
    columns_.Put(Column(lists, [](const ListBlocks& l) { return l.functions; }));
    columns_.Put(Column(lists, [](const ListBlocks& l) { return l.minutes; }));

    const auto same = [](uint32_t value) { return value; };
    columns_.Put(Column(std::span<const uint32_t>(fleet_types_), same), 1);
    columns_.Put(Column(std::span<const uint32_t>(fleet_lists_), same));
  }

  std::vector<std::byte> file_;
  std::vector<BlockRef> blocks_;
  std::vector<SeriesSummary> summaries_;
  std::vector<ListBlocks> lists_;
  DictionaryMarks marks_;
  ColumnWriter columns_;
  BlockPacker packer_;

  // Of the type that is being written; its blocks go to the end of the file.
  std::vector<FunctionTotal> fleet_;
  std::vector<uint32_t> fleet_row_;  // by callable: 1 + place in fleet_, 0 = none
  std::vector<std::byte> fleet_file_;
  std::vector<BlockRef> fleet_blocks_;
  std::vector<uint32_t> fleet_types_;
  std::vector<uint32_t> fleet_lists_;  // blocks of each
};

IndexWriter::IndexWriter() : work_(std::make_unique<Work>()) {}
IndexWriter::~IndexWriter() = default;
base::Result<void> IndexWriter::AddRollup(const SeriesRollup& rollup) {
  return work_->AddRollup(rollup);
}
void IndexWriter::AddDictionary(const Dictionary& dictionary, const NodeOrder* order) {
  work_->AddDictionary(dictionary, order);
}
std::vector<std::byte> IndexWriter::Finish() { return work_->Finish(); }

}  // namespace vesta::store::index
