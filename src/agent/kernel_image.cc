#include "src/agent/kernel_image.h"

#include <elf.h>

#include <cstring>

#include "src/base/byte_reader.h"
#include "src/base/byte_source.h"

namespace vesta::agent {
namespace {

constexpr size_t kKallsymsBytesMax = 256u << 20;
constexpr size_t kNotesBytesMax = 64 << 10;
constexpr uint32_t kBuildIdBytesMax = 64;

size_t RoundUpTo4(size_t size) { return (size + 3) / 4 * 4; }

}  // namespace

std::string BuildIdOfNotes(std::string_view notes) {
  base::ByteReader reader(std::as_bytes(std::span(notes.data(), notes.size())));
  while (reader.ok() && reader.remaining() >= sizeof(Elf64_Nhdr)) {
    const auto header = reader.Read<Elf64_Nhdr>();
    const auto name = reader.ReadBytes(RoundUpTo4(header.n_namesz));
    const auto content = reader.ReadBytes(RoundUpTo4(header.n_descsz));
    if (!reader.ok()) break;
    if (header.n_type != NT_GNU_BUILD_ID || header.n_namesz != 4 ||
        std::memcmp(name.data(), "GNU", 4) != 0 || header.n_descsz > kBuildIdBytesMax) {
      continue;
    }
    std::string hex;
    for (const std::byte b : content.first(header.n_descsz)) {
      constexpr char kHex[] = "0123456789abcdef";
      hex += kHex[static_cast<uint8_t>(b) >> 4];
      hex += kHex[static_cast<uint8_t>(b) & 15];
    }
    return hex;
  }
  return {};
}

KernelImage ReadKernelImage() {
  KernelImage image;
  if (const auto notes = base::ReadSmallFile("/sys/kernel/notes"); notes.ok()) {
    image.build_id = BuildIdOfNotes(*notes);
  }
  const auto kallsyms = base::ReadSmallFile("/proc/kallsyms", kKallsymsBytesMax);
  if (!kallsyms.ok()) {
    image.problem = kallsyms.error().message();
    return image;
  }
  // A kernel without modules has no such file.
  const auto modules = base::ReadSmallFile("/proc/modules");
  auto names = symbolize::KernelSymbolizer::Parse(*kallsyms, modules.ok() ? *modules : "");
  if (names.ok()) {
    image.names = std::move(names).value();
  } else {
    image.problem = names.error().message();
  }
  return image;
}

std::string ModuleBuildId(std::string_view module, const std::string& sys_root) {
  // The name is the kernel's, and no path.
  if (module.empty() || module.front() == '.' || module.find('/') != std::string_view::npos) {
    return {};
  }
  const auto notes = base::ReadSmallFile(
      sys_root + "/module/" + std::string(module) + "/notes/.note.gnu.build-id", kNotesBytesMax);
  return notes.ok() ? BuildIdOfNotes(*notes) : std::string();
}

}  // namespace vesta::agent
