#include "src/store/duck/hot_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <random>

#include "src/store/duck/duck_handles.h"
#include "src/store/duck/test_rows.h"

namespace vesta::store::duck {
namespace {

using base::ErrorCode;
using base::Result;

Bytes AsBytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

struct Loaded {
  std::string state;
  std::vector<std::string> deltas;
  std::vector<std::string> ledger;
  std::map<uint32_t, RowValues> parts;
};

Result<Loaded> LoadAll(HotFile* hot) {
  Loaded loaded;
  const auto text = [](Bytes bytes) { return std::string(bytes.begin(), bytes.end()); };
  RETURN_IF_ERROR(hot->Load({[&](Bytes bytes) -> Result<void> {
                               loaded.state += text(bytes);
                               return {};
                             },
                             [&](Bytes bytes) -> Result<void> {
                               loaded.deltas.push_back(text(bytes));
                               return {};
                             },
                             [&](const LedgerRow& row) -> Result<void> {
                               loaded.ledger.push_back(
                                   std::string(row.agent) + "/" + std::string(row.boot) + "/" +
                                   std::to_string(row.sequence) + " " + std::to_string(row.rows));
                               return {};
                             },
                             [&](uint32_t part, const RowColumns& rows) -> Result<void> {
                               loaded.parts[part].Add(rows);
                               return {};
                             }}));
  return loaded;
}

// Commit n: n's rows in part n % 3, so that it can be told whether all of them came.
RowValues RowsOfCommit(uint32_t n) {
  RowValues rows;
  for (uint32_t i = 0; i < 100 + n % 7 * 500; ++i) rows.Add(0, n, i % 5, i, 1000 + n, 10 * i);
  return rows;
}

Result<void> CommitNumber(HotFile* hot, uint32_t n) {
  const RowValues rows = RowsOfCommit(n);
  const PartRows part{n % 3, rows.View()};
  const std::string delta = "delta " + std::to_string(n) + std::string(n % 11 * 1000, 'd');
  const std::string state = "state " + std::to_string(n);
  const LedgerRow batch{"agent", "boot", n, rows.type.size(), 7};
  return hot->Commit({std::span(&part, 1), AsBytes(delta), AsBytes(state), std::span(&batch, 1)});
}

// The commits that a file has, which must be 0, 1, ... and whole. Fails the test otherwise.
size_t WholeCommits(const Loaded& loaded) {
  RowValues expected[3];
  for (uint32_t n = 0; n < loaded.ledger.size(); ++n) {
    EXPECT_EQ(loaded.ledger[n], "agent/boot/" + std::to_string(n) + " " +
                                    std::to_string(RowsOfCommit(n).type.size()));
    EXPECT_EQ(loaded.deltas.at(n).substr(0, loaded.deltas[n].find('d', 6)),
              "delta " + std::to_string(n));
    expected[n % 3].Add(RowsOfCommit(n).View());
  }
  EXPECT_EQ(loaded.deltas.size(), loaded.ledger.size());
  for (const auto& [part, rows] : loaded.parts) EXPECT_EQ(rows, expected[part]) << part;
  if (!loaded.ledger.empty()) {
    EXPECT_EQ(loaded.state, "state " + std::to_string(loaded.ledger.size() - 1));
  }
  return loaded.ledger.size();
}

class HotFileTest : public testing::Test {
 protected:
  std::unique_ptr<HotFile> Open(const std::string& path) {
    auto hot = HotFile::Open(*db_, path);
    EXPECT_TRUE(hot.ok()) << hot.error().message();
    return hot.ok() ? std::move(hot).value() : nullptr;
  }
  Loaded Load(HotFile* hot) {
    auto loaded = LoadAll(hot);
    EXPECT_TRUE(loaded.ok()) << loaded.error().message();
    return loaded.ok() ? std::move(loaded).value() : Loaded{};
  }

  TestFolder folder_;
  std::unique_ptr<DuckDb> db_ = OpenTestDb(folder_);
};

TEST_F(HotFileTest, GivesBackWhatWasCommitted) {
  const std::string path = folder_ / "it's [a] hot? file*:x.duckdb";
  auto hot = Open(path);
  EXPECT_EQ(WholeCommits(Load(hot.get())), 0U);
  for (uint32_t n = 0; n < 20; ++n) ASSERT_TRUE(CommitNumber(hot.get(), n).ok());
  EXPECT_EQ(WholeCommits(Load(hot.get())), 20U);
  ASSERT_TRUE(hot->Close().ok());
  hot = Open(path);
  EXPECT_EQ(WholeCommits(Load(hot.get())), 20U);
  for (uint32_t n = 20; n < 25; ++n) ASSERT_TRUE(CommitNumber(hot.get(), n).ok());
  EXPECT_EQ(WholeCommits(Load(hot.get())), 25U);
}

TEST_F(HotFileTest, KeepsACommitWithoutRowsOrBatches) {
  auto hot = Open(folder_ / "hot.duckdb");
  ASSERT_TRUE(hot->Commit({{}, AsBytes("a"), {}, {}}).ok());
  ASSERT_TRUE(hot->Commit({{}, {}, AsBytes("s"), {}}).ok());
  ASSERT_TRUE(hot->Commit({}).ok());
  const LedgerRow two[] = {{"\xff", "", 1, 2, 3}, {"b", "c", ~uint64_t{0}, 0, -1}};
  ASSERT_TRUE(hot->Commit({{}, AsBytes(std::string("b\0", 2)), {}, two}).ok());
  const Loaded loaded = Load(hot.get());
  EXPECT_EQ(loaded.deltas, (std::vector<std::string>{"a", std::string("b\0", 2)}));
  EXPECT_EQ(loaded.state, "s");
  EXPECT_EQ(loaded.ledger, (std::vector<std::string>{"\xff//1 2", "b/c/18446744073709551615 0"}));
}

TEST_F(HotFileTest, TakesCommitsBack) {
  const std::string path = folder_ / "hot.duckdb";
  auto hot = Open(path);
  for (uint32_t n = 0; n < 5; ++n) ASSERT_TRUE(CommitNumber(hot.get(), n).ok());
  EXPECT_EQ(hot->next_commit(), 5U);
  ASSERT_TRUE(hot->TakeBack(5).ok());
  EXPECT_EQ(WholeCommits(Load(hot.get())), 5U);
  ASSERT_TRUE(hot->TakeBack(2).ok());
  EXPECT_EQ(hot->next_commit(), 2U);
  EXPECT_EQ(WholeCommits(Load(hot.get())), 2U);
  hot = nullptr;
  hot = Open(path);
  EXPECT_EQ(hot->next_commit(), 2U);
  for (uint32_t n = 2; n < 7; ++n) ASSERT_TRUE(CommitNumber(hot.get(), n).ok());
  EXPECT_EQ(WholeCommits(Load(hot.get())), 7U);
}

TEST_F(HotFileTest, RowsAloneAreACommitAndNothingIsNone) {
  const std::string path = folder_ / "hot.duckdb";
  auto hot = Open(path);
  ASSERT_TRUE(hot->Commit({}).ok());
  EXPECT_EQ(hot->next_commit(), 0U);
  const RowValues rows = RowsOfCommit(0);
  const PartRows part{4, rows.View()};
  ASSERT_TRUE(hot->Commit({std::span(&part, 1), {}, {}, {}}).ok());
  hot = nullptr;
  hot = Open(path);
  EXPECT_EQ(hot->next_commit(), 1U);
  EXPECT_EQ(Load(hot.get()).parts[4], rows);
  EXPECT_TRUE(Load(hot.get()).ledger.empty());
}

// More than memory holds, in one commit and in all.
TEST_F(HotFileTest, TakesMoreThanItsMemory) {
  const std::string path = folder_ / "hot.duckdb";
  auto hot = Open(path);
  RowValues rows;
  std::minstd_rand random(5);
  for (uint32_t i = 0; i < 1'500'000; ++i) {
    rows.Add(static_cast<uint32_t>(random()), static_cast<uint32_t>(random()),
             static_cast<uint32_t>(random()), i, static_cast<int64_t>(random()), i);
  }
  const PartRows part{1, rows.View()};
  const auto committed = hot->Commit({std::span(&part, 1), {}, {}, {}});
  ASSERT_TRUE(committed.ok()) << committed.error().message();
  EXPECT_GT(hot->log_bytes(), kLogBytesMax);
  const auto moved = hot->Checkpoint();
  ASSERT_TRUE(moved.ok()) << moved.error().message();
  EXPECT_LT(hot->log_bytes(), kLogBytesMax);
  EXPECT_TRUE(Load(hot.get()).parts[1] == rows);
}

// Many services make a dictionary that is far larger than their rows, in few large values.
TEST_F(HotFileTest, ADictionaryLargerThanItsMemoryIsLoadedAndMoved) {
  const std::string path = folder_ / "hot.duckdb";
  auto hot = Open(path);
  std::minstd_rand random(7);
  uint64_t bytes = 0;
  constexpr size_t kSizes[] = {20'000, 110'000, 290'000, 413'000};
  for (uint32_t n = 0; bytes < 60'000'000 || hot->log_bytes() < kLogBytesMax * 6 / 5; ++n) {
    std::vector<uint8_t> dictionary(kSizes[random() % std::size(kSizes)]);
    for (uint8_t& byte : dictionary) byte = static_cast<uint8_t>(random() >> 8);
    const auto committed = hot->Commit({{}, dictionary, {}, {}});
    ASSERT_TRUE(committed.ok()) << committed.error().message();
    bytes += dictionary.size();
    if (bytes < 60'000'000 && hot->log_bytes() > kLogBytesMax) {
      const auto moved = hot->Checkpoint();
      ASSERT_TRUE(moved.ok()) << bytes << ": " << moved.error().message();
    }
  }
  // As after a kill: the log is read again.
  const std::string copy = folder_ / "copy.duckdb";
  std::filesystem::copy_file(path, copy);
  std::filesystem::copy_file(path + ".wal", copy + ".wal");
  auto again = HotFile::Open(*db_, copy);
  ASSERT_TRUE(again.ok()) << again.error().message();
  uint64_t loaded = 0;
  const HotLoad load = {.state = [](Bytes) { return Result<void>(); },
                        .dictionary =
                            [&loaded](Bytes delta) {
                              loaded += delta.size();
                              return Result<void>();
                            },
                        .ledger = [](const LedgerRow&) { return Result<void>(); },
                        .rows = [](uint32_t, const RowColumns&) { return Result<void>(); }};
  const auto done = (*again)->Load(load);
  ASSERT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(loaded, bytes);
  const auto moved = (*again)->Checkpoint();
  EXPECT_TRUE(moved.ok()) << moved.error().message();
}

TEST_F(HotFileTest, DropsAPartForGood) {
  const std::string path = folder_ / "hot.duckdb";
  auto hot = Open(path);
  for (uint32_t n = 0; n < 9; ++n) ASSERT_TRUE(CommitNumber(hot.get(), n).ok());
  auto before = hot->Parts();
  ASSERT_TRUE(before.ok());
  ASSERT_EQ(before->size(), 3U);
  EXPECT_EQ((*before)[1].rows, Load(hot.get()).parts[1].type.size());
  ASSERT_TRUE(hot->DropPart(1).ok());
  ASSERT_TRUE(hot->DropPart(1).ok());
  ASSERT_TRUE(hot->Checkpoint().ok());
  auto parts = hot->Parts();
  ASSERT_TRUE(parts.ok());
  ASSERT_EQ(parts->size(), 2U);
  EXPECT_EQ((*parts)[1].part, 2U);
  hot.reset();
  hot = Open(path);
  EXPECT_EQ(Load(hot.get()).parts.count(1), 0U);
  EXPECT_TRUE(CommitNumber(hot.get(), 10).ok());  // part 1 again
  EXPECT_EQ(Load(hot.get()).parts[1], RowsOfCommit(10));
}

// The child says each commit on a pipe after it was acknowledged.
[[noreturn]] void CommitUntilKilled(const std::string& folder, const std::string& path,
                                    uint32_t next, int pipe) {
  auto db = DuckDb::Open({folder + "/spill", uint64_t{128} << 20, 2});
  if (!db.ok()) ::_exit(2);
  auto hot = HotFile::Open(**db, path);
  if (!hot.ok()) ::_exit(3);
  for (uint32_t n = next;; ++n) {
    if (!CommitNumber(hot->get(), n).ok()) ::_exit(4);
    if (::write(pipe, &n, sizeof n) != sizeof n) ::_exit(5);
    if (n % 13 == 12 && !(*hot)->Checkpoint().ok()) ::_exit(6);
  }
}

TEST_F(HotFileTest, LosesNothingAcknowledgedByKill9) {
  const std::string path = folder_ / "hot.duckdb";
  std::minstd_rand random(17);
  uint32_t next = 0;
  for (int round = 0; round < 12; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) CommitUntilKilled(folder_.path(), path, next, ends[1]);
    ::close(ends[1]);
    uint32_t acknowledged = 0;
    const uint32_t wanted = 1 + static_cast<uint32_t>(random() % 40);
    for (uint32_t i = 0; i < wanted; ++i) {
      ASSERT_EQ(::read(ends[0], &acknowledged, sizeof acknowledged), 4) << "the child ended";
    }
    ::usleep(static_cast<useconds_t>(random() % 4000));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    while (::read(ends[0], &acknowledged, sizeof acknowledged) == 4) {
    }
    ::close(ends[0]);
    auto hot = Open(path);
    ASSERT_NE(hot, nullptr);
    const size_t whole = WholeCommits(Load(hot.get()));
    EXPECT_GE(whole, acknowledged + 1);
    EXPECT_LE(whole, acknowledged + 2);
    next = static_cast<uint32_t>(whole);
  }
}

TEST_F(HotFileTest, RefusesAnotherSchemaVersion) {
  const std::string path = folder_ / "hot.duckdb";
  ASSERT_TRUE(Open(path)->Close().ok());
  {
    auto instance = db_->state().Instance();
    ASSERT_TRUE(instance.ok());
    auto connection = Connection::Open(*instance);
    ASSERT_TRUE(connection.ok());
    for (const std::string& sql : {"ATTACH " + SqlText(path) + " AS other",
                                   std::string("UPDATE other.main.meta SET schema_version = 3"),
                                   std::string("DETACH other")}) {
      ASSERT_TRUE((*connection)->Run(sql, "").ok()) << sql;
    }
  }
  auto hot = HotFile::Open(*db_, path);
  ASSERT_FALSE(hot.ok());
  EXPECT_EQ(hot.error().code(), ErrorCode::kUnsupported);
  EXPECT_NE(hot.error().message().find("schema version 3"), std::string::npos);
}

// What becomes of a damaged file: 0 = all is there, 1 = only a first part of the commits, 2 = an
// error, else the process died. In a process of its own, since DuckDB could bring it down.
int OpenDamaged(const std::string& folder, const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto db = DuckDb::Open({folder + "/spill", uint64_t{128} << 20, 2});
    if (!db.ok()) ::_exit(9);
    auto hot = HotFile::Open(**db, path);
    if (!hot.ok()) ::_exit(2);
    auto loaded = LoadAll(hot->get());
    if (!loaded.ok()) ::_exit(2);
    const size_t whole = WholeCommits(*loaded);
    ::_exit(testing::Test::HasFailure() ? 8 : whole == 30 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

TEST_F(HotFileTest, DamageIsAnErrorOrLeavesWholeCommits) {
  // One file with all in its blocks, one with all in its log.
  std::map<std::string, std::string> originals;
  {
    auto hot = Open(folder_ / "a.duckdb");
    for (uint32_t n = 0; n < 30; ++n) ASSERT_TRUE(CommitNumber(hot.get(), n).ok());
    originals["log"] = ReadAll(folder_ / "a.duckdb.wal");
    originals["log's file"] = ReadAll(folder_ / "a.duckdb");
    ASSERT_TRUE(hot->Close().ok());
    originals["blocks"] = ReadAll(folder_ / "a.duckdb");
  }
  std::minstd_rand random(3);
  for (const std::string what : {"blocks", "log"}) {
    const std::string& original = originals[what];
    std::map<int, int> outcomes;
    for (int i = 0; i < 40; ++i) {
      std::string bytes = original;
      // Headers are small, so every third damage is there.
      const size_t at = random() % (i % 3 == 0 ? size_t{12288} : bytes.size());
      if (i % 4 == 3) {
        bytes.resize(at);
      } else {
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      }
      const std::string path = folder_ / "damaged.duckdb";
      WriteAll(path, what == "blocks" ? bytes : originals["log's file"]);
      std::filesystem::remove(path + ".wal");
      if (what == "log") WriteAll(path + ".wal", bytes);
      const int outcome = OpenDamaged(folder_.path(), path);
      EXPECT_LE(outcome, 2) << what << ", byte " << at << (i % 4 == 3 ? " cut" : " flipped");
      ++outcomes[outcome];
    }
    EXPECT_GT(outcomes[2] + outcomes[1], 15) << what;
  }
}

TEST_F(HotFileTest, AFullDiskRefusesACommitAndLosesNone) {
  const std::string disk = folder_ / "disk";
  std::filesystem::create_directory(disk);
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=3m") != 0) GTEST_SKIP() << "needs root";
  uint32_t done = 0;
  {
    auto hot = Open(disk + "/hot.duckdb");
    Result<void> outcome;
    for (; done < 1000; ++done) {
      outcome = CommitNumber(hot.get(), done);
      if (!outcome.ok()) break;
    }
    EXPECT_FALSE(outcome.ok());
    if (!outcome.ok()) {
      EXPECT_EQ(outcome.error().code(), ErrorCode::kUnavailable) << outcome.error().message();
      EXPECT_FALSE(hot->is_usable());
      // Opened again, it is still refused, and reading still works.
      hot = nullptr;
      hot = Open(disk + "/hot.duckdb");
      ASSERT_NE(hot, nullptr);
      EXPECT_EQ(hot->next_commit(), done);
      EXPECT_EQ(WholeCommits(Load(hot.get())), done);
      EXPECT_EQ(hot->Checkpoint().error().code(), ErrorCode::kUnavailable);
      EXPECT_TRUE(hot->is_usable());
      EXPECT_FALSE(CommitNumber(hot.get(), done).ok());
      hot = nullptr;
      hot = Open(disk + "/hot.duckdb");
      ASSERT_NE(hot, nullptr);
    }
    EXPECT_EQ(::mount("none", disk.c_str(), "tmpfs", MS_REMOUNT, "size=60m"), 0);
    const auto again = CommitNumber(hot.get(), done);
    EXPECT_TRUE(again.ok()) << again.error().message();
    ++done;
    EXPECT_EQ(WholeCommits(Load(hot.get())), done);
  }
  {
    auto hot = Open(disk + "/hot.duckdb");
    if (hot != nullptr) {
      EXPECT_EQ(WholeCommits(Load(hot.get())), done);
    }
  }
  EXPECT_EQ(::umount(disk.c_str()), 0);
}

TEST_F(HotFileTest, AReadOnlyFolderIsSaid) {
  const std::string disk = folder_ / "disk";
  std::filesystem::create_directory(disk);
  if (::mount("none", disk.c_str(), "tmpfs", MS_RDONLY, "size=3m") != 0)
    GTEST_SKIP() << "needs root";
  auto hot = HotFile::Open(*db_, disk + "/hot.duckdb");
  ASSERT_EQ(::umount(disk.c_str()), 0);
  ASSERT_FALSE(hot.ok());
  EXPECT_EQ(hot.error().code(), ErrorCode::kUnavailable) << hot.error().message();
}

}  // namespace
}  // namespace vesta::store::duck
