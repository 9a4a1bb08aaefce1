#include "src/agent/runtime/jitdump/jitdump_runtime.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "src/agent/runtime/generated_code_runtime.h"
#include "src/object/jitdump_for_test.h"

namespace vesta::agent::runtime {
namespace {

namespace fs = std::filesystem;
using object::JitDumpBytes;

// A made-up /proc with one process, whose jitdump file is /srv/jit-12.dump.
class JitDumpRuntimeTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "vesta_jitdump_XXXXXX").string();
    proc_ = ::mkdtemp(pattern.data());
    fs::create_directories(proc_ + "/4711/root/srv");
    std::ofstream(proc_ + "/4711/status")
        << "Uid:\t0\t" << ::geteuid() << "\t0\t0\nNSpid:\t4711\t12\n";
    runtime_ = std::make_unique<JitDumpRuntime>(proc_);
    now_mono_ns_ = NowMonoNs();
  }
  void TearDown() override { fs::remove_all(proc_); }

  std::string Path(const std::string& name = "jit-12.dump") const {
    return proc_ + "/4711/root/srv/" + name;
  }
  void Write(const std::string& bytes, const std::string& name = "jit-12.dump") {
    std::ofstream(Path(name), std::ios::binary) << bytes;
  }
  bool Prepare(const std::string& path = "/srv/jit-12.dump") {
    ImageFacts image;
    image.path = path;
    return runtime_->Detect(image) && runtime_->Prepare({4711, 0}, image).ok();
  }
  // "name file:line" of each era.
  std::vector<std::string> ErasAt(uint64_t address) {
    const auto names = runtime_->Name({4711, 0}, std::span(&address, 1));
    if (!names.ok()) return {std::string("error: ") + base::ErrorCodeName(names.error().code())};
    std::vector<std::string> eras;
    for (const FrameEra& era : names->at(0)) {
      std::string text = "-";
      if (!era.symbol.lines.empty()) {
        const symbolize::FunctionLine& line = era.symbol.lines[0];
        text = line.name;
        if (!line.file.empty()) text += " " + line.file + ":" + std::to_string(line.line);
      }
      eras.push_back(text);
    }
    return eras;
  }

  std::string proc_;
  std::unique_ptr<JitDumpRuntime> runtime_;
  uint64_t now_mono_ns_ = 0;
};

using Names = std::vector<std::string>;

TEST_F(JitDumpRuntimeTest, FindsTheFileByTheNameOfAMapping) {
  for (const char* path : {"/srv/jit-12.dump", "jit-1.dump", "/root/.debug/jit/x/jit-4711.dump"}) {
    ImageFacts image;
    image.path = path;
    EXPECT_TRUE(runtime_->Detect(image)) << path;
  }
  for (const char* path :
       {"", "/srv/jit-12.dump.so", "/srv/jit-1x.dump", "/srv/jit-12.dump/lib.so", "/jit-.dump"}) {
    ImageFacts image;
    image.path = path;
    EXPECT_FALSE(runtime_->Detect(image)) << path;
  }
}

TEST_F(JitDumpRuntimeTest, NamesFunctionsWithTheirLines) {
  JitDumpBytes dump;
  dump.Debug(1, 0x1000, {{0x1000, 3, "a.lua"}, {0x1008, 4, "\xff"}});
  dump.Load(2, 0x1000, 0x10, "run");
  dump.Load(3, 0x2000, 0x10, "no lines");
  dump.Debug(1, 0x3000, {{0x3040, 7, "/srv/a.js"}, {0x3048, 8, "\xff"}});
  dump.Load(4, 0x3000, 0x10, "JS:*hot a.js:7");
  Write(dump.bytes());
  EXPECT_EQ(ErasAt(0x1000), Names{"error: not found"});  // it has not mapped the file
  ASSERT_TRUE(Prepare());
  EXPECT_EQ(ErasAt(0x1004), Names{"run a.lua:3"});
  EXPECT_EQ(ErasAt(0x100f), Names{"run a.lua:4"});
  EXPECT_EQ(ErasAt(0x1010), Names{});
  EXPECT_EQ(ErasAt(0x2000), Names{"no lines"});
  // V8 counts its lines from an ELF header on that the file does not have.
  EXPECT_EQ(ErasAt(0x3004), Names{"JS:*hot a.js:7 /srv/a.js:7"});
  EXPECT_EQ(ErasAt(0x3009), Names{"JS:*hot a.js:7 /srv/a.js:8"});
}

TEST_F(JitDumpRuntimeTest, FunctionsOfOneAddressHaveTheTimesOfTheirRecords) {
  JitDumpBytes dump;
  dump.Load(5, 0x1000, 0x10, "long ago");
  dump.Load(6, 0x1000, 0x10, "first");
  Write(dump.bytes());
  ASSERT_TRUE(Prepare());
  dump.Load(now_mono_ns_ + 1000, 0x1008, 0x10, "second");
  dump.Load(now_mono_ns_ + 2000, 0x1000, 0x10, "third");
  Write(dump.bytes());
  EXPECT_EQ(ErasAt(0x1000), (Names{"first", "third"}));
  EXPECT_EQ(ErasAt(0x1008), (Names{"first", "second", "third"}));
  const uint64_t address = 0x1008;
  const auto names = runtime_->Name({4711, 0}, std::span(&address, 1));
  EXPECT_EQ(names->at(0).at(1).from_mono_ns, now_mono_ns_ + 1000);
  EXPECT_EQ(names->at(0).at(2).from_mono_ns, now_mono_ns_ + 2000);
  EXPECT_EQ(runtime_->book().files_rewritten, 0u);
}

TEST_F(JitDumpRuntimeTest, NamesOfCompilersAreWrittenForPeopleAndKept) {
  JitDumpBytes dump;
  dump.Load(2, 0x1000, 0x10, "_Z3fooi");
  Write(dump.bytes());
  ASSERT_TRUE(Prepare());
  const uint64_t address = 0x1000;
  const auto names = runtime_->Name({4711, 0}, std::span(&address, 1));
  ASSERT_EQ(names->at(0).size(), 1u);
  EXPECT_EQ(names->at(0)[0].symbol.lines.at(0).name, "foo(int)");
  EXPECT_EQ(names->at(0)[0].symbol.lines.at(0).system_name, "_Z3fooi");
}

TEST_F(JitDumpRuntimeTest, MovedCodeKeepsItsNameAndLines) {
  JitDumpBytes dump;
  dump.Debug(1, 0x1000, {{0x1000, 3, "a.lua"}, {0x1008, 4, "\xff"}});
  dump.Load(2, 0x1000, 0x10, "run");
  dump.Move(now_mono_ns_ + 10, 0x1000, 0x5000, 0x10);
  dump.Move(now_mono_ns_ + 20, 0x9000, 0x6000, 0x10);  // nothing was there
  Write(dump.bytes());
  ASSERT_TRUE(Prepare());
  EXPECT_EQ(ErasAt(0x5008), Names{"run a.lua:4"});
  EXPECT_EQ(ErasAt(0x6000), Names{});
}

TEST_F(JitDumpRuntimeTest, RecordThatIsStillWrittenWaits) {
  JitDumpBytes dump;
  dump.Load(1, 0x1000, 0x10, "first");
  const size_t whole = dump.bytes().size();
  dump.Load(2, 0x2000, 0x10, "second");
  for (size_t size = 0; size < dump.bytes().size(); ++size) {
    Write(dump.bytes().substr(0, size));
    Prepare();
    EXPECT_EQ(ErasAt(0x2000).size(), 0u) << size;
    if (size >= whole) {
      EXPECT_EQ(ErasAt(0x1000), Names{"first"}) << size;
    }
  }
  Write(dump.bytes());
  EXPECT_EQ(ErasAt(0x2000), Names{"second"});
  EXPECT_EQ(runtime_->book().parts_damaged, 0u);
}

TEST_F(JitDumpRuntimeTest, DamagedRecordEndsWhatIsRead) {
  JitDumpBytes dump;
  dump.Load(1, 0x1000, 0x10, "first");
  std::string bytes = dump.bytes() + std::string(64, '\0');
  Write(bytes);
  ASSERT_TRUE(Prepare());
  EXPECT_EQ(ErasAt(0x1000), Names{"first"});
  EXPECT_EQ(runtime_->book().parts_damaged, 1u);
}

TEST_F(JitDumpRuntimeTest, TimesOfTheProcessorAreNotTakenForOurs) {
  JitDumpBytes dump(1);
  dump.Load(~uint64_t{0} - 1, 0x1000, 0x10, "first");
  Write(dump.bytes());
  ASSERT_TRUE(Prepare());
  dump.Load(1, 0x1000, 0x10, "second");
  Write(dump.bytes());
  const uint64_t address = 0x1000;
  const auto names = runtime_->Name({4711, 0}, std::span(&address, 1));
  ASSERT_EQ(names->at(0).size(), 2u);
  EXPECT_EQ(names->at(0)[0].from_mono_ns, 0u);
  EXPECT_GE(names->at(0)[1].from_mono_ns, now_mono_ns_);
  EXPECT_LE(names->at(0)[1].from_mono_ns, NowMonoNs());
}

TEST_F(JitDumpRuntimeTest, FilesThatAreNotTheProcessOwnAreRefused) {
  JitDumpBytes dump;
  dump.Load(1, 0x1000, 0x10, "secret");
  // Inherited by a fork: the parent's.
  Write(dump.bytes(), "jit-11.dump");
  ASSERT_TRUE(Prepare("/srv/jit-11.dump"));
  EXPECT_EQ(ErasAt(0x1000), Names{"error: not found"});
  // A link out of its root, and no regular file.
  std::ofstream(proc_ + "/outside.dump") << dump.bytes();
  fs::create_symlink(proc_ + "/outside.dump", Path());
  ASSERT_TRUE(Prepare());
  EXPECT_EQ(ErasAt(0x1000), Names{"error: permission denied"});
  fs::remove(Path());
  ASSERT_EQ(::mkfifo(Path().c_str(), 0600), 0);
  EXPECT_EQ(ErasAt(0x1000), Names{"error: invalid input"});
  EXPECT_GE(runtime_->book().files_refused, 2u);
}

TEST_F(JitDumpRuntimeTest, DumpWithMoreFunctionsThanFitNamesThoseThatWereSampled) {
  runtime_ = std::make_unique<JitDumpRuntime>(proc_, CodeFileLimits{.kept_bytes_max = 80'000});
  JitDumpBytes dump;
  for (uint64_t i = 0; i < 20'000; ++i) {
    dump.Debug(i, 0x10000 + i * 16, {{0x10000 + i * 16, static_cast<uint32_t>(i), "a.lua"}});
    dump.Load(i, 0x10000 + i * 16, 16, "function_" + std::to_string(i));
  }
  Write(dump.bytes());
  ASSERT_TRUE(Prepare());
  EXPECT_EQ(ErasAt(0x10000 + 19'999 * 16), Names{"function_19999 a.lua:19999"});
  // Its lines are not looked for again.
  EXPECT_EQ(ErasAt(0x10000 + 7 * 16 + 3), Names{"function_7"});
  EXPECT_EQ(runtime_->book().files_reread, 1u);
  EXPECT_LE(runtime_->memory_bytes(), 160'000u);
}

TEST_F(JitDumpRuntimeTest, PerfMapNamesWhatTheDumpDoesNot) {
  JitDumpBytes dump;
  dump.Load(1, 0x1000, 0x10, "dumped");
  Write(dump.bytes());
  fs::create_directories(proc_ + "/4711/root/tmp");
  std::ofstream(proc_ + "/4711/root/tmp/perf-12.map") << "1000 10 mapped\n2000 10 mapped too\n";
  GeneratedCodeRuntime both(proc_);
  ImageFacts image;
  image.path = "/srv/jit-12.dump";
  ASSERT_TRUE(both.Detect(image));
  ASSERT_TRUE(both.Prepare({4711, 0}, image).ok());
  const uint64_t addresses[] = {0x1000, 0x2000, 0x3000};
  both.Remember({4711, 0}, addresses);
  const auto names = both.Name({4711, 0}, addresses);
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(names->at(0).at(0).symbol.lines.at(0).name, "dumped");
  EXPECT_EQ(names->at(1).at(0).symbol.lines.at(0).name, "mapped too");
  EXPECT_TRUE(names->at(2).empty());
}

}  // namespace
}  // namespace vesta::agent::runtime
