#include "src/agent/naming/namer.h"

#include <gtest/gtest.h>

#include <csignal>
#include <ctime>
#include <optional>

#include "src/agent/naming/folder_for_test.h"
#include "src/symbolize/index/index_writer.h"
#include "test/support/fake_proc.h"
#include "test/support/small_elf.h"

namespace vesta::agent::naming {
namespace {

using profile::ImageId;

constexpr uint64_t kBase = 0x7f0000000000;
constexpr uint64_t kForeverNs = ~uint64_t{0};

uint64_t NowNs() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// Two binaries that a process maps, and a program that "builds" their indexes by copying one that
// was prepared.
class NamerTest : public testing::Test {
 protected:
  NamerTest() {
    program_ = folder_.Write("program", "");
    Script("cat " + folder_.Path("prepared") + ".$BUILD_ID >&4; echo ok debug=yes");
    server_ = AddImage("/opt/server", "\xab\xcd", 0);
    library_ = AddImage("/lib/library.so", "\x12\x34", 0x10000);
    Prepare("abcd", "gnu:abcd");
    Prepare("1234", "gnu:1234");
  }

  ImageId AddImage(const std::string& path, const std::string& build_id, uint64_t offset) {
    const std::string bytes = test::MakeSmallElf({{0x1000, 0x1000, 0x800, true}}, build_id);
    const test::FakeFilePtr file = proc_.NewFile(bytes);
    file->disk_path = folder_.Write("image" + std::to_string(offset), bytes);
    process::MapsEntry entry;
    entry.start = kBase + offset;
    entry.end = entry.start + 0x1000;
    entry.file_offset = 0x1000;
    entry.device = file->identity.device;
    entry.inode = file->identity.inode;
    entry.kind = process::MappingKind::kFile;
    entry.path = path;
    proc_.processes[10].mappings.push_back({entry.start, entry.end, 0x1000, path, file});
    process::ImageOwner owner;
    owner.pid = 10;
    return images_.Resolve(owner, entry).image;
  }

  // The function "f" inlined into "_Z4mainv", as a file for the script.
  void Prepare(const std::string& name, const std::string& identity) {
    dwarf::Unit unit;
    unit.files = {"/src/a.cc", "/src/f.h"};
    unit.functions = {{"main", "_Z4mainv", 0, 10}, {"f", "", 1, 3}};
    unit.ranges = {{0x1000, 0x1100}, {0x1010, 0x1020}};
    unit.scopes = {{0, dwarf::kNone, dwarf::kNone, 0, 0, 1}, {1, 0, 0, 12, 1, 1}};
    unit.lines = {{0x1000, 0, 11, false},
                  {0x1010, 1, 4, false},
                  {0x1020, 0, 13, false},
                  {0x1100, 0, 0, true}};
    symbolize::IndexWriterOptions options;
    options.code = {0x1000, 0x1800};
    symbolize::IndexWriter writer(options);
    writer.AddUnit(unit);
    const std::string path = folder_.Write("prepared." + name, "");
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_TRUE(writer.Write(fd, identity).ok());
    ::close(fd);
  }

  // Shell commands; BUILD_ID is that of the image.
  void Script(const std::string& commands) {
    folder_.Write("program",
                  "#!/bin/sh\necho start $7 >>" + folder_.Path("started") +
                      "\nBUILD_ID=${7#gnu:}\n" + commands + "\n",
                  0700);
  }
  size_t StartedCount() const {
    const std::string text = folder_.Read("started");
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  std::unique_ptr<Namer> Make(bool with_cache = true) {
    Namer::Options options;
    if (with_cache) options.cache.folder = folder_.Path("symbols");
    options.runner.program = program_;
    options.start_delay_ns = 0;
    return std::make_unique<Namer>(images_, options);
  }
  static bool Wait(Namer& namer) {
    return namer.WaitIdle(kForeverNs, [](const Namer::Progress&) { return true; });
  }
  // "f /src/f.h:4 in main() /src/a.cc:12"
  std::string NameOf(Namer& namer, ImageId image, uint64_t address = 0x1015) {
    const uint64_t addresses[] = {address};
    const auto symbols = namer.Name(image, addresses);
    if (!symbols.ok()) return symbols.error().message();
    std::string text;
    for (const symbolize::FunctionLine& line : (*symbols)[0].lines) {
      text += (text.empty() ? "" : " in ") + line.name + " " + line.file + ":" +
              std::to_string(line.line);
    }
    return text;
  }
  std::string IndexPath() const { return folder_.Path("symbols/gnu+3aabcd+401000-1800.index"); }
  static uint64_t CountOf(const Namer& namer, IndexEnd end) {
    return namer.book().ended[static_cast<size_t>(end)];
  }

  static constexpr char kInlined[] = "f /src/f.h:4 in main() /src/a.cc:12";
  FolderForTest folder_;
  std::string program_;
  test::FakeProc proc_;
  process::ImageStore images_{proc_, {}};
  ImageId server_;
  ImageId library_;
};

TEST_F(NamerTest, NamesComeLaterThanTheyAreAskedFor) {
  const auto namer = Make();
  namer->Want(server_);
  EXPECT_EQ(NameOf(*namer, server_), "");  // it has no symbol table
  EXPECT_EQ(namer->pending_count(), 1u);
  EXPECT_TRUE(Wait(*namer));
  EXPECT_EQ(NameOf(*namer, server_), kInlined);
  EXPECT_EQ(NameOf(*namer, server_, 0x1050), "main() /src/a.cc:13");
  EXPECT_EQ(NameOf(*namer, server_, 0x1150), "");
  const uint64_t addresses[] = {0x1015, 0x1050};
  const auto symbols = namer->Name(server_, addresses);
  ASSERT_TRUE(symbols.ok());
  const symbolize::FunctionLine& outer = (*symbols)[0].lines[1];
  EXPECT_EQ(outer.system_name, "_Z4mainv");
  EXPECT_EQ(outer.start_line, 10u);
  EXPECT_EQ(namer->book().built, 1u);
  EXPECT_EQ(CountOf(*namer, IndexEnd::kDone), 1u);
  EXPECT_GT(namer->helper_cpu_ns(), 0u);
  EXPECT_EQ(StartedCount(), 1u);
}

TEST_F(NamerTest, TheNextRunStartsNoProcess) {
  Make()->Want(server_);
  {
    const auto namer = Make();
    namer->Want(server_);
    EXPECT_TRUE(Wait(*namer));
  }
  const auto namer = Make();
  namer->Want(server_);
  EXPECT_TRUE(Wait(*namer));
  EXPECT_EQ(NameOf(*namer, server_), kInlined);
  EXPECT_EQ(namer->book().cache_hits, 1u);
  EXPECT_EQ(StartedCount(), 1u);
}

TEST_F(NamerTest, WithoutACacheIndexesLiveAsLongAsTheRun) {
  const auto namer = Make(false);
  namer->Want(server_);
  namer->Want(library_);
  EXPECT_TRUE(Wait(*namer));
  EXPECT_EQ(NameOf(*namer, server_), kInlined);
  EXPECT_EQ(NameOf(*namer, library_), kInlined);
  EXPECT_EQ(StartedCount(), 2u);
}

TEST_F(NamerTest, OfManyIndexesThoseUsedLastAreOpen) {
  Namer::Options options;
  options.runner.program = program_;
  options.open_indexes_max = 1;
  Namer namer(images_, options);
  namer.Want(server_);
  namer.Want(library_);
  // Without a folder there is room for one only, and it is not tried for ever.
  EXPECT_TRUE(Wait(namer));
  EXPECT_EQ(StartedCount(), 2u);
  EXPECT_NE(NameOf(namer, server_), NameOf(namer, library_));
  options.cache.folder = folder_.Path("symbols");
  Namer kept(images_, options);
  kept.Want(server_);
  kept.Want(library_);
  EXPECT_TRUE(Wait(kept));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(NameOf(kept, server_), kInlined);
    EXPECT_EQ(NameOf(kept, library_), kInlined);
  }
  EXPECT_EQ(StartedCount(), 4u);
}

TEST_F(NamerTest, TheImageWithMostSamplesIsFirst) {
  const auto namer = Make();
  namer->Want(server_);
  for (int i = 0; i < 3; ++i) namer->Want(library_);
  EXPECT_TRUE(Wait(*namer));
  EXPECT_EQ(folder_.Read("started"), "start gnu:1234\nstart gnu:abcd\n");
}

TEST_F(NamerTest, AFailureIsRememberedUntilSomethingChanges) {
  Script("echo failed corrupt it is odd; exit 1");
  const auto try_again = [&] {
    const auto namer = Make();
    namer->Want(server_);
    EXPECT_TRUE(Wait(*namer));
    EXPECT_EQ(NameOf(*namer, server_), "");
    return StartedCount();
  };
  EXPECT_EQ(try_again(), 1u);
  EXPECT_EQ(try_again(), 1u);
  SymbolCache cache({folder_.Path("symbols"), 1 << 20, true});
  const std::string key = "gnu+3aabcd+401000-1800";
  auto note = cache.ReadNote(key);
  ASSERT_TRUE(note);
  EXPECT_EQ(note->why, "it is odd");
  const CacheNote whole = *note;
  note->time_unix_s -= 2 * 86'400;
  cache.WriteNote(key, *note);
  EXPECT_EQ(try_again(), 2u);
  EXPECT_EQ(try_again(), 2u);
  note = whole;
  note->image_bytes += 1;
  cache.WriteNote(key, *note);
  EXPECT_EQ(try_again(), 3u);
  note = whole;
  note->time_unix_s += 1000;  // the clock was wrong
  cache.WriteNote(key, *note);
  EXPECT_EQ(try_again(), 4u);
}

TEST_F(NamerTest, AnIndexWithoutLinesIsUsedAndTriedAgainLater) {
  Script("cat " + folder_.Path("prepared") + ".$BUILD_ID >&4; echo ok debug=no");
  const auto first = Make();
  first->Want(server_);
  EXPECT_TRUE(Wait(*first));
  const auto second = Make();
  second->Want(server_);
  EXPECT_TRUE(Wait(*second));
  EXPECT_EQ(NameOf(*second, server_), kInlined);
  EXPECT_EQ(StartedCount(), 1u);
  SymbolCache cache({folder_.Path("symbols"), 1 << 20, true});
  auto note = cache.ReadNote("gnu+3aabcd+401000-1800");
  ASSERT_TRUE(note);
  note->time_unix_s = 1;
  cache.WriteNote("gnu+3aabcd+401000-1800", *note);
  Script("cat " + folder_.Path("prepared") + ".$BUILD_ID >&4; echo ok debug=yes");
  const auto third = Make();
  third->Want(server_);
  EXPECT_EQ(NameOf(*third, server_), kInlined);  // the old one, until the new one is there
  EXPECT_EQ(third->pending_count(), 1u);
  EXPECT_TRUE(Wait(*third));
  EXPECT_EQ(StartedCount(), 2u);
  EXPECT_FALSE(cache.ReadNote("gnu+3aabcd+401000-1800"));
}

TEST_F(NamerTest, WhateverHappensToTheProcessIsCounted) {
  const struct {
    const char* script;
    IndexEnd end;
  } kCases[] = {{"kill -SEGV $$", IndexEnd::kCrashed},
                {"exit 0", IndexEnd::kCrashed},
                {"echo failed memory; exit 1", IndexEnd::kOutOfMemory},
                {"echo failed no_room; exit 1", IndexEnd::kNoRoom}};
  for (const auto& each : kCases) {
    Script(each.script);
    const auto namer = Make(false);
    namer->Want(server_);
    EXPECT_TRUE(Wait(*namer));
    EXPECT_EQ(CountOf(*namer, each.end), 1u) << each.script;
    EXPECT_EQ(NameOf(*namer, server_), "");
  }
}

TEST_F(NamerTest, AnIndexThatIsNoneIsRefused) {
  for (const char* script : {"echo nonsense >&4; echo ok debug=yes", "echo ok debug=yes",
                             "cat $0.other >&4; echo ok debug=yes"}) {
    Script(script);
    Prepare("other", "gnu:ffff");
    ASSERT_EQ(::rename(folder_.Path("prepared.other").c_str(), (program_ + ".other").c_str()), 0);
    const auto namer = Make(false);
    namer->Want(server_);
    EXPECT_TRUE(Wait(*namer));
    EXPECT_EQ(namer->book().invalid, 1u) << script;
    EXPECT_EQ(namer->book().built, 0u);
    EXPECT_EQ(NameOf(*namer, server_), "");
  }
}

TEST_F(NamerTest, DamagedFilesOfTheCacheAreBuiltAgain) {
  {
    const auto namer = Make();
    namer->Want(server_);
    EXPECT_TRUE(Wait(*namer));
  }
  const std::string whole = folder_.Read("symbols/gnu+3aabcd+401000-1800.index");
  ASSERT_GT(whole.size(), 100u);
  std::string flipped = whole;
  flipped[whole.size() - 3] ^= 1;
  size_t started = 1;
  for (const std::string& damaged :
       {std::string(), std::string("garbage"), whole.substr(0, whole.size() / 2), flipped}) {
    folder_.Write("symbols/gnu+3aabcd+401000-1800.index", damaged);
    const auto namer = Make();
    namer->Want(server_);
    EXPECT_EQ(NameOf(*namer, server_), "");
    EXPECT_EQ(namer->book().indexes_damaged, 1u);
    EXPECT_FALSE(folder_.Has("symbols/gnu+3aabcd+401000-1800.index"));
    EXPECT_TRUE(Wait(*namer));
    EXPECT_EQ(NameOf(*namer, server_), kInlined);
    EXPECT_EQ(StartedCount(), ++started);
  }
  ASSERT_EQ(::unlink(IndexPath().c_str()), 0);
  ASSERT_EQ(::mkfifo(IndexPath().c_str(), 0600), 0);
  const auto namer = Make();
  namer->Want(server_);
  EXPECT_TRUE(Wait(*namer));  // it checks what it finds before it says that nothing is missing
  EXPECT_EQ(NameOf(*namer, server_), kInlined);
}

TEST_F(NamerTest, AFileThatSomebodyWritesToIsLetGo) {
  const auto namer = Make();
  namer->Want(server_);
  EXPECT_TRUE(Wait(*namer));
  EXPECT_EQ(NameOf(*namer, server_), kInlined);
  const int refused = ::open(IndexPath().c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_LT(refused, 0);
  EXPECT_EQ(NameOf(*namer, server_), kInlined);  // looked at again, checked again
  EXPECT_EQ(namer->book().indexes_busy, 1u);

  const auto later = Make();
  namer->Forget(server_);
  const int writer = ::open(IndexPath().c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(writer, 0);
  EXPECT_EQ(NameOf(*later, server_), "");
  EXPECT_EQ(later->book().indexes_busy, 1u);
  ::close(writer);
  EXPECT_EQ(NameOf(*later, server_), kInlined);
  EXPECT_EQ(later->book().indexes_damaged, 0u);
}

TEST_F(NamerTest, AnIndexThatAnotherProcessRemovedIsBuiltAgain) {
  const auto first = Make();
  first->Want(server_);
  EXPECT_TRUE(Wait(*first));
  const auto namer = Make();
  namer->Want(server_);
  namer->Poll(NowNs());
  EXPECT_EQ(namer->pending_count(), 0u);
  ASSERT_EQ(::unlink(IndexPath().c_str()), 0);
  EXPECT_EQ(NameOf(*first, server_), kInlined);  // it has it open
  EXPECT_TRUE(Wait(*namer));
  EXPECT_EQ(NameOf(*namer, server_), kInlined);
  EXPECT_EQ(StartedCount(), 2u);
}

TEST_F(NamerTest, TwoRunsBuildAnIndexOnce) {
  Script("while [ ! -e " + folder_.Path("go") + " ]; do sleep 0.01; done\n" + "cat " +
         folder_.Path("prepared") + ".$BUILD_ID >&4; echo ok debug=yes");
  const auto first = Make();
  const auto second = Make();
  first->Want(server_);
  second->Want(server_);
  first->Poll(NowNs());
  second->Poll(NowNs());
  EXPECT_EQ(second->pending_count(), 1u);
  int looks = 0;
  EXPECT_FALSE(second->WaitIdle(kForeverNs, [&](const Namer::Progress& progress) {
    EXPECT_EQ(progress.wanted, 1u);
    return ++looks < 3;
  }));
  folder_.Write("go", "");
  EXPECT_TRUE(Wait(*first));
  EXPECT_TRUE(Wait(*second));
  EXPECT_EQ(NameOf(*second, server_), kInlined);
  EXPECT_EQ(StartedCount(), 1u);
}

TEST_F(NamerTest, WaitingEndsWhenItMust) {
  Script("echo progress 2 5; exec sleep 1000");
  const auto namer = Make();
  namer->Want(server_);
  std::string seen;
  EXPECT_FALSE(namer->WaitIdle(kForeverNs, [&](const Namer::Progress& progress) {
    seen = progress.path + " " + std::to_string(progress.percent) + " % " +
           std::to_string(progress.done) + " of " + std::to_string(progress.wanted);
    return progress.percent == 0;
  }));
  EXPECT_EQ(seen, "/opt/server 40 % 0 of 1");
  EXPECT_EQ(namer->pending_count(), 1u);
  EXPECT_EQ(NameOf(*namer, server_), "");
  EXPECT_FALSE(folder_.Has("symbols/gnu+3aabcd+401000-1800.part"));
  EXPECT_FALSE(namer->WaitIdle(NowNs(), [](const Namer::Progress&) { return true; }));
  // That was no failure of the image.
  Script("cat " + folder_.Path("prepared") + ".$BUILD_ID >&4; echo ok debug=yes");
  EXPECT_TRUE(Wait(*namer));
  EXPECT_EQ(NameOf(*namer, server_), kInlined);
}

TEST_F(NamerTest, KeepsToThePaceThatItIsGiven) {
  Script("while :; do :; done");
  Namer::Options options;
  options.runner.program = program_;
  options.start_delay_ns = 1'000'000'000;
  Namer namer(images_, options);
  namer.Want(server_);
  const uint64_t start_ns = 1'000'000'000'000;
  namer.Poll(start_ns);
  namer.Poll(start_ns + 999'999'999);
  EXPECT_EQ(StartedCount(), 0u);  // short recordings build nothing
  namer.SetPace({false, 0});
  namer.Poll(start_ns + 2'000'000'000);
  EXPECT_EQ(namer.helper_cpu_ns(), 0u);
  namer.SetPace({true, 50'000'000});  // a twentieth of a CPU
  uint64_t now_ns = start_ns + 3'000'000'000;
  namer.Poll(now_ns);
  namer.Poll(now_ns);
  const uint64_t real_start_ns = NowNs();
  while (NowNs() - real_start_ns < 1'500'000'000) {
    now_ns = start_ns + 3'000'000'000 + (NowNs() - real_start_ns);
    namer.Poll(now_ns);
    ::usleep(2000);
  }
  EXPECT_GT(namer.helper_cpu_ns(), 20'000'000u);
  EXPECT_LT(namer.helper_cpu_ns(), 300'000'000u);
}

TEST_F(NamerTest, ForgetsImagesWithTheirNumbers) {
  const auto namer = Make();
  namer->Want(server_);
  namer->Want(library_);
  Script("exec sleep 1000");
  namer->Poll(NowNs());
  namer->Forget(server_);
  namer->Forget(library_);
  EXPECT_EQ(namer->pending_count(), 0u);
  EXPECT_TRUE(Wait(*namer));
  namer->Forget(ImageId(77));
}

}  // namespace
}  // namespace vesta::agent::naming
