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
    const auto symbols = runtime_->Name({pid, 0}, std::span(&address, 1));
    if (!symbols.ok()) return std::string("error: ") + base::ErrorCodeName(symbols.error().code());
    return symbols->at(0).lines.empty() ? "-" : symbols->at(0).lines[0].name;
  }
  void MakeRuntime(PerfMapLimits limits = {}) {
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
  const auto part = runtime_->Prepare({4711, 0});
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
  EXPECT_EQ(NameAt(4711, 0x100), "-");
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
  EXPECT_EQ(own->at(0).lines.at(0).name, "first");
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

TEST_F(PerfMapRuntimeTest, LimitsHold) {
  MakeRuntime({.file_bytes_max = 40, .kept_bytes_max = 50});
  AddProcess(4714, "4714", ::geteuid());
  const std::string text = "100 10 thirty bytes of text..\n";
  Write(MapPath(4711, "12"), text);
  Write(MapPath(4714, "4714"), text);
  EXPECT_EQ(NameAt(4711, 0x100), "thirty bytes of text..");
  EXPECT_EQ(NameAt(4714, 0x100), "thirty bytes of text..");
  // Both together are beyond what is kept: the first had to go, and is read again.
  fs::remove(MapPath(4711, "12"));
  EXPECT_EQ(NameAt(4711, 0x100), "error: not found");
  Write(MapPath(4711, "12"), text + text);
  EXPECT_EQ(NameAt(4711, 0x100), "error: limit reached");
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
