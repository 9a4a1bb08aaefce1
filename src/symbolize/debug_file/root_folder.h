// A folder taken as the root of a file system, as a process in a container sees its own: files are
// looked up inside, and no "..", link or mount of names leads out.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "src/base/byte_source.h"
#include "src/base/result.h"

namespace vesta::symbolize {

// Cost:   a few system calls for each look-up. On a file system that its owner serves (FUSE) one
//         may wait as long as that owner likes.
// Errors: of OpenFile: as open(2); InvalidInput for what is no regular file, which is never opened
//         for reading (a FIFO would block, a device could have effects).
class RootFolder {
 public:
  static base::Result<RootFolder> Open(const std::string& path);
  RootFolder(RootFolder&& other) noexcept;
  RootFolder& operator=(RootFolder&& other) = delete;
  ~RootFolder();

  // `path` counts from this root, with or without a leading slash. Links are followed inside it.
  base::Result<std::unique_ptr<base::FileSource>> OpenFile(std::string_view path) const;

  // The same without openat2(2), which kernels before 5.6 and some containers lack.
  base::Result<std::unique_ptr<base::FileSource>> OpenFileByWalking(std::string_view path) const;

  const std::string& path() const { return path_; }

 private:
  RootFolder(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  int fd_;
  std::string path_;
};

}  // namespace vesta::symbolize
