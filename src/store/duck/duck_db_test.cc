#include "src/store/duck/duck_db.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "src/store/duck/duck_handles.h"
#include "src/store/duck/test_rows.h"

namespace vesta::store::duck {
namespace {

using base::ErrorCode;

// What opening says in a process of its own, since a library is loaded once only.
std::string OpeningSays(const char* library) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("VESTA_DUCKDB_LIBRARY", library, 1);
    const auto db = DuckDb::Open({"/nowhere", uint64_t{64} << 20, 1});
    const std::string text =
        db.ok() ? "opened"
                : std::string(base::ErrorCodeName(db.error().code())) + ": " + db.error().message();
    (void)!::write(ends[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  char text[1000];
  const ssize_t size = ::read(ends[0], text, sizeof text);
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return size > 0 ? std::string(text, static_cast<size_t>(size)) : "nothing";
}

// Stands first: it needs a process that has not loaded the library.
TEST(DuckDbTest, SaysWhatToDoWithoutTheLibrary) {
  EXPECT_NE(OpeningSays("/nowhere.so").find("VESTA_DUCKDB_LIBRARY names no library"),
            std::string::npos);
  EXPECT_NE(OpeningSays("libz.so.1").find("not a library of DuckDB"), std::string::npos)
      << OpeningSays("libz.so.1");
  EXPECT_EQ(OpeningSays(""), "opened");
}

class DuckInstanceTest : public testing::Test {
 protected:
  void SetUp() override {
    auto instance = db_->state().Instance();
    ASSERT_TRUE(instance.ok());
    auto connection = Connection::Open(*instance);
    ASSERT_TRUE(connection.ok());
    connection_ = std::move(connection).value();
  }
  std::string Text(const std::string& sql) {
    auto stream = connection_->Query(sql, "");
    if (!stream.ok()) return stream.error().message();
    auto chunk = stream->Next();
    if (!chunk.ok()) return chunk.error().message();
    return *chunk == nullptr ? "" : std::string((*chunk)->bytes(0, 0));
  }

  TestFolder folder_;
  std::unique_ptr<DuckDb> db_ = OpenTestDb(folder_);
  std::unique_ptr<Connection> connection_;
};

TEST_F(DuckInstanceTest, HasParquetAndFetchesNothing) {
  EXPECT_EQ(Text("SELECT install_mode FROM duckdb_extensions() WHERE extension_name = 'parquet'"
                 " AND loaded"),
            "STATICALLY_LINKED");
  EXPECT_EQ(Text("SELECT count(*)::VARCHAR FROM duckdb_extensions() WHERE loaded"
                 " AND extension_name = 'httpfs'"),
            "0");
  const std::string remote = Text("FROM read_parquet('http://127.0.0.1:1/a.parquet')");
  EXPECT_NE(remote.find("httpfs"), std::string::npos) << remote;
  const std::string setting = Text("SET threads = 7");
  EXPECT_NE(setting.find("locked"), std::string::npos) << setting;
}

TEST_F(DuckInstanceTest, CancelsAndEndsAtTheDeadline) {
  const std::string endless =
      "SELECT range FROM range(100000000) ORDER BY hash(range) LIMIT 1 OFFSET 50000000";
  std::atomic<bool> cancelled = true;
  ReadLimits limits;
  limits.cancelled = &cancelled;
  EXPECT_EQ(connection_->Query(endless, "", limits).error().code(), ErrorCode::kUnavailable);
  limits.cancelled = nullptr;
  limits.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  EXPECT_EQ(connection_->Query(endless, "", limits).error().code(), ErrorCode::kExhausted);
  EXPECT_EQ(Text("SELECT 'still works'"), "still works");
}

TEST_F(DuckInstanceTest, TooLittleMemoryIsExhausted) {
  const std::pair<std::string, ErrorCode> cases[] = {{"", ErrorCode::kExhausted},
                                                     {"/proc/none", ErrorCode::kUnavailable}};
  for (const auto& [folder, code] : cases) {
    auto small = DuckDb::Open({folder, uint64_t{16} << 20, 1});
    ASSERT_TRUE(small.ok());
    auto instance = (*small)->state().Instance();
    ASSERT_TRUE(instance.ok());
    auto connection = Connection::Open(*instance);
    ASSERT_TRUE(connection.ok());
    const auto done =
        (*connection)
            ->Run("CREATE TEMP TABLE a AS SELECT range AS x, hash(range) FROM range(9000000)", "");
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code(), code) << done.error().message();
  }
}

TEST_F(DuckInstanceTest, SpillsAreLimitedAndNothingElseCanBeSet) {
  const std::string folder = ::testing::TempDir() + "vesta_spill_limit";
  std::filesystem::create_directories(folder);
  auto small = DuckDb::Open({folder + "/spill", uint64_t{16} << 20, 1});
  ASSERT_TRUE(small.ok());
  auto instance = (*small)->state().Instance();
  ASSERT_TRUE(instance.ok());
  auto connection = Connection::Open(*instance);
  ASSERT_TRUE(connection.ok());
  const char* const sql =
      "CREATE OR REPLACE TEMP TABLE a AS SELECT range, hash(range) FROM range(3000000)";
  ASSERT_TRUE((*small)->LimitSpill(uint64_t{1} << 20).ok());
  const auto refused = (*connection)->Run(sql, "");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), base::ErrorCode::kExhausted) << refused.error().message();
  ASSERT_TRUE((*small)->LimitSpill(uint64_t{1} << 30).ok());
  const auto done = (*connection)->Run(sql, "");
  EXPECT_TRUE(done.ok()) << done.error().message();
  EXPECT_FALSE((*connection)->Run("SET GLOBAL threads = 3", "").ok());
  std::filesystem::remove_all(folder);
}

TEST_F(DuckInstanceTest, ABrokenInstanceIsReplaced) {
  auto first = db_->state().Instance();
  ASSERT_TRUE(first.ok());
  (*first)->is_broken = true;
  auto second = db_->state().Instance();
  ASSERT_TRUE(second.ok());
  EXPECT_NE(first->get(), second->get());
}

}  // namespace
}  // namespace vesta::store::duck
