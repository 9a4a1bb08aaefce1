#include "src/agent/process/image_store.h"

#include <gtest/gtest.h>

#include "test/support/fake_proc.h"
#include "test/support/small_elf.h"

namespace vesta::agent::process {
namespace {

using test::FakeFilePtr;
using test::FakeMapping;
using test::FakeProc;
using test::MakeSmallElf;

constexpr uint32_t kPid = 7;
constexpr uint64_t kBase = 0x7f0000000000;

// A library as linkers lay it out: headers, then code at the next page.
std::string Library(std::string_view build_id, char filling = '\0') {
  return MakeSmallElf({{0, 0, 0x400, false}, {0x1000, 0x1000, 0x800, true}}, build_id, filling);
}

class ImageStoreTest : public ::testing::Test {
 protected:
  // Adds a mapping of the code part to a process, and gives it as maps would.
  MapsEntry MapFile(uint32_t pid, const std::string& path, const FakeFilePtr& file,
                    uint64_t start = kBase, uint64_t file_offset = 0x1000) {
    FakeMapping mapping{start, start + 0x1000, file_offset, path, file};
    proc_.processes[pid].mappings.push_back(mapping);
    MapsEntry entry;
    entry.start = mapping.start;
    entry.end = mapping.end;
    entry.file_offset = file_offset;
    entry.path = path;
    if (file != nullptr) {
      entry.device = file->identity.device;
      entry.inode = file->identity.inode;
    }
    entry.deleted = StripDeleted(entry.path);
    entry.kind = KindOfMapping(entry.path);
    return entry;
  }

  ResolvedMapping Resolve(uint32_t pid, const MapsEntry& entry) {
    ImageOwner& owner = owners_[pid];
    owner.pid = pid;
    return store_->Resolve(owner, entry);
  }
  const Image& ImageOf(const ResolvedMapping& resolved) { return store_->image(resolved.image); }

  FakeProc proc_;
  std::unique_ptr<ImageStore> store_ = std::make_unique<ImageStore>(proc_, ImageStore::Options{});
  std::map<uint32_t, ImageOwner> owners_;
};

TEST_F(ImageStoreTest, OneFileInManyProcessesIsParsedOnce) {
  const auto file = proc_.NewFile(Library("one"));
  std::set<uint32_t> ids;
  for (uint32_t pid = 1; pid <= 200; ++pid) {
    const uint64_t start = kBase + pid * 0x10000;
    const auto resolved = Resolve(pid, MapFile(pid, "/lib/a.so", file, start));
    EXPECT_EQ(start - resolved.bias, 0x1000u);
    ids.insert(resolved.image.value());
  }
  EXPECT_EQ(ids.size(), 1u);
  EXPECT_EQ(store_->counters().files_parsed, 1u);
  EXPECT_LE(proc_.stat_count, 200);
  const Image& image = store_->image(profile::ImageId(1));
  EXPECT_EQ(image.kind, ImageKind::kElf);
  EXPECT_EQ(image.path, "/lib/a.so");
  EXPECT_EQ(image.identity, "gnu:6f6e65");
  EXPECT_EQ(image.text_vaddr, 0x1000u);
  EXPECT_EQ(image.text_file_offset, 0x1000u);
  EXPECT_EQ(image.text_end_vaddr, 0x1800u);
}

TEST_F(ImageStoreTest, BiasFollowsTheSegmentThatTheMappingShows) {
  struct Case {
    const char* what;
    std::vector<test::SmallSegment> segments;
    uint64_t file_offset;
    uint64_t expected_address;
  };
  const Case cases[] = {
      {"address equals offset", {{0x1000, 0x1000, 0x800, true}}, 0x1000, 0x1000},
      {"linked at a fixed address", {{0, 0x400000, 0x2000, true}}, 0, 0x400000},
      {"the middle of a segment", {{0x1000, 0x401000, 0x5000, true}}, 0x3000, 0x403000},
      {"segment in the middle of a page", {{0x1234, 0x402234, 0x800, true}}, 0x1000, 0x402000},
      {"last page is mapped whole", {{0x1234, 0x402234, 0xe00, true}}, 0x2000, 0x403000},
      {"page shared with read-only data",
       {{0, 0, 0x1640, false}, {0x1640, 0x2640, 0x900, true}},
       0x1000,
       0x2000},
      {"second executable segment",
       {{0x1000, 0x1000, 0x1000, true}, {0x2000, 0x10000, 0x1000, true}},
       0x2000,
       0x10000},
      {"page shared by two executable segments: the one that starts there",
       {{0x1000, 0x1000, 0x1800, true}, {0x2800, 0x10800, 0x800, true}},
       0x2000,
       0x10000},
      {"executable mapping of a read-only segment",
       {{0x1000, 0x3000, 0x800, false}},
       0x1000,
       0x3000},
  };
  int number = 0;
  for (const Case& c : cases) {
    const std::string path = "/lib/" + std::to_string(number++);
    const auto file = proc_.NewFile(MakeSmallElf(c.segments, path));
    const auto resolved = Resolve(
        kPid,
        MapFile(kPid, path, file, kBase + 0x10000u * static_cast<unsigned>(number), c.file_offset));
    EXPECT_EQ(kBase + 0x10000u * static_cast<unsigned>(number) - resolved.bias, c.expected_address)
        << c.what;
    EXPECT_EQ(ImageOf(resolved).kind, ImageKind::kElf) << c.what;
  }
}

TEST_F(ImageStoreTest, AMappingOutsideOfAllSegmentsIsUnreadable) {
  const auto entry = MapFile(kPid, "/lib/a.so", proc_.NewFile(Library("one")), kBase, 0x9000);
  const auto resolved = Resolve(kPid, entry);
  EXPECT_EQ(ImageOf(resolved).kind, ImageKind::kUnreadable);
  EXPECT_EQ(kBase - resolved.bias, 0x9000u);
}

TEST_F(ImageStoreTest, AFileReplacedUnderItsPathIsAnotherImage) {
  const auto before = Resolve(1, MapFile(1, "/bin/a", proc_.NewFile(Library("old"))));
  const auto after = Resolve(2, MapFile(2, "/bin/a", proc_.NewFile(Library("new"))));
  EXPECT_NE(before.image, after.image);
}

TEST_F(ImageStoreTest, AFileRewrittenInPlaceIsAnotherImage) {
  const auto file = proc_.NewFile(Library("old"));
  const auto before = Resolve(1, MapFile(1, "/bin/a", file));
  file->bytes = Library("new");
  ++file->identity.mtime_ns;
  EXPECT_NE(before.image, Resolve(2, MapFile(2, "/bin/a", file)).image);
}

TEST_F(ImageStoreTest, FilesWithoutBuildIdsAreToldByTheirContent) {
  const auto one = Resolve(1, MapFile(1, "/bin/a", proc_.NewFile(Library("", 'a'))));
  const auto two = Resolve(2, MapFile(2, "/bin/a", proc_.NewFile(Library("", 'b'))));
  const auto same = Resolve(3, MapFile(3, "/bin/c", proc_.NewFile(Library("", 'a'))));
  EXPECT_NE(one.image, two.image);
  EXPECT_EQ(one.image, same.image);
}

TEST_F(ImageStoreTest, TheSamePathInTwoMountNamespacesCanBeTwoImages) {
  const auto one = Resolve(1, MapFile(1, "/app", proc_.NewFile(Library("one"))));
  const auto two = Resolve(2, MapFile(2, "/app", proc_.NewFile(Library("two"))));
  EXPECT_NE(one.image, two.image);
  EXPECT_EQ(ImageOf(one).path, ImageOf(two).path);
}

TEST_F(ImageStoreTest, TheSameLibraryInTwoContainersIsOneImage) {
  const auto one = Resolve(1, MapFile(1, "/lib/a.so", proc_.NewFile(Library("one"))));
  const auto two = Resolve(2, MapFile(2, "/lib/a.so", proc_.NewFile(Library("one"))));
  EXPECT_EQ(one.image, two.image);
}

TEST_F(ImageStoreTest, ABorrowedBuildIdWithOtherSegmentsIsAnotherImage) {
  const auto real = Resolve(1, MapFile(1, "/lib/a.so", proc_.NewFile(Library("one"))));
  const auto file = proc_.NewFile(MakeSmallElf({{0x1000, 0x9000, 0x800, true}}, "one"));
  const auto other = Resolve(2, MapFile(2, "/lib/b.so", file));
  EXPECT_NE(real.image, other.image);
  EXPECT_EQ(kBase - other.bias, 0x9000u);
}

TEST_F(ImageStoreTest, UnreadableFilesCountByFileOffsetAndSayWhy) {
  const auto denied = proc_.NewFile(Library("one"));
  denied->is_readable = false;
  const auto fifo = proc_.NewFile("");
  fifo->is_regular = false;
  struct Case {
    const char* path;
    FakeFilePtr file;
    const char* why;
  };
  const Case cases[] = {
      {"/denied", denied, "Permission denied"},
      {"/fifo", fifo, "not a regular file"},
      {"/garbage", proc_.NewFile(std::string(5000, '\xff')), ""},
      {"/truncated", proc_.NewFile(Library("two").substr(0, 70)), ""},
      {"/empty", proc_.NewFile(""), ""},
      {"/gone", nullptr, "gone"},
  };
  for (const Case& c : cases) {
    const auto entry = MapFile(kPid, c.path, c.file, kBase + 0x5000);
    const auto resolved = Resolve(kPid, entry);
    const Image& image = ImageOf(resolved);
    EXPECT_EQ(image.kind, ImageKind::kUnreadable) << c.path;
    EXPECT_EQ(image.path, c.path);
    EXPECT_FALSE(image.unreadable_why.empty()) << c.path;
    EXPECT_NE(image.unreadable_why.find(c.why), std::string::npos) << image.unreadable_why;
    EXPECT_EQ(entry.start - resolved.bias, entry.file_offset) << c.path;
    EXPECT_FALSE(store_->Open(resolved.image).ok()) << c.path;
    EXPECT_EQ(Resolve(kPid, entry).image, resolved.image) << c.path;
    proc_.processes[kPid].mappings.clear();
  }
}

TEST_F(ImageStoreTest, EveryTruncationOfAnElfFileResolvesToSomething) {
  const std::string whole = Library("one");
  for (size_t length = 0; length < whole.size(); length += 7) {
    const auto entry = MapFile(kPid, "/cut", proc_.NewFile(whole.substr(0, length)));
    EXPECT_NE(Resolve(kPid, entry).image, profile::ImageId()) << length;
    proc_.processes[kPid].mappings.clear();
  }
}

TEST_F(ImageStoreTest, AFileThatCouldNotBeOpenedOnceIsTriedAgain) {
  const auto file = proc_.NewFile(Library("one"));
  file->is_readable = false;
  const auto entry = MapFile(1, "/a", file);
  EXPECT_EQ(ImageOf(Resolve(1, entry)).kind, ImageKind::kUnreadable);
  file->is_readable = true;
  EXPECT_EQ(ImageOf(Resolve(1, entry)).kind, ImageKind::kElf);
}

TEST_F(ImageStoreTest, FilesOfAProcessThatIsGoneAreFoundWhereTheAgentSeesThem) {
  const auto file = proc_.NewFile(Library("one"));
  proc_.root["/lib/a.so"] = file;
  const auto entry = MapFile(1, "/lib/a.so", file);
  auto other_file = entry;
  ++other_file.inode;
  proc_.processes.clear();
  EXPECT_EQ(ImageOf(Resolve(1, entry)).kind, ImageKind::kElf);
  EXPECT_EQ(ImageOf(Resolve(2, other_file)).kind, ImageKind::kUnreadable);
}

TEST_F(ImageStoreTest, ManyProcessesThatAreGoneShareOneUnreadableImage) {
  for (uint32_t pid = 1; pid <= 100; ++pid) {
    Resolve(pid, MapFile(pid, "/gone", nullptr));
  }
  EXPECT_EQ(store_->image_count(), 1u);
}

TEST_F(ImageStoreTest, GeneratedCodeIsOneImagePerProcess) {
  const auto first = Resolve(1, MapFile(1, "", nullptr));
  const auto again = Resolve(1, MapFile(1, "[anon:jit]", nullptr, kBase + 0x10000));
  const auto other = Resolve(2, MapFile(2, "//anon", nullptr));
  EXPECT_EQ(ImageOf(first).kind, ImageKind::kAnonymous);
  EXPECT_EQ(ImageOf(first).owner_pid, 1u);
  EXPECT_EQ(first.bias, 0u);
  EXPECT_EQ(first.image, again.image);
  EXPECT_NE(first.image, other.image);
  EXPECT_FALSE(store_->Open(first.image).ok());
}

TEST_F(ImageStoreTest, MemoryFilesAreElfOrGeneratedCode) {
  const auto library =
      Resolve(1, MapFile(1, "/memfd:lib (deleted)", proc_.NewFile(Library("mem"))));
  EXPECT_EQ(ImageOf(library).kind, ImageKind::kElf);
  EXPECT_EQ(ImageOf(library).path, "/memfd:lib");
  const auto code = proc_.NewFile(std::string(4096, '\x90'));
  EXPECT_EQ(
      ImageOf(Resolve(1, MapFile(1, "/memfd:doublemapper (deleted)", code, kBase + 0x9000))).kind,
      ImageKind::kAnonymous);
  const auto other = Resolve(2, MapFile(2, "/memfd:doublemapper (deleted)", code));
  EXPECT_EQ(ImageOf(other).owner_pid, 2u);
}

TEST_F(ImageStoreTest, AllProcessesShareTheVdsoExceptThoseOf32Bit) {
  proc_.vdso = MakeSmallElf({{0, 0, 0x2000, true}}, "vdso");
  MapsEntry entry;
  entry.start = kBase;
  entry.end = kBase + proc_.vdso.size();
  entry.path = "[vdso]";
  entry.kind = MappingKind::kVdso;
  const auto one = Resolve(1, entry);
  entry.start += 0x100000;
  entry.end += 0x100000;
  const auto two = Resolve(2, entry);
  EXPECT_EQ(one.image, two.image);
  EXPECT_EQ(one.bias, kBase);
  EXPECT_EQ(two.bias, kBase + 0x100000);
  EXPECT_EQ(ImageOf(one).kind, ImageKind::kVdso);
  const auto source = store_->Open(one.image);
  ASSERT_TRUE(source.ok());
  EXPECT_EQ((*source)->size_bytes(), proc_.vdso.size());

  entry.start = 0xf7fc4000;
  entry.end = entry.start + proc_.vdso.size();
  EXPECT_EQ(ImageOf(Resolve(3, entry)).kind, ImageKind::kUnreadable);
  entry.start = kBase;
  entry.end = kBase + 0x1000;
  EXPECT_EQ(ImageOf(Resolve(3, entry)).kind, ImageKind::kUnreadable);
}

TEST_F(ImageStoreTest, WithoutOwnVdsoItCountsAsGeneratedCode) {
  MapsEntry entry;
  entry.start = kBase;
  entry.end = kBase + 0x2000;
  entry.kind = MappingKind::kVdso;
  EXPECT_EQ(ImageOf(Resolve(1, entry)).kind, ImageKind::kAnonymous);
}

TEST_F(ImageStoreTest, DeletedFilesStayOpenLongest) {
  store_ = std::make_unique<ImageStore>(proc_, ImageStore::Options{4, 1000});
  const auto deleted_file = proc_.NewFile(Library("deleted"));
  deleted_file->unlinked = true;
  const auto deleted = Resolve(1, MapFile(1, "/gone", deleted_file));
  std::vector<ResolvedMapping> others;
  for (uint32_t i = 0; i < 20; ++i) {
    const std::string name = "/lib/" + std::to_string(i);
    others.push_back(
        Resolve(1, MapFile(1, name, proc_.NewFile(Library(name)), kBase + (i + 1) * 0x10000)));
  }
  proc_.processes.clear();
  EXPECT_TRUE(store_->Open(deleted.image).ok());
  EXPECT_TRUE(store_->Open(others.back().image).ok());
  const auto closed = store_->Open(others.front().image);
  ASSERT_FALSE(closed.ok());
  EXPECT_EQ(closed.error().code(), base::ErrorCode::kNotFound);
}

TEST_F(ImageStoreTest, FilesThatHoldAMountAreNotKept) {
  const auto held = proc_.NewFile(Library("held"));
  held->holds_mount = true;
  const auto gone = proc_.NewFile(Library("gone"));
  gone->holds_mount = gone->unlinked = true;
  const auto held_image = Resolve(1, MapFile(1, "/disk/held.so", held)).image;
  const auto gone_image = Resolve(1, MapFile(1, "/disk/gone.so", gone, kBase + 0x10000)).image;
  const auto kept_image =
      Resolve(1, MapFile(1, "/lib/kept.so", proc_.NewFile(Library("kept")), kBase + 0x20000)).image;
  store_->ReleaseMounts();
  proc_.processes.clear();
  EXPECT_FALSE(store_->Open(held_image).ok());
  EXPECT_TRUE(store_->Open(gone_image).ok()) << "it could not be opened again";
  EXPECT_TRUE(store_->Open(kept_image).ok());
}

TEST_F(ImageStoreTest, AClosedFileIsReachedThroughAMappingOrByPathAndCompared) {
  store_ = std::make_unique<ImageStore>(proc_, ImageStore::Options{1, 1000});
  const auto file = proc_.NewFile(Library("one"));
  const auto image = Resolve(1, MapFile(1, "/lib/a.so", file)).image;
  Resolve(1, MapFile(1, "/lib/b.so", proc_.NewFile(Library("two")), kBase + 0x10000));
  EXPECT_FALSE(store_->Open(image).ok()) << "nobody says where it is mapped";

  proc_.root["/lib/a.so"] = proc_.NewFile(Library("replaced"));
  EXPECT_FALSE(store_->Open(image).ok()) << "another file must not be taken";

  store_->SetMappingFinder([](profile::ImageId) { return MappingPlace{1, kBase, kBase + 0x1000}; });
  EXPECT_TRUE(store_->Open(image).ok());
  EXPECT_EQ(store_->counters().files_reopened, 1u);

  Resolve(1, MapFile(1, "/lib/c.so", proc_.NewFile(Library("three")), kBase + 0x20000));
  store_->SetMappingFinder(nullptr);
  proc_.root["/lib/a.so"] = file;
  EXPECT_TRUE(store_->Open(image).ok());
  EXPECT_EQ(store_->counters().files_reopened, 2u);
}

TEST_F(ImageStoreTest, BytesOutliveTheirPlaceAmongTheOpenFiles) {
  store_ = std::make_unique<ImageStore>(proc_, ImageStore::Options{1, 1000});
  const auto image = Resolve(1, MapFile(1, "/lib/a.so", proc_.NewFile(Library("one")))).image;
  const auto source = store_->Open(image);
  ASSERT_TRUE(source.ok());
  Resolve(1, MapFile(1, "/lib/b.so", proc_.NewFile(Library("two")), kBase + 0x10000));
  EXPECT_TRUE((*source)->Read(0, 64).ok());
}

TEST_F(ImageStoreTest, AFileRewrittenOverAndOverDoesNotMakeTheStoreForgetTheOthers) {
  store_ = std::make_unique<ImageStore>(proc_, ImageStore::Options{256, 1000, 10});
  const auto library = MapFile(1, "/lib/a.so", proc_.NewFile(Library("library")));
  const auto image = Resolve(1, library).image;
  const auto built = proc_.NewFile(Library("built"));
  const auto entry = MapFile(1, "/build/a.out", built, kBase + 0x10000);
  for (int i = 0; i < 5'000; ++i) {
    ++built->identity.mtime_ns;
    Resolve(1, entry);
    ASSERT_EQ(Resolve(1, library).image, image);
    ASSERT_LE(store_->known_file_count(), 10u);
  }
  EXPECT_EQ(store_->counters().files_parsed, 5'001u) << "the library only once";
  EXPECT_EQ(store_->image_count(), 2u);
}

TEST_F(ImageStoreTest, OfManyFilesThoseMetLastAreRemembered) {
  store_ = std::make_unique<ImageStore>(proc_, ImageStore::Options{256, 1000, 3});
  std::vector<MapsEntry> entries;
  for (uint32_t i = 0; i < 4; ++i) {
    const std::string name = "/lib/" + std::to_string(i);
    entries.push_back(MapFile(1, name, proc_.NewFile(Library(name)), kBase + i * 0x10000));
    Resolve(1, entries[i]);
  }
  EXPECT_EQ(store_->counters().files_parsed, 4u);
  for (const size_t i : {1u, 2u, 3u}) Resolve(1, entries[i]);
  EXPECT_EQ(store_->counters().files_parsed, 4u);
  const auto image = Resolve(1, entries[0]).image;
  EXPECT_EQ(store_->counters().files_parsed, 5u) << "it was forgotten";
  EXPECT_EQ(image, profile::ImageId(1)) << "and is the same image by its content";
}

TEST_F(ImageStoreTest, OddFilesDoNotTakeThePlaceOfLibraries) {
  ImageStore::Options options;
  options.images_bytes_max = 64u << 10;
  store_ = std::make_unique<ImageStore>(proc_, options);
  const std::string folder(4000, 'x');
  for (uint32_t i = 1; i <= 100; ++i) {
    const std::string name = "/" + folder + std::to_string(i);
    Resolve(1, MapFile(1, name, proc_.NewFile("no ELF " + name)));
    proc_.processes[1].mappings.clear();
  }
  EXPECT_LT(store_->image_count(), 10u);
  EXPECT_GT(store_->counters().images_beyond_limit, 90u);
  EXPECT_EQ(ImageOf(Resolve(2, MapFile(2, "/lib/a", proc_.NewFile(Library("a"))))).kind,
            ImageKind::kElf);
  for (uint32_t i = 1; i <= 100; ++i) {
    const std::string name = "/" + folder + std::to_string(i);
    Resolve(3, MapFile(3, name, proc_.NewFile(Library(name))));
    proc_.processes[3].mappings.clear();
  }
  EXPECT_LT(store_->image_count(), 20u) << "libraries have their limit too";
}

TEST_F(ImageStoreTest, BeyondTheLimitAllFurtherImagesAreOne) {
  store_ = std::make_unique<ImageStore>(proc_, ImageStore::Options{256, 10});
  for (uint32_t pid = 1; pid <= 30; ++pid) {
    const std::string name = "/lib/" + std::to_string(pid);
    Resolve(pid, MapFile(pid, name, proc_.NewFile(Library(name))));
    Resolve(pid, MapFile(pid, "", nullptr, kBase + 0x10000));
  }
  EXPECT_EQ(store_->image_count(), 10u);
  EXPECT_GT(store_->counters().images_beyond_limit, 0u);
  EXPECT_EQ(store_->image(profile::ImageId(10)).kind, ImageKind::kUnreadable);
}

class RecyclingTest : public ImageStoreTest {
 protected:
  RecyclingTest() {
    ImageStore::Options options;
    options.images_max = 40;
    store_ = std::make_unique<ImageStore>(proc_, options);
  }
  profile::ImageId Meet(const std::string& name) {
    FakeFilePtr& file = files_[name];
    if (file == nullptr) file = proc_.NewFile(Library(name));
    return Resolve(1, MapFile(1, "/lib/" + name, file, kBase + ++met_ * 0x10000)).image;
  }
  std::vector<profile::ImageId> Recycle(std::initializer_list<profile::ImageId> needed_ids = {}) {
    std::vector<bool> needed(store_->id_limit());
    for (const profile::ImageId id : needed_ids) needed[id.value()] = true;
    return store_->Recycle(std::move(needed));
  }

  std::map<std::string, FakeFilePtr> files_;
  uint64_t met_ = 0;
};

TEST_F(RecyclingTest, WhatWasMetLongestAgoAndIsNotNeededMakesRoom) {
  for (int i = 0; i < 29; ++i) Meet("lib" + std::to_string(i));
  EXPECT_FALSE(store_->IsCrowded());
  const auto needed = Meet("needed");
  Meet("lib0");
  const auto last = Meet("last");
  EXPECT_TRUE(store_->IsCrowded());
  EXPECT_TRUE(Recycle({needed}).empty()) << "samples may be on their way";
  const auto freed = Recycle({needed});
  EXPECT_EQ(freed.size(), 11u) << "down to half of 40";
  EXPECT_EQ(store_->image_count(), 20u);
  EXPECT_EQ(store_->counters().images_recycled, 11u);
  EXPECT_FALSE(store_->IsCrowded());
  EXPECT_EQ(freed.front(), profile::ImageId(2)) << "lib0 was met again";
  EXPECT_EQ(store_->image(needed).path, "/lib/needed");
  EXPECT_EQ(store_->image(last).path, "/lib/last");
  EXPECT_EQ(store_->image(freed[0]).kind, ImageKind::kUnreadable);
  EXPECT_FALSE(store_->Open(freed[0]).ok());
}

TEST_F(RecyclingTest, NumbersAreUsedAgainAndForgottenFilesAreReadAgain) {
  for (int i = 0; i < 32; ++i) Meet("lib" + std::to_string(i));
  Recycle();
  const auto freed = Recycle();
  ASSERT_FALSE(freed.empty());
  const size_t limit = store_->id_limit();
  const uint64_t parsed = store_->counters().files_parsed;
  const auto again = Meet("lib1");
  EXPECT_EQ(again, freed.back());
  EXPECT_EQ(store_->image(again).path, "/lib/lib1");
  EXPECT_TRUE(store_->Open(again).ok());
  EXPECT_EQ(store_->counters().files_parsed, parsed + 1);
  const auto another = Meet("another");
  EXPECT_NE(another, again);
  EXPECT_LT(another.value(), limit);
  EXPECT_EQ(store_->image(another).gnu_build_id, "616e6f74686572");
  EXPECT_EQ(Meet("lib31"), profile::ImageId(32)) << "what stayed keeps its number";
}

TEST_F(RecyclingTest, WhatWasMetBetweenTwoCallsStays) {
  for (int i = 0; i < 32; ++i) Meet("lib" + std::to_string(i));
  Recycle();
  const auto met_again = Meet("lib3");
  const auto freed = Recycle();
  EXPECT_EQ(std::count(freed.begin(), freed.end(), met_again), 0);
  EXPECT_EQ(store_->image(met_again).path, "/lib/lib3");
}

TEST_F(RecyclingTest, CodeFromBeforeAForkIsNeededWithTheChilds) {
  ImageOwner parent{50, 0, 0, {}, {}};
  const auto of_parent = store_->GeneratedCode(parent);
  ImageOwner child{51, 0, 0, {}, of_parent};
  const auto of_child = store_->GeneratedCode(child);
  ImageOwner grandchild{52, 0, 0, {}, of_child};
  const auto of_grandchild = store_->GeneratedCode(grandchild);
  for (int i = 0; i < 32; ++i) Meet("lib" + std::to_string(i));
  Recycle({of_grandchild});
  Recycle({of_grandchild});
  EXPECT_EQ(store_->image(of_grandchild).forked_from, of_child);
  EXPECT_EQ(store_->image(of_child).owner_pid, 51u);
  EXPECT_EQ(store_->image(of_parent).owner_pid, 50u);
}

TEST_F(RecyclingTest, FilesThatFoundNoRoomFindItAfterwards) {
  for (int i = 0; i < 60; ++i) Meet("lib" + std::to_string(i));
  EXPECT_EQ(store_->counters().images_beyond_limit, 21u);
  EXPECT_EQ(store_->image(Meet("lib59")).path, "[other images]");
  Recycle();
  Recycle();
  EXPECT_EQ(store_->image(Meet("lib59")).path, "/lib/lib59");
}

TEST_F(RecyclingTest, WeeksOfNewImagesNeedNoMoreRoomThanTheLimit) {
  const auto stays = Meet("stays");
  for (int i = 0; i < 5000; ++i) {
    Meet("build" + std::to_string(i));
    MapsEntry odd = MapFile(2, "/odd" + std::to_string(i), proc_.NewFile("no ELF"), kBase);
    Resolve(2, odd);
    proc_.processes.clear();
    if (store_->IsCrowded()) Recycle({stays});
  }
  EXPECT_EQ(store_->counters().images_beyond_limit, 0u);
  EXPECT_LE(store_->id_limit(), 41u);
  EXPECT_EQ(store_->image(stays).path, "/lib/stays");
}

TEST_F(ImageStoreTest, ManyBytesAreACrowdToo) {
  ImageStore::Options options;
  options.images_bytes_max = 64u << 10;
  store_ = std::make_unique<ImageStore>(proc_, options);
  uint32_t count = 0;
  while (!store_->IsCrowded()) {
    const std::string path = "/odd/" + std::to_string(count);
    Resolve(1, MapFile(1, path, proc_.NewFile("no ELF"), kBase + ++count * 0x10000));
  }
  EXPECT_LT(count, 30u);
  store_->Recycle(std::vector<bool>(store_->id_limit()));
  EXPECT_FALSE(store_->Recycle(std::vector<bool>(store_->id_limit())).empty());
  EXPECT_FALSE(store_->IsCrowded());
}

}  // namespace
}  // namespace vesta::agent::process
