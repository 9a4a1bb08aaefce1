// A folder of its own for a test, and files in it.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "src/base/check.h"

namespace vesta::agent::naming {

class FolderForTest {
 public:
  FolderForTest() {
    std::string pattern = "/tmp/vesta_naming_XXXXXX";
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~FolderForTest() { std::filesystem::remove_all(path_); }
  FolderForTest(const FolderForTest&) = delete;
  FolderForTest& operator=(const FolderForTest&) = delete;

  const std::string& path() const { return path_; }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  std::string Write(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    const std::string path = Path(name);
    std::ofstream(path, std::ios::binary) << text;
    CHECK(::chmod(path.c_str(), mode) == 0);
    return path;
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(Path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  bool Has(const std::string& name) const { return std::filesystem::exists(Path(name)); }

 private:
  std::string path_;
};

}  // namespace vesta::agent::naming
