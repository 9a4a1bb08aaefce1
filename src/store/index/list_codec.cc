#include "src/store/index/list_codec.h"

namespace vesta::store::index {
namespace {

base::Error Bad(const char* what) { return {base::ErrorCode::kCorrupt, what}; }

template <typename Row, typename Field>
std::vector<uint64_t> Column(std::span<const Row> rows, const Field& field) {
  std::vector<uint64_t> values;
  values.reserve(rows.size());
  for (const Row& row : rows) values.push_back(static_cast<uint64_t>(field(row)));
  return values;
}

// A sorted column as distances; the first one counts from 0.
std::vector<uint64_t> Distances(std::vector<uint64_t> values) {
  uint64_t before = 0;
  for (uint64_t& value : values) {
    const uint64_t distance = value - before;
    before = value;
    value = distance;
  }
  return values;
}

// Undoes it, and holds the ids to what a list must be.
template <typename Row, typename Id>
base::Result<void> PlaceIds(const std::vector<uint32_t>& distances, uint32_t id_limit, size_t begin,
                            std::vector<Row>* out, const Id& id) {
  const size_t first = out->size() - distances.size();
  uint64_t next = first == begin ? 0 : uint64_t{id(&(*out)[first - 1])} + 1;  // the least allowed
  uint64_t value = 0;
  for (size_t i = 0; i < distances.size(); ++i) {
    value += distances[i];
    if (value < next || value >= id_limit) return Bad("ids of a list are out of order");
    next = value + 1;
    id(&(*out)[first + i]) = static_cast<uint32_t>(value);
  }
  return {};
}

// Reads `count` pairs of columns, the second of each mostly a multiple of the first.
base::Result<std::vector<int64_t>> ReadPairs(ColumnReader* reader, size_t rows, size_t count) {
  std::vector<int64_t> columns(rows * 2 * count);
  for (size_t i = 0; i < count; ++i) {
    int64_t* pair = columns.data() + rows * 2 * i;
    reader->ReadScaled(pair, nullptr, rows);
    reader->ReadScaled(pair + rows, pair, rows);
  }
  if (!reader->ok() || !reader->AtEnd()) return Bad("a list does not fit its size");
  return columns;
}

}  // namespace

void EncodeList(std::span<const StackTotal> rows, ColumnWriter* writer) {
  const auto counts = Column(rows, [](const StackTotal& r) { return r.count; });
  writer->Put(Distances(Column(rows, [](const StackTotal& r) { return r.node; })), 1);
  writer->PutScaled(counts);
  writer->PutScaled(Column(rows, [](const StackTotal& r) { return r.value; }), counts);
}

void EncodeList(std::span<const FunctionTotal> rows, ColumnWriter* writer) {
  const auto totals = Column(rows, [](const FunctionTotal& r) { return r.total_count; });
  const auto selves = Column(rows, [](const FunctionTotal& r) { return r.self_count; });
  writer->Put(Distances(Column(rows, [](const FunctionTotal& r) { return r.callable; })), 1);
  writer->PutScaled(totals);
  writer->PutScaled(Column(rows, [](const FunctionTotal& r) { return r.total; }), totals);
  writer->PutScaled(selves);
  writer->PutScaled(Column(rows, [](const FunctionTotal& r) { return r.self; }), selves);
}

void EncodeList(std::span<const MinuteTotal> rows, ColumnWriter* writer) {
  const auto counts = Column(rows, [](const MinuteTotal& r) { return r.count; });
  auto minutes = Distances(Column(rows, [](const MinuteTotal& r) { return r.minute; }));
  // The first one stands apart, so that it does not make the others wide.
  writer->PutNumber(rows.empty() ? 0 : ZigZag(rows[0].minute));
  if (!minutes.empty()) minutes[0] = 0;
  writer->Put(minutes, 1);
  writer->PutScaled(counts);
  writer->PutScaled(Column(rows, [](const MinuteTotal& r) { return r.value; }), counts);
}

base::Result<void> DecodeList(std::span<const std::byte> block, size_t rows, uint32_t id_limit,
                              size_t begin, std::vector<StackTotal>* out) {
  ColumnReader reader(block);
  const auto distances = reader.ReadBounded<uint32_t>(rows);
  ASSIGN_OR_RETURN(const auto columns, ReadPairs(&reader, distances.size(), 1));
  const int64_t* at = columns.data();
  for (size_t i = 0; i < distances.size(); ++i, ++at)
    out->push_back({.value = at[distances.size()], .count = at[0]});
  return PlaceIds(distances, id_limit, begin, out,
                  [](StackTotal* row) -> uint32_t& { return row->node; });
}

base::Result<void> DecodeList(std::span<const std::byte> block, size_t rows, uint32_t id_limit,
                              size_t begin, std::vector<FunctionTotal>* out) {
  ColumnReader reader(block);
  const auto distances = reader.ReadBounded<uint32_t>(rows);
  const size_t count = distances.size();
  ASSIGN_OR_RETURN(const auto columns, ReadPairs(&reader, count, 2));
  const int64_t* at = columns.data();
  for (size_t i = 0; i < count; ++i, ++at) {
    out->push_back({.self = at[3 * count],
                    .total = at[count],
                    .self_count = at[2 * count],
                    .total_count = at[0]});
  }
  return PlaceIds(distances, id_limit, begin, out,
                  [](FunctionTotal* row) -> uint32_t& { return row->callable; });
}

base::Result<void> DecodeList(std::span<const std::byte> block, size_t rows, size_t begin,
                              std::vector<MinuteTotal>* out) {
  ColumnReader reader(block);
  auto minute = static_cast<uint64_t>(UnZigZag(reader.ReadNumber()));
  const auto distances = reader.ReadBounded<uint64_t>(rows);
  const size_t count = distances.size();
  ASSIGN_OR_RETURN(const auto columns, ReadPairs(&reader, count, 1));
  for (size_t i = 0; i < count; ++i) {
    minute += distances[i];
    const MinuteTotal row = {static_cast<int64_t>(minute), columns[count + i], columns[i]};
    if (out->size() > begin && out->back().minute >= row.minute)
      return Bad("minutes of a list are out of order");
    out->push_back(row);
  }
  return {};
}

}  // namespace vesta::store::index
