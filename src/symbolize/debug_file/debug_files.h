// All files that say something about the code of one image, found the way that debuggers find them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/byte_source.h"
#include "src/base/result.h"
#include "src/dwarf/sections.h"
#include "src/dwarf/split_package.h"
#include "src/symbolize/debug_file/debug_link.h"
#include "src/symbolize/debug_file/debug_object.h"
#include "src/symbolize/debug_file/debuginfod.h"
#include "src/symbolize/debug_file/root_folder.h"

namespace vesta::symbolize {

struct DebugFileOptions {
  std::string image_path;          // as the process saw it; empty when it has none (memfd)
  std::vector<std::string> roots;  // folders that are looked in, best first: /proc/PID/root, /
  int scratch_fd = -1;             // folder for unpacked sections; -1 = memory
  uint64_t file_bytes_max = uint64_t{16} << 30;
  uint64_t unpacked_bytes_max = uint64_t{4} << 30;  // of all sections together
  size_t minidebug_bytes_max = size_t{128} << 20;
  DebuginfodOptions debuginfod;
};

// Order: the debug information that the image itself has; else a file by its build id, by
// .gnu_debuglink, from debuginfod. A file found by name must have the build id of the image, or,
// where one of the two has none, the checksum that the link says. Its dwz file (.gnu_debugaltlink)
// must have the build id that it says. Split units come from BINARY.dwp, else from their .dwo file,
// and must have the right id.
// Owner:  one thread. What it gives lives as long as it does; of split units only the last one.
// Errors: of Open: as DebugObject::OfFile on the image. All else only leaves names away, and says
//         so in reasons().
class DebugFiles {
 public:
  static base::Result<std::unique_ptr<DebugFiles>> Open(const base::FileSource& image,
                                                        DebugFileOptions options);

  DebugObject& image() { return *image_; }
  DebugObject* separate() { return separate_.get(); }  // null when there is none
  DebugObject* mini() { return mini_.get(); }          // MiniDebugInfo, the same

  // The one of the two that has .debug_info, its alternate file linked; null when none has.
  DebugObject* described() { return described_; }
  dwarf::SplitSource split_source();

  uint64_t dwo_count() const { return dwo_count_; }
  uint64_t dwp_count() const { return dwp_count_; }  // units that came from the package
  // Which files are used, for people: "debug file /usr/lib/debug/...".
  const std::vector<std::string>& sources() const { return sources_; }
  Reasons& reasons() { return reasons_; }
  uint64_t unpacked_bytes() const { return unpacker_.unpacked_bytes(); }

 private:
  struct Wanted {
    std::string build_id;         // empty = unknown
    std::optional<uint32_t> crc;  // empty: the build id must do
  };
  struct Package {
    std::unique_ptr<DebugObject> object;
    dwarf::SplitPackage index;
  };

  explicit DebugFiles(DebugFileOptions options);
  // Null when it is not there, or not what is wanted.
  std::unique_ptr<DebugObject> Take(const base::FileSource& file, const std::string& path,
                                    const Wanted& wanted);
  std::unique_ptr<DebugObject> Look(const RootFolder& root, const std::string& path,
                                    const Wanted& wanted);
  bool HelpsWith(const DebugObject& object) const;
  void FindSeparate();
  std::unique_ptr<DebugObject> FindByBuildId();
  std::unique_ptr<DebugObject> FindByLink();
  std::unique_ptr<DebugObject> FindByServer();
  void FindAlternate();
  void FindMini();
  void FindPackage();
  const dwarf::Sections* FindSplit(std::string_view name, std::string_view comp_dir, uint64_t id);
  bool TakeSplit(const RootFolder& root, const std::string& path, uint64_t id);

  DebugFileOptions options_;
  Unpacker unpacker_;
  Reasons reasons_;
  std::vector<RootFolder> roots_;
  std::unique_ptr<DebugObject> image_;
  std::unique_ptr<DebugObject> separate_;
  std::unique_ptr<DebugObject> alternate_;
  std::unique_ptr<DebugObject> mini_;
  DebugObject* described_ = nullptr;
  bool is_package_looked_for_ = false;
  std::optional<Package> package_;
  std::unique_ptr<DebugObject> split_;
  dwarf::Sections split_part_;
  uint64_t dwo_count_ = 0;
  uint64_t dwp_count_ = 0;
  std::vector<std::string> sources_;
};

}  // namespace vesta::symbolize
