// Starts and watches the process that builds the symbol index of one image.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"

namespace vesta::agent::naming {

struct IndexJob {
  int image_fd = -1;  // both stay with the caller
  int index_fd = -1;
  uint64_t index_bytes_max = 0;
  std::string scratch;  // folder for files without a name: unpacked sections
  std::string identity;
  std::string path;                          // of the image, as its process sees it
  std::vector<std::string> roots;            // where its debug files may lie, best first
  std::vector<std::string> debuginfod_urls;  // servers to ask for them; none = not asked
};

enum class IndexEnd : uint8_t {
  kDone,         // says that the index is written; it is not checked yet
  kFailed,       // says why it could not
  kNoRoom,       // the disk or the limit of the file
  kOutOfMemory,  // reached its own memory limit
  kCrashed,
  kTimedOut,  // of CPU time or of time
  kNotStarted,
};
inline constexpr size_t kIndexEndCount = 7;
const char* IndexEndName(IndexEnd end);  // for the book: "crashed"

struct IndexOutcome {
  IndexEnd end = IndexEnd::kNotStarted;
  std::string why;         // one line, printable
  bool has_lines = false;  // debug information was found
  uint64_t cpu_ns = 0;
  uint64_t peak_memory_bytes = 0;
};

// One at a time. The process is what reads debug information that nobody vouches for; whatever
// happens to it costs its index only. It has the lowest priority, its own limits, and no
// descriptors but those of the job; it ends with the agent and does not hear the terminal's Ctrl-C.
// Shape:  runs PROGRAM index-image --image-fd 3 --index-fd 4 --identity ID --path PATH [--root
// DIR]...
//         which writes lines to its standard output: `progress DONE TOTAL`, and at the end
//         `ok debug=yes|no ...` or `failed REASON TEXT`.
// Owner:  one thread, which must live as long as the process runs.
class IndexRunner {
 public:
  struct Options {
    std::string program = "/proc/self/exe";
    uint64_t memory_bytes_max = uint64_t{1} << 30;  // of its own; mapped files do not count
    uint64_t cpu_s_max = 120;
    uint64_t run_ns_max = 300'000'000'000;        // without the time that it was stopped
    uint64_t file_bytes_max = uint64_t{4} << 30;  // of any file that it writes
  };

  explicit IndexRunner(Options options) : options_(std::move(options)) {}
  ~IndexRunner() { Kill(); }
  IndexRunner(const IndexRunner&) = delete;
  IndexRunner& operator=(const IndexRunner&) = delete;

  // Errors: as fork(2); Internal when one runs.
  base::Result<void> Start(const IndexJob& job, uint64_t now_mono_ns);
  bool is_running() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  // Reads what it says; the outcome when it has ended.
  std::optional<IndexOutcome> Poll(uint64_t now_mono_ns);
  // Stands still, or goes on.
  void SetStopped(bool stopped);
  // Waits for its end, too.
  void Kill();

  // CPU time of all that was started so far, the running one included.
  uint64_t cpu_ns() const;
  // 0 to 100 of the running one.
  uint32_t progress_percent() const { return progress_percent_; }

 private:
  void ReadReport();
  void TakeLine(std::string_view line);
  IndexOutcome Judge(int status) const;
  void Forget();

  Options options_;
  pid_t pid_ = -1;
  int report_fd_ = -1;
  bool stopped_ = false;
  bool timed_out_ = false;
  uint64_t polled_mono_ns_ = 0;
  uint64_t ran_ns_ = 0;
  uint64_t ended_cpu_ns_ = 0;
  std::string unread_;     // an unfinished line
  std::string last_word_;  // the line that says how it ended
  uint32_t progress_percent_ = 0;
};

}  // namespace vesta::agent::naming
