#include "src/symbolize/name_profile.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <span>
#include <utility>

#include "src/base/byte_reader.h"
#include "src/object/elf_file.h"
#include "src/symbolize/elf_symbolizer.h"

namespace vesta::symbolize {
namespace {

using profile::LabelSetId;
using profile::Location;
using profile::LocationId;
using profile::MappingId;
using profile::Profile;
using profile::StackId;
using profile::StringId;

constexpr size_t kKallsymsBytesMax = size_t{256} << 20;
constexpr uint32_t kNoteBuildId = 3;

// Ids are dense in order of first sight, and these are unique: added in their order, they are the
// same.
void CopyAllButLocations(const Profile& from, Profile& to) {
  for (uint32_t i = 0; i < from.string_count(); ++i) to.InternString(from.String(StringId{i}));
  to.header() = from.header();
  to.SetSampleTypes({from.sample_types().begin(), from.sample_types().end()});
  for (uint32_t i = 0; i < from.mapping_count(); ++i) to.AddMapping(from.mapping(MappingId{i}));
  for (uint32_t i = 0; i < from.function_count(); ++i)
    to.AddFunction(from.function(profile::FunctionId{i}));
}

void CopySamples(const Profile& from, Profile& to) {
  for (uint32_t i = 0; i < from.stack_count(); ++i) to.InternStack(from.stack(StackId{i}));
  for (uint32_t i = 0; i < from.label_set_count(); ++i) to.InternLabels(from.labels(LabelSetId{i}));
  for (size_t i = 0; i < from.sample_count(); ++i)
    to.AppendSample(from.sample_stack(i), from.sample_labels(i), from.sample_values(i));
}

bool NeedsName(const Location& location) {
  return location.lines.empty() && location.mapping != profile::kNoMapping;
}

// "nf_tables" of "[nf_tables]" and of "/lib/modules/6.1/kernel/net/nf-tables.ko.xz".
std::string ModuleOf(std::string_view path) {
  std::string name(path.substr(path.rfind('/') + 1));
  name.resize(std::min(name.find(".ko"), name.size()));
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  std::ranges::replace(name, '-', '_');
  return name;
}

class Namer {
 public:
  Namer(const Profile& profile, const NameSources& sources)
      : profile_(profile), sources_(sources), symbols_(profile.location_count()) {}

  void Run() {
    // By file, since each is opened once, however often it is mapped.
    std::map<std::pair<StringId, StringId>, std::vector<LocationId>> files;
    const bool is_this_kernel = IsThisKernel();
    for (uint32_t i = 0; i < profile_.location_count(); ++i) {
      const Location location = profile_.location(LocationId{i});
      if (!NeedsName(location)) continue;
      const profile::Mapping& mapping = profile_.mapping(location.mapping);
      if (profile::IsKernelLocation(profile_, location)) {
        if (is_this_kernel) NameByKernel(i, location.address, profile_.String(mapping.path));
      } else if (mapping.build_id != StringId{}) {
        files[{mapping.path, mapping.build_id}].push_back(LocationId{i});
      }
    }
    for (const auto& [file, locations] : files)
      NameByFile(std::string(profile_.String(file.first)), profile_.String(file.second), locations);
  }

  const Symbol& symbol(LocationId id) const { return symbols_[id.value()]; }

 private:
  bool IsThisKernel() const {
    if (sources_.kernel == nullptr || sources_.kernel_start == 0) return false;
    for (uint32_t i = 0; i < profile_.mapping_count(); ++i) {
      const profile::Mapping& mapping = profile_.mapping(MappingId{i});
      if (profile_.String(mapping.path) == profile::kKernelPath &&
          profile_.String(mapping.build_id) == sources_.kernel_build_id &&
          !sources_.kernel_build_id.empty() && mapping.file_offset == sources_.kernel_start)
        return true;
    }
    return false;
  }

  void NameByKernel(size_t location, uint64_t address, std::string_view path) {
    KernelLocation found = sources_.kernel->Resolve(address);
    const std::string wanted = path == profile::kKernelPath ? std::string() : ModuleOf(path);
    if (found.module == wanted) symbols_[location] = std::move(found.symbol);
  }

  void NameByFile(const std::string& path, std::string_view build_id,
                  const std::vector<LocationId>& locations) {
    const auto source = sources_.open(path);
    if (source == nullptr) return;
    const auto elf = object::ElfFile::Parse(*source);
    if (!elf.ok() || elf->gnu_build_id() != build_id) return;
    std::vector<std::pair<uint64_t, LocationId>> places;
    for (const LocationId id : locations) {
      const Location location = profile_.location(id);
      const profile::Mapping& mapping = profile_.mapping(location.mapping);
      const auto start = elf->VaddrOf(mapping.file_offset);
      if (start.has_value() && location.address >= mapping.memory_start)
        places.emplace_back(*start + (location.address - mapping.memory_start), id);
    }
    std::vector<uint64_t> addresses;
    for (const auto& place : places) addresses.push_back(place.first);
    std::ranges::sort(addresses);
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    TakeNames(*elf, *source, addresses, places);
    // What was stripped off, in the place where debuggers look for it.
    const std::string debug_path = "/usr/lib/debug/.build-id/" +
                                   std::string(build_id.substr(0, 2)) + "/" +
                                   std::string(build_id.substr(2)) + ".debug";
    const auto debug_source = build_id.size() > 2 ? sources_.open(debug_path) : nullptr;
    if (debug_source == nullptr) return;
    const auto debug_elf = object::ElfFile::Parse(*debug_source);
    if (!debug_elf.ok() || debug_elf->gnu_build_id() != build_id) return;
    TakeNames(*debug_elf, *debug_source, addresses, places);
  }

  // Gives the names of one file's symbols to those places that have none yet.
  void TakeNames(const object::ElfFile& elf, const base::ByteSource& source,
                 std::span<const uint64_t> addresses,
                 std::span<const std::pair<uint64_t, LocationId>> places) {
    const auto found = ResolveElfSymbols(elf, source, addresses);
    if (!found.ok()) return;
    for (const auto& [address, id] : places) {
      const auto at = std::ranges::lower_bound(addresses, address) - addresses.begin();
      Symbol& symbol = symbols_[id.value()];
      if (symbol.lines.empty()) symbol = (*found)[static_cast<size_t>(at)];
    }
  }

  const Profile& profile_;
  const NameSources& sources_;
  std::vector<Symbol> symbols_;  // by location
};

}  // namespace

bool MayBeNamed(const Profile& profile) {
  for (uint32_t i = 0; i < profile.location_count(); ++i) {
    const Location location = profile.location(LocationId{i});
    if (NeedsName(location) && profile.mapping(location.mapping).build_id != StringId{})
      return true;
  }
  return false;
}

Profile NameProfile(const Profile& profile, const NameSources& sources, NamingCounts* counts) {
  Namer namer(profile, sources);
  namer.Run();
  Profile named;
  CopyAllButLocations(profile, named);
  std::vector<profile::Line> lines;
  for (uint32_t i = 0; i < profile.location_count(); ++i) {
    Location location = profile.location(LocationId{i});
    const bool needs_name = NeedsName(location);
    if (needs_name) ++counts->without_name;
    if (needs_name && !namer.symbol(LocationId{i}).lines.empty()) {
      ++counts->named;
      lines.clear();
      for (const FunctionLine& line : namer.symbol(LocationId{i}).lines) {
        const profile::Function function{
            named.InternString(line.name), named.InternString(line.system_name),
            named.InternString(line.file), static_cast<int64_t>(line.start_line)};
        lines.push_back({named.InternFunction(function), static_cast<int64_t>(line.line), 0});
      }
      location.lines = lines;
    }
    named.AddLocation(location);
  }
  CopySamples(profile, named);
  return named;
}

std::string BuildIdOfNotes(std::string_view notes) {
  base::ByteReader reader(std::as_bytes(std::span(notes)));
  while (reader.ok() && !reader.AtEnd()) {
    const auto name_bytes = reader.Read<uint32_t>();
    const auto content_bytes = reader.Read<uint32_t>();
    const auto type = reader.Read<uint32_t>();
    const auto padded = [](uint32_t size) { return (size_t{size} + 3) / 4 * 4; };
    const auto name = reader.ReadBytes(padded(name_bytes));
    const auto content = reader.ReadBytes(padded(content_bytes));
    if (!reader.ok()) return "";
    const std::string_view name_text(reinterpret_cast<const char*>(name.data()), name.size());
    if (type != kNoteBuildId || name_text != std::string_view("GNU\0", 4)) continue;
    std::string hex;
    for (const std::byte byte : content.first(content_bytes)) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      hex += kDigits[static_cast<size_t>(byte) >> 4];
      hex += kDigits[static_cast<size_t>(byte) & 15];
    }
    return hex;
  }
  return "";
}

uint64_t KernelStartOf(std::string_view kallsyms) {
  // perf relates the kernel's mapping to the first of these that there is.
  for (const std::string_view name : {" _text\n", " _stext\n"}) {
    const size_t end = kallsyms.find(name);
    if (end == std::string_view::npos) continue;
    const size_t line = kallsyms.rfind('\n', end);
    const size_t start = line == std::string_view::npos ? 0 : line + 1;
    uint64_t address = 0;
    std::from_chars(kallsyms.data() + start, kallsyms.data() + end, address, 16);
    return address;
  }
  return 0;
}

NameSources NameSourcesOfThisMachine() {
  NameSources sources;
  sources.open = [](const std::string& path) -> std::unique_ptr<base::ByteSource> {
    // Names such as "[vdso]" and "//anon" are no files.
    if (!path.starts_with('/') || path.starts_with("//")) return nullptr;
    auto file = base::FileSource::Open(path);
    if (!file.ok()) return nullptr;
    return std::move(file).value();
  };
  const auto notes = base::ReadSmallFile("/sys/kernel/notes");
  const auto kallsyms = base::ReadSmallFile("/proc/kallsyms", kKallsymsBytesMax);
  if (!notes.ok() || !kallsyms.ok()) return sources;
  const auto modules = base::ReadSmallFile("/proc/modules");
  auto kernel = KernelSymbolizer::Parse(*kallsyms, modules.ok() ? *modules : std::string());
  if (!kernel.ok()) return sources;
  sources.kernel = std::move(kernel).value();
  sources.kernel_build_id = BuildIdOfNotes(*notes);
  sources.kernel_start = KernelStartOf(*kallsyms);
  return sources;
}

}  // namespace vesta::symbolize
