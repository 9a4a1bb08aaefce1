#include "src/store/index/dictionary_tables.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "src/store/index/rollup_for_test.h"

namespace vesta::store::index {
namespace {

template <typename Table>
base::Result<void> Copy(const Dictionary& dictionary, TableLoader* loader) {
  return ForEachRow(dictionary,
                    TableRows<Table>([&](const Table& rows) { return loader->Add(rows); }));
}

base::Result<Dictionary> CopyAll(const Dictionary& dictionary) {
  TableLoader loader;
  RETURN_IF_ERROR(Copy<ImageTable>(dictionary, &loader));
  RETURN_IF_ERROR(Copy<FunctionTable>(dictionary, &loader));
  RETURN_IF_ERROR(Copy<FrameLineTable>(dictionary, &loader));
  RETURN_IF_ERROR(Copy<FrameTable>(dictionary, &loader));
  RETURN_IF_ERROR(Copy<StackTable>(dictionary, &loader));
  RETURN_IF_ERROR(Copy<SeriesTable>(dictionary, &loader));
  RETURN_IF_ERROR(Copy<TypeTable>(dictionary, &loader));
  RETURN_IF_ERROR(Copy<TaskTable>(dictionary, &loader));
  return loader.Take();
}

TEST(DictionaryTables, RebuildADictionaryWithTheSameIds) {
  TestVolume volume(1, 10);
  volume.dictionary.InternSeries({});
  volume.dictionary.InternSeries({{"a", "1"}, {"b", "2"}});
  const Dictionary copy = CopyAll(volume.dictionary).value();
  const DictionaryMarks marks = volume.dictionary.marks();
  const IdMaps maps = MergeDictionary(copy, &volume.dictionary);
  EXPECT_EQ(volume.dictionary.marks(), marks) << "nothing in the copy is new";
  for (uint32_t i = 0; i < marks.nodes; ++i) ASSERT_EQ(maps.nodes[i], i);
  for (uint32_t i = 0; i < marks.frames; ++i) ASSERT_EQ(maps.frames[i], i);
  for (uint32_t i = 0; i < marks.series; ++i) ASSERT_EQ(maps.series[i], i);
  for (uint32_t i = 0; i < marks.types; ++i) ASSERT_EQ(maps.types[i], i);
  for (uint32_t i = 0; i < marks.tasks; ++i) ASSERT_EQ(maps.tasks[i], i);
  EXPECT_EQ(copy.marks().nodes, marks.nodes);
  EXPECT_EQ(copy.marks().series, marks.series);
}

TEST(DictionaryTables, EqualRowsKeepTheirPlaces) {
  TableLoader loader;
  const std::vector<uint32_t> zero = {0};
  const std::vector<uint64_t> zero64 = {0};
  const std::vector<std::string_view> none = {""};
  const std::vector<uint32_t> ids = {0, 1, 2};
  ASSERT_TRUE(loader.Add(ImageTable{zero, none, none, zero64, zero64, zero64}).ok());
  const std::vector<uint32_t> images = {0, 0, 0};
  const std::vector<uint64_t> addresses = {7, 7, 8};
  const std::vector<uint8_t> folded = {0, 0, 0};
  ASSERT_TRUE(loader.Add(FrameTable{ids, images, addresses, folded}).ok());
  const std::vector<uint32_t> parents = {0, 0, 0};
  const std::vector<uint32_t> frames = {0, 1, 2};
  ASSERT_TRUE(loader.Add(StackTable{ids, parents, frames}).ok());
  Dictionary dictionary = loader.Take().value();
  EXPECT_EQ(dictionary.marks().frames, 3u);
  EXPECT_EQ(dictionary.frame(1)->address, 7u);
  EXPECT_EQ(dictionary.InternFrame(0, 8, false, {}), 2u);
  EXPECT_EQ(dictionary.InternNode(0, 2), 2u);
}

TEST(DictionaryTables, TextThatIsNotUtf8IsMadeSo) {
  Dictionary dictionary;
  dictionary.InternFunction({dictionary.InternString("a\xff"), 0, 0, 0});
  std::string name;
  ASSERT_TRUE(ForEachRow(dictionary, TableRows<FunctionTable>([&](const FunctionTable& rows) {
                           name = rows.name[0];
                           return base::Result<void>();
                         }))
                  .ok());
  EXPECT_EQ(name, "a\xef\xbf\xbd");
}

TEST(DictionaryTables, WrongTablesAreCorrupt) {
  const std::vector<uint32_t> zero = {0}, one = {1}, two = {2};
  const std::vector<uint64_t> zero64 = {0}, one64 = {1};
  const std::vector<int64_t> line = {0};
  const std::vector<uint8_t> folded = {0};
  const std::vector<std::string_view> none = {""};
  const auto refuses = [&](const char* what,
                           const std::function<base::Result<void>(TableLoader*)>& add) {
    TableLoader loader;
    ASSERT_TRUE(loader.Add(ImageTable{zero, none, none, zero64, zero64, zero64}).ok());
    ASSERT_TRUE(loader.Add(FunctionTable{zero, none, none, none, line}).ok());
    auto result = add(&loader);
    if (result.ok()) result = loader.Take().ok() ? base::Result<void>() : loader.Take().error();
    ASSERT_FALSE(result.ok()) << what;
    EXPECT_EQ(result.error().code(), base::ErrorCode::kCorrupt) << what;
  };
  refuses("a gap in the ids", [&](TableLoader* l) {
    return l->Add(ImageTable{two, none, none, zero64, zero64, zero64});
  });
  refuses("a function twice",
          [&](TableLoader* l) { return l->Add(FunctionTable{zero, none, none, none, line}); });
  refuses("an image that does not exist",
          [&](TableLoader* l) { return l->Add(FrameTable{zero, one, zero64, folded}); });
  refuses("a line of a function that does not exist",
          [&](TableLoader* l) { return l->Add(FrameLineTable{zero, zero, one, line, line}); });
  refuses("a line whose position is not the first",
          [&](TableLoader* l) { return l->Add(FrameLineTable{zero, one, zero, line, line}); });
  refuses("a line of a frame that does not exist",
          [&](TableLoader* l) { return l->Add(FrameLineTable{one, zero, zero, line, line}); });
  refuses("a root with a frame",
          [&](TableLoader* l) { return l->Add(StackTable{zero, zero, one}); });
  refuses("a frame that does not exist", [&](TableLoader* l) {
    const std::vector<uint32_t> ids = {0, 1}, zeros = {0, 0};
    return l->Add(StackTable{ids, zeros, zeros});
  });
  refuses("no stacks", [&](TableLoader*) { return base::Result<void>(); });
  TableLoader loader;
  EXPECT_EQ(loader.Add(ImageTable{zero, none, none, zero64, zero64, one64}).error().code(),
            base::ErrorCode::kCorrupt)
      << "image 0 is none";
}

}  // namespace
}  // namespace vesta::store::index
