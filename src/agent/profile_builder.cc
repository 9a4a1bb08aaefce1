#include "src/agent/profile_builder.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/agent/generated_code.h"
#include "src/agent/moved_code.h"
#include "src/agent/runtime/frame_names.h"
#include "src/agent/runtime/process_file.h"
#include "src/agent/stop_reason.h"
#include "src/base/utf8.h"
#include "src/symbolize/kernel_symbolizer.h"

namespace vesta::agent {
namespace {

// The page of old system calls that every x86-64 process sees at the same place.
constexpr uint64_t kVsyscallStart = 0xffffffffff600000;
constexpr uint64_t kVsyscallMask = 0xfff;

}  // namespace

// One call of Build.
class ProfileBuilder::Work {
 public:
  Work(ProfileBuilder& builder, const aggregate::Aggregator& aggregator)
      : builder_(builder), aggregator_(aggregator), moved_code_(aggregator) {}

  profile::Profile Run(const RecordingFacts& facts) {
    FillHeader(facts);
    locations_.assign(aggregator_.stacks().node_count(), profile::LocationId());
    CollectAddresses();
    for (auto& [image, nodes] : nodes_by_image_) NameImage(image, nodes);
    NameKernel();
    NameUnmapped();
    for (uint32_t row = 0; row < aggregator_.rows().size(); ++row) AddRow(row, facts.period_ns);
    ChooseMainMapping();
    return std::move(profile_);
  }

 private:
  using Nodes = std::vector<uint32_t>;

  // Foreign text: readers of pprof may refuse a whole file for one name that is no UTF-8.
  profile::StringId Text(std::string_view text) {
    if (base::IsUtf8(text)) return profile_.InternString(text);
    return profile_.InternString(base::ToUtf8(text));
  }

  void FillHeader(const RecordingFacts& facts) {
    profile_.SetSampleTypes({profile_.InternValueType("samples", "count"),
                             profile_.InternValueType("cpu", "nanoseconds")});
    profile::Header& header = profile_.header();
    header.period_type = profile_.InternValueType("cpu", "nanoseconds");
    header.period = facts.period_ns;
    header.time_unix_ns = facts.time_unix_ns;
    header.duration_ns = facts.duration_ns;
    header.default_sample_type = profile_.InternString("cpu");
  }

  void CollectAddresses() {
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

  uint64_t AddressOf(uint32_t node) const {
    return aggregator_.stacks().frame(aggregate::NodeId(node)).address;
  }

  std::vector<uint64_t> SortedAddresses(const Nodes& nodes) const {
    std::vector<uint64_t> addresses;
    addresses.reserve(nodes.size());
    for (const uint32_t node : nodes) addresses.push_back(AddressOf(node));
    std::sort(addresses.begin(), addresses.end());
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    return addresses;
  }

  // Sets the location of each node from the names of the sorted addresses.
  void Assign(const Nodes& nodes, profile::MappingId mapping,
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

  profile::LocationId MakeLocation(profile::MappingId mapping, uint64_t address,
                                   const symbolize::Symbol* symbol) {
    ++builder_.book_.addresses;
    lines_.clear();
    if (symbol != nullptr) {
      for (const symbolize::FunctionLine& line : symbol->lines) {
        profile::Function function;
        function.name = Text(line.name);
        function.system_name = Text(line.system_name);
        function.file = Text(line.file);
        function.start_line = line.start_line;
        lines_.push_back({profile_.InternFunction(function), line.line, 0});
      }
    }
    if (lines_.empty()) ++builder_.book_.unnamed;
    return profile_.InternLocation({mapping, address, false, lines_});
  }

  // Readers of pprof look for what the mapping says is missing.
  static void SayWhatIsKnown(const std::vector<symbolize::Symbol>& symbols,
                             profile::Mapping& mapping) {
    for (const symbolize::Symbol& symbol : symbols) {
      mapping.has_functions |= !symbol.lines.empty();
      mapping.has_inline_frames |= symbol.lines.size() > 1;
      for (const symbolize::FunctionLine& line : symbol.lines) {
        mapping.has_filenames |= !line.file.empty();
        mapping.has_line_numbers |= line.line != 0;
      }
    }
  }

  void NameImage(profile::ImageId image_id, const Nodes& nodes) {
    const process::Image& image = builder_.images_.image(image_id);
    const std::vector<uint64_t> addresses = SortedAddresses(nodes);
    std::vector<symbolize::Symbol> symbols;
    if (image.kind == process::ImageKind::kElf || image.kind == process::ImageKind::kVdso) {
      auto named = builder_.namer_.Name(image_id, addresses);
      if (named.ok()) {
        symbols = std::move(named).value();
      } else {
        ++builder_.book_.images_unreadable;
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
    profile::Mapping mapping;
    mapping.path = Text(
        image.kind == process::ImageKind::kAnonymous ? "[anon]" : std::string_view(image.path));
    mapping.build_id = profile_.InternString(image.gnu_build_id);
    mapping.memory_start = image.text_vaddr;
    mapping.memory_limit = image.text_end_vaddr;
    mapping.file_offset = image.text_file_offset;
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

  std::vector<runtime::FrameNames> NameGeneratedCode(const process::Image& image,
                                                     std::span<const uint64_t> addresses) {
    std::vector<runtime::FrameNames> names(addresses.size());
    std::optional<uint64_t> forked_mono_ns;  // none: it is the process itself
    for (const runtime::ProcessKey& namer : NamersOf(image, builder_.images_)) {
      auto named = builder_.generated_code_.Name(namer, addresses);
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

  void NoteMovedCode(const Nodes& nodes, profile::MappingId mapping,
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

  void NameKernel() {
    if (kernel_nodes_.empty()) return;
    const KernelImage& kernel = builder_.Kernel();
    std::map<std::string, profile::MappingId> mappings;
    std::unordered_map<uint64_t, profile::LocationId> by_address;
    for (const uint32_t node : kernel_nodes_) {
      const uint64_t address = AddressOf(node);
      const auto [known, is_new] = by_address.try_emplace(address);
      if (is_new) known->second = NameKernelAddress(kernel, address, mappings);
      locations_[node] = known->second;
    }
  }

  profile::LocationId NameKernelAddress(const KernelImage& kernel, uint64_t address,
                                        std::map<std::string, profile::MappingId>& mappings) {
    symbolize::KernelLocation location;
    location.image_address = address;
    if (kernel.names != nullptr) location = kernel.names->Resolve(address);
    const auto [mapping, is_new] = mappings.try_emplace(location.module);
    if (is_new) {
      profile::Mapping added;
      added.path = Text(location.module.empty() ? std::string(profile::kKernelPath)
                                                : "[kernel:" + location.module + "]");
      added.build_id = profile_.InternString(
          location.module.empty() ? kernel.build_id : ModuleBuildId(location.module));
      added.has_functions = kernel.names != nullptr;
      mapping->second = profile_.AddMapping(added);
    }
    return MakeLocation(mapping->second, location.image_address, &location.symbol);
  }

  void NameUnmapped() {
    std::optional<profile::MappingId> vsyscall;
    for (const uint32_t node : unmapped_nodes_) {
      profile::MappingId mapping = profile::kNoMapping;
      if ((AddressOf(node) & ~kVsyscallMask) == kVsyscallStart) {
        if (!vsyscall) {
          profile::Mapping page;
          page.path = Text("[vsyscall]");
          page.memory_start = kVsyscallStart;
          page.memory_limit = kVsyscallStart + kVsyscallMask + 1;
          vsyscall = profile_.AddMapping(page);
        }
        mapping = *vsyscall;
      }
      locations_[node] = MakeLocation(mapping, AddressOf(node), nullptr);
    }
  }

  void AddTextLabel(std::string_view key, std::string_view text) {
    if (text.empty()) return;
    labels_.push_back(base::IsUtf8(text) ? profile_.TextLabel(key, text)
                                         : profile_.TextLabel(key, base::ToUtf8(text)));
  }

  profile::LabelSetId LabelsOf(const aggregate::Thread& thread, abi_stop_reason reason) {
    labels_.clear();
    const process::TaskInfo* task = nullptr;
    if (thread.process != 0) task = &builder_.processes_.task(process::TaskId(thread.process));
    AddTextLabel(profile::kLabelProcess, task != nullptr ? task->comm : thread.name);
    AddTextLabel(profile::kLabelThread, thread.name);
    labels_.push_back(profile_.NumberLabel(profile::kLabelPid, thread.pid));
    labels_.push_back(profile_.NumberLabel(profile::kLabelTid, thread.tid));
    if (task != nullptr) {
      const process::Labels& labels = *task->labels;
      AddTextLabel("exe", labels.executable);
      AddTextLabel("service.name", labels.service_name);
      AddTextLabel("service.version", labels.service_version);
      AddTextLabel("service.rule", labels.rule == process::ServiceRule::kUnknown
                                       ? std::string_view()
                                       : process::ServiceRuleName(labels.rule));
      AddTextLabel("container.id", labels.container_id);
      AddTextLabel("k8s.pod.uid", labels.pod_uid);
      AddTextLabel("systemd.unit", labels.unit);
    }
    const StopReasonInfo& stop = InfoOf(reason);
    if (!stop.is_complete) AddTextLabel("incomplete", stop.name);
    return profile_.InternLabels(labels_);
  }

  // pprof shows one binary as the profile's own: that of the program that ran most.
  void ChooseMainMapping() {
    uint64_t most = 0;
    for (const auto& [executable, value] : value_by_executable_) {
      const auto mapping = mapping_by_path_.find(executable);
      if (mapping == mapping_by_path_.end() || value <= most) continue;
      most = value;
      profile_.header().main_mapping = mapping->second;
    }
  }

  void AddRow(uint32_t row_index, int64_t period_ns) {
    const aggregate::Row& row = aggregator_.rows()[row_index];
    const aggregate::Thread& thread = aggregator_.thread(row.thread);
    if (thread.process != 0) {
      const process::TaskInfo& task = builder_.processes_.task(process::TaskId(thread.process));
      value_by_executable_[task.labels->executable] += row.value;
    }
    std::map<profile::StackId, uint64_t> values;
    if (moved_code_.Concerns(row.stack)) {
      for (const MovedCode::Part& part : moved_code_.PartsOf(row_index)) {
        values[StackAt(row.stack, part.time_mono_ns)] += part.value;
      }
    } else {
      values[StackAt(row.stack, 0)] = row.value;
    }
    const profile::LabelSetId labels = LabelsOf(thread, row.stop_reason);
    for (const auto& [stack, value] : values) {
      const auto count = static_cast<int64_t>(value);
      const int64_t sample[] = {count, count * period_ns};
      profile_.AddSample(stack, labels, sample);
    }
  }

  profile::StackId StackAt(aggregate::NodeId leaf, uint64_t time_mono_ns) {
    stack_.clear();
    const aggregate::StackTrie& stacks = aggregator_.stacks();
    for (aggregate::NodeId node = leaf; node != aggregate::StackTrie::kRoot;
         node = stacks.parent(node)) {
      stack_.push_back(
          moved_code_.LocationAt(node.value(), time_mono_ns, locations_[node.value()]));
    }
    return profile_.InternStack(stack_);
  }

  ProfileBuilder& builder_;
  const aggregate::Aggregator& aggregator_;
  MovedCode moved_code_;
  profile::Profile profile_;
  std::map<profile::ImageId, Nodes> nodes_by_image_;
  std::map<std::string, profile::MappingId> mapping_by_path_;
  std::map<std::string, uint64_t> value_by_executable_;
  Nodes kernel_nodes_;
  Nodes unmapped_nodes_;
  std::vector<profile::LocationId> locations_;  // by node
  std::vector<profile::Line> lines_;
  std::vector<profile::Label> labels_;
  std::vector<profile::LocationId> stack_;
};

const KernelImage& ProfileBuilder::Kernel() {
  if (!kernel_) kernel_ = ReadKernelImage();
  return *kernel_;
}

profile::Profile ProfileBuilder::Build(const aggregate::Aggregator& aggregator,
                                       const RecordingFacts& facts) {
  return Work(*this, aggregator).Run(facts);
}

}  // namespace vesta::agent
