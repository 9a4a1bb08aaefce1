#include "src/wire/profile_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "src/wire/folded_encoder.h"
#include "src/wire/gzip.h"
#include "src/wire/pprof_encoder.h"
#include "test/support/synthetic_profile.h"

namespace vesta::wire {
namespace {

namespace fs = std::filesystem;
using test::DumpProfile;
using test::SyntheticProfile;

class ProfileFileTest : public testing::Test {
 protected:
  ProfileFileTest() {
    char path[] = "/tmp/vesta-profile-file-XXXXXX";
    folder_ = ::mkdtemp(path);
  }
  ~ProfileFileTest() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  static std::string Bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void Put(const std::string& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  static std::string Plain(const profile::Profile& profile) {
    return EncodePprof(profile, {.gzip = false});
  }
  size_t FileCount() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
  profile::Profile profile_ = SyntheticProfile({.seed = 9, .odd_content = false});
};

TEST_F(ProfileFileTest, ContentDecidesHowToRead) {
  for (const bool gzip : {true, false}) {
    ASSERT_TRUE(WriteWholeFile(Path("a.svg"), EncodePprof(profile_, {.gzip = gzip})).ok());
    const auto back = ReadProfileFile(Path("a.svg"));
    ASSERT_TRUE(back.ok()) << back.error().message();
    EXPECT_EQ(DumpProfile(*back), DumpProfile(profile_));
  }
  ASSERT_TRUE(WriteWholeFile(Path("a.pb"), EncodeFolded(profile_)).ok());
  EXPECT_TRUE(ReadProfileFile(Path("a.pb")).ok());
  EXPECT_EQ(FileCount(), 2u) << "no temporary files stay";
}

TEST_F(ProfileFileTest, PathsThatCannotWorkAreToldBeforehand) {
  EXPECT_TRUE(CheckOutputPath("-").ok());
  EXPECT_TRUE(CheckOutputPath("/dev/null").ok());
  EXPECT_TRUE(CheckOutputPath("/tmp/x.folded").ok());
  EXPECT_TRUE(CheckOutputPath("x.pb.gz").ok());
  EXPECT_EQ(CheckOutputPath("/nowhere/x.folded").error().code(), base::ErrorCode::kNotFound);
  EXPECT_EQ(CheckOutputPath("/proc/x.folded").ok(), ::access("/proc", W_OK) == 0);
  EXPECT_FALSE(CheckOutputPath("/tmp").ok());
}

TEST_F(ProfileFileTest, TheLongestNameIsWritten) {
  const std::string name = std::string(252, 'n') + ".pb";
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(WriteWholeFile(Path(name), Plain(profile_)).ok());
  EXPECT_EQ(Bytes(Path(name)), Plain(profile_));
  EXPECT_EQ(FileCount(), 1u);
  EXPECT_FALSE(WriteWholeFile(Path(name + "x"), Plain(profile_)).ok());
}

TEST_F(ProfileFileTest, OldFileKeepsItsModeAndLinksStayLinks) {
  Put(Path("real.pb"), "old");
  ASSERT_EQ(::chmod(Path("real.pb").c_str(), 0640), 0);
  fs::create_symlink("real.pb", Path("link.pb"));
  ASSERT_TRUE(WriteWholeFile(Path("link.pb"), Plain(profile_)).ok());
  EXPECT_TRUE(fs::is_symlink(Path("link.pb")));
  EXPECT_EQ(fs::status(Path("real.pb")).permissions(), fs::perms(0640));
  EXPECT_EQ(Bytes(Path("real.pb")), Plain(profile_));
  fs::create_symlink("new.pb", Path("dangling.pb"));
  ASSERT_TRUE(WriteWholeFile(Path("dangling.pb"), Plain(profile_)).ok());
  EXPECT_EQ(Bytes(Path("new.pb")), Plain(profile_));
}

TEST_F(ProfileFileTest, FullDiskLeavesTheOldFileAndSaysWhatIsNeeded) {
  const auto large = SyntheticProfile({.seed = 1, .samples = 3000, .odd_content = false});
  const size_t size_bytes = EncodePprof(large, {.gzip = false}).size();
  ASSERT_GT(size_bytes, 20'000u);
  Put(Path("old.pb"), "old");
  // A limit on file sizes stands for the full disk: writes stop in the middle with EFBIG.
  struct ::rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct ::rlimit small = {10'000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto over_old = WriteWholeFile(Path("old.pb"), Plain(large));
  const auto fresh = WriteWholeFile(Path("fresh.pb"), Plain(large));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);

  ASSERT_FALSE(over_old.ok());
  EXPECT_EQ(over_old.error().code(), base::ErrorCode::kExhausted);
  EXPECT_EQ(over_old.error().message(),
            "writing " + Path("old.pb") +
                ": File too large; nothing was saved, the old file is unchanged; it needs " +
                HumanBytes(size_bytes) + ": make room or choose another place");
  EXPECT_FALSE(fresh.ok());
  EXPECT_EQ(Bytes(Path("old.pb")), "old");
  EXPECT_EQ(FileCount(), 1u) << "no half file stays";
  EXPECT_TRUE(WriteWholeFile(Path("elsewhere.pb"), Plain(large)).ok());
}

TEST_F(ProfileFileTest, FullDeviceIsAnError) {
  const auto result = WriteWholeFile("/dev/full", Plain(profile_));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), base::ErrorCode::kExhausted);
  EXPECT_NE(result.error().message().find("No space left on device"), std::string::npos);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(ProfileFileTest, PipesAreWrittenAndRead) {
  const std::string pipe = Path("pipe.pb");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { EXPECT_TRUE(WriteWholeFile(pipe, Plain(profile_)).ok()); });
  const auto back = ReadProfileFile(pipe);
  writer.join();
  ASSERT_TRUE(back.ok()) << back.error().message();
  EXPECT_EQ(DumpProfile(*back), DumpProfile(profile_));
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(ProfileFileTest, ErrorsNameThePath) {
  Put(Path("file"), "some notes\n");
  EXPECT_EQ(ReadProfileFile(Path("file")).error().message(),
            Path("file") + ": no folded stacks: line 1 does not end in a space and a whole number");
  EXPECT_EQ(ReadProfileFile(Path("none")).error().message(),
            "opening " + Path("none") + ": No such file or directory");
  EXPECT_EQ(ReadProfileFile(folder_.string()).error().message(),
            folder_.string() + ": reading: Is a directory");
  EXPECT_EQ(WriteWholeFile(Path("no/such/folder.pb"), "x").error().code(),
            base::ErrorCode::kNotFound);
  fs::create_directory(Path("folder.pb"));
  EXPECT_EQ(WriteWholeFile(Path("folder.pb"), "x").error().code(), base::ErrorCode::kInvalidInput);
}

TEST_F(ProfileFileTest, RefusesHugeFilesWithoutReadingThem) {
  Put(Path("huge"), "a;b 1\n");
  fs::resize_file(Path("huge"), uint64_t{1} << 40);  // with nothing behind it
  const auto result = ReadProfileFile(Path("huge"));
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message().find("larger than the limit of 4.0 GiB"), std::string::npos);
}

TEST_F(ProfileFileTest, WhatBeginsLikeNoProfileIsNotReadToItsEnd) {
  const DecodeOptions options = {.size_bytes_max = 200'000};
  EXPECT_NE(ReadProfileFile("/dev/zero", options).error().message().find("in no format"),
            std::string::npos);
  GzipWriter gzip(1);
  for (int i = 0; i < 10; ++i) gzip.Write(std::string(100'000, '\0'));
  Put(Path("zeros.gz"), gzip.Finish());
  EXPECT_NE(ReadProfileFile(Path("zeros.gz"), options).error().message().find("in no format"),
            std::string::npos);
}

TEST_F(ProfileFileTest, EndlessInputIsReadUpToTheLimit) {
  EXPECT_NE(ReadProfileFile("/dev/zero", {.from = ProfileFormat::kPprof, .size_bytes_max = 100'000})
                .error()
                .message()
                .find("larger than the limit"),
            std::string::npos);
}

TEST_F(ProfileFileTest, RefusesFilesBeyondTheLimit) {
  Put(Path("big"), std::string(100'000, 'x'));
  const auto result = ReadProfileFile(Path("big"), {.size_bytes_max = 50'000});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), base::ErrorCode::kExhausted);
}

}  // namespace
}  // namespace vesta::wire
