#include "src/agent/naming/symbol_cache.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <vector>

#include "src/agent/naming/folder_for_test.h"

namespace vesta::agent::naming {
namespace {

constexpr char kKey[] = "gnu+3aabcd";

std::string TextOf(const LeasedFile& file) {
  const auto bytes = file.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Runs in another process and gives its exit status.
template <typename Function>
int InAnotherProcess(Function function) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(function());
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

class SymbolCacheTest : public testing::Test {
 protected:
  SymbolCache::Options OptionsOf(uint64_t bytes_max = 1 << 20) const {
    return {folder_.Path("symbols"), bytes_max, true};
  }
  // Writes an index as a run does, and returns what went wrong.
  static std::string Store(SymbolCache& cache, const std::string& key, const std::string& text) {
    auto writing = cache.BeginWrite(key);
    if (!writing.ok()) return writing.error().message();
    if (::write((*writing)->fd(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      cache.Discard(**writing);
      return "not written";
    }
    const auto finished = cache.Finish(**writing);
    if (!finished.ok()) return finished.error().message();
    if (TextOf(**finished) != text) return "another text";
    const auto kept = cache.Keep(**writing);
    return kept.ok() ? "" : kept.error().message();
  }
  std::string InCache(const std::string& name) const { return "symbols/" + name; }

  FolderForTest folder_;
};

TEST_F(SymbolCacheTest, KeepsWhatWasWrittenForTheNextRun) {
  {
    SymbolCache cache(OptionsOf());
    ASSERT_TRUE(cache.has_folder()) << cache.refused_why();
    EXPECT_FALSE(cache.Has(kKey));
    EXPECT_EQ(cache.Open(kKey).error().code(), base::ErrorCode::kNotFound);
    EXPECT_EQ(Store(cache, kKey, "an index"), "");
  }
  SymbolCache cache(OptionsOf());
  EXPECT_TRUE(cache.Has(kKey));
  const auto file = cache.Open(kKey);
  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_EQ(TextOf(**file), "an index");
  EXPECT_TRUE((*file)->is_safe());
  (*file)->DropPages();
  EXPECT_EQ(TextOf(**file), "an index");
  EXPECT_EQ(cache.Usage().files, 1u);
  EXPECT_EQ(cache.Usage().bytes, 8u);
  struct stat status{};
  ASSERT_EQ(::stat(folder_.Path("symbols").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST_F(SymbolCacheTest, WithoutAFolderIndexesHaveNoNames) {
  SymbolCache cache({});
  EXPECT_FALSE(cache.has_folder());
  EXPECT_EQ(cache.refused_why(), "");
  auto writing = cache.BeginWrite(kKey);
  ASSERT_TRUE(writing.ok()) << writing.error().message();
  ASSERT_EQ(::write((*writing)->fd(), "index", 5), 5);
  const auto file = cache.Finish(**writing);
  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_TRUE(cache.Keep(**writing).ok());
  EXPECT_EQ(TextOf(**file), "index");
  EXPECT_FALSE(cache.Has(kKey));
}

TEST_F(SymbolCacheTest, FoldersThatOthersControlAreRefused) {
  const std::string path = folder_.Path("symbols");
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0777), 0);
  EXPECT_NE(SymbolCache(OptionsOf()).refused_why().find("mode 700"), std::string::npos);
  ASSERT_EQ(::chmod(path.c_str(), 0770), 0);
  EXPECT_FALSE(SymbolCache(OptionsOf()).has_folder());
  ASSERT_EQ(::chmod(path.c_str(), 0700), 0);
  EXPECT_TRUE(SymbolCache(OptionsOf()).has_folder());
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
    EXPECT_NE(SymbolCache(OptionsOf()).refused_why().find("belongs to user 12345"),
              std::string::npos);
    ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
  }
  ASSERT_EQ(::rename(path.c_str(), folder_.Path("real").c_str()), 0);
  ASSERT_EQ(::symlink(folder_.Path("real").c_str(), path.c_str()), 0);
  EXPECT_NE(SymbolCache(OptionsOf()).refused_why().find("is a link"), std::string::npos);
  ASSERT_EQ(::unlink(path.c_str()), 0);
  folder_.Write("symbols", "a file");
  SymbolCache refused(OptionsOf());
  EXPECT_FALSE(refused.has_folder());
  // It goes on without.
  EXPECT_EQ(Store(refused, kKey, "index"), "");
}

TEST_F(SymbolCacheTest, WhatIsNoFileOfOursIsNotOpened) {
  SymbolCache cache(OptionsOf());
  folder_.Write("secret", "text of another file");
  const std::string path = folder_.Path(InCache(std::string(kKey) + ".index"));
  ASSERT_EQ(::symlink(folder_.Path("secret").c_str(), path.c_str()), 0);
  EXPECT_EQ(cache.Open(kKey).error().code(), base::ErrorCode::kPermission);
  ASSERT_EQ(::unlink(path.c_str()), 0);

  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(cache.Open(kKey).error().code(), base::ErrorCode::kPermission);
  ASSERT_EQ(::unlink(path.c_str()), 0);

  folder_.Write(InCache(std::string(kKey) + ".index"), "index", 0666);
  EXPECT_EQ(cache.Open(kKey).error().code(), base::ErrorCode::kPermission);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
    ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
    EXPECT_EQ(cache.Open(kKey).error().code(), base::ErrorCode::kPermission);
  }
  // A new one takes its place.
  EXPECT_EQ(Store(cache, kKey, "index"), "");
  EXPECT_TRUE(cache.Open(kKey).ok());
  EXPECT_EQ(folder_.Read("secret"), "text of another file");

  folder_.Write(InCache(std::string(kKey) + ".index"), "");
  EXPECT_EQ(cache.Open(kKey).error().code(), base::ErrorCode::kCorrupt);
}

TEST_F(SymbolCacheTest, PlantedPartsAndLocksDoNoHarm) {
  SymbolCache cache(OptionsOf());
  folder_.Write("secret", "text of another file");
  const std::string part = folder_.Path(InCache(std::string(kKey) + ".part"));
  ASSERT_EQ(::symlink(folder_.Path("secret").c_str(), part.c_str()), 0);
  EXPECT_EQ(Store(cache, kKey, "index"), "");
  EXPECT_EQ(folder_.Read("secret"), "text of another file");

  const std::string lock = folder_.Path(InCache("lock"));
  ASSERT_EQ(::unlink(lock.c_str()), 0);
  ASSERT_EQ(::symlink(folder_.Path("secret").c_str(), lock.c_str()), 0);
  EXPECT_FALSE(cache.BeginWrite("other").ok());
  ASSERT_EQ(::unlink(lock.c_str()), 0);
  ASSERT_EQ(::mkfifo(lock.c_str(), 0600), 0);
  EXPECT_FALSE(cache.BeginWrite("other").ok());
}

TEST_F(SymbolCacheTest, AWriterHasToWaitUntilTheFileIsLetGo) {
  SymbolCache cache(OptionsOf());
  ASSERT_EQ(Store(cache, kKey, std::string(100'000, 'x')), "");
  const std::string path = folder_.Path(InCache(std::string(kKey) + ".index"));

  // Who has it open for writing already could change it at any time.
  const int writer = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(writer, 0);
  EXPECT_EQ(cache.Open(kKey).error().code(), base::ErrorCode::kUnavailable);
  ::close(writer);

  auto file = cache.Open(kKey);
  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_EQ(InAnotherProcess([&] {
              const int fd = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
              return fd < 0 && errno == EWOULDBLOCK ? 0 : 1;
            }),
            0);
  EXPECT_FALSE((*file)->is_safe());  // it wants to

  *file = nullptr;
  file = cache.Open(kKey);
  ASSERT_TRUE(file.ok()) << file.error().message();
  const pid_t hostile = ::fork();
  if (hostile == 0) ::_exit(::truncate(path.c_str(), 0) == 0 ? 0 : 1);  // waits
  for (int i = 0; i < 5000 && (*file)->is_safe(); ++i) ::usleep(1000);
  EXPECT_FALSE((*file)->is_safe());
  // Every byte is still there.
  EXPECT_EQ(TextOf(**file), std::string(100'000, 'x'));
  int status = 0;
  EXPECT_EQ(::waitpid(hostile, &status, WNOHANG), 0);
  *file = nullptr;
  EXPECT_EQ(::waitpid(hostile, &status, 0), hostile);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(cache.Open(kKey).error().code(), base::ErrorCode::kCorrupt);
}

TEST_F(SymbolCacheTest, WhereThereAreNoLeasesTheBytesAreCopied) {
  const std::string path = folder_.Write("file", "index");
  const int folder = ::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const auto file = LeasedFile::Open(folder, "file", LeasedFile::Way::kCopy);
  ASSERT_TRUE(file.ok()) << file.error().message();
  ASSERT_EQ(::truncate(path.c_str(), 0), 0);
  EXPECT_TRUE((*file)->is_safe());
  (*file)->DropPages();
  EXPECT_EQ(TextOf(**file), "index");
  ASSERT_EQ(::truncate(path.c_str(), LeasedFile::kCopyBytesMax + 1), 0);
  EXPECT_EQ(LeasedFile::Open(folder, "file", LeasedFile::Way::kCopy).error().code(),
            base::ErrorCode::kExhausted);
  ::close(folder);
}

TEST_F(SymbolCacheTest, OneProcessWritesAnIndexAtATime) {
  SymbolCache first(OptionsOf());
  SymbolCache second(OptionsOf());
  auto writing = first.BeginWrite(kKey);
  ASSERT_TRUE(writing.ok());
  EXPECT_EQ(second.BeginWrite(kKey).error().code(), base::ErrorCode::kUnavailable);
  EXPECT_TRUE(second.BeginWrite("another").ok());
  ASSERT_EQ(::write((*writing)->fd(), "half", 4), 4);
  EXPECT_FALSE(second.Has(kKey));
  // A process that dies leaves its part behind, and no lock.
  writing->reset();
  EXPECT_TRUE(folder_.Has(InCache(std::string(kKey) + ".part")));
  EXPECT_EQ(Store(second, kKey, "whole"), "");
  EXPECT_EQ(TextOf(**first.Open(kKey)), "whole");
}

TEST_F(SymbolCacheTest, WhatWasUsedLongestAgoGoesFirst) {
  SymbolCache cache(OptionsOf(3000));
  for (const char* key : {"a", "b", "c"}) ASSERT_EQ(Store(cache, key, std::string(1000, 'x')), "");
  const auto set_used = [&](const char* name, time_t seconds) {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, folder_.Path(InCache(name)).c_str(), times, 0), 0);
  };
  set_used("a.index", 1000);
  set_used("b.index", 2000);
  set_used("c.index", 3000);
  cache.Trim();
  EXPECT_EQ(cache.Usage().files, 3u);
  ASSERT_TRUE(cache.Open("a").ok());  // used now
  folder_.Write(InCache("dead.part"), "remains");
  set_used("dead.part", 1000);
  folder_.Write(InCache("fresh.part"), std::string(1000, 'x'));
  folder_.Write(InCache("of somebody"), std::string(100'000, 'x'));
  const auto read_on = cache.Open("b");
  set_used("b.index", 2000);
  cache.Trim();
  EXPECT_TRUE(cache.Has("a"));
  EXPECT_FALSE(cache.Has("b"));
  EXPECT_TRUE(cache.Has("c"));
  EXPECT_FALSE(folder_.Has(InCache("dead.part")));
  EXPECT_TRUE(folder_.Has(InCache("fresh.part")));
  EXPECT_TRUE(folder_.Has(InCache("of somebody")));
  EXPECT_EQ(cache.removed_files(), 2u);
  EXPECT_EQ(TextOf(**read_on), std::string(1000, 'x'));
}

TEST_F(SymbolCacheTest, NotesSayWhyAnImageHasNoIndex) {
  SymbolCache cache(OptionsOf());
  EXPECT_FALSE(cache.ReadNote(kKey));
  cache.WriteNote(kKey, {1'700'000'000, 4711, true, true, "it is \"corrupt\"\n"});
  const auto note = SymbolCache(OptionsOf()).ReadNote(kKey);
  ASSERT_TRUE(note);
  EXPECT_EQ(note->time_unix_s, 1'700'000'000u);
  EXPECT_EQ(note->image_bytes, 4711u);
  EXPECT_TRUE(note->debug_file_existed);
  EXPECT_TRUE(note->asked_servers);
  EXPECT_EQ(note->why, "it is \"corrupt\"\n");
  cache.RemoveNote(kKey);
  EXPECT_FALSE(cache.ReadNote(kKey));

  const std::string name = InCache(std::string(kKey) + ".note");
  for (const char* damaged : {"", "{", "{}", "[]", "{\"time_unix_s\":1,\"image_bytes\":2}",
                              "{\"time_unix_s\":1,\"image_bytes\":2,\"debug_file_existed\":true,"
                              "\"asked_servers\":true,\"why\":7}"}) {
    folder_.Write(name, damaged);
    EXPECT_FALSE(cache.ReadNote(kKey)) << damaged;
  }
  folder_.Write(name, std::string(100'000, '{'));
  EXPECT_FALSE(cache.ReadNote(kKey));
}

TEST_F(SymbolCacheTest, KeysAreFileNames) {
  EXPECT_EQ(SymbolCache::KeyOf("gnu:ab12"), "gnu+3aab12");
  EXPECT_EQ(SymbolCache::KeyOf("go:a/../b"), "go+3aa+2f+2e+2e+2fb");
  EXPECT_EQ(SymbolCache::KeyOf(std::string(1000, 'a')), "");
  // What cannot be a file name is not kept.
  SymbolCache cache(OptionsOf());
  auto writing = cache.BeginWrite("");
  ASSERT_TRUE(writing.ok());
  EXPECT_EQ(cache.Usage().files, 0u);
}

TEST_F(SymbolCacheTest, AFullDiskIsAnErrorOfTheOneWhoWrites) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount a small file system";
  const std::string path = folder_.Path("symbols");
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  if (::mount("tmpfs", path.c_str(), "tmpfs", 0, "size=64k,mode=0700") != 0) {
    GTEST_SKIP() << "mounting is not allowed here";
  }
  {
    SymbolCache cache(OptionsOf());
    EXPECT_LE(cache.bytes_max_of_one(), 32u << 10);
    EXPECT_EQ(Store(cache, kKey, std::string(200'000, 'x')), "not written");
    EXPECT_EQ(cache.Usage().files, 0u);
    folder_.Write(InCache("filler"), std::string(100'000, 'x'));
    cache.WriteNote(kKey, {1, 2, false, false, "why"});
    EXPECT_FALSE(cache.ReadNote(kKey));
    EXPECT_EQ(cache.Usage().files, 0u);
  }
  EXPECT_EQ(::umount(path.c_str()), 0);
}

}  // namespace
}  // namespace vesta::agent::naming
