// Files that turn out to be damaged while they are read: the answer says so and has the rest.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "src/base/byte_source.h"
#include "src/store/disk/store_fixture.h"
#include "src/store/index/index_directory.h"

namespace vesta::store {
namespace {

class UnreadableTest : public DiskStoreTest {
 protected:
  // A closed day of `rows` rows, and an intact one of 10. All is verified already, so that nobody
  // but a read finds what is damaged then.
  void Fill(size_t rows) {
    Open();
    for (size_t done = 0; done < rows; done += 10'000) {
      Append(TestBatch().Id(1 + done).Rows(std::min<size_t>(10'000, rows - done),
                                           now_ + static_cast<int64_t>(done)));
    }
    Append(TestBatch().Id(2).Rows(10, now_ - kDayMs));
    ASSERT_TRUE(store_->Settle().ok());
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(store_->Maintain().ok());
    folder_ = options_.folder + "/days/" + DayName(kTestDay) + "/v0001/";
    ASSERT_TRUE(notices_.empty());
  }
  // The same for a store that was opened anew: it has no page in memory.
  void Reopen() {
    Open();
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(store_->Maintain().ok());
  }

  void FlipByteAt(const std::string& name, uint64_t at) {
    std::fstream file(folder_ + name, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const auto byte = static_cast<char>(file.get() ^ 0x55);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
  }
  uint64_t OffsetOfPage(index::Table table) {
    auto source = base::FileSource::Open(folder_ + "volume.idx");
    EXPECT_TRUE(source.ok());
    const auto directory = index::IndexDirectory::Read(*std::move(source), nullptr);
    EXPECT_TRUE(directory.ok());
    return (*directory)->page_offset(table, 0);
  }

  // Names of the functions, and the sum of their own counts.
  std::map<std::string, int64_t> Functions() {
    std::map<std::string, int64_t> selves;
    report_.notes.clear();
    const auto done = store_->Functions(All(), &report_, [&](const FunctionBlock& block) {
      for (const FunctionSum& sum : block.sums) {
        const auto view = block.callables->callable(sum.callable);
        EXPECT_TRUE(view.ok());
        selves[std::string(view->name)] += sum.self_count;
      }
      return base::Result<void>();
    });
    EXPECT_TRUE(done.ok()) << done.error().message();
    return selves;
  }
  // Names of the functions at all nodes of the trees.
  std::set<std::string> TreeNames() {
    std::set<std::string> names;
    report_.notes.clear();
    const auto done = store_->Stacks(All(), &report_, [&](const StackBlock& block) {
      for (size_t node = 1; node < block.frame.size(); ++node) {
        const auto frame = block.names->frame(block.frame[node]);
        EXPECT_TRUE(frame.ok());
        for (const FrameLine& line : frame->lines) {
          const auto function = block.names->function(line.function);
          EXPECT_TRUE(function.ok());
          names.insert(std::string(function->name));
        }
      }
      return base::Result<void>();
    });
    EXPECT_TRUE(done.ok()) << done.error().message();
    return names;
  }

  void ExpectWholeAgain(int64_t count) {
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(store_->Maintain().ok());
    EXPECT_EQ(Functions(), (std::map<std::string, int64_t>{{"leaf", count}, {"main", 0}}));
    EXPECT_EQ(TreeNames(), (std::set<std::string>{"leaf", "main"}));
    EXPECT_EQ(StackCount(), count);
    EXPECT_TRUE(report_.notes.empty()) << report_.notes.front();
    EXPECT_FALSE(notices_.empty());
    ExpectBalance();
  }
  std::string folder_;
};

TEST_F(UnreadableTest, ADamagedPageOfNamesCostsANoteAndTheNames) {
  for (const index::Table table : {index::Table::kFunctions, index::Table::kCallables,
                                   index::Table::kFrames, index::Table::kNodes}) {
    SCOPED_TRACE(index::TableName(table));
    SetUp();
    notices_.clear();
    Fill(100);
    Reopen();
    FlipByteAt("volume.idx", OffsetOfPage(table) + 4);
    TreeNames();
    const bool is_in_tree = table != index::Table::kCallables;
    EXPECT_EQ(report_.notes.size(), is_in_tree ? 1u : 0u);
    const auto functions = Functions();
    int64_t selves = 0;
    for (const auto& [name, self] : functions) selves += self;
    EXPECT_EQ(selves, 110);
    if (is_in_tree) {
      EXPECT_EQ(StackCount(), table == index::Table::kNodes ? 10 : 110);
    }
    ExpectWholeAgain(110);
    TearDown();
  }
  SetUp();
}

TEST_F(UnreadableTest, AnIndexThatIsCutUnderARunningStoreIsMadeAnew) {
  Fill(100);
  Reopen();
  std::filesystem::resize_file(folder_ + "volume.idx", 100);
  EXPECT_EQ(StackCount(), 10);
  EXPECT_FALSE(report_.notes.empty());
  ExpectWholeAgain(110);
}

TEST_F(UnreadableTest, OfADamagedFileNoRowIsGiven) {
  constexpr size_t kRows = 100'000;
  Fill(kRows);
  Reopen();
  // The rows at the end: those before could be given before it is seen.
  FlipByteAt("rows.parquet", std::filesystem::file_size(folder_ + "rows.parquet") * 9 / 10);
  report_.notes.clear();
  EXPECT_EQ(RowCount(), 10);
  EXPECT_FALSE(report_.notes.empty());
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(store_->Status().rows_quarantined, kRows);
  ExpectBalance();
}

// DuckDB takes such folders for values of columns unless it is told otherwise.
TEST_F(UnreadableTest, FoldersThatLookLikePartitionsAreNone) {
  options_.folder = parent_ + "/type=prod/value=1/series=2/time_unix_ms=3/name=x/stack=4/store";
  std::filesystem::create_directories(parent_ +
                                      "/type=prod/value=1/series=2/time_unix_ms=3/name=x/stack=4");
  Fill(100);
  EXPECT_EQ(StackCount(), 110);
  EXPECT_EQ(RowCount(), 110);
  int64_t values = 0;
  const auto done = store_->Rows(All(), &report_, [&](const RowBlock& block) {
    for (const StoredRow& row : block.rows) values += row.value;
    return base::Result<void>();
  });
  ASSERT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(values, 1'100);
  // Made anew out of rows and tables.
  std::filesystem::remove(folder_ + "volume.idx");
  Open();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(Functions(), (std::map<std::string, int64_t>{{"leaf", 110}, {"main", 0}}));
  ExpectBalance();
}

}  // namespace
}  // namespace vesta::store
