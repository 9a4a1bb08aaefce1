#include "src/symbolize/debug_file/debug_link.h"

#include <climits>

#include "src/base/byte_reader.h"

namespace vesta::symbolize {
namespace {

constexpr size_t kBuildIdBytesMin = 2;
constexpr size_t kBuildIdBytesMax = 64;

std::string Hex(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text.push_back(kDigits[std::to_integer<unsigned>(byte) >> 4]);
    text.push_back(kDigits[std::to_integer<unsigned>(byte) & 15]);
  }
  return text;
}

}  // namespace

std::optional<DebugLink> ReadDebugLink(std::span<const std::byte> section) {
  base::ByteReader reader(section);
  DebugLink link;
  link.name = reader.ReadCString();
  if (!reader.ok() || link.name.empty() || link.name.size() > NAME_MAX || link.name == "." ||
      link.name == ".." || link.name.find('/') != std::string::npos) {
    return std::nullopt;
  }
  reader.Seek((reader.position() + 3) / 4 * 4);
  link.crc = reader.Read<uint32_t>();
  if (!reader.ok()) return std::nullopt;
  return link;
}

std::optional<AlternateLink> ReadAlternateLink(std::span<const std::byte> section) {
  base::ByteReader reader(section);
  AlternateLink link;
  link.path = reader.ReadCString();
  const auto id = section.subspan(reader.position());
  if (!reader.ok() || link.path.empty() || link.path.size() >= PATH_MAX ||
      id.size() < kBuildIdBytesMin || id.size() > kBuildIdBytesMax) {
    return std::nullopt;
  }
  link.build_id = Hex(id);
  return link;
}

std::string BuildIdPath(const std::string& build_id) {
  if (build_id.size() < kBuildIdBytesMin * 2) return {};
  return "usr/lib/debug/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug";
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

}  // namespace vesta::symbolize
