#include "src/store/duck/parquet_table.h"

#include <gtest/gtest.h>

#include "src/store/duck/test_rows.h"

namespace vesta::store::duck {
namespace {

using base::ErrorCode;
using base::Result;

class ParquetTableTest : public testing::Test {
 protected:
  TestFolder folder_;
  std::unique_ptr<DuckDb> db_ = OpenTestDb(folder_);
};

TEST_F(ParquetTableTest, GivesBackEveryKindInOrder) {
  const std::vector<ColumnSpec> columns = {
      {"id", ColumnKind::kU32},         {"signed", ColumnKind::kI64},
      {"address", ColumnKind::kU64},    {"weight", ColumnKind::kF32},
      {"is_folded", ColumnKind::kBool}, {"name", ColumnKind::kString},
      {"lines", ColumnKind::kU32List}};
  constexpr size_t kRows = 10000;
  std::vector<uint32_t> id;
  std::vector<int64_t> numbers;
  std::vector<uint64_t> addresses;
  std::vector<float> weights;
  std::vector<uint8_t> folded;
  std::vector<std::string> texts;
  std::vector<uint64_t> ends;
  std::vector<uint32_t> values;
  for (size_t i = 0; i < kRows; ++i) {
    id.push_back(static_cast<uint32_t>(i * 7919));
    numbers.push_back(-static_cast<int64_t>(i) * 1000000007);
    addresses.push_back(~uint64_t{0} - i);
    weights.push_back(static_cast<float>(i) / 3);
    folded.push_back(i % 3 == 0);
    texts.push_back(i % 5 == 0 ? ""
                               : "n\xc3\xa4me " + std::string(i % 40, 'x') + std::to_string(i));
    for (size_t k = 0; k < i % 4; ++k) values.push_back(static_cast<uint32_t>(i + k));
    ends.push_back(values.size());
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  auto writer = ParquetTableWriter::Create(*db_, columns);
  ASSERT_TRUE(writer.ok()) << writer.error().message();
  const ColumnValues all[] = {std::span<const uint32_t>(id),
                              std::span<const int64_t>(numbers),
                              std::span<const uint64_t>(addresses),
                              std::span<const float>(weights),
                              Bools{folded},
                              std::span<const std::string_view>(views),
                              U32Lists{ends, values}};
  ASSERT_TRUE((*writer)->Append(all).ok());
  ASSERT_TRUE((*writer)->Append(all).ok());
  auto finished = (*writer)->Finish(folder_ / "t.parquet");
  ASSERT_TRUE(finished.ok()) << finished.error().message();

  size_t row = 0;
  auto read =
      ReadParquetTable(*db_, folder_ / "t.parquet", columns,
                       [&](size_t count, std::span<const ColumnValues> chunk) -> Result<void> {
                         const auto& lists = std::get<U32Lists>(chunk[6]);
                         for (size_t i = 0; i < count; ++i, ++row) {
                           const size_t at = row % kRows;
                           EXPECT_EQ(std::get<0>(chunk[0])[i], id[at]);
                           EXPECT_EQ(std::get<1>(chunk[1])[i], numbers[at]);
                           EXPECT_EQ(std::get<2>(chunk[2])[i], addresses[at]);
                           EXPECT_EQ(std::get<3>(chunk[3])[i], weights[at]);
                           EXPECT_EQ(std::get<Bools>(chunk[4]).values[i], folded[at]);
                           EXPECT_EQ(std::get<5>(chunk[5])[i], texts[at]);
                           const uint64_t begin = i == 0 ? 0 : lists.ends[i - 1];
                           EXPECT_EQ(lists.ends[i] - begin, at % 4);
                           for (uint64_t k = begin; k < lists.ends[i]; ++k) {
                             EXPECT_EQ(lists.values[k], at + (k - begin));
                           }
                         }
                         return {};
                       });
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(row, 2 * kRows);
}

TEST_F(ParquetTableTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(ParquetTableWriter::Create(*db_, {{"a\"b", ColumnKind::kU32}}).error().code(),
            ErrorCode::kInvalidInput);
  auto writer = ParquetTableWriter::Create(
      *db_, {{"name", ColumnKind::kString}, {"lines", ColumnKind::kU32List}});
  ASSERT_TRUE(writer.ok());
  const std::vector<std::string_view> bad = {"\xff"};
  const std::vector<std::string_view> good = {"x"};
  const std::vector<uint64_t> ends = {1};
  const std::vector<uint64_t> ends_beyond = {2};
  const std::vector<uint32_t> values = {5};
  const auto code = [&](std::vector<ColumnValues> columns) {
    const auto done = (*writer)->Append(columns);
    return done.ok() ? ErrorCode::kInternal : done.error().code();
  };
  const std::span<const std::string_view> name(good);
  EXPECT_EQ(code({name}), ErrorCode::kInvalidInput);
  EXPECT_EQ(code({std::span(values), U32Lists{ends, values}}), ErrorCode::kInvalidInput);
  EXPECT_EQ(code({name, U32Lists{{}, {}}}), ErrorCode::kInvalidInput);
  EXPECT_EQ(code({name, U32Lists{ends_beyond, values}}), ErrorCode::kInvalidInput);
  EXPECT_EQ(code({std::span<const std::string_view>(bad), U32Lists{ends, values}}),
            ErrorCode::kInvalidInput);
}

TEST_F(ParquetTableTest, SaysWhatAFileLacks) {
  auto writer = ParquetTableWriter::Create(*db_, {{"id", ColumnKind::kU32}});
  ASSERT_TRUE(writer.ok());
  const std::vector<uint32_t> ids = {1};
  const ColumnValues column[] = {std::span<const uint32_t>(ids)};
  ASSERT_TRUE((*writer)->Append(column).ok());
  const std::string path = folder_ / "t.parquet";
  ASSERT_TRUE((*writer)->Finish(path).ok());
  const auto code = [&](const ColumnSpec& wanted, const std::string& file) {
    const auto done =
        ReadParquetTable(*db_, file, std::span(&wanted, 1),
                         [](size_t, std::span<const ColumnValues>) -> Result<void> { return {}; });
    return done.ok() ? ErrorCode::kInternal : done.error().code();
  };
  EXPECT_EQ(code({"other", ColumnKind::kU32}, path), ErrorCode::kCorrupt);
  EXPECT_EQ(code({"id", ColumnKind::kI64}, path), ErrorCode::kCorrupt);
  EXPECT_EQ(code({"id", ColumnKind::kU32}, folder_ / "none"), ErrorCode::kNotFound);
  WriteAll(path, ReadAll(path).substr(0, 100));
  EXPECT_EQ(code({"id", ColumnKind::kU32}, path), ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace vesta::store::duck
