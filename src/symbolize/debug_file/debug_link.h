// The sections by which a binary names the files that hold the rest of its debug information.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace vesta::symbolize {

// .gnu_debuglink: a file beside the binary or in the system's debug folder.
struct DebugLink {
  std::string name;  // of a file, without folders
  uint32_t crc = 0;  // of all its bytes
};

// .gnu_debugaltlink (dwz): a file that several share parts of.
struct AlternateLink {
  std::string path;      // absolute, or relative to the folder of the file that says it
  std::string build_id;  // lower-case hex
};

// Empty when the section does not follow its format, or names what cannot be such a file: a name
// with a slash, no name, one longer than file systems have.
// Source: the GDB manual, "Separate Debug Files"; the dwz manual.
std::optional<DebugLink> ReadDebugLink(std::span<const std::byte> section);
std::optional<AlternateLink> ReadAlternateLink(std::span<const std::byte> section);

// Where a file with this build id lies below a root: "usr/lib/debug/.build-id/ab/cdef.debug".
// Empty for one that is too short.
std::string BuildIdPath(const std::string& build_id);

// The part of a path before its last slash, without it; empty for a file of the root.
std::string FolderOf(const std::string& path);

}  // namespace vesta::symbolize
