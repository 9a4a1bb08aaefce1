#include "src/agent/runtime/perf_map/perf_map_runtime.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace vesta::agent::runtime {
namespace {

namespace fs = std::filesystem;

// A made-up /proc with processes that have a root of their own.
class PerfMapRuntimeTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "vesta_perf_map_XXXXXX").string();
    proc_ = ::mkdtemp(pattern.data());
    AddProcess(4711, "4711\t12", ::geteuid());
  }
  void TearDown() override { fs::remove_all(proc_); }

  void AddProcess(uint32_t pid, const std::string& pids, uid_t user) {
    const fs::path folder = fs::path(proc_) / std::to_string(pid);
    fs::create_directories(folder / "root/tmp");
    std::ofstream(folder / "status") << "Name:\tapp\nUid:\t77\t" << user << "\t77\t" << user
                                     << "\nGid:\t0\t0\t0\t0\nNSpid:\t" << pids << "\nThreads:\t1\n";
  }
  std::string MapPath(uint32_t pid, const std::string& inner_pid) const {
    return proc_ + "/" + std::to_string(pid) + "/root/tmp/perf-" + inner_pid + ".map";
  }
  void Write(const std::string& path, const std::string& text,
             std::ios::openmode mode = std::ios::trunc) {
    std::ofstream(path, std::ios::out | mode) << text;
    // Two writes within one tick of the clock are still two states.
    timeval times[2] = {{mtime_seconds_, 0}, {mtime_seconds_, 0}};
    ASSERT_EQ(::utimes(path.c_str(), times), 0);
    ++mtime_seconds_;
  }
  std::string NameAt(uint32_t pid, uint64_t address) {
    const auto eras = ErasAt(pid, address);
    return eras.empty() ? "-" : eras.back();
  }
  // The names of one address, the oldest first; "-" = it had none.
  std::vector<std::string> ErasAt(uint32_t pid, uint64_t address) {
    const auto names = runtime_->Name({pid, 0}, std::span(&address, 1));
    if (!names.ok()) return {std::string("error: ") + base::ErrorCodeName(names.error().code())};
    std::vector<std::string> eras;
    for (const FrameEra& era : names->at(0)) {
      eras.push_back(era.symbol.lines.empty() ? "-" : era.symbol.lines[0].name);
    }
    return eras;
  }
  void MakeRuntime(CodeFileLimits limits = {}) {
    runtime_ = std::make_unique<PerfMapRuntime>(proc_, limits);
  }

  std::string proc_;
  std::unique_ptr<PerfMapRuntime> runtime_;
  time_t mtime_seconds_ = ::time(nullptr);
};

TEST_F(PerfMapRuntimeTest, GeneratedCodeIsItsOwnAndNeedsNothingInTheKernel) {
  MakeRuntime();
  EXPECT_EQ(runtime_->name(), "perf-map");
  ImageFacts image;
  image.path = "/usr/bin/node";
  EXPECT_FALSE(runtime_->Detect(image));
  image.path = {};
  image.is_generated = true;
  EXPECT_TRUE(runtime_->Detect(image));
  const auto part = runtime_->Prepare({4711, 0}, image);
  ASSERT_TRUE(part.ok());
  EXPECT_TRUE(part->step_program.empty());
}

TEST_F(PerfMapRuntimeTest, UsesThePidThatTheProcessKnows) {
  MakeRuntime();
  Write(MapPath(4711, "4711"), "100 10 wrong\n");
  Write(MapPath(4711, "12"), "100 10 right\n200 10 JS:*run app.js:1\n");
  EXPECT_EQ(NameAt(4711, 0x105), "right");
  EXPECT_EQ(NameAt(4711, 0x20f), "JS:*run app.js:1");
  EXPECT_EQ(NameAt(4711, 0x300), "-");
}

TEST_F(PerfMapRuntimeTest, SeesWhatIsAddedAndWhatIsWrittenAnew) {
  MakeRuntime();
  const std::string path = MapPath(4711, "12");
  Write(path, "100 10 first\n200 10 hal");
  EXPECT_EQ(NameAt(4711, 0x100), "first");
  EXPECT_EQ(NameAt(4711, 0x200), "-");
  Write(path, "f\n300 10 third\n", std::ios::app);
  EXPECT_EQ(NameAt(4711, 0x200), "half");
  EXPECT_EQ(NameAt(4711, 0x300), "third");
  EXPECT_EQ(NameAt(4711, 0x100), "first");
  // The same length or more, other text: what was read before is gone.
  Write(path, "900 10 another program's names, and more of them\n901 1 than before\n");
  EXPECT_EQ(NameAt(4711, 0x900), "another program's names, and more of them");
  EXPECT_EQ(NameAt(4711, 0x200), "-");
}

TEST_F(PerfMapRuntimeTest, NamesOutliveTheProcess) {
  MakeRuntime();
  Write(MapPath(4711, "12"), "100 10 first\n");
  EXPECT_EQ(NameAt(4711, 0x100), "first");
  fs::remove_all(proc_ + "/4711");
  EXPECT_EQ(NameAt(4711, 0x100), "first");
  runtime_->Forget(4711);
  EXPECT_EQ(NameAt(4711, 0x100), "error: not found");
}

TEST_F(PerfMapRuntimeTest, AnotherProcessOfTheSamePidHasNamesOfItsOwn) {
  MakeRuntime();
  Write(MapPath(4711, "12"), "100 10 first\n");
  EXPECT_EQ(NameAt(4711, 0x100), "first");
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  const auto now_boot_ns =
      static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
  const uint64_t address = 0x100;
  // It started an hour after the file was last written: the file is its predecessor's.
  const auto stale =
      runtime_->Name({4711, now_boot_ns + 3'600'000'000'000u}, std::span(&address, 1));
  ASSERT_FALSE(stale.ok());
  EXPECT_EQ(stale.error().code(), base::ErrorCode::kNotFound);
  const auto own = runtime_->Name({4711, now_boot_ns - 1}, std::span(&address, 1));
  ASSERT_TRUE(own.ok());
  EXPECT_EQ(own->at(0).at(0).symbol.lines.at(0).name, "first");
}

TEST_F(PerfMapRuntimeTest, FilesThatAreNotTheProcessOwnAreRefused) {
  MakeRuntime();
  EXPECT_EQ(NameAt(4711, 0x100), "error: not found");  // no file
  EXPECT_EQ(NameAt(99, 0x100), "error: not found");    // no process
  // A link out of its root.
  const std::string outside = proc_ + "/outside.map";
  Write(outside, "100 10 secret\n");
  fs::create_symlink(outside, MapPath(4711, "12"));
  EXPECT_EQ(NameAt(4711, 0x100), "error: permission denied");
  fs::remove_all(proc_ + "/4711/root/tmp");
  fs::create_directory(proc_ + "/elsewhere");
  Write(proc_ + "/elsewhere/perf-12.map", "100 10 secret\n");
  fs::create_directory_symlink("../../elsewhere", proc_ + "/4711/root/tmp");
  EXPECT_EQ(NameAt(4711, 0x100), "error: not found");
  // No regular file: opening it must not wait either.
  AddProcess(4712, "4712", ::geteuid());
  ASSERT_EQ(::mkfifo(MapPath(4712, "4712").c_str(), 0600), 0);
  EXPECT_EQ(NameAt(4712, 0x100), "error: invalid input");
}

TEST_F(PerfMapRuntimeTest, FileOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give a file away";
  MakeRuntime();
  AddProcess(4713, "4713", 1000);
  Write(MapPath(4713, "4713"), "100 10 by root\n");
  EXPECT_EQ(NameAt(4713, 0x100), "by root");
  ASSERT_EQ(::chown(MapPath(4713, "4713").c_str(), 1000, 1000), 0);
  runtime_->Forget(4713);
  EXPECT_EQ(NameAt(4713, 0x100), "by root");
  ASSERT_EQ(::chown(MapPath(4713, "4713").c_str(), 1001, 1001), 0);
  runtime_->Forget(4713);
  EXPECT_EQ(NameAt(4713, 0x100), "error: permission denied");
}

using Names = std::vector<std::string>;

TEST_F(PerfMapRuntimeTest, PlaceThatIsUsedAgainHasBothNames) {
  MakeRuntime();
  const std::string path = MapPath(4711, "12");
  Write(path, "100 10 always\n100 10 first\n");
  EXPECT_EQ(ErasAt(4711, 0x100), Names{"first"});
  const uint64_t before_mono_ns = NowMonoNs();
  Write(path, "200 10 other\n100 8 second\n", std::ios::app);
  const uint64_t address = 0x100;
  const auto names = runtime_->Name({4711, 0}, std::span(&address, 1));
  ASSERT_TRUE(names.ok());
  ASSERT_EQ(names->at(0).size(), 2u);
  EXPECT_EQ(names->at(0)[0].from_mono_ns, 0u);
  EXPECT_LE(names->at(0)[1].from_mono_ns, NowMonoNs());
  // The file's times are a second ahead here: no later than the look, no earlier than the last.
  // File systems stamp by the last tick of a coarse clock.
  EXPECT_GE(names->at(0)[1].from_mono_ns + 20'000'000, before_mono_ns);
  EXPECT_EQ(ErasAt(4711, 0x100), (Names{"first", "second"}));
  EXPECT_EQ(ErasAt(4711, 0x108), Names{"first"});
  EXPECT_EQ(ErasAt(4711, 0x200), Names{"other"});
  // The same name again is no other function.
  Write(path, "100 10 second\n", std::ios::app);
  EXPECT_EQ(ErasAt(4711, 0x100), (Names{"first", "second"}));
}

TEST_F(PerfMapRuntimeTest, NamesThatWereRememberedOutliveTheFile) {
  MakeRuntime();
  const std::string path = MapPath(4711, "12");
  Write(path, "100 10 first\n200 10 not sampled\n");
  const uint64_t address = 0x100;
  runtime_->Remember({4711, 0}, std::span(&address, 1));
  Write(path, "900 10 another program's names, and more of them\n100 10 second\n");
  EXPECT_EQ(ErasAt(4711, 0x100), (Names{"first", "-", "second"}));
  EXPECT_EQ(ErasAt(4711, 0x200), Names{});
  EXPECT_EQ(runtime_->book().files_rewritten, 1u);
}

TEST_F(PerfMapRuntimeTest, FileThatShrinksOrChangesUnderUsGivesNoWrongNames) {
  MakeRuntime();
  const std::string path = MapPath(4711, "12");
  Write(path, "100 10 first\n200 10 second\n");
  runtime_->Remember({4711, 0}, {});
  // The same size and time, as one that is written while it is read may show.
  struct stat before{};
  ASSERT_EQ(::stat(path.c_str(), &before), 0);
  std::ofstream(path) << "900 10 third\n200 10 second\n";
  const timeval times[2] = {{before.st_mtime, 0}, {before.st_mtime, 0}};
  ASSERT_EQ(::utimes(path.c_str(), times), 0);
  EXPECT_EQ(NameAt(4711, 0x100), "-");
  EXPECT_EQ(NameAt(4711, 0x200), "second");
  EXPECT_EQ(runtime_->book().names_changed, 1u);
  ASSERT_EQ(::truncate(path.c_str(), 3), 0);
  ASSERT_EQ(::utimes(path.c_str(), times), 0);
  EXPECT_EQ(ErasAt(4711, 0x200), (Names{"second", "-"}));
}

TEST_F(PerfMapRuntimeTest, WhatTheLastWriteOfAProcessSaidCounts) {
  MakeRuntime();
  const std::string path = MapPath(4711, "12");
  Write(path, "100 10 first\n");
  runtime_->Remember({4711, 0}, {});
  Write(path, "200 10 last\n", std::ios::app);
  fs::remove_all(proc_ + "/4711");
  EXPECT_EQ(NameAt(4711, 0x200), "last");
}

TEST_F(PerfMapRuntimeTest, OtherThreadsShowTheRootWhenTheFirstHasEnded) {
  MakeRuntime();
  fs::create_directories(proc_ + "/4711/task/4712");
  Write(MapPath(4711, "12"), "100 10 first\n");
  fs::rename(proc_ + "/4711/root", proc_ + "/4711/task/4712/root");
  EXPECT_EQ(NameAt(4711, 0x100), "first");
}

TEST_F(PerfMapRuntimeTest, FileFromBeforeAnExecIsAnotherPrograms) {
  MakeRuntime();
  Write(MapPath(4711, "12"), "100 10 first\n");
  const uint64_t address = 0x100;
  const uint64_t now_mono_ns = NowMonoNs();
  const auto old = runtime_->Name({4711, 0, now_mono_ns - 60'000'000'000u}, std::span(&address, 1));
  ASSERT_TRUE(old.ok());
  EXPECT_EQ(old->at(0).size(), 1u);
  const auto now = runtime_->Name({4711, 0, now_mono_ns + 60'000'000'000u}, std::span(&address, 1));
  ASSERT_FALSE(now.ok());
  EXPECT_EQ(now.error().code(), base::ErrorCode::kNotFound);
  // Frames that were sampled before the exec still have their names.
  EXPECT_TRUE(
      runtime_->Name({4711, 0, now_mono_ns - 60'000'000'000u}, std::span(&address, 1)).ok());
}

// 20,000 functions where there is room for 1,000: those that were sampled are named all the same.
TEST_F(PerfMapRuntimeTest, FileWithMoreFunctionsThanFitNamesThoseThatWereSampled) {
  MakeRuntime({.kept_bytes_max = 80'000, .remember_bytes_max = 3 << 20});
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    char line[64];
    std::snprintf(line, sizeof(line), "%x 10 function_%d\n", 0x10000 + i * 16, i);
    text += line;
  }
  Write(MapPath(4711, "12"), text);
  const uint64_t known = 0x10000 + 5 * 16;
  runtime_->Remember({4711, 0}, std::span(&known, 1));
  EXPECT_EQ(runtime_->book().files_reread, 0u);
  EXPECT_EQ(NameAt(4711, known), "function_5");
  EXPECT_EQ(NameAt(4711, 0x10000 + 19'999 * 16), "function_19999");
  EXPECT_EQ(runtime_->book().files_reread, 0u);
  EXPECT_EQ(NameAt(4711, 0x10000 + 7 * 16 + 3), "function_7");
  EXPECT_EQ(runtime_->book().files_reread, 1u);
  EXPECT_LE(runtime_->memory_bytes(), 160'000u);
  // Not again so soon: reading all of it costs.
  EXPECT_EQ(NameAt(4711, 0x10000 + 8 * 16), "-");
  EXPECT_EQ(runtime_->book().files_reread, 1u);
}

// A file of 1 GB: what one look reads is bounded, and the next goes on from there.
TEST_F(PerfMapRuntimeTest, HugeFileIsReadInParts) {
  MakeRuntime({.remember_bytes_max = 1 << 20});
  const std::string path = MapPath(4711, "12");
  Write(path, "100 10 first\n" + std::string(3 << 20, 'x') + "\n200 10 behind it\n");
  ASSERT_EQ(::truncate(path.c_str(), 1 << 30), 0);
  const uint64_t addresses[] = {0x100, 0x200};
  const auto start_ns = NowMonoNs();
  runtime_->Remember({4711, 0}, addresses);
  EXPECT_LT(NowMonoNs() - start_ns, 500'000'000u);
  const auto names = runtime_->Name({4711, 0}, addresses);
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(names->at(0).at(0).symbol.lines.at(0).name, "first");
  EXPECT_EQ(names->at(1).at(0).symbol.lines.at(0).name, "behind it");
  EXPECT_LE(runtime_->memory_bytes(), 1u << 20);
}

TEST_F(PerfMapRuntimeTest, LongNamesTakeBoundedMemory) {
  MakeRuntime({.kept_bytes_max = 80'000});
  std::string text;
  std::vector<uint64_t> addresses;
  for (uint64_t i = 0; i < 100; ++i) {
    char line[32];
    std::snprintf(line, sizeof(line), "%lx 10 ", 0x1000 + i * 16);
    text += line + std::string(100'000, 'x') + "\n";
    addresses.push_back(0x1000 + i * 16);
  }
  Write(MapPath(4711, "12"), text);
  runtime_->Remember({4711, 0}, addresses);
  EXPECT_LE(runtime_->memory_bytes(), 80'000u);
  EXPECT_EQ(NameAt(4711, addresses.back()), std::string(4096, 'x'));
}

TEST_F(PerfMapRuntimeTest, ProcessesThatWereAskedForLongAgoAreForgotten) {
  MakeRuntime({.kept_bytes_max = 400});
  AddProcess(4714, "4714", ::geteuid());
  std::string text;
  for (int i = 1; i < 30; ++i) text += std::to_string(i) + "00 10 f\n";
  Write(MapPath(4711, "12"), text);
  Write(MapPath(4714, "4714"), text);
  EXPECT_EQ(NameAt(4711, 0x100), "f");
  EXPECT_EQ(NameAt(4714, 0x100), "f");
  // Both together are beyond what is kept: the first had to go, and is looked for again.
  fs::remove(MapPath(4711, "12"));
  EXPECT_EQ(NameAt(4711, 0x100), "error: not found");
}

TEST_F(PerfMapRuntimeTest, DamagedStatusIsAnErrorAndNoGuess) {
  MakeRuntime();
  Write(MapPath(4711, "12"), "100 10 first\n");
  for (const char* text : {"", "Uid:\t0\t0\t0\t0\n", "NSpid:\t12\n", "Uid:\t\nNSpid:\t\n",
                           "Uid:\tx\ty\nNSpid:\t12/../../etc\n"}) {
    std::ofstream(proc_ + "/4711/status") << text;
    EXPECT_EQ(NameAt(4711, 0x100), "error: corrupt") << text;
  }
}

}  // namespace
}  // namespace vesta::agent::runtime
