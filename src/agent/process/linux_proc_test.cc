// Against the live /proc of this machine.
#include "src/agent/process/linux_proc.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "src/agent/process/maps_parser.h"
#include "src/agent/process/process_table.h"
#include "src/agent/process/stat_parser.h"
#include "src/object/elf_file.h"

namespace vesta::agent::process {
namespace {

uint32_t OwnPid() { return static_cast<uint32_t>(::getpid()); }

class TemporaryFolder {
 public:
  TemporaryFolder() {
    char name[] = "/tmp/vesta_proc_test_XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// A mapping of a file in this process.
class OwnMapping {
 public:
  explicit OwnMapping(int fd) {
    address_ = ::mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE, fd, 0);
    struct stat status{};
    ::fstat(fd, &status);
    file_.start = reinterpret_cast<uint64_t>(address_);
    file_.end = file_.start + kBytes;
    file_.device = status.st_dev;
    file_.inode = status.st_ino;
  }
  ~OwnMapping() { ::munmap(address_, kBytes); }
  bool ok() const { return address_ != MAP_FAILED; }
  MappedFile& file() { return file_; }

 private:
  static constexpr size_t kBytes = 4096;
  void* address_;
  MappedFile file_;
};

void WriteFile(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// No mapping is at these addresses, so only the path can help.
MappedFile ByPath(const std::string& path) { return {0x1000, 0x2000, 0, 0, path}; }

std::string Text(const OpenedFile& file) {
  const auto bytes = file.source->Read(0, file.source->size_bytes());
  return bytes.ok() ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size())
                    : std::string("unreadable");
}

TEST(LinuxProcTest, ListsAndDescribesThisProcess) {
  const LinuxProc proc;
  const auto pids = proc.ListPids();
  ASSERT_TRUE(pids.ok());
  EXPECT_NE(std::find(pids->begin(), pids->end(), OwnPid()), pids->end());
  const auto stat = ParseStat(*proc.Read(OwnPid(), ProcFile::kStat));
  ASSERT_TRUE(stat.ok());
  EXPECT_FALSE(stat->is_kernel_thread);
  EXPECT_EQ(stat->comm + "\n", *proc.Read(OwnPid(), ProcFile::kComm));
  const auto status = ParseStatus(*proc.Read(OwnPid(), ProcFile::kStatus));
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status->real_uid, ::getuid());
  EXPECT_EQ(*proc.ReadExe(OwnPid()), std::filesystem::read_symlink("/proc/self/exe").string());
  EXPECT_FALSE(proc.Read(OwnPid(), ProcFile::kCmdline)->empty());
  EXPECT_FALSE(proc.Read(OwnPid(), ProcFile::kCgroup)->empty());
}

TEST(LinuxProcTest, AProcessThatDoesNotExistIsNotFound) {
  const LinuxProc proc;
  const uint32_t no_pid = 0x7ffffff0;
  EXPECT_EQ(proc.Read(no_pid, ProcFile::kMaps).error().code(), base::ErrorCode::kNotFound);
  EXPECT_EQ(proc.ReadExe(no_pid).error().code(), base::ErrorCode::kNotFound);
  EXPECT_EQ(proc.OpenMapped(no_pid, {0x1000, 0x2000, 0, 0, "/bin/sh"}).error().code(),
            base::ErrorCode::kNotFound);
}

TEST(LinuxProcTest, OpensDeletedFilesThroughTheirMapping) {
  const LinuxProc proc;
  const TemporaryFolder folder;
  const std::string path = folder.Path("library");
  WriteFile(path, "old text");
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  OwnMapping mapping(fd);
  ::close(fd);
  ASSERT_TRUE(mapping.ok());
  mapping.file().path = path;
  std::filesystem::remove(path);
  WriteFile(path, "new text");
  const auto file = proc.OpenMapped(OwnPid(), mapping.file());
  if (!file.ok() && ::geteuid() != 0) GTEST_SKIP() << "map_files needs root";
  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_EQ(Text(*file), "old text");
  EXPECT_TRUE(file->unlinked);
  EXPECT_EQ(proc.StatMapped(OwnPid(), mapping.file())->inode, file->identity.inode);
}

TEST(LinuxProcTest, ByPathItTakesOnlyTheMappedFile) {
  const LinuxProc proc;
  const TemporaryFolder folder;
  const std::string path = folder.Path("library");
  WriteFile(path, "text");
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  MappedFile file = ByPath(path);
  file.device = status.st_dev;
  file.inode = status.st_ino;
  const auto right = proc.OpenMapped(OwnPid(), file);
  ASSERT_TRUE(right.ok()) << right.error().message();
  EXPECT_EQ(Text(*right), "text");
  file.inode += 1;
  EXPECT_EQ(proc.OpenMapped(OwnPid(), file).error().code(), base::ErrorCode::kNotFound);
  EXPECT_EQ(proc.StatMapped(OwnPid(), file).error().code(), base::ErrorCode::kNotFound);
}

TEST(LinuxProcTest, PidZeroIsTheAgentsOwnView) {
  const LinuxProc proc;
  const TemporaryFolder folder;
  WriteFile(folder.Path("library"), "text");
  const auto file = proc.OpenMapped(0, ByPath(folder.Path("library")));
  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_EQ(Text(*file), "text");
  EXPECT_EQ(*proc.StatMapped(0, ByPath(folder.Path("library"))), file->identity);
}

TEST(LinuxProcTest, NeverOpensAnythingButRegularFiles) {
  const LinuxProc proc;
  const TemporaryFolder folder;
  const std::string fifo = folder.Path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& path : {fifo, std::string("/dev/zero"), std::string("/tmp")}) {
    const auto file =
        proc.OpenMapped(OwnPid(), ByPath(path));  // would hang on the FIFO if it were opened
    ASSERT_FALSE(file.ok()) << path;
    EXPECT_EQ(file.error().code(), base::ErrorCode::kInvalidInput) << path;
  }
  const int fd = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  OwnMapping zeros(fd);
  ::close(fd);
  ASSERT_TRUE(zeros.ok());
  EXPECT_FALSE(proc.OpenMapped(OwnPid(), zeros.file()).ok());
}

TEST(LinuxProcTest, LinksToProcAreNotFollowedOutOfTheRoot) {
  const LinuxProc proc;
  const TemporaryFolder folder;
  const std::string link = folder.Path("link");
  std::filesystem::create_symlink("/proc/self/exe", link);
  EXPECT_FALSE(proc.OpenMapped(OwnPid(), ByPath(link)).ok());
}

TEST(LinuxProcTest, ReadsTheMemoryOfAProcess) {
  const LinuxProc proc;
  const std::array<std::byte, 3> here = {std::byte{1}, std::byte{2}, std::byte{3}};
  const auto address = reinterpret_cast<uint64_t>(here.data());
  std::array<std::byte, 3> read{};
  ASSERT_TRUE(proc.ReadMemory(OwnPid(), address, read).ok());
  EXPECT_EQ(read, here);
  EXPECT_FALSE(proc.ReadMemory(OwnPid(), 4096, read).ok());
  EXPECT_EQ(proc.ReadMemory(0x7ffffff0, address, read).error().code(), base::ErrorCode::kNotFound);
}

TEST(LinuxProcTest, GivesTheVdsoAsAnElfFile) {
  const LinuxProc proc;
  if (::getauxval(AT_SYSINFO_EHDR) == 0) GTEST_SKIP() << "this kernel has no vDSO";
  const auto bytes = proc.ReadVdso();
  ASSERT_TRUE(bytes.ok()) << bytes.error().message();
  const base::MemorySource source(std::as_bytes(std::span(*bytes)));
  EXPECT_TRUE(object::ElfFile::Parse(source).ok());
}

// A python3 that has loaded an extension module, and waits.
class PythonChild {
 public:
  PythonChild() {
    int ready[2];
    if (::pipe2(ready, 0) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ready[1], 1);
      ::setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=proc-test,service.version=7", 1);
      ::execlp("python3", "python3", "-c",
               "import ctypes, sys, time; ctypes.CDLL('libm.so.6'); print(1, flush=True); "
               "time.sleep(60)",
               static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::close(ready[1]);
    char byte = 0;
    ready_ = ::read(ready[0], &byte, 1) == 1;
    ::close(ready[0]);
  }
  ~PythonChild() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  bool ready() const { return ready_; }
  uint32_t pid() const { return static_cast<uint32_t>(pid_); }

 private:
  pid_t pid_ = -1;
  bool ready_ = false;
};

TEST(LinuxProcTest, ALivePythonIsKnownWithItsLibrariesAndLabels) {
  const PythonChild child;
  if (!child.ready()) GTEST_SKIP() << "python3 does not run here";
  const LinuxProc proc;
  ImageStore images(proc, {});
  ProcessTable table(proc, images, {});
  ASSERT_TRUE(table.EnsureKnown(child.pid()));
  const Process& process = *table.Find(child.pid());
  EXPECT_EQ(process.comm.substr(0, 6), "python");

  const Mapping* libm = nullptr;
  size_t vdso_count = 0;
  for (const Mapping& mapping : process.mappings.all()) {
    const Image& image = images.image(mapping.image);
    if (image.path.find("/libm.so.6") != std::string::npos) libm = &mapping;
    if (image.kind == ImageKind::kVdso) ++vdso_count;
    EXPECT_NE(image.kind, ImageKind::kUnreadable) << image.path << ": " << image.unreadable_why;
    if (image.kind != ImageKind::kElf) continue;
    EXPECT_GE(mapping.start - mapping.bias, image.text_vaddr & ~uint64_t{4095}) << image.path;
    EXPECT_LT(mapping.start - mapping.bias, image.text_end_vaddr) << image.path;
    EXPECT_TRUE(images.Open(mapping.image).ok()) << image.path;
  }
  EXPECT_EQ(vdso_count, 1u);
  ASSERT_NE(libm, nullptr) << "the library that it loaded later is missing";
  EXPECT_EQ(images.image(libm->image).identity.substr(0, 4), "gnu:");

  const TaskInfo& task = table.task(table.TaskOf({child.pid(), 0, 0, proc.NowMonoNs(), "python3"}));
  EXPECT_EQ(task.labels->service_name, "proc-test");
  EXPECT_EQ(task.labels->service_version, "7");
  EXPECT_EQ(task.labels->rule, ServiceRule::kResourceAttributes);
  EXPECT_NE(task.labels->executable.find("python"), std::string::npos);
}

}  // namespace
}  // namespace vesta::agent::process
