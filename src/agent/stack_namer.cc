#include "src/agent/stack_namer.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "src/agent/generated_code.h"
#include "src/agent/runtime/frame_names.h"
#include "src/agent/runtime/process_file.h"
#include "src/base/utf8.h"
#include "src/symbolize/kernel_symbolizer.h"

namespace vesta::agent {
namespace {

// The page of old system calls that every x86-64 process sees at the same place.
constexpr uint64_t kVsyscallStart = 0xffffffffff600000;
constexpr uint64_t kVsyscallMask = 0xfff;

}  // namespace

const KernelImage& NameSources::Kernel() {
  if (!kernel_) kernel_ = ReadKernelImage();
  return *kernel_;
}

profile::StringId InternForeign(std::string_view text, profile::Profile& profile) {
  if (base::IsUtf8(text)) return profile.InternString(text);
  return profile.InternString(base::ToUtf8(text));
}

profile::Mapping MappingOf(const process::Image& image, profile::Profile& profile) {
  profile::Mapping mapping;
  const bool is_generated = image.kind == process::ImageKind::kAnonymous;
  mapping.path = InternForeign(is_generated ? "[anon]" : std::string_view(image.path), profile);
  mapping.build_id = profile.InternString(image.gnu_build_id);
  mapping.memory_start = image.text_vaddr;
  mapping.memory_limit = image.text_end_vaddr;
  mapping.file_offset = image.text_file_offset;
  return mapping;
}

void SayWhatIsKnown(std::span<const symbolize::Symbol> symbols, profile::Mapping& mapping) {
  for (const symbolize::Symbol& symbol : symbols) {
    mapping.has_functions |= !symbol.lines.empty();
    mapping.has_inline_frames |= symbol.lines.size() > 1;
    for (const symbolize::FunctionLine& line : symbol.lines) {
      mapping.has_filenames |= !line.file.empty();
      mapping.has_line_numbers |= line.line != 0;
    }
  }
}

profile::LocationId InternNamed(profile::MappingId mapping, uint64_t address,
                                const symbolize::Symbol* symbol, profile::Profile& profile) {
  std::vector<profile::Line> lines;
  if (symbol != nullptr) {
    for (const symbolize::FunctionLine& line : symbol->lines) {
      profile::Function function;
      function.name = InternForeign(line.name, profile);
      function.system_name = InternForeign(line.system_name, profile);
      function.file = InternForeign(line.file, profile);
      function.start_line = line.start_line;
      lines.push_back({profile.InternFunction(function), line.line, 0});
    }
  }
  return profile.InternLocation({mapping, address, false, lines});
}

StackNamer::StackNamer(NameSources& sources, const aggregate::Aggregator& aggregator,
                       profile::Profile& profile)
    : sources_(sources), aggregator_(aggregator), profile_(profile), moved_code_(aggregator) {}

void StackNamer::NameAll() {
  locations_.assign(aggregator_.stacks().node_count(), profile::LocationId());
  CollectAddresses();
  for (auto& [image, nodes] : nodes_by_image_) NameImage(image, nodes);
  NameKernel();
  NameUnmapped();
}

std::optional<profile::MappingId> StackNamer::MappingOfPath(const std::string& path) const {
  const auto found = mapping_by_path_.find(path);
  if (found == mapping_by_path_.end()) return std::nullopt;
  return found->second;
}

void StackNamer::CollectAddresses() {
  const aggregate::StackTrie& stacks = aggregator_.stacks();
  for (uint32_t node = 1; node < stacks.node_count(); ++node) {
    const profile::Frame& frame = stacks.frame(aggregate::NodeId(node));
    switch (frame.kind) {
      case profile::FrameKind::kNative:
        nodes_by_image_[frame.image].push_back(node);
        break;
      case profile::FrameKind::kKernel:
        kernel_nodes_.push_back(node);
        break;
      case profile::FrameKind::kProcess:
        unmapped_nodes_.push_back(node);
        break;
    }
  }
}

std::vector<uint64_t> StackNamer::SortedAddresses(const Nodes& nodes) const {
  std::vector<uint64_t> addresses;
  addresses.reserve(nodes.size());
  for (const uint32_t node : nodes) addresses.push_back(AddressOf(node));
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  return addresses;
}

// Sets the location of each node from the names of the sorted addresses.
void StackNamer::Assign(const Nodes& nodes, profile::MappingId mapping,
                        const std::vector<uint64_t>& addresses,
                        const std::vector<symbolize::Symbol>& symbols) {
  std::vector<profile::LocationId> by_address;
  by_address.reserve(addresses.size());
  for (size_t i = 0; i < addresses.size(); ++i) {
    by_address.push_back(
        MakeLocation(mapping, addresses[i], i < symbols.size() ? &symbols[i] : nullptr));
  }
  for (const uint32_t node : nodes) {
    const auto at = std::lower_bound(addresses.begin(), addresses.end(), AddressOf(node));
    locations_[node] = by_address[static_cast<size_t>(at - addresses.begin())];
  }
}

profile::LocationId StackNamer::MakeLocation(profile::MappingId mapping, uint64_t address,
                                             const symbolize::Symbol* symbol) {
  ++sources_.book.addresses;
  if (symbol == nullptr || symbol->lines.empty()) ++sources_.book.unnamed;
  return InternNamed(mapping, address, symbol, profile_);
}

void StackNamer::NameImage(profile::ImageId image_id, const Nodes& nodes) {
  const process::Image& image = sources_.images.image(image_id);
  const std::vector<uint64_t> addresses = SortedAddresses(nodes);
  std::vector<symbolize::Symbol> symbols;
  if (image.kind == process::ImageKind::kElf || image.kind == process::ImageKind::kVdso) {
    // Asked first: an index that comes in between is not missed.
    if (sources_.namer.IsPending(image_id)) provisional_.push_back({image_id, addresses});
    auto named = sources_.namer.Name(image_id, addresses);
    if (named.ok()) {
      symbols = std::move(named).value();
    } else {
      ++sources_.book.images_unreadable;
    }
  }
  std::vector<runtime::FrameNames> names;
  if (image.kind == process::ImageKind::kAnonymous) {
    names = NameGeneratedCode(image, addresses);
    symbols.resize(addresses.size());
    for (size_t i = 0; i < names.size(); ++i) {
      if (!names[i].empty()) symbols[i] = names[i].front().symbol;
    }
  }
  profile::Mapping mapping = MappingOf(image, profile_);
  if (image.kind == process::ImageKind::kAnonymous && !addresses.empty()) {
    mapping.memory_start = addresses.front();
    mapping.memory_limit = addresses.back() + 1;
  }
  SayWhatIsKnown(symbols, mapping);
  const profile::MappingId mapping_id = profile_.AddMapping(mapping);
  mapping_by_path_.try_emplace(image.path, mapping_id);
  Assign(nodes, mapping_id, addresses, symbols);
  if (!names.empty()) NoteMovedCode(nodes, mapping_id, addresses, names);
}

std::vector<runtime::FrameNames> StackNamer::NameGeneratedCode(
    const process::Image& image, std::span<const uint64_t> addresses) {
  std::vector<runtime::FrameNames> names(addresses.size());
  std::optional<uint64_t> forked_mono_ns;  // none: it is the process itself
  for (const runtime::ProcessKey& namer : NamersOf(image, sources_.images)) {
    auto named = sources_.generated_code.Name(namer, addresses);
    for (size_t i = 0; named.ok() && i < names.size(); ++i) {
      names[i] = forked_mono_ns
                     ? runtime::WithEarlier(std::move(names[i]), (*named)[i], *forked_mono_ns)
                     : std::move((*named)[i]);
    }
    forked_mono_ns =
        namer.start_boot_ns != 0 ? runtime::MonoOfBootNs(namer.start_boot_ns) : ~uint64_t{0};
  }
  return names;
}

void StackNamer::NoteMovedCode(const Nodes& nodes, profile::MappingId mapping,
                               const std::vector<uint64_t>& addresses,
                               const std::vector<runtime::FrameNames>& names) {
  std::map<uint64_t, std::shared_ptr<const MovedCode::Eras>> moved;  // by address
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].size() < 2) continue;
    MovedCode::Eras eras;
    for (const runtime::FrameEra& era : names[i]) {
      eras.push_back({era.from_mono_ns, MakeLocation(mapping, addresses[i], &era.symbol)});
    }
    moved[addresses[i]] = std::make_shared<const MovedCode::Eras>(std::move(eras));
  }
  if (moved.empty()) return;
  for (const uint32_t node : nodes) {
    const auto eras = moved.find(AddressOf(node));
    if (eras != moved.end()) moved_code_.Add(node, eras->second);
  }
}

void StackNamer::NameKernel() {
  if (kernel_nodes_.empty()) return;
  const KernelImage& kernel = sources_.Kernel();
  std::map<std::string, profile::MappingId> mappings;
  std::unordered_map<uint64_t, profile::LocationId> by_address;
  for (const uint32_t node : kernel_nodes_) {
    const uint64_t address = AddressOf(node);
    const auto [known, is_new] = by_address.try_emplace(address);
    if (is_new) known->second = NameKernelAddress(kernel, address, mappings);
    locations_[node] = known->second;
  }
}

profile::LocationId StackNamer::NameKernelAddress(
    const KernelImage& kernel, uint64_t address,
    std::map<std::string, profile::MappingId>& mappings) {
  symbolize::KernelLocation location;
  location.image_address = address;
  if (kernel.names != nullptr) location = kernel.names->Resolve(address);
  const auto [mapping, is_new] = mappings.try_emplace(location.module);
  if (is_new) {
    profile::Mapping added;
    added.path = InternForeign(location.module.empty() ? std::string(profile::kKernelPath)
                                                       : "[kernel:" + location.module + "]",
                               profile_);
    added.build_id = profile_.InternString(
        location.module.empty() ? kernel.build_id : ModuleBuildId(location.module));
    added.has_functions = kernel.names != nullptr;
    mapping->second = profile_.AddMapping(added);
  }
  return MakeLocation(mapping->second, location.image_address, &location.symbol);
}

void StackNamer::NameUnmapped() {
  std::optional<profile::MappingId> vsyscall;
  for (const uint32_t node : unmapped_nodes_) {
    profile::MappingId mapping = profile::kNoMapping;
    if ((AddressOf(node) & ~kVsyscallMask) == kVsyscallStart) {
      if (!vsyscall) {
        profile::Mapping page;
        page.path = InternForeign("[vsyscall]", profile_);
        page.memory_start = kVsyscallStart;
        page.memory_limit = kVsyscallStart + kVsyscallMask + 1;
        vsyscall = profile_.AddMapping(page);
      }
      mapping = *vsyscall;
    }
    locations_[node] = MakeLocation(mapping, AddressOf(node), nullptr);
  }
}

profile::StackId StackNamer::StackAt(aggregate::NodeId leaf, uint64_t time_mono_ns) {
  stack_.clear();
  const aggregate::StackTrie& stacks = aggregator_.stacks();
  for (aggregate::NodeId node = leaf; node != aggregate::StackTrie::kRoot;
       node = stacks.parent(node)) {
    stack_.push_back(moved_code_.LocationAt(node.value(), time_mono_ns, locations_[node.value()]));
  }
  return profile_.InternStack(stack_);
}

}  // namespace vesta::agent
