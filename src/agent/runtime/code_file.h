// One file into which a process writes the names of the code that it generates.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/agent/runtime/code_history.h"
#include "src/agent/runtime/process_file.h"
#include "src/agent/runtime/runtime.h"
#include "src/base/byte_source.h"
#include "src/base/result.h"

namespace vesta::agent::runtime {

struct CodeFileLimits {
  // Of what is kept of all processes; those asked for longest ago are forgotten first.
  uint64_t kept_bytes_max = 8 << 20;
  uint64_t remember_bytes_max = 4 << 20;  // of a file that one Remember reads, some 25 ms
  uint64_t name_bytes_max = 1 << 30;      // of a file that one Name reads
  // Not sooner is a whole file read again for functions that there was no room for.
  uint64_t reread_pause_ns = 10'000'000'000;
};

struct CodeFileBook {
  uint64_t files_refused = 0;    // not the process's own, no regular file, or damaged
  uint64_t files_rewritten = 0;  // written anew: what they said before is gone
  uint64_t files_reread = 0;     // whole, for functions that there was no room for
  uint64_t parts_damaged = 0;    // lines or records
  uint64_t names_changed = 0;    // the file said another thing when it was asked for the name
};

// The file stays open: only where functions lie is kept, the names of those that were sampled are
// read from it. A file with more functions than fit is read a second time, for those that were
// sampled.
// Owner:  one thread.
// Cost:   about 40 bytes per function that holds; what was added is read once.
class CodeFile {
 public:
  // kept_bytes_max: of this file. What was replaced before since_mono_ns is of no interest.
  CodeFile(size_t kept_bytes_max, uint64_t since_mono_ns, CodeFileBook& book);
  virtual ~CodeFile() = default;

  // Takes the file over as it is now; nothing when it is as it was.
  void Take(ProcessFile file, uint64_t looked_mono_ns);
  // Reads what was added, at most bytes_max of it.
  base::Result<void> ReadAdded(uint64_t bytes_max);
  // Will be asked for these, sorted: they are kept when there is no room for all.
  void Want(std::span<const uint64_t> addresses);
  // Reads their names as they are now, so that they are known when the file is written anew.
  void ReadNames(std::span<const uint64_t> addresses);
  void ReadForgotten(std::span<const uint64_t> addresses, const CodeFileLimits& limits);
  std::vector<FrameNames> NamesOf(std::span<const uint64_t> addresses);

  bool has_file() const { return source_ != nullptr; }
  const base::FileSource& source() const { return *source_; }
  size_t memory_bytes() const;

 protected:
  // Adds the functions of the part of the file that starts there, with the numbers that NumberOf
  // gives, to `history`; where there are addresses, only functions that cover one of them. Returns
  // how long the part is; 0 = it is still being written.
  virtual base::Result<uint64_t> ReadPart(uint64_t offset, CodeHistory& history,
                                          std::span<const uint64_t> only_for) = 0;
  // Empty when the file says another thing than before. `offset` is the one given to NumberOf.
  virtual std::string ReadName(const CodeRange& range, uint64_t offset) = 0;
  // The line of an address of the range, into the symbol.
  virtual void ReadLine(const CodeRange& /*range*/, uint64_t /*offset*/, uint64_t /*address*/,
                        symbolize::FunctionLine& /*line*/) {}
  // The file is another one: forgets what was known of it.
  virtual void StartAnew() {}

  // The number of the function that the file tells of at an offset.
  uint64_t NumberOf(uint64_t offset) const;
  // When what ends at that offset of the file was written, as far as looking now and then tells; 0
  // = it was there at the first look.
  uint64_t WrittenMonoNs(uint64_t end_offset) const;
  CodeFileBook& book() { return book_; }
  size_t ranges_max() const { return ranges_max_; }
  const CodeHistory& history() const { return history_; }

 private:
  struct PastLook {
    uint64_t size_bytes = 0;       // that the file had
    uint64_t written_mono_ns = 0;  // what was new in it
  };

  bool BeginsAsBefore(const base::FileSource& source, const FileState& now) const;
  base::Result<void> KeepTail();
  void ForgetFile();
  std::string NameOf(const CodeRange& range);
  void ForgetNames();

  size_t ranges_max_;
  size_t names_bytes_max_;
  uint64_t since_mono_ns_;
  CodeFileBook& book_;
  std::unique_ptr<base::FileSource> source_;
  FileState state_;
  uint64_t writing_ = 0;         // how often the file was written anew
  uint64_t read_bytes_ = 0;      // up to the end of a part
  std::string tail_;             // the last of them, to see whether the file was only added to
  std::vector<PastLook> looks_;  // at which the file was longer than before
  uint64_t looked_mono_ns_ = 0;
  CodeHistory history_;
  std::unordered_map<uint64_t, std::string> names_;  // by function
  size_t names_bytes_ = 0;
  std::vector<uint64_t> wanted_;   // sorted
  std::vector<uint64_t> unnamed_;  // sorted; the whole file was read for them in vain
  uint64_t reread_next_mono_ns_ = 0;
};

}  // namespace vesta::agent::runtime
