// main() for fuzz targets that are built without libFuzzer: runs each file named on the command
// line (folders: each file inside) through the target once, so that the corpus is a regression test
// in every build.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

void RunFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  size_t file_count = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::filesystem::is_directory(argv[i])) {
      for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
        RunFile(entry.path());
        ++file_count;
      }
    } else {
      RunFile(argv[i]);
      ++file_count;
    }
  }
  std::printf("%zu inputs replayed\n", file_count);
  return file_count == 0 ? 1 : 0;
}
