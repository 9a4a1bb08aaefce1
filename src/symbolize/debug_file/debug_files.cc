#include "src/symbolize/debug_file/debug_files.h"

#include <array>
#include <utility>

#include "src/dwarf/abbreviation.h"
#include "src/dwarf/unit_context.h"
#include "src/object/crc32.h"
#include "src/symbolize/debug_file/xz.h"

namespace vesta::symbolize {
namespace {

using base::ErrorCode;
using base::FileSource;
using base::Result;

constexpr size_t kRootsMax = 8;

std::string Join(const std::string& folder, const std::string& name) { return folder + "/" + name; }

// Whether one of the units of a split file has this id.
bool HasUnit(const dwarf::Sections& sections, uint64_t id) {
  dwarf::AbbreviationCache abbreviations;
  dwarf::UnitHeader header;
  for (uint64_t offset = 0; offset < sections.info.size(); offset = header.end) {
    const auto read = dwarf::ReadUnitHeader(sections.info, offset, header);
    if (header.end == 0) return false;
    if (!read.ok()) continue;
    const auto unit = dwarf::UnitContext::Open(sections, offset, abbreviations);
    if (unit.ok() && (*unit)->dwo_id() == id) return true;
  }
  return false;
}

}  // namespace

DebugFiles::DebugFiles(DebugFileOptions options)
    : options_(std::move(options)), unpacker_(options_.scratch_fd, options_.unpacked_bytes_max) {}

Result<std::unique_ptr<DebugFiles>> DebugFiles::Open(const FileSource& image,
                                                     DebugFileOptions options) {
  std::unique_ptr<DebugFiles> files(new DebugFiles(std::move(options)));
  const DebugFileOptions& asked = files->options_;
  for (const std::string& path : asked.roots) {
    if (files->roots_.size() == kRootsMax) break;
    auto root = RootFolder::Open(path);
    if (root.ok()) {
      files->roots_.push_back(std::move(root).value());
    } else {
      files->reasons_.Add(root.error().message());
    }
  }
  ASSIGN_OR_RETURN(files->image_, DebugObject::OfFile(image, asked.image_path, asked.file_bytes_max,
                                                      files->unpacker_, files->reasons_));
  if (files->image_->HasSection(".debug_info")) {
    files->described_ = files->image_.get();
    files->sources_.push_back("own debug information");
  } else {
    files->FindSeparate();
  }
  if (files->described_ != nullptr) files->FindAlternate();
  files->FindMini();
  return files;
}

std::unique_ptr<DebugObject> DebugFiles::Take(const FileSource& file, const std::string& path,
                                              const Wanted& wanted) {
  auto object = DebugObject::OfFile(file, path, options_.file_bytes_max, unpacker_, reasons_);
  if (!object.ok()) {
    reasons_.Add(path + ": " + object.error().message());
    return nullptr;
  }
  const std::string& build_id = (*object)->elf().gnu_build_id();
  const bool has_both = !wanted.build_id.empty() && !build_id.empty();
  if (has_both ? build_id != wanted.build_id : !wanted.crc) {
    reasons_.Add(path + ": has another build id");
    return nullptr;
  }
  if (!has_both) {
    auto mapping = FileMapping::OfFile(file, options_.file_bytes_max);
    if (!mapping.ok() || object::Crc32((*mapping)->bytes()) != *wanted.crc) {
      reasons_.Add(path + ": has another checksum than the link says");
      return nullptr;
    }
  }
  return std::move(object).value();
}

std::unique_ptr<DebugObject> DebugFiles::Look(const RootFolder& root, const std::string& path,
                                              const Wanted& wanted) {
  auto file = root.OpenFile(path);
  if (file.ok()) return Take(**file, path, wanted);
  if (file.error().code() != ErrorCode::kNotFound) reasons_.Add(file.error().message());
  return nullptr;
}

// A link may lead back to the image, or to another file that was stripped.
bool DebugFiles::HelpsWith(const DebugObject& object) const {
  return object.HasSection(".debug_info") ||
         (object.HasSection(".symtab") && !image_->HasSection(".symtab"));
}

void DebugFiles::FindSeparate() {
  auto found = FindByBuildId();
  if (found == nullptr) found = FindByLink();
  const bool has_info = found != nullptr && found->HasSection(".debug_info");
  if (!has_info) {
    if (auto fetched = FindByServer()) found = std::move(fetched);
  }
  if (found == nullptr) return;
  separate_ = std::move(found);
  sources_.push_back("debug file " + separate_->path());
  if (separate_->HasSection(".debug_info")) described_ = separate_.get();
}

std::unique_ptr<DebugObject> DebugFiles::FindByBuildId() {
  const std::string& build_id = image_->elf().gnu_build_id();
  const std::string path = BuildIdPath(build_id);
  if (path.empty()) return nullptr;
  for (const RootFolder& root : roots_) {
    auto found = Look(root, "/" + path, {build_id, std::nullopt});
    if (found != nullptr && HelpsWith(*found)) return found;
  }
  return nullptr;
}

std::unique_ptr<DebugObject> DebugFiles::FindByLink() {
  if (!image_->HasSection(".gnu_debuglink") || options_.image_path.empty()) return nullptr;
  const auto link = ReadDebugLink(image_->Section(".gnu_debuglink"));
  if (!link) {
    reasons_.Add(".gnu_debuglink makes no sense");
    return nullptr;
  }
  const std::string folder = FolderOf(options_.image_path);
  const std::array<std::string, 3> paths = {Join(folder, link->name),
                                            Join(folder, ".debug/" + link->name),
                                            "/usr/lib/debug" + Join(folder, link->name)};
  for (const RootFolder& root : roots_) {
    for (const std::string& path : paths) {
      auto found = Look(root, path, {image_->elf().gnu_build_id(), link->crc});
      if (found != nullptr && HelpsWith(*found)) return found;
    }
  }
  return nullptr;
}

std::unique_ptr<DebugObject> DebugFiles::FindByServer() {
  const std::string& build_id = image_->elf().gnu_build_id();
  if (options_.debuginfod.urls.empty() || build_id.empty()) return nullptr;
  const auto file = FetchDebugFile(options_.debuginfod, build_id, reasons_);
  if (!file.ok()) {
    if (file.error().code() == ErrorCode::kUnsupported) reasons_.Add(file.error().message());
    return nullptr;
  }
  auto found = Take(**file, "debuginfod:" + build_id, {build_id, std::nullopt});
  return found != nullptr && HelpsWith(*found) ? std::move(found) : nullptr;
}

void DebugFiles::FindAlternate() {
  if (!described_->HasSection(".gnu_debugaltlink")) return;
  const auto link = ReadAlternateLink(described_->Section(".gnu_debugaltlink"));
  if (!link) {
    reasons_.Add(".gnu_debugaltlink makes no sense");
    return;
  }
  const Wanted wanted{link->build_id, std::nullopt};
  std::vector<std::string> paths = {"/" + BuildIdPath(link->build_id)};
  paths.push_back(link->path[0] == '/' ? link->path
                                       : Join(FolderOf(described_->path()), link->path));
  for (const RootFolder& root : roots_) {
    for (const std::string& path : paths) {
      alternate_ = Look(root, path, wanted);
      if (alternate_ == nullptr) continue;
      described_->Dwarf(DebugObject::Part::kOwn).alternate =
          &alternate_->Dwarf(DebugObject::Part::kOwn);
      sources_.push_back("dwz file " + path);
      return;
    }
  }
  reasons_.Add("the dwz file " + link->path + " was not found");
}

void DebugFiles::FindMini() {
  if (!image_->HasSection(".gnu_debugdata")) return;
  auto bytes = UnpackXz(image_->Section(".gnu_debugdata"), options_.minidebug_bytes_max);
  auto object = bytes.ok() ? DebugObject::OfBytes(std::move(bytes).value(), ".gnu_debugdata",
                                                  unpacker_, reasons_)
                           : Result<std::unique_ptr<DebugObject>>(bytes.error());
  if (!object.ok()) {
    reasons_.Add(".gnu_debugdata: " + object.error().message());
    return;
  }
  mini_ = std::move(object).value();
  sources_.push_back("MiniDebugInfo");
}

dwarf::SplitSource DebugFiles::split_source() {
  return [this](std::string_view name, std::string_view comp_dir, uint64_t id) {
    return FindSplit(name, comp_dir, id);
  };
}

void DebugFiles::FindPackage() {
  std::vector<std::string> paths;
  if (!options_.image_path.empty()) paths.push_back(options_.image_path + ".dwp");
  if (separate_ != nullptr) {
    std::string path = separate_->path();
    paths.push_back(path + ".dwp");
    if (path.ends_with(".debug")) {
      path.resize(path.size() - std::string_view(".debug").size());
      paths.push_back(path + ".dwp");
    }
  }
  for (const RootFolder& root : roots_) {
    for (const std::string& path : paths) {
      const auto file = root.OpenFile(path);
      if (!file.ok()) continue;
      auto object = DebugObject::OfFile(**file, path, options_.file_bytes_max, unpacker_, reasons_);
      if (!object.ok()) {
        reasons_.Add(path + ": " + object.error().message());
        continue;
      }
      auto index = dwarf::SplitPackage::Parse((*object)->Section(".debug_cu_index"));
      if (!index.ok()) {
        reasons_.Add(path + ": " + index.error().message());
        continue;
      }
      package_.emplace(Package{std::move(object).value(), std::move(index).value()});
      sources_.push_back("package " + path);
      return;
    }
  }
}

const dwarf::Sections* DebugFiles::FindSplit(std::string_view name, std::string_view comp_dir,
                                             uint64_t id) {
  if (!std::exchange(is_package_looked_for_, true)) FindPackage();
  if (package_) {
    const auto part = package_->index.Find(id, package_->object->Dwarf(DebugObject::Part::kSplit));
    if (part) {
      ++dwp_count_;
      split_part_ = *part;
      return &split_part_;
    }
  }
  const std::string file(name);
  std::vector<std::string> paths;
  if (file.starts_with('/')) {
    paths.push_back(file);
  } else {
    if (!comp_dir.empty()) paths.push_back(Join(std::string(comp_dir), file));
    if (!options_.image_path.empty()) {
      paths.push_back(Join(FolderOf(options_.image_path), file));
    }
  }
  if (!options_.image_path.empty()) {
    paths.push_back(Join(FolderOf(options_.image_path), file.substr(file.rfind('/') + 1)));
  }
  for (const RootFolder& root : roots_) {
    for (const std::string& path : paths) {
      if (!TakeSplit(root, path, id)) continue;
      ++dwo_count_;
      return &split_->Dwarf(DebugObject::Part::kSplit);
    }
  }
  reasons_.Add("the split unit " + file + " was not found");
  return nullptr;
}

bool DebugFiles::TakeSplit(const RootFolder& root, const std::string& path, uint64_t id) {
  const auto file = root.OpenFile(path);
  if (!file.ok()) {
    if (file.error().code() != ErrorCode::kNotFound) reasons_.Add(file.error().message());
    return false;
  }
  auto object = DebugObject::OfFile(**file, path, options_.file_bytes_max, unpacker_, reasons_);
  if (!object.ok()) {
    reasons_.Add(path + ": " + object.error().message());
    return false;
  }
  if (!HasUnit((*object)->Dwarf(DebugObject::Part::kSplit), id)) {
    reasons_.Add(path + ": is of another build");
    return false;
  }
  split_ = std::move(object).value();
  return true;
}

}  // namespace vesta::symbolize
