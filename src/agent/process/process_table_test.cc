#include "src/agent/process/process_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "test/support/fake_proc.h"
#include "test/support/small_elf.h"

namespace vesta::agent::process {
namespace {

using profile::ImageId;
using test::FakeFilePtr;
using test::FakeProc;
using test::MakeSmallElf;

constexpr uint64_t kBase = 0x7f0000000000;
constexpr uint64_t kTickNs = 10'000'000;
constexpr uint64_t kSecond = 1'000'000'000;

std::string Library(std::string_view build_id) {
  return MakeSmallElf({{0x1000, 0x1000, 0x800, true}}, build_id);
}

class ProcessTableTest : public ::testing::Test {
 protected:
  // Puts a process with one binary into /proc.
  test::FakeProcess& Start(uint32_t pid, const std::string& comm, uint64_t start_ticks,
                           const std::string& path = "/bin/a") {
    test::FakeProcess& process = proc_.processes[pid];
    process = {};
    process.comm = comm;
    process.start_ticks = start_ticks;
    process.exe = path;
    process.mappings.push_back({kBase, kBase + 0x1000, 0x1000, path, FileAt(path)});
    return process;
  }

  FakeFilePtr FileAt(const std::string& path) {
    FakeFilePtr& file = files_[path];
    if (file == nullptr) file = proc_.NewFile(Library(path));
    return file;
  }

  uint64_t Tick() { return proc_.now_mono_ns += 1000; }
  template <typename Event>
  void Apply(Event event) {
    Apply(event, Tick());
  }
  template <typename Event>
  void Apply(Event event, uint64_t time_mono_ns) {
    ProcessEvent whole;
    whole.time_mono_ns = time_mono_ns;
    whole.what = event;
    table_->Apply(whole);
  }
  void ApplyFork(uint32_t parent, uint32_t child) {
    Apply(ForkEvent{child, parent, child, parent});
  }
  void ApplyExec(uint32_t pid, const std::string& comm) { Apply(CommEvent{pid, pid, true, comm}); }
  void ApplyExit(uint32_t pid) { Apply(ExitEvent{pid, pid}); }
  // The event of a mapping that /proc shows as well.
  void ApplyMmap(uint32_t pid, const std::string& path, uint64_t start) {
    const FakeFilePtr file =
        path.empty() || path[0] != '/' || path[1] == '/' ? nullptr : FileAt(path);
    proc_.processes[pid].mappings.push_back({start, start + 0x1000, 0x1000, path, file});
    MmapEvent event;
    event.pid = event.tid = pid;
    event.start = start;
    event.size_bytes = 0x1000;
    event.file_offset = 0x1000;
    event.path = path;
    if (file != nullptr) {
      event.device_major = 8;
      event.device_minor = 1;
      event.inode = file->identity.inode;
    }
    Apply(event);
  }

  std::vector<std::string> Paths(uint32_t pid) {
    std::vector<std::string> paths;
    const Process* process = table_->Find(pid);
    if (process == nullptr) return {"unknown process"};
    for (const Mapping& mapping : process->mappings.all()) {
      paths.push_back(images_.image(mapping.image).path);
    }
    return paths;
  }
  std::vector<uint32_t> Changed() {
    auto pids = table_->TakeChanged();
    std::sort(pids.begin(), pids.end());
    return pids;
  }
  const TaskInfo& TaskOf(uint32_t pid, uint64_t start_boot_ns = 0, uint32_t exec_id = 0,
                         uint64_t time_mono_ns = 0) {
    return table_->task(table_->TaskOf(
        {pid, start_boot_ns, exec_id, time_mono_ns == 0 ? Tick() : time_mono_ns, "thread"}));
  }
  void Rebuild(ProcessTable::Options options) {
    table_.reset();
    table_ = std::make_unique<ProcessTable>(proc_, images_, options);
  }

  using Strings = std::vector<std::string>;
  using Pids = std::vector<uint32_t>;

  FakeProc proc_;
  std::map<std::string, FakeFilePtr> files_;
  ImageStore images_{proc_, {}};
  std::unique_ptr<ProcessTable> table_ =
      std::make_unique<ProcessTable>(proc_, images_, ProcessTable::Options{});
};

TEST_F(ProcessTableTest, ScanKnowsProcessesAndSkipsKernelThreads) {
  Start(10, "a", 100);
  Start(11, "b", 200, "/bin/b");
  Start(2, "kthreadd", 1).is_kernel_thread = true;
  table_->Scan();
  EXPECT_EQ(table_->process_count(), 2u);
  EXPECT_EQ(Paths(11), Strings{"/bin/b"});
  const Process& process = *table_->Find(10);
  EXPECT_EQ(process.comm, "a");
  EXPECT_EQ(process.start_boot_ns, 100 * kTickNs);
  EXPECT_FALSE(process.start_is_exact);
  EXPECT_EQ(process.exec_id, 0u);
  ASSERT_EQ(process.mappings.all().size(), 1u);
  EXPECT_EQ(kBase - process.mappings.all()[0].bias, 0x1000u);
  EXPECT_EQ(Changed(), (Pids{10, 11}));
  EXPECT_EQ(Changed(), Pids{});
}

TEST_F(ProcessTableTest, ForkWithoutExecSharesTheMappingsAndLabels) {
  Start(10, "a", 100).environ = std::string("OTEL_SERVICE_NAME=shop\0", 23);
  proc_.processes[10].mappings.push_back({kBase + 0x9000, kBase + 0xa000, 0, "", nullptr});
  table_->Scan();
  EXPECT_EQ(TaskOf(10).labels->service_name, "shop");
  table_->NoteExecId(10, 5, 100 * kTickNs + 1, Tick());
  Changed();
  ApplyFork(10, 20);
  EXPECT_EQ(Paths(20), Paths(10));
  EXPECT_EQ(table_->Find(20)->exec_id, 5u);
  EXPECT_EQ(Changed(), Pids{20});
  // It is gone before anyone could ask it.
  EXPECT_EQ(TaskOf(20).labels->service_name, "shop");
  EXPECT_EQ(TaskOf(20).comm, "a");
  // What the child maps then is its own.
  ApplyMmap(20, "/lib/child.so", kBase + 0x20000);
  EXPECT_EQ(Paths(20).size(), 3u);
  EXPECT_EQ(Paths(10).size(), 2u);
}

TEST_F(ProcessTableTest, AForkedProcessHasAnImageForItsGeneratedCodeOnceItIsSampledThere) {
  Start(10, "a", 100);
  table_->Scan();
  ApplyMmap(10, "//anon", kBase + 0x9000);
  const ImageId of_parent = table_->Find(10)->mappings.all()[1].image;
  ApplyFork(10, 20);
  const size_t image_count = images_.image_count();
  ApplyFork(20, 21);
  ApplyExec(21, "spawned");
  EXPECT_EQ(images_.image_count(), image_count) << "most forked processes only execute another";

  EXPECT_EQ(table_->Find(20)->mappings.all()[1].image, of_parent);
  EXPECT_EQ(table_->GeneratedCodeOf(10, of_parent), of_parent);
  const ImageId of_child = table_->GeneratedCodeOf(20, of_parent);
  EXPECT_NE(of_child, of_parent);
  EXPECT_EQ(table_->GeneratedCodeOf(20, of_parent), of_child);
  EXPECT_EQ(table_->GeneratedCodeOf(20, of_child), of_child);
  EXPECT_EQ(images_.image(of_child).kind, ImageKind::kAnonymous);
  EXPECT_EQ(images_.image(of_child).owner_pid, 20u);
  EXPECT_EQ(images_.image(of_child).forked_from, of_parent) << "it names what was there before";

  // What the child forks has both behind it; the mapping is still that of the first.
  ApplyFork(20, 30);
  const ImageId of_grandchild = table_->GeneratedCodeOf(30, of_parent);
  EXPECT_EQ(images_.image(of_grandchild).owner_pid, 30u);
  EXPECT_EQ(images_.image(of_grandchild).forked_from, of_child);
}

TEST_F(ProcessTableTest, MappingsOfAllProcessesHaveAnEnd) {
  ProcessTable::Options options;
  options.mappings_total_max = 10;
  Rebuild(options);
  const auto map_apart = [this](uint32_t pid, int count) {
    for (int i = 0; i < count; ++i) {
      ApplyMmap(pid, "/lib/" + std::to_string(i), 2 * kBase + static_cast<uint64_t>(i) * 0x10000);
    }
  };
  Start(10, "one", 100);
  Start(20, "two", 100);
  table_->Scan();
  map_apart(10, 6);
  map_apart(20, 6);
  EXPECT_EQ(Paths(10).size(), 7u);
  EXPECT_EQ(Paths(20).size(), 3u);
  EXPECT_EQ(table_->counters().mappings_beyond_limit, 4u);
  EXPECT_TRUE(table_->Rescan(10)) << "what it has already needs no more room";
  EXPECT_EQ(Paths(10).size(), 7u);
  ApplyFork(10, 30);
  EXPECT_TRUE(Paths(30).empty()) << "no room for a copy";
  EXPECT_EQ(table_->counters().mappings_beyond_limit, 11u);

  ApplyExec(10, "other");
  EXPECT_TRUE(table_->Rescan(20)) << "an exec gives back what it had";
  EXPECT_EQ(Paths(20).size(), 7u);
  ApplyExit(20);
  proc_.processes.erase(20);
  proc_.now_mono_ns += 10 * kSecond;
  table_->Advance(proc_.now_mono_ns);
  Start(40, "four", 900);
  for (int i = 0; i < 9; ++i) {
    proc_.processes[40].mappings.push_back({3 * kBase + static_cast<uint64_t>(i) * 0x10000,
                                            3 * kBase + static_cast<uint64_t>(i) * 0x10000 + 0x1000,
                                            0x1000, "/lib/x", FileAt("/lib/x")});
  }
  EXPECT_TRUE(table_->EnsureKnown(40));
  EXPECT_EQ(Paths(40).size(), 10u) << "and so does an exit";
}

TEST_F(ProcessTableTest, MarksImagesUntilNobodyCanBeSampledInThem) {
  Start(10, "one", 100, "/bin/one");
  Start(20, "two", 100, "/bin/two");
  table_->Scan();
  ApplyMmap(20, "", 2 * kBase);  // generated code
  const auto marked = [&] {
    std::vector<bool> needed(images_.id_limit());
    table_->MarkImages(needed);
    std::set<std::string> paths;
    for (uint32_t id = 1; id < needed.size(); ++id) {
      if (needed[id]) paths.insert(images_.image(ImageId(id)).path);
    }
    return paths;
  };
  EXPECT_EQ(marked(), (std::set<std::string>{"/bin/one", "/bin/two", "[generated code]"}));
  ApplyFork(20, 30);
  ApplyExit(20);
  proc_.now_mono_ns += 10 * kSecond;
  table_->Advance(proc_.now_mono_ns);
  EXPECT_EQ(marked(), (std::set<std::string>{"/bin/one", "/bin/two", "[generated code]"}))
      << "the child maps them, and inherited the code";
  ApplyExit(30);
  EXPECT_EQ(marked().size(), 3u) << "its last samples are still on their way";
  proc_.now_mono_ns += 10 * kSecond;
  table_->Advance(proc_.now_mono_ns);
  EXPECT_EQ(marked(), std::set<std::string>{"/bin/one"});
}

TEST_F(ProcessTableTest, CodeThatAForkedProcessMapsIsItsOwn) {
  Start(10, "a", 100);
  table_->Scan();
  ApplyMmap(10, "//anon", kBase + 0x9000);
  const ImageId of_parent = table_->Find(10)->mappings.all()[1].image;
  ApplyFork(10, 20);
  ApplyMmap(20, "//anon", kBase + 0x20000);
  const auto all = table_->Find(20)->mappings.all();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].image, of_parent);
  EXPECT_EQ(images_.image(all[2].image).owner_pid, 20u);
  EXPECT_EQ(images_.image(all[2].image).forked_from, of_parent);
  EXPECT_EQ(table_->GeneratedCodeOf(20, of_parent), all[2].image);
}

TEST_F(ProcessTableTest, GeneratedCodeTellsItsProcessAlsoWhenThatIsGone) {
  Start(10, "a", 100);
  table_->Scan();
  ApplyMmap(10, "//anon", kBase + 0x9000);
  const Image& image = images_.image(table_->Find(10)->mappings.all()[1].image);
  EXPECT_EQ(image.owner_start_boot_ns, 100 * kTickNs) << "as /proc has it";
  TaskOf(10, 100 * kTickNs + 5);
  EXPECT_EQ(image.owner_start_boot_ns, 100 * kTickNs + 5) << "as its samples have it";
  ApplyExit(10);
  proc_.processes.erase(10);
  table_->Advance(proc_.now_mono_ns + 10 * kSecond);
  EXPECT_EQ(table_->Find(10), nullptr);
  Start(10, "b", 300);
  table_->Rescan(10);
  EXPECT_EQ(image.owner_pid, 10u);
  EXPECT_EQ(image.owner_start_boot_ns, 100 * kTickNs + 5);
}

TEST_F(ProcessTableTest, AfterAnExecNothingIsInherited) {
  for (const bool event_lost : {false, true}) {
    Rebuild({});
    Start(10, "a", 100);
    table_->Scan();
    table_->NoteExecId(10, 5, 0, Tick());
    ApplyMmap(10, "//anon", kBase + 0x9000);
    const ImageId of_parent = table_->Find(10)->mappings.all()[1].image;
    ApplyFork(10, 20);
    Start(20, "node", 120, "/bin/node");
    if (event_lost) {
      table_->NoteExecId(20, 6, 0, Tick());
    } else {
      ApplyExec(20, "node");
    }
    EXPECT_EQ(table_->GeneratedCodeOf(20, of_parent), of_parent);
    ApplyMmap(20, "//anon", kBase + 0x9000);
    const ImageId of_child = table_->Find(20)->mappings.all().back().image;
    EXPECT_EQ(images_.image(of_child).owner_pid, 20u);
    EXPECT_EQ(images_.image(of_child).forked_from, ImageId());
  }
}

TEST_F(ProcessTableTest, ExecReplacesEverything) {
  Start(10, "sh", 100, "/bin/sh");
  table_->Scan();
  table_->NoteExecId(10, 3, 0, Tick());
  const TaskInfo before = TaskOf(10);
  Start(10, "cc1plus", 100, "/usr/lib/cc1plus").mappings.clear();
  ApplyExec(10, "cc1plus");
  EXPECT_EQ(Paths(10), Strings{});
  EXPECT_EQ(table_->Find(10)->exec_id, 4u) << "the kernel counts each exec";
  EXPECT_EQ(table_->Find(10)->exec_generation, 1u);
  ApplyMmap(10, "/usr/lib/cc1plus", kBase + 0x50000);
  EXPECT_EQ(Paths(10), Strings{"/usr/lib/cc1plus"});
  const TaskInfo after = TaskOf(10);
  EXPECT_EQ(before.comm, "sh");
  EXPECT_EQ(before.labels->executable, "/bin/sh");
  EXPECT_EQ(after.comm, "cc1plus");
  EXPECT_EQ(after.labels->executable, "/usr/lib/cc1plus");
}

TEST_F(ProcessTableTest, LateSamplesFromBeforeAnExecKeepTheirTask) {
  Start(10, "sh", 100, "/bin/sh");
  table_->Scan();
  TaskOf(10);
  const uint64_t before_exec = Tick();
  ApplyExec(10, "make");
  EXPECT_EQ(TaskOf(10, 0, 0, before_exec).comm, "sh");
  EXPECT_EQ(TaskOf(10).comm, "make");
}

TEST_F(ProcessTableTest, EventsOlderThanTheScanChangeNothing) {
  Start(10, "a", 100);
  const uint64_t before_scan = Tick();
  Tick();
  table_->Scan();
  Changed();
  Apply(ExitEvent{10, 10}, before_scan);
  Apply(ForkEvent{10, 1, 10, 1}, before_scan);
  MmapEvent mmap;
  mmap.pid = 10;
  mmap.start = kBase;
  mmap.size_bytes = 0x1000;
  mmap.path = "//anon";
  Apply(mmap, before_scan);
  EXPECT_EQ(Paths(10), Strings{"/bin/a"});
  EXPECT_FALSE(table_->Find(10)->exited);
  EXPECT_EQ(Changed(), Pids{});
}

TEST_F(ProcessTableTest, AnExecThatTheScanHasSeenKeepsItsMappings) {
  Start(10, "sh", 100, "/bin/sh");
  table_->Scan();
  table_->NoteExecId(10, 3, 0, Tick());
  TaskOf(10);
  const uint64_t exec_time = Tick();
  Start(10, "make", 100, "/bin/make");
  Tick();
  table_->Rescan(10);
  Apply(CommEvent{10, 10, true, "make"}, exec_time);
  EXPECT_EQ(Paths(10), Strings{"/bin/make"});
  EXPECT_EQ(table_->Find(10)->exec_id, 4u);
  EXPECT_EQ(TaskOf(10).comm, "make");
  EXPECT_EQ(TaskOf(10).labels->executable, "/bin/make");
}

TEST_F(ProcessTableTest, AnExecThatTheKernelHasCountedIsNotCountedTwice) {
  Start(10, "sh", 100);
  table_->Scan();
  const uint64_t exec_time = Tick();
  table_->NoteExecId(10, 8, 0, Tick());
  Apply(CommEvent{10, 10, true, "make"}, exec_time);
  EXPECT_EQ(table_->Find(10)->exec_id, 8u);
}

TEST_F(ProcessTableTest, AMissedExecIsLearnedFromASample) {
  Start(10, "sh", 100, "/bin/sh");
  table_->Scan();
  table_->NoteExecId(10, 3, 0, Tick());
  EXPECT_EQ(TaskOf(10, 0, 3).comm, "sh");
  Start(10, "make", 100, "/bin/make");
  EXPECT_EQ(TaskOf(10, 0, 4).comm, "make");
  EXPECT_EQ(Paths(10), Strings{"/bin/make"});
  EXPECT_EQ(table_->counters().execs_missed, 1u);
}

TEST_F(ProcessTableTest, ASampleFromBeforeAnExecDoesNotUndoIt) {
  Start(10, "sh", 100);
  table_->Scan();
  table_->NoteExecId(10, 3, 0, Tick());
  const uint64_t before_exec = Tick();
  ApplyExec(10, "make");
  table_->NoteExecId(10, 3, 0, before_exec);
  EXPECT_EQ(table_->Find(10)->exec_id, 4u);
  // A prediction that was wrong is corrected by what is seen later.
  table_->NoteExecId(10, 3, 0, Tick());
  EXPECT_EQ(table_->Find(10)->exec_id, 3u);
  EXPECT_EQ(table_->counters().execs_missed, 0u);
}

TEST_F(ProcessTableTest, StartTimesBecomeExactAndTellTheLead) {
  Start(10, "a", 100);
  table_->Scan();
  Changed();
  table_->NoteExecId(10, 1, 100 * kTickNs + 12345, Tick());
  EXPECT_EQ(table_->Find(10)->start_boot_ns, 100 * kTickNs + 12345);
  EXPECT_TRUE(table_->Find(10)->start_is_exact);
  EXPECT_EQ(Changed(), Pids{10});
  table_->Rescan(10);
  EXPECT_TRUE(table_->Find(10)->start_is_exact);
  table_->NoteExecId(10, 1, 100 * kTickNs + 12345, Tick());
  EXPECT_EQ(Changed(), Pids{});
}

TEST_F(ProcessTableTest, AReusedPidIsAnotherProcess) {
  Start(10, "old", 100, "/bin/old");
  table_->Scan();
  const uint64_t old_start = 100 * kTickNs + 5;
  EXPECT_EQ(TaskOf(10, old_start).comm, "old");
  ApplyExit(10);
  Start(10, "parent", 400);
  Start(1, "init", 1);
  table_->Rescan(1);
  ApplyFork(1, 10);
  EXPECT_EQ(table_->Find(10)->comm, "init");
  EXPECT_EQ(TaskOf(10, 400 * kTickNs + 7).comm, "init");
  EXPECT_EQ(TaskOf(10, old_start).comm, "old") << "samples of the old one that come late";
  table_->Advance(proc_.now_mono_ns + 3 * kSecond);
  EXPECT_EQ(table_->Find(10)->comm, "init");
  EXPECT_EQ(TaskOf(10, old_start).comm, "thread") << "after the grace only its thread is known";
}

TEST_F(ProcessTableTest, APidReusedUnseenIsLearnedFromASampleOrARescan) {
  Start(10, "old", 100, "/bin/old");
  Start(11, "old", 100, "/bin/old");
  table_->Scan();
  Start(10, "new", 300, "/bin/new");
  Start(11, "new", 300, "/bin/new");
  EXPECT_EQ(TaskOf(10, 300 * kTickNs + 9).comm, "new");
  EXPECT_EQ(Paths(10), Strings{"/bin/new"});
  EXPECT_TRUE(table_->Rescan(11));
  EXPECT_EQ(Paths(11), Strings{"/bin/new"});
  EXPECT_EQ(table_->counters().pids_reused_unseen, 2u);
}

TEST_F(ProcessTableTest, ExitKeepsTheProcessForAWhile) {
  Start(10, "a", 100);
  table_->Scan();
  Changed();
  ApplyExit(10);
  proc_.processes.erase(10);
  EXPECT_EQ(Changed(), Pids{10});
  ASSERT_NE(table_->Find(10), nullptr);
  EXPECT_TRUE(table_->Find(10)->exited);
  EXPECT_EQ(Paths(10), Strings{"/bin/a"});
  table_->Advance(proc_.now_mono_ns + kSecond);
  EXPECT_NE(table_->Find(10), nullptr);
  table_->Advance(proc_.now_mono_ns + 3 * kSecond);
  EXPECT_EQ(table_->Find(10), nullptr);
}

TEST_F(ProcessTableTest, TasksOutliveTheirProcesses) {
  Start(10, "a", 100);
  table_->Scan();
  const TaskId task = table_->TaskOf({10, 0, 0, Tick(), "a"});
  ApplyExit(10);
  table_->Advance(proc_.now_mono_ns + 10 * kSecond);
  EXPECT_EQ(table_->task(task).comm, "a");
  EXPECT_EQ(table_->task(task).labels->service_name, "a");
}

TEST_F(ProcessTableTest, AProcessLivesUntilItsLastThreadExits) {
  Start(10, "a", 100).thread_count = 2;
  table_->Scan();
  Apply(ForkEvent{10, 10, 13, 10});
  Apply(ExitEvent{10, 10});
  Apply(ExitEvent{10, 12});
  EXPECT_FALSE(table_->Find(10)->exited);
  Apply(ExitEvent{10, 13});
  EXPECT_TRUE(table_->Find(10)->exited);
}

TEST_F(ProcessTableTest, WhenExitsOfThreadsWereLostProcTellsTheEnd) {
  Start(10, "a", 100).thread_count = 5;
  table_->Scan();
  ApplyExit(10);
  proc_.processes[10].state = 'Z';
  table_->Advance(proc_.now_mono_ns + 3 * kSecond);
  EXPECT_FALSE(table_->Find(10)->exited) << "four threads still run";
  proc_.processes.erase(10);
  table_->Advance(proc_.now_mono_ns + 6 * kSecond);
  EXPECT_TRUE(table_->Find(10)->exited);
}

TEST_F(ProcessTableTest, ExecByAnotherThreadRevivesTheProcess) {
  Start(10, "a", 100);
  table_->Scan();
  ApplyExit(10);  // the old leader goes, the new program takes its number
  ApplyExec(10, "b");
  ApplyMmap(10, "/bin/b", kBase);
  EXPECT_FALSE(table_->Find(10)->exited);
  table_->Advance(proc_.now_mono_ns + 3 * kSecond);
  EXPECT_EQ(Paths(10), Strings{"/bin/b"});
}

TEST_F(ProcessTableTest, NameAndLabelsAreOfOneProgramWhenTheExecIsLearnedLate) {
  Start(10, "sh", 100, "/bin/sh");
  table_->Scan();
  const uint64_t before_exec = Tick();
  const uint64_t exec = Tick();
  Start(10, "app", 100, "/bin/app");
  Tick();
  const TaskId task = table_->TaskOf({10, 0, 0, before_exec, "sh"});  // now /proc shows app
  Apply(CommEvent{10, 10, true, "app"}, exec);
  const TaskId later = table_->TaskOf({10, 0, 0, Tick(), "app"});
  EXPECT_EQ(table_->task(later).comm, "app");
  EXPECT_EQ(table_->task(later).labels->executable, "/bin/app");
  EXPECT_EQ(table_->task(task).comm == "app", table_->task(task).labels->executable == "/bin/app");
}

TEST_F(ProcessTableTest, ExitThatAnExecOfASetUidProgramReportsIsNone) {
  Start(10, "su", 100);
  table_->Scan();
  ApplyExec(10, "su");
  ApplyExit(10);
  EXPECT_FALSE(table_->Find(10)->exited);
  EXPECT_EQ(table_->Find(10)->thread_count, 1u);
  // The same two events of a program that did end: a zombie, or gone.
  ApplyExec(10, "su");
  proc_.processes[10].state = 'Z';
  ApplyExit(10);
  EXPECT_TRUE(table_->Find(10)->exited);
  Start(11, "true", 100);
  table_->EnsureKnown(11);
  ApplyExec(11, "true");
  proc_.processes.erase(11);
  ApplyExit(11);
  EXPECT_TRUE(table_->Find(11)->exited);
  // Later, /proc is not asked: the exit of a process can be seen there a little after its event.
  Start(12, "app", 100);
  table_->EnsureKnown(12);
  ApplyExec(12, "app");
  proc_.now_mono_ns += 1'000'000;
  ApplyExit(12);
  EXPECT_TRUE(table_->Find(12)->exited);
}

TEST_F(ProcessTableTest, RenamingTheLeaderRenamesTheProcess) {
  Start(10, "a", 100);
  table_->Scan();
  const TaskId task = table_->TaskOf({10, 0, 0, Tick(), "a"});
  Apply(CommEvent{10, 11, false, "worker"});
  EXPECT_EQ(table_->Find(10)->comm, "a");
  Apply(CommEvent{10, 10, false, "main"});
  EXPECT_EQ(table_->Find(10)->comm, "main");
  EXPECT_EQ(table_->task(task).comm, "main");
}

TEST_F(ProcessTableTest, OverlappingMappingsReplaceWhatTheyCover) {
  Start(10, "a", 100);
  proc_.processes[10].mappings[0].end = kBase + 0x4000;
  table_->Scan();
  ApplyMmap(10, "//anon", kBase + 0x1000);
  const auto all = table_->Find(10)->mappings.all();
  EXPECT_EQ(Paths(10), (Strings{"/bin/a", "[generated code]", "/bin/a"}));
  EXPECT_EQ(all[0].bias, all[2].bias) << "both rests show the same file";
  EXPECT_EQ(all[1].bias, 0u);
}

// A binary with 0x4000 bytes of text in one process, which engines may move into huge pages.
struct MovedText {
  std::string bytes = test::MakeSmallElf({{0x1000, 0x1000, 0x4000, true}}, "moved text");
  std::string text;
  MovedText() {
    for (size_t i = 0x1000; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 + i / 256);
    text = bytes.substr(0x1000);
  }
};

TEST_F(ProcessTableTest, TextThatWasMovedToAnonymousMemoryIsThatOfItsFile) {
  const MovedText moved;
  auto& process = Start(10, "engine", 100, "/bin/engine");
  const FakeFilePtr file = files_["/bin/engine"] = proc_.NewFile(moved.bytes);
  process.mappings[0] = {kBase, kBase + 0x4000, 0x1000, "/bin/engine", file};
  process.memory[kBase] = moved.text;
  table_->Scan();
  const Mapping before = table_->Find(10)->mappings.all()[0];
  Changed();
  MmapEvent event;
  event.pid = event.tid = 10;
  event.start = kBase + 0x1000;
  event.size_bytes = 0x2000;
  event.path = "//anon";
  Apply(event);
  EXPECT_EQ(Changed(), Pids{}) << "the same text is still there";
  // As /proc shows it: the file's mapping below, a hole filled with anonymous memory.
  process.mappings[0].end = kBase + 0x1000;
  process.mappings.push_back({kBase + 0x1000, kBase + 0x3000, 0, "", nullptr});
  process.mappings.push_back({kBase + 0x3000, kBase + 0x4000, 0x4000, "/bin/engine", file});
  Rebuild({});
  table_->Scan();
  ASSERT_EQ(table_->Find(10)->mappings.all().size(), 1u);
  EXPECT_EQ(table_->Find(10)->mappings.all()[0], before);
}

TEST_F(ProcessTableTest, OtherCodeWhereTextWasIsGenerated) {
  const MovedText moved;
  for (const size_t changed_at : {size_t{0x1000}, size_t{0x2400}, size_t{0x2fff}, size_t{~0u}}) {
    Rebuild({});
    auto& process = Start(10, "engine", 100, "/bin/engine");
    const FakeFilePtr file = files_["/bin/engine"] = proc_.NewFile(moved.bytes);
    process.mappings[0] = {kBase, kBase + 0x1000, 0x1000, "/bin/engine", file};
    process.mappings.push_back({kBase + 0x1000, kBase + 0x3000, 0, "", nullptr});
    if (changed_at < moved.text.size()) {
      process.memory[kBase] = moved.text;
      process.memory[kBase][changed_at] ^= 1;
    }
    table_->Scan();
    EXPECT_EQ(Paths(10), (Strings{"/bin/engine", "[generated code]"})) << changed_at;
  }
  // Beyond the end of the text.
  auto& process = Start(11, "engine", 100, "/bin/engine");
  process.mappings[0] = {kBase, kBase + 0x4000, 0x1000, "/bin/engine", FileAt("/bin/engine")};
  process.mappings.push_back({kBase + 0x4000, kBase + 0x5000, 0, "", nullptr});
  process.memory[kBase] = moved.text + std::string(0x1000, 0);
  EXPECT_TRUE(table_->EnsureKnown(11));
  EXPECT_EQ(Paths(11), (Strings{"/bin/engine", "[generated code]"}));
}

TEST_F(ProcessTableTest, AMappingThatIsThereAlreadyIsNoChange) {
  Start(10, "a", 100);
  table_->Scan();
  ApplyMmap(10, "//anon", kBase + 0x5000);
  Changed();
  for (int i = 0; i < 100; ++i) ApplyMmap(10, "//anon", kBase + 0x5000);  // mprotect of JIT code
  EXPECT_EQ(Changed(), Pids{});
}

TEST_F(ProcessTableTest, RescanForgetsWhatWasUnmapped) {
  Start(10, "a", 100);
  table_->Scan();
  ApplyMmap(10, "/lib/plugin.so", kBase + 0x20000);
  EXPECT_EQ(Paths(10), (Strings{"/bin/a", "/lib/plugin.so"}));
  proc_.processes[10].mappings.pop_back();
  Changed();
  EXPECT_TRUE(table_->Rescan(10));
  EXPECT_EQ(Paths(10), Strings{"/bin/a"});
  EXPECT_EQ(Changed(), Pids{10});
  EXPECT_TRUE(table_->Rescan(10));
  EXPECT_EQ(Changed(), Pids{});
}

TEST_F(ProcessTableTest, TooManyMappingsAreCutAndCounted) {
  ProcessTable::Options options;
  options.mappings_max = 4096;
  Rebuild(options);
  auto& process = Start(10, "a", 100);
  for (uint64_t i = 1; i < 10'000; ++i) {
    const std::string path = "/lib/" + std::to_string(i % 10);
    process.mappings.push_back(
        {kBase + i * 0x2000, kBase + i * 0x2000 + 0x1000, 0x1000, path, FileAt(path)});
  }
  table_->Scan();
  EXPECT_EQ(table_->Find(10)->mappings.all().size(), 4096u);
  EXPECT_EQ(table_->counters().mappings_beyond_limit, 10'000u - 4096u);
  EXPECT_EQ(images_.image_count(), 11u);
}

TEST_F(ProcessTableTest, AProcessThatVanishesInTheMiddleLeavesTheOthers) {
  for (const ProcFile stop_at : {ProcFile::kStat, ProcFile::kMaps}) {
    Rebuild({});
    Start(10, "a", 100);
    Start(11, "b", 100);
    Start(12, "c", 100);
    proc_.before_read = [&](uint32_t pid, ProcFile file) {
      if (pid == 11 && file == stop_at) proc_.processes.erase(11);
    };
    table_->Scan();
    EXPECT_NE(table_->Find(10), nullptr);
    EXPECT_EQ(table_->Find(11), nullptr);
    EXPECT_NE(table_->Find(12), nullptr);
    EXPECT_EQ(table_->counters().proc_reads_failed, 1u);
  }
}

TEST_F(ProcessTableTest, LabelsOfAProcessThatIsGoneAreUnknownAndCounted) {
  Start(10, "a", 100).environ = std::string("OTEL_SERVICE_NAME=shop\0", 23);
  Start(11, "b", 100, "/bin/b");
  table_->Scan();
  proc_.before_read = [&](uint32_t pid, ProcFile file) {
    if (file == ProcFile::kEnviron) proc_.processes.erase(pid);
  };
  EXPECT_FALSE(table_->EnsureLabels(10));
  proc_.processes.erase(11);
  const TaskInfo& task = TaskOf(11);
  EXPECT_FALSE(task.labels->known);
  EXPECT_EQ(task.labels->service_name, "");
  EXPECT_EQ(task.labels->rule, ServiceRule::kUnknown);
  EXPECT_EQ(task.labels->executable, "/bin/b") << "the mappings still tell";
  EXPECT_EQ(table_->counters().labels_unknown, 2u);
  EXPECT_FALSE(table_->EnsureLabels(99));
}

TEST_F(ProcessTableTest, AnOptOutThatIsNoneIsCounted) {
  Start(10, "a", 100).environ = std::string("VESTA_PROFILE=never\0", 20);
  Start(11, "b", 100).environ = std::string("VESTA_PROFILE=on\0", 17);
  table_->Scan();
  EXPECT_TRUE(table_->EnsureLabels(10));
  EXPECT_TRUE(table_->EnsureLabels(11));
  EXPECT_EQ(table_->counters().opt_outs_unclear, 1u);
}

TEST_F(ProcessTableTest, LabelsOfAProcessThatIsGoneAreThoseOfItsParent) {
  Start(10, "sh", 100, "/bin/sh").cgroup = "0::/system.slice/shop.service\n";
  table_->Scan();
  ApplyFork(10, 11);
  ApplyExec(11, "job");
  ApplyMmap(11, "/bin/job", kBase);
  ApplyFork(11, 12);  // the job forks itself
  ApplyFork(12, 13);
  ApplyExec(13, "tool");
  ApplyMmap(13, "/bin/tool", kBase);
  for (const uint32_t pid : {13u, 12u, 11u}) ApplyExit(pid);
  for (const uint32_t pid : {11u, 12u, 13u}) proc_.processes.erase(pid);
  const TaskInfo& tool = TaskOf(13);  // its forefathers 12 and 11 are gone as well
  EXPECT_EQ(tool.comm, "tool");
  EXPECT_FALSE(tool.labels->known);
  EXPECT_TRUE(tool.labels->inherited);
  EXPECT_EQ(tool.labels->unit, "shop.service");
  EXPECT_EQ(tool.labels->service_name, "shop");
  EXPECT_EQ(tool.labels->executable, "/bin/tool");
  EXPECT_EQ(TaskOf(12).labels->executable, "/bin/job") << "no exec since the fork";
  EXPECT_EQ(table_->counters().labels_unknown, 0u);
  EXPECT_EQ(table_->counters().labels_inherited, 2u);
  EXPECT_TRUE(table_->Find(10)->labels->known);
}

TEST_F(ProcessTableTest, AProcessThatIsSampledInsideItsExecHasItsOwnProgramAfterAll) {
  Start(10, "sh", 100, "/bin/sh").cgroup = "0::/system.slice/shop.service\n";
  Start(20, "bash", 100, "/bin/bash");
  table_->Scan();
  for (const uint32_t parent : {10u, 20u}) {
    const uint32_t child = parent + 1;
    ApplyFork(parent, child);
    ApplyExec(child, "job");
    proc_.processes.erase(child);
    const TaskId inside = table_->TaskOf({child, 0, 0, Tick(), "job"});
    EXPECT_EQ(table_->task(inside).labels->executable, "") << "that of the parent is wrong";
    ApplyMmap(child, "/opt/job-1", kBase);
    ApplyMmap(child, "/lib/ld.so", kBase + 0x10000);
    proc_.processes.erase(child);
    EXPECT_EQ(table_->TaskOf({child, 0, 0, Tick(), "job"}), inside);
    EXPECT_EQ(table_->task(inside).labels->executable, "/opt/job-1");
    EXPECT_TRUE(table_->task(inside).labels->inherited);
  }
  EXPECT_EQ(TaskOf(11).labels->service_name, "shop");
  EXPECT_EQ(TaskOf(21).labels->service_name, "job-1");
}

TEST_F(ProcessTableTest, AProcessThatMovedToAnotherControlGroupHandsThatDown) {
  Start(10, "sh", 100, "/bin/sh");
  table_->Scan();
  EXPECT_EQ(TaskOf(10).labels->unit, "");
  proc_.processes[10].cgroup = "0::/system.slice/shop.service\n";
  proc_.now_mono_ns += kSecond;
  ApplyFork(10, 11);
  ApplyExec(11, "job");
  ApplyExit(11);
  EXPECT_EQ(TaskOf(11).labels->unit, "shop.service");
  EXPECT_EQ(TaskOf(10).labels->unit, "shop.service") << "its own samples follow";
}

TEST_F(ProcessTableTest, AProcessThatIsMovedSoonAfterItsStartHandsThatDown) {
  Start(10, "sh", 100, "/bin/sh");
  ApplyFork(1, 10);
  ApplyExec(10, "sh");
  EXPECT_EQ(TaskOf(10).labels->unit, "") << "sampled before the move";
  proc_.processes[10].cgroup = "0::/system.slice/shop.service\n";
  proc_.now_mono_ns += 3'000'000;
  ApplyFork(10, 11);
  ApplyExec(11, "job");
  ApplyExit(11);
  EXPECT_EQ(TaskOf(11).labels->unit, "shop.service");
}

TEST_F(ProcessTableTest, LabelsOfAYoungProcessAreReadAgainSooner) {
  ASSERT_EQ(table_->Find(1), nullptr);
  Start(1, "init", 1);
  table_->Scan();
  Start(10, "a", 100);
  ApplyFork(1, 10);
  const auto unit = [&] {
    return table_->task(table_->TaskOf({10, 0, 0, Tick(), "a"})).labels->unit;
  };
  EXPECT_EQ(unit(), "");
  proc_.processes[10].cgroup = "0::/system.slice/shop.service\n";
  proc_.now_mono_ns += 40'000'000;
  EXPECT_EQ(unit(), "") << "each reading costs something";
  proc_.now_mono_ns += 20'000'000;
  EXPECT_EQ(unit(), "shop.service");
  proc_.processes[10].cgroup = "0::/system.slice/other.service\n";
  proc_.now_mono_ns += 40'000'000;
  EXPECT_EQ(unit(), "shop.service");
  proc_.now_mono_ns += 30'000'000;
  EXPECT_EQ(unit(), "other.service") << "it had run for 60 ms, and 60 ms are over";
}

TEST_F(ProcessTableTest, LabelsAreReadAgainAfterAMinute) {
  proc_.now_mono_ns += 3'600 * kSecond;
  Start(10, "a", 100);
  table_->Scan();
  const TaskId before = table_->TaskOf({10, 0, 0, Tick(), "a"});
  proc_.now_mono_ns += 59 * kSecond;
  proc_.processes[10].cgroup = "0::/system.slice/shop.service\n";
  EXPECT_EQ(table_->TaskOf({10, 0, 0, Tick(), "a"}), before);
  proc_.now_mono_ns += kSecond;
  const TaskId after = table_->TaskOf({10, 0, 0, Tick(), "a"});
  EXPECT_EQ(table_->task(after).labels->unit, "shop.service");
  EXPECT_EQ(table_->task(before).labels->unit, "");
  proc_.now_mono_ns += 61 * kSecond;
  EXPECT_EQ(table_->TaskOf({10, 0, 0, Tick(), "a"}), after);
  // Gone: what is known stays.
  proc_.processes.erase(10);
  proc_.now_mono_ns += 61 * kSecond;
  EXPECT_EQ(table_->TaskOf({10, 0, 0, Tick(), "a"}), after);
}

TEST_F(ProcessTableTest, ANewProcessWithThePidOfTheParentHandsNothingDown) {
  Start(10, "sh", 100, "/bin/sh").cgroup = "0::/system.slice/shop.service\n";
  table_->Scan();
  ApplyFork(10, 11);
  ApplyExit(11);
  ApplyExit(10);
  ApplyFork(1, 10);  // by a process that we do not know
  Start(10, "other", 200, "/bin/other").cgroup = "0::/system.slice/other.service\n";
  ASSERT_TRUE(table_->EnsureKnown(10));
  EXPECT_EQ(TaskOf(11).labels->unit, "");
  EXPECT_EQ(table_->counters().labels_unknown, 1u);
}

TEST_F(ProcessTableTest, FilesOfAProcessThatIsGoneAreFoundThroughItsParent) {
  // Both in a root of their own; the same path shows the agent another file.
  auto& parent = Start(10, "sh", 100, "/bin/sh");
  const FakeFilePtr tool = files_["/app/tool"] = proc_.NewFile(Library("tool"));
  parent.root["/app/tool"] = tool;
  proc_.root["/app/tool"] = proc_.NewFile(Library("other tool"));
  table_->Scan();
  ApplyFork(10, 11);
  ApplyFork(11, 12);
  ApplyExit(11);
  ApplyExec(12, "tool");
  MmapEvent event;
  event.pid = event.tid = 12;
  event.start = kBase;
  event.size_bytes = event.file_offset = 0x1000;
  event.path = "/app/tool";
  event.device_major = 8;
  event.device_minor = 1;
  event.inode = tool->identity.inode;
  Apply(event);
  ASSERT_EQ(Paths(12), Strings{"/app/tool"});
  const Image& image = images_.image(table_->Find(12)->mappings.all()[0].image);
  EXPECT_EQ(image.kind, ImageKind::kElf) << image.unreadable_why;
}

TEST_F(ProcessTableTest, TheExecutableOfAProcessThatIsGoneIsThePathThatItSaw) {
  // One image under two names: the label is not the name that was seen first.
  Start(9, "sh", 100, "/bin/box");
  table_->Scan();
  files_["/app/box"] = FileAt("/bin/box");
  ApplyFork(9, 11);
  ApplyExec(11, "box");
  ApplyMmap(11, "/app/box", kBase);
  ApplyExit(11);
  proc_.processes.erase(11);
  EXPECT_EQ(TaskOf(11).labels->executable, "/app/box");
  EXPECT_EQ(TaskOf(11).labels->service_name, "box");
}

TEST_F(ProcessTableTest, LabelsOfAnotherProcessWithTheSamePidAreNotTaken) {
  Start(10, "old", 100);
  table_->Scan();
  Start(10, "new", 200).environ = std::string("OTEL_SERVICE_NAME=wrong\0", 24);
  EXPECT_FALSE(table_->EnsureLabels(10));
  EXPECT_EQ(table_->Find(10)->labels->service_name, "");
}

TEST_F(ProcessTableTest, LabelsAreReadOnceAndShared) {
  int environ_reads = 0;
  proc_.before_read = [&](uint32_t, ProcFile file) { environ_reads += file == ProcFile::kEnviron; };
  for (uint32_t pid = 10; pid < 20; ++pid) Start(pid, "a", 100);
  table_->Scan();
  EXPECT_EQ(environ_reads, 0);
  for (int round = 0; round < 3; ++round) {
    for (uint32_t pid = 10; pid < 20; ++pid) EXPECT_TRUE(table_->EnsureLabels(pid));
  }
  EXPECT_EQ(environ_reads, 10);
  EXPECT_EQ(table_->Find(10)->labels, table_->Find(19)->labels);
}

TEST_F(ProcessTableTest, UnknownPidsAreReadAtOnceThenAtGrowingIntervals) {
  EXPECT_FALSE(table_->EnsureKnown(10));
  for (int i = 0; i < 1000; ++i) {
    proc_.now_mono_ns += kSecond / 1000;
    EXPECT_FALSE(table_->EnsureKnown(10));
  }
  EXPECT_GT(table_->counters().proc_reads, 3u);
  EXPECT_LT(table_->counters().proc_reads, 12u);
  EXPECT_GT(table_->counters().proc_reads_deferred, 900u);
  Start(10, "a", 100);
  proc_.now_mono_ns += 20 * kSecond;
  EXPECT_TRUE(table_->EnsureKnown(10));
}

TEST_F(ProcessTableTest, ASampleOfAnUnknownPidIsNamedByItsThread) {
  const TaskInfo& task = TaskOf(10, 5 * kTickNs);
  EXPECT_EQ(task.comm, "thread");
  EXPECT_EQ(task.pid, 10u);
  EXPECT_FALSE(task.labels->known);
  EXPECT_EQ(&task, &TaskOf(10, 5 * kTickNs));
  EXPECT_NE(&task, &TaskOf(10, 6 * kTickNs));
}

TEST_F(ProcessTableTest, KernelThreadsAreNamedWhenSampled) {
  auto& thread = Start(2, "kworker/0:1", 1);
  thread.is_kernel_thread = true;
  thread.exe.clear();
  thread.mappings.clear();
  const TaskInfo& task = TaskOf(2);
  EXPECT_EQ(task.comm, "kworker/0:1");
  EXPECT_EQ(task.labels->service_name, "kworker/0:1");
  EXPECT_EQ(task.labels->rule, ServiceRule::kProgram);
}

TEST_F(ProcessTableTest, AMappingOfAnUnknownProcessMakesItKnown) {
  Start(10, "a", 100);
  ApplyMmap(10, "/lib/x.so", kBase + 0x20000);
  EXPECT_EQ(Paths(10), (Strings{"/bin/a", "/lib/x.so"}));
}

TEST_F(ProcessTableTest, AnExecMakesAnUnknownProcessKnownFromItsEventsAlone) {
  Start(10, "a", 100, "/bin/a").mappings.clear();
  ApplyExec(10, "a");
  ApplyMmap(10, "/bin/a", kBase);
  EXPECT_EQ(Paths(10), Strings{"/bin/a"});
  EXPECT_EQ(table_->counters().proc_reads, 0u);
  EXPECT_EQ(TaskOf(10, 100 * kTickNs + 5, 9).comm, "a");
  EXPECT_EQ(table_->Find(10)->start_boot_ns, 100 * kTickNs + 5);
  EXPECT_EQ(table_->Find(10)->exec_id, 9u);
}

TEST_F(ProcessTableTest, AfterLostEventsAllIsReadAgainButNotTooOften) {
  Start(10, "a", 100);
  Start(11, "b", 100);
  table_->Scan();
  ApplyMmap(10, "/lib/unmapped.so", kBase + 0x20000);
  proc_.processes[10].mappings.pop_back();
  proc_.processes.erase(11);
  Start(12, "c", 300);
  Apply(LostEvents{7});
  EXPECT_EQ(table_->counters().events_lost, 7u);
  table_->Advance(Tick());
  EXPECT_EQ(Paths(10), Strings{"/bin/a"});
  EXPECT_TRUE(table_->Find(11)->exited);
  EXPECT_EQ(Paths(12), Strings{"/bin/a"});

  const uint64_t reads = table_->counters().proc_reads;
  for (int i = 0; i < 30; ++i) {
    proc_.now_mono_ns += kSecond / 10;
    Apply(LostEvents{1});
    table_->Advance(Tick());
  }
  EXPECT_GE(table_->counters().proc_reads - reads, 2u);
  EXPECT_LE(table_->counters().proc_reads - reads, 6u) << "two or three passes over two processes";
}

TEST_F(ProcessTableTest, LimitsHoldAndAreCounted) {
  ProcessTable::Options options;
  options.processes_max = 5;
  options.tasks_max = 4;
  Rebuild(options);
  for (uint32_t pid = 10; pid < 20; ++pid) Start(pid, std::to_string(pid), 100);
  table_->Scan();
  EXPECT_EQ(table_->process_count(), 5u);
  EXPECT_EQ(table_->counters().processes_beyond_limit, 5u);
  std::set<std::string> names;
  for (uint32_t pid = 10; pid < 20; ++pid) names.insert(TaskOf(pid).comm);
  EXPECT_EQ(names.size(), 4u);
  EXPECT_EQ(names.count("[other]"), 1u);
  EXPECT_GT(table_->counters().tasks_beyond_limit, 0u);
  table_->ResetTasks();
  EXPECT_EQ(TaskOf(10).comm, "10");
}

TEST_F(ProcessTableTest, AForkStormKeepsABoundedNumberOfTheDead) {
  ProcessTable::Options options;
  options.exited_max = 50;
  Rebuild(options);
  Start(1, "init", 1);
  table_->Scan();
  for (uint32_t i = 0; i < 10'000; ++i) {
    const uint32_t pid = 100 + i % 500;
    ApplyFork(1, pid);
    if (i % 3 != 0) ApplyExec(pid, "x");
    ApplyExit(pid);
    ASSERT_LE(table_->process_count(), 60u);
  }
}

TEST_F(ProcessTableTest, DeletedFilesAreReachedThroughTheProcessThatMapsThem) {
  auto& process = Start(10, "a", 100, "/bin/a");
  process.mappings[0].path = "/bin/a (deleted)";
  images_.SetMappingFinder(nullptr);
  ImageStore small_store(proc_, {1, 100});
  ProcessTable table(proc_, small_store, {});
  table.Scan();
  const ImageId image = table.Find(10)->mappings.all()[0].image;
  Start(11, "b", 100, "/bin/b");
  table.Rescan(11);  // takes the only place among the open files
  EXPECT_TRUE(small_store.Open(image).ok());
  EXPECT_EQ(small_store.counters().files_reopened, 1u);
}

TEST_F(ProcessTableTest, OddMmapEventsAreIgnored) {
  Start(10, "a", 100);
  table_->Scan();
  MmapEvent empty;
  empty.pid = 10;
  empty.start = kBase + 0x10000;
  empty.path = "//anon";
  Apply(empty);
  MmapEvent wraps = empty;
  wraps.start = ~uint64_t{0} - 100;
  wraps.size_bytes = 4096;
  Apply(wraps);
  MmapEvent vsyscall = empty;
  vsyscall.size_bytes = 4096;
  vsyscall.path = "[vsyscall]";
  Apply(vsyscall);
  EXPECT_EQ(Paths(10), Strings{"/bin/a"});
}

}  // namespace
}  // namespace vesta::agent::process
