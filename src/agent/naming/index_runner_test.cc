#include "src/agent/naming/index_runner.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>
#include <ctime>

#include "src/agent/naming/folder_for_test.h"
#include "src/base/byte_source.h"

namespace vesta::agent::naming {
namespace {

uint64_t NowNs() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

bool Lives(pid_t pid) { return ::kill(pid, 0) == 0; }

// As /proc has it: T = it stands still.
char StateOf(pid_t pid) {
  const auto stat = base::ReadSmallFile("/proc/" + std::to_string(pid) + "/stat");
  return stat.ok() ? (*stat)[stat->rfind(')') + 2] : '?';
}

class IndexRunnerTest : public testing::Test {
 protected:
  IndexRunnerTest() {
    image_fd_ = ::open(folder_.Write("image", "bytes of the image").c_str(), O_RDONLY | O_CLOEXEC);
    index_fd_ = ::open(folder_.Write("index", "").c_str(), O_RDWR | O_CLOEXEC);
  }
  ~IndexRunnerTest() override {
    ::close(image_fd_);
    ::close(index_fd_);
  }

  IndexRunner::Options OptionsOf(const std::string& script) {
    IndexRunner::Options options;
    options.program = folder_.Write("program", "#!/bin/sh\n" + script, 0700);
    return options;
  }
  IndexJob Job() const {
    return {image_fd_,
            index_fd_,
            1 << 20,
            "/tmp",
            "gnu:ab",
            "/opt/a b",
            {"/proc/7/root", "/"},
            {"http://127.0.0.1:1"}};
  }
  static IndexOutcome WaitFor(IndexRunner& runner) {
    for (int i = 0; i < 20'000; ++i) {
      if (const auto outcome = runner.Poll(NowNs())) return *outcome;
      ::usleep(1000);
    }
    ADD_FAILURE() << "it did not end";
    return {};
  }
  IndexOutcome Run(const std::string& script) {
    IndexRunner runner(OptionsOf(script));
    const auto started = runner.Start(Job(), NowNs());
    EXPECT_TRUE(started.ok());
    if (!started.ok()) return {};
    return WaitFor(runner);
  }

  FolderForTest folder_;
  int image_fd_;
  int index_fd_;
};

TEST_F(IndexRunnerTest, GivesTheJobToTheProcess) {
  const int inheritable = ::open("/dev/null", O_RDONLY);
  const IndexOutcome outcome =
      Run("printf '%s|' \"$@\" >&4\n"
          "cat <&3 >&4\n"
          "ls /proc/self/fd | tr '\\n' ' ' >&4\n"
          "nice >&4; ulimit -c >&4; readlink /proc/self/fd/0 /proc/self/fd/2 >&4\n"
          "echo ok debug=yes functions=3\n");
  ::close(inheritable);
  EXPECT_EQ(outcome.end, IndexEnd::kDone) << outcome.why;
  EXPECT_TRUE(outcome.has_lines);
  EXPECT_GT(outcome.peak_memory_bytes, 100'000u);
  // `ls` has the folder open as 5.
  EXPECT_EQ(folder_.Read("index"),
            "index-image|--image-fd|3|--index-fd|4|--identity|gnu:ab|--path|/opt/a b|"
            "--root|/proc/7/root|--root|/|--memory-bytes|1073741824|--index-bytes|1048576|"
            "--run-seconds|86400|--scratch|/tmp|--debuginfod|http://127.0.0.1:1|"
            "bytes of the image0 1 2 3 4 5 19\n0\n/dev/null\n/dev/null\n");
}

TEST_F(IndexRunnerTest, SaysHowItEnded) {
  EXPECT_FALSE(Run("echo ok debug=no functions=3").has_lines);
  IndexOutcome outcome = Run("echo 'failed corrupt the symbols are \033[31mbad'; exit 1");
  EXPECT_EQ(outcome.end, IndexEnd::kFailed);
  EXPECT_EQ(outcome.why, "the symbols are ?[31mbad");
  EXPECT_EQ(Run("echo 'failed corrupt'; exit 1").why, "corrupt");
  EXPECT_EQ(Run("echo 'failed no_room disk'; exit 1").end, IndexEnd::kNoRoom);
  EXPECT_EQ(Run("echo 'failed memory it is large'; exit 1").end, IndexEnd::kOutOfMemory);
  EXPECT_EQ(Run("echo 'failed time it is large'; exit 1").end, IndexEnd::kTimedOut);
  EXPECT_EQ(Run("echo 'failed crashed'; exit 1").end, IndexEnd::kCrashed);
  EXPECT_EQ(Run("exit 0").end, IndexEnd::kCrashed);
  EXPECT_EQ(Run("echo ok debug=yes; exit 1").end, IndexEnd::kCrashed);
  EXPECT_EQ(Run("echo nonsense; exit 3").why,
            "the process that read it ended with status 3 and did not say why");
  EXPECT_EQ(Run("kill -SEGV $$").end, IndexEnd::kCrashed);
  EXPECT_EQ(Run("head -c 3000000 /dev/zero >&4; kill -XFSZ $$").end, IndexEnd::kNoRoom);
  EXPECT_EQ(Run("head -c 300000 /dev/zero; echo; echo ok debug=no").end, IndexEnd::kDone);
  IndexRunner::Options options;
  options.program = "/nowhere";
  IndexRunner runner(options);
  ASSERT_TRUE(runner.Start(Job(), NowNs()).ok());
  EXPECT_EQ(WaitFor(runner).end, IndexEnd::kCrashed);
}

TEST_F(IndexRunnerTest, TakesNoMoreThanItsLimits) {
  IndexRunner::Options options = OptionsOf("while :; do :; done");
  options.cpu_s_max = 1;
  IndexRunner busy(options);
  ASSERT_TRUE(busy.Start(Job(), NowNs()).ok());
  EXPECT_FALSE(busy.Start(Job(), NowNs()).ok());
  IndexOutcome outcome = WaitFor(busy);
  EXPECT_EQ(outcome.end, IndexEnd::kTimedOut);
  EXPECT_GE(outcome.cpu_ns, 500'000'000u);
  EXPECT_EQ(busy.cpu_ns(), outcome.cpu_ns);

  options = OptionsOf("exec sleep 1000");
  options.run_ns_max = 50'000'000;
  IndexRunner idle(options);
  ASSERT_TRUE(idle.Start(Job(), NowNs()).ok());
  const pid_t pid = idle.pid();
  EXPECT_EQ(WaitFor(idle).end, IndexEnd::kTimedOut);
  EXPECT_FALSE(Lives(pid));

  options = OptionsOf("exec tail -c 500000000 /dev/zero");
  options.memory_bytes_max = 20 << 20;
  IndexRunner large(options);
  ASSERT_TRUE(large.Start(Job(), NowNs()).ok());
  outcome = WaitFor(large);
  EXPECT_NE(outcome.end, IndexEnd::kDone);
  EXPECT_LT(outcome.peak_memory_bytes, 40u << 20);
}

TEST_F(IndexRunnerTest, StandsStillWhenToldTo) {
  IndexRunner::Options options = OptionsOf("while :; do :; done");
  options.run_ns_max = 3'000'000'000;
  IndexRunner runner(options);
  const uint64_t started_ns = NowNs();
  ASSERT_TRUE(runner.Start(Job(), started_ns).ok());
  runner.SetStopped(true);
  for (int i = 0; i < 5000 && StateOf(runner.pid()) != 'T'; ++i) ::usleep(1000);
  const uint64_t before = runner.cpu_ns();
  ::usleep(100'000);
  EXPECT_EQ(runner.cpu_ns(), before);
  // That time does not count.
  EXPECT_FALSE(runner.Poll(started_ns + 3'600'000'000'000));
  EXPECT_EQ(StateOf(runner.pid()), 'T');
  runner.SetStopped(false);
  for (int i = 0; i < 5000 && runner.cpu_ns() == before; ++i) ::usleep(1000);
  EXPECT_GT(runner.cpu_ns(), before);
  runner.SetStopped(true);
  runner.Kill();  // also one that stands still
  EXPECT_FALSE(runner.is_running());
  EXPECT_GT(runner.cpu_ns(), before);
}

TEST_F(IndexRunnerTest, TellsHowFarItIs) {
  IndexRunner runner(
      OptionsOf("echo progress 1 0; echo progress x; echo progress 30 200; echo 'progress 5'\n"
                "exec sleep 1000"));
  ASSERT_TRUE(runner.Start(Job(), NowNs()).ok());
  for (int i = 0; i < 5000 && runner.progress_percent() == 0; ++i) {
    ASSERT_FALSE(runner.Poll(NowNs()));
    ::usleep(1000);
  }
  EXPECT_EQ(runner.progress_percent(), 15u);
}

TEST_F(IndexRunnerTest, EndsWithTheAgent) {
  int pids[2];
  ASSERT_EQ(::pipe(pids), 0);
  const pid_t agent = ::fork();
  if (agent == 0) {
    IndexRunner runner(OptionsOf("exec sleep 1000"));
    if (!runner.Start(Job(), NowNs()).ok()) ::_exit(1);
    const pid_t pid = runner.pid();
    static_cast<void>(::write(pids[1], &pid, sizeof(pid)) == sizeof(pid));
    ::raise(SIGKILL);
  }
  pid_t helper = 0;
  ASSERT_EQ(::read(pids[0], &helper, sizeof(helper)), static_cast<ssize_t>(sizeof(helper)));
  // Its remains are ours then, so that the number stays its own.
  int status = 0;
  ASSERT_EQ(::waitpid(agent, &status, 0), agent);
  for (int i = 0; i < 5000 && Lives(helper); ++i) {
    ::waitpid(helper, &status, WNOHANG);
    ::usleep(1000);
  }
  EXPECT_FALSE(Lives(helper));
  ::close(pids[0]);
  ::close(pids[1]);
}

TEST_F(IndexRunnerTest, LeavesNoZombie) {
  pid_t pid = 0;
  {
    IndexRunner runner(OptionsOf("exec sleep 1000"));
    ASSERT_TRUE(runner.Start(Job(), NowNs()).ok());
    pid = runner.pid();
  }
  EXPECT_FALSE(Lives(pid));
}

}  // namespace
}  // namespace vesta::agent::naming
