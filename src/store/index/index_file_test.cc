#include "src/store/index/index_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/store/index/column_codec.h"
#include "src/store/index/index_format.h"
#include "src/store/index/index_writer.h"
#include "src/store/index/list_codec.h"
#include "src/store/index/rollup_for_test.h"

namespace vesta::store::index {
namespace {

using Bytes = std::vector<std::byte>;

Bytes WriteFile(const TestVolume& volume, bool has_dictionary) {
  IndexWriter writer;
  for (const SeriesRollup& rollup : MakeRollups(volume, volume.rows))
    EXPECT_TRUE(writer.AddRollup(rollup).ok());
  if (has_dictionary) writer.AddDictionary(volume.dictionary);
  return writer.Finish();
}

// All that can be read from a file, so that two files can be compared; nothing when any part of it
// is damaged.
std::string ReadAll(std::span<const std::byte> bytes, PageCache* cache = nullptr) {
  const auto file = IndexFile::Open(bytes, cache);
  if (!file.ok() || !file->CheckAll().ok()) return "";
  std::string text = "file";
  for (size_t place = 0; place < file->summaries().size(); ++place) {
    const SeriesRollup rollup = file->ReadRollup(place).value();
    text += "\nseries " + std::to_string(rollup.summary.type) + " " +
            std::to_string(rollup.summary.series) + " " + std::to_string(rollup.summary.rows);
    for (const auto& it : rollup.stacks)
      text += " " + std::to_string(it.node) + ":" + std::to_string(it.value);
    for (const auto& it : rollup.functions)
      text += " " + std::to_string(it.callable) + ":" + std::to_string(it.total);
    for (const auto& it : rollup.minutes)
      text += " " + std::to_string(it.minute) + ":" + std::to_string(it.count);
  }
  if (!file->has_dictionary()) return text;
  const Dictionary dictionary = LoadDictionary(*file).value();
  const auto delta = dictionary.EncodeDelta(Dictionary().marks());
  return text + "\n" + std::string(delta.begin(), delta.end());
}

void ExpectSameNames(const Dictionary& dictionary, const VolumeReader& reader) {
  const DictionaryMarks marks = dictionary.marks();
  for (uint32_t id = 0; id < marks.frames; ++id) {
    const FrameView a = dictionary.frame(id).value();
    const FrameView b = reader.frame(id).value();
    EXPECT_EQ(a.image, b.image);
    EXPECT_EQ(a.address, b.address);
    EXPECT_EQ(a.is_folded, b.is_folded);
    ASSERT_EQ(a.lines.size(), b.lines.size());
    for (size_t i = 0; i < a.lines.size(); ++i) {
      EXPECT_EQ(a.lines[i].function, b.lines[i].function);
      EXPECT_EQ(a.lines[i].line, b.lines[i].line);
      EXPECT_EQ(a.lines[i].column, b.lines[i].column);
    }
    const auto its = dictionary.frame_callables(id).value();
    const auto read = reader.frame_callables(id).value();
    EXPECT_TRUE(std::equal(its.begin(), its.end(), read.begin(), read.end()));
  }
  for (uint32_t id = 0; id < marks.functions; ++id) {
    const FunctionView a = dictionary.function(id).value();
    const FunctionView b = reader.function(id).value();
    EXPECT_EQ(std::tie(a.name, a.system_name, a.file, a.start_line),
              std::tie(b.name, b.system_name, b.file, b.start_line));
  }
  for (uint32_t id = 0; id < marks.images; ++id) {
    const ImageView a = dictionary.image(id).value();
    const ImageView b = reader.image(id).value();
    EXPECT_EQ(std::tie(a.path, a.build_id, a.memory_start, a.memory_limit, a.file_offset),
              std::tie(b.path, b.build_id, b.memory_start, b.memory_limit, b.file_offset));
  }
  for (uint32_t id = 0; id < marks.callables; ++id) {
    const CallableView a = dictionary.callable(id).value();
    const CallableView b = reader.callable(id).value();
    EXPECT_EQ(std::tie(a.name, a.image, a.file), std::tie(b.name, b.image, b.file));
    EXPECT_EQ(dictionary.callable_hash(id).value(), reader.callable_hash(id).value());
  }
  for (uint32_t id = 0; id < marks.series; ++id)
    EXPECT_EQ(dictionary.series(id), reader.series(id).value());
  for (uint32_t id = 0; id < marks.types; ++id)
    EXPECT_EQ(dictionary.type(id), reader.type(id).value());
  for (uint32_t id = 0; id < marks.tasks; ++id)
    EXPECT_EQ(dictionary.task(id), reader.task(id).value());
}

TEST(IndexFile, GivesBackRollupsAndNames) {
  const TestVolume volume(1, 3000);
  const auto rollups = MakeRollups(volume, volume.rows);
  const Bytes bytes = WriteFile(volume, true);
  PageCache cache(1 << 20);
  for (PageCache* used : {static_cast<PageCache*>(nullptr), &cache, &cache}) {
    const IndexFile file = IndexFile::Open(bytes, used).value();
    EXPECT_EQ(file.marks(), volume.dictionary.marks());
    ASSERT_EQ(file.summaries().size(), rollups.size());
    for (size_t i = 0; i < rollups.size(); ++i) {
      EXPECT_EQ(file.ReadRollup(i).value(), rollups[i]);
      EXPECT_EQ(file.Find(rollups[i].summary.type, rollups[i].summary.series), i);
    }
    EXPECT_EQ(file.Find(0, 99), std::nullopt);
    const VolumeReader reader(file);
    ExpectSameNames(volume.dictionary, reader);
    std::vector<uint32_t> nodes = {5, 9, volume.dictionary.node_count() - 1};
    std::vector<uint32_t> local(3), expected_local(3);
    const SubTrie expected = CutSubTrie(volume.dictionary, nodes, expected_local).value();
    const SubTrie trie = CutSubTrie(reader, nodes, local).value();
    EXPECT_EQ(trie.parent, expected.parent);
    EXPECT_EQ(trie.frame, expected.frame);
    EXPECT_EQ(local, expected_local);
  }
}

TEST(IndexFile, TheFleetIsTheSumOfItsSeries) {
  const TestVolume volume(2, 3000);
  const Bytes bytes = WriteFile(volume, false);
  const IndexFile file = IndexFile::Open(bytes, nullptr).value();
  EXPECT_FALSE(file.has_dictionary());
  for (uint32_t type = 0; type < 2; ++type) {
    std::map<uint32_t, FunctionTotal> expected;
    for (const SeriesRollup& rollup : MakeRollups(volume, volume.rows)) {
      if (rollup.summary.type != type) continue;
      for (const FunctionTotal& total : rollup.functions) {
        FunctionTotal& sum = expected[total.callable];
        sum.callable = total.callable;
        sum.self += total.self;
        sum.total += total.total;
        sum.self_count += total.self_count;
        sum.total_count += total.total_count;
      }
    }
    std::vector<FunctionTotal> fleet;
    ASSERT_TRUE(file.ReadFleetFunctions(type, &fleet).ok());
    ASSERT_EQ(fleet.size(), expected.size());
    for (const FunctionTotal& total : fleet) EXPECT_EQ(total, expected[total.callable]);
  }
  std::vector<FunctionTotal> none;
  EXPECT_TRUE(file.ReadFleetFunctions(7, &none).ok());
  EXPECT_TRUE(none.empty());
}

TEST(IndexFile, LongListsTakeSeveralBlocks) {
  SeriesRollup rollup;
  rollup.summary = {.type = 3, .series = 4, .rows = 1, .value = -5};
  for (uint32_t i = 0; i < 2 * kListRows + 10; ++i) {
    rollup.stacks.push_back({.node = 3 * i, .value = i, .count = 1});
    rollup.functions.push_back({.callable = i + 7, .self = i, .total = -int64_t{i}});
    rollup.minutes.push_back({.minute = int64_t{i} - 100, .value = 2 * int64_t{i}, .count = i});
  }
  IndexWriter writer;
  ASSERT_TRUE(writer.AddRollup(rollup).ok());
  const Bytes bytes = writer.Finish();
  const IndexFile file = IndexFile::Open(bytes, nullptr).value();
  EXPECT_EQ(file.ReadRollup(0).value(), rollup);
  EXPECT_LT(bytes.size(), 2 * rollup.stacks.size() * 8);
}

TEST(IndexFile, WithoutAnythingIsAFile) {
  IndexWriter writer;
  const Bytes bytes = writer.Finish();
  const IndexFile file = IndexFile::Open(bytes, nullptr).value();
  EXPECT_TRUE(file.summaries().empty());
  EXPECT_FALSE(file.has_dictionary());
  EXPECT_TRUE(file.CheckAll().ok());
}

TEST(IndexFile, TheWriterRefusesSeriesOutOfOrder) {
  IndexWriter writer;
  SeriesRollup rollup;
  rollup.summary = {.type = 1, .series = 1};
  ASSERT_TRUE(writer.AddRollup(rollup).ok());
  EXPECT_EQ(writer.AddRollup(rollup).error().code(), base::ErrorCode::kInvalidInput);
}

TEST(IndexFile, EveryTruncationIsSeen) {
  const Bytes bytes = WriteFile(TestVolume(3, 200), true);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto file = IndexFile::Open(std::span(bytes).first(size), nullptr);
    ASSERT_FALSE(file.ok()) << size;
    EXPECT_EQ(file.error().code(), base::ErrorCode::kCorrupt);
  }
}

TEST(IndexFile, FlippedBitsAreSeen) {
  const Bytes bytes = WriteFile(TestVolume(4, 200), true);
  ASSERT_NE(ReadAll(bytes), "");
  for (size_t at = 0; at < bytes.size(); at += at < 100 ? 1 : 9) {
    Bytes flipped = bytes;
    flipped[at] ^= std::byte{1} << (at % 8);
    EXPECT_EQ(ReadAll(flipped), "") << "byte " << at;
  }
}

TEST(IndexFile, ReadersSayWhatIsDamaged) {
  const TestVolume volume(5, 2000);
  Bytes bytes = WriteFile(volume, true);
  const IndexFile whole = IndexFile::Open(bytes, nullptr).value();
  // The first block is the list of stacks of the first series.
  bytes[sizeof(IndexHeader)] ^= std::byte{0x40};
  const IndexFile file = IndexFile::Open(bytes, nullptr).value();
  std::vector<StackTotal> stacks;
  const auto read = file.ReadStacks(0, &stacks);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code(), base::ErrorCode::kCorrupt);
  EXPECT_NE(read.error().message().find("block at byte 40"), std::string::npos)
      << read.error().message();
  EXPECT_TRUE(file.ReadStacks(1, &stacks).ok()) << "the others serve";
}

// The directory's own checks, behind the checksum.
TEST(IndexFile, ADirectoryThatLiesIsRefused) {
  const Bytes bytes = WriteFile(TestVolume(6, 50), true);
  IndexHeader header = {};
  std::memcpy(&header, bytes.data(), sizeof(header));
  const RawBlock raw =
      ReadBlock(base::MemorySource(bytes),
                {header.directory_offset, header.directory_bytes, 0, header.directory_checksum})
          .value();
  size_t refused = 0;
  for (size_t at = 0; at < raw.bytes; at += 2) {
    std::vector<std::byte> directory(raw.span().begin(), raw.span().end());
    directory[at] ^= std::byte{1} << (at % 8);
    ColumnWriter columns;
    columns.PutBytes(directory.data(), directory.size());
    Bytes changed(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(header.directory_offset));
    const BlockRef block = BlockPacker().Append(columns, 0, &changed);
    IndexHeader fixed = header;
    fixed.directory_bytes = block.bytes;
    fixed.directory_checksum = block.checksum;
    fixed.header_checksum = Checksum(&fixed, offsetof(IndexHeader, header_checksum));
    std::memcpy(changed.data(), &fixed, sizeof(fixed));
    if (ReadAll(changed).empty()) ++refused;
  }
  EXPECT_GT(refused, raw.bytes / 4);
}

TEST(IndexFile, AnotherVersionIsUnsupported) {
  Bytes bytes = WriteFile(TestVolume(7, 10), false);
  IndexHeader header = {};
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.version = 2;
  header.header_checksum = Checksum(&header, offsetof(IndexHeader, header_checksum));
  std::memcpy(bytes.data(), &header, sizeof(header));
  const auto file = IndexFile::Open(bytes, nullptr);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code(), base::ErrorCode::kUnsupported);
  EXPECT_NE(file.error().message().find("version 2"), std::string::npos);
}

TEST(IndexFile, LoadsAsTheDictionaryThatWasWritten) {
  const TestVolume volume(8, 10);
  const Bytes bytes = WriteFile(volume, true);
  const IndexFile file = IndexFile::Open(bytes, nullptr).value();
  Dictionary loaded = LoadDictionary(file).value();
  EXPECT_EQ(loaded.EncodeDelta(Dictionary().marks()),
            volume.dictionary.EncodeDelta(Dictionary().marks()));
  MergeDictionary(volume.dictionary, &loaded);
  EXPECT_EQ(loaded.marks(), volume.dictionary.marks()) << "it knows its rows";
}

TEST(PageCache, KeepsWhatWasUsedLastAndForgetsFiles) {
  PageCache cache(100);
  const auto page = [] { return std::make_shared<const int>(1); };
  const uint64_t a = cache.NewFile();
  const uint64_t b = cache.NewFile();
  ASSERT_NE(a, b);
  cache.Insert(a, 1, page(), 40);
  cache.Insert(b, 1, page(), 40);
  EXPECT_NE(cache.Find(a, 1), nullptr);
  cache.Insert(a, 2, page(), 40);
  EXPECT_EQ(cache.memory_bytes(), 80u);
  EXPECT_EQ(cache.Find(b, 1), nullptr) << "used longest ago";
  EXPECT_NE(cache.Find(a, 1), nullptr);
  cache.Insert(b, 9, page(), 101);
  EXPECT_EQ(cache.Find(b, 9), nullptr) << "too large";
  cache.DropFile(a);
  EXPECT_EQ(cache.Find(a, 1), nullptr);
  EXPECT_EQ(cache.memory_bytes(), 0u);
}

// What stands in docs/formats/store.md.
TEST(IndexFile, BytesOfAList) {
  const std::vector<StackTotal> rows = {{.node = 1, .value = 20, .count = 2},
                                        {.node = 300, .value = 30, .count = 3}};
  ColumnWriter writer;
  EncodeList(std::span<const StackTotal>(rows), &writer);
  const std::vector<uint8_t> expected = {
      0x02, 0x01, 0x2b, 0x00, 0x01,  // distances 1, 299: low bytes, high bytes
      0x01, 0x02, 0x03,              // counts
      0x30, 0x0a,                    // values = 10 x counts
  };
  EXPECT_EQ(std::vector<uint8_t>(writer.bytes().begin(), writer.bytes().end()), expected);
}

TEST(IndexFile, AListWhoseIdsDoNotAscendIsCorrupt) {
  const auto code = [](std::vector<StackTotal> rows, size_t begin_count, uint32_t id_limit) {
    ColumnWriter writer;
    EncodeList(std::span<const StackTotal>(rows), &writer);
    std::vector<StackTotal> out(begin_count, {.node = 5, .value = 1, .count = 1});
    const auto result = DecodeList(std::as_bytes(writer.bytes()), rows.size(), id_limit, 0, &out);
    return result.ok() ? std::nullopt : std::optional(result.error().code());
  };
  EXPECT_EQ(code({{.node = 6}, {.node = 9}}, 1, 10), std::nullopt);
  EXPECT_EQ(code({{.node = 6}, {.node = 6}}, 0, 10), base::ErrorCode::kCorrupt) << "twice";
  EXPECT_EQ(code({{.node = 5}, {.node = 9}}, 1, 10), base::ErrorCode::kCorrupt) << "block before";
  EXPECT_EQ(code({{.node = 6}, {.node = 10}}, 0, 10), base::ErrorCode::kCorrupt) << "none such";
}

TEST(IndexFile, BytesOfADelta) {
  Dictionary dictionary;
  const uint32_t name = dictionary.InternString("f");
  const uint32_t function = dictionary.InternFunction({name, name, 0, 4});
  const std::vector<FrameLine> lines = {{function, 5, 0}};
  dictionary.InternNode(0, dictionary.InternFrame(0, 16, false, lines));
  auto delta = dictionary.EncodeDelta(Dictionary().marks());
  ASSERT_GT(delta.size(), 8u);
  delta.resize(delta.size() - 8);  // the checksum
  const uint64_t hash = dictionary.callable_hash(0).value();
  std::vector<uint8_t> expected = {
      'V',  'D', 'D',  '1',  1,    1, 0, 0, 0, 1, 0, 0, 0,  // rows before: "", no image, the root
      1,    0,   1,    1,    1,    1, 0, 0, 0,              // rows in it
      0x01, 1,   'f',                                       // strings: lengths, text
      0x01, 2,   0x00, 0x00, 0x01, 8,  // functions: name, system name as the name, no file, line 4
      0x01, 2,   0x00, 0x00, 0x08,     // callables: name, no image, no file, hash
  };
  for (int i = 0; i < 8; ++i) expected.push_back(static_cast<uint8_t>(hash >> (8 * i)));
  const std::vector<uint8_t> rest = {
      0x01, 1, 0x00, 0x01, 32,   0x00,  // frames: lines, image, address, folded
      0x00,                             // callables of those without lines
      0x01, 0, 0x01, 10,   0x00, 0x00,  // lines: function, line, column, callable
      0x01, 0, 1,    0x01, 1,    0x00,  // nodes: frame; runs: one; its distance, its length
  };
  expected.insert(expected.end(), rest.begin(), rest.end());
  EXPECT_EQ(delta, expected);
}

}  // namespace
}  // namespace vesta::store::index
