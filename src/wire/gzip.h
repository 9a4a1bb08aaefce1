// gzip by zlib and libdeflate, in pieces on the way out and with a bound on the way in.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "src/base/result.h"

namespace vesta::wire {

// Compresses what is written to it, piece by piece, so that the plain form never exists as a whole.
// Shape: one gzip member without name or time: equal input and level give equal bytes.
class GzipWriter {
 public:
  explicit GzipWriter(int level);  // 1 fastest ... 9 smallest
  ~GzipWriter();
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;

  void Write(std::string_view bytes);
  // Ends the member and gives all bytes; the writer is used up.
  std::string Finish();

 private:
  struct State;
  void Deflate(std::string_view bytes, bool last);
  std::unique_ptr<State> state_;
  std::string out_;
};

bool IsGzip(std::string_view bytes);

// How large it gets by the size that its last member states; 0 when that is more than gzip data of
// this size can hold. Several members, and lies, make it wrong.
uint64_t GunzippedSizeHint(std::string_view bytes);

// Uncompresses all members of a gzip file.
// Errors: Corrupt when it is truncated, damaged, or followed by something else; Exhausted when it
//         would become larger than size_bytes_max.
base::Result<std::string> Gunzip(std::string_view bytes, uint64_t size_bytes_max);

// The first bytes of what it holds, fewer where it ends or is damaged before.
std::string GunzipStart(std::string_view bytes, size_t size_bytes_max);

// "4.0 GiB", for messages.
std::string HumanBytes(uint64_t size_bytes);

}  // namespace vesta::wire
