#include "src/agent/naming/foreign_root.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace vesta::agent::naming {
namespace {

// A process that waits, in a root of its own if one is given.
class Waiting {
 public:
  explicit Waiting(const char* root) {
    int ready[2];
    if (::pipe(ready) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      if (root != nullptr && ::chroot(root) != 0) ::_exit(1);
      if (::write(ready[1], "x", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    is_ready_ = ::read(ready[0], &byte, 1) == 1;
    ::close(ready[0]);
  }
  ~Waiting() { End(); }
  void End() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  bool is_ready() const { return is_ready_; }
  uint32_t pid() const { return static_cast<uint32_t>(pid_); }

 private:
  pid_t pid_ = 0;
  bool is_ready_ = false;
};

TEST(ForeignRootTest, OutlivesItsProcess) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: a root folder of its own is made by chroot";
  char folder[] = "/tmp/foreign_root_XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  std::ofstream(std::string(folder) + "/inside") << "x";
  Waiting process(folder);
  ASSERT_TRUE(process.is_ready());
  const auto root = ForeignRoot::Hold(process.pid());
  ASSERT_NE(root, nullptr);
  process.End();
  EXPECT_TRUE(std::filesystem::exists(root->path() + "/inside"));
  std::filesystem::remove_all(folder);
}

TEST(ForeignRootTest, OurOwnIsNotHeld) {
  Waiting process(nullptr);
  ASSERT_TRUE(process.is_ready());
  EXPECT_EQ(ForeignRoot::Hold(process.pid()), nullptr);
}

TEST(ForeignRootTest, AProcessThatIsGoneHasNone) {
  Waiting process(nullptr);
  ASSERT_TRUE(process.is_ready());
  const uint32_t pid = process.pid();
  process.End();
  EXPECT_EQ(ForeignRoot::Hold(pid), nullptr);
}

}  // namespace
}  // namespace vesta::agent::naming
