// How far a recording is: one line that is written over on a terminal, a new one now and then
// elsewhere.
#pragma once

#include <cstdint>
#include <string>

namespace vesta::cli {

class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress() { Clear(); }

  // duration_ns 0: until something else ends the recording.
  void Show(uint64_t elapsed_ns, uint64_t duration_ns, uint64_t samples, uint64_t lost);
  // What is missing until names are whole; now_ns of any clock.
  void ShowNaming(uint64_t now_ns, size_t done, size_t wanted, const std::string& path,
                  uint32_t percent);
  // What is being done after the recording.
  void Say(const std::string& what);
  void Clear();

 private:
  bool quiet_;
  bool on_terminal_;
  bool shown_ = false;
  uint64_t next_ns_;
  uint64_t naming_next_ns_ = 0;
};

}  // namespace vesta::cli
