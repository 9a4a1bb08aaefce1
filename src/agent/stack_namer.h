// Gives names to the frames of all stacks that an aggregator holds, as locations of a profile.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/agent/aggregate/aggregator.h"
#include "src/agent/kernel_image.h"
#include "src/agent/moved_code.h"
#include "src/agent/naming/namer.h"
#include "src/agent/process/image_store.h"
#include "src/agent/runtime/runtime.h"
#include "src/profile/profile.h"
#include "src/symbolize/symbol.h"

namespace vesta::agent {

struct NamingBook {
  uint64_t addresses = 0;
  uint64_t unnamed = 0;  // no symbol covers them
  uint64_t images_unreadable = 0;
};

// Who knows names.
// Owner: the thread of the process table and image store. Keeps the kernel's names once they were
//        needed.
class NameSources {
 public:
  NameSources(process::ImageStore& image_store, naming::Namer& image_namer,
              runtime::Runtime& code_runtime)
      : images(image_store), namer(image_namer), generated_code(code_runtime) {}

  const KernelImage& Kernel();
  // Why the kernel has no names, with the remedy; empty when it has, or was not sampled.
  std::string kernel_names_problem() const { return kernel_ ? kernel_->problem : std::string(); }

  process::ImageStore& images;
  naming::Namer& namer;
  runtime::Runtime& generated_code;
  NamingBook book;

 private:
  std::optional<KernelImage> kernel_;
};

// An image whose names may become better, and where it was sampled.
struct ProvisionalNames {
  profile::ImageId image;
  std::vector<uint64_t> addresses;  // sorted, each once
};

// What a mapping of this image says, in every profile that we make.
profile::Mapping MappingOf(const process::Image& image, profile::Profile& profile);
// Readers of pprof look for what the mapping says is missing.
void SayWhatIsKnown(std::span<const symbolize::Symbol> symbols, profile::Mapping& mapping);
profile::LocationId InternNamed(profile::MappingId mapping, uint64_t address,
                                const symbolize::Symbol* symbol, profile::Profile& profile);
// Foreign text: readers of pprof may refuse a whole file for one name that is no UTF-8.
profile::StringId InternForeign(std::string_view text, profile::Profile& profile);

// Shape:  locations of what has no name keep their address and image.
// Owner:  one call; the aggregator does not change meanwhile.
// Cost:   as Namer::Name, for each image that was sampled.
// Errors: none; what could not be read is counted.
class StackNamer {
 public:
  StackNamer(NameSources& sources, const aggregate::Aggregator& aggregator,
             profile::Profile& profile);

  // Once, before anything else.
  void NameAll();

  // The stack as it was at that time: code moves.
  profile::StackId StackAt(aggregate::NodeId leaf, uint64_t time_mono_ns);
  MovedCode& moved_code() { return moved_code_; }
  // The first mapping with this path; nothing when it was not sampled.
  std::optional<profile::MappingId> MappingOfPath(const std::string& path) const;
  std::vector<ProvisionalNames> TakeProvisional() { return std::move(provisional_); }

 private:
  using Nodes = std::vector<uint32_t>;

  void CollectAddresses();
  uint64_t AddressOf(uint32_t node) const {
    return aggregator_.stacks().frame(aggregate::NodeId(node)).address;
  }
  std::vector<uint64_t> SortedAddresses(const Nodes& nodes) const;
  void Assign(const Nodes& nodes, profile::MappingId mapping,
              const std::vector<uint64_t>& addresses,
              const std::vector<symbolize::Symbol>& symbols);
  profile::LocationId MakeLocation(profile::MappingId mapping, uint64_t address,
                                   const symbolize::Symbol* symbol);
  void NameImage(profile::ImageId image_id, const Nodes& nodes);
  std::vector<runtime::FrameNames> NameGeneratedCode(const process::Image& image,
                                                     std::span<const uint64_t> addresses);
  void NoteMovedCode(const Nodes& nodes, profile::MappingId mapping,
                     const std::vector<uint64_t>& addresses,
                     const std::vector<runtime::FrameNames>& names);
  void NameKernel();
  profile::LocationId NameKernelAddress(const KernelImage& kernel, uint64_t address,
                                        std::map<std::string, profile::MappingId>& mappings);
  void NameUnmapped();

  NameSources& sources_;
  const aggregate::Aggregator& aggregator_;
  profile::Profile& profile_;
  MovedCode moved_code_;
  std::map<profile::ImageId, Nodes> nodes_by_image_;
  std::map<std::string, profile::MappingId> mapping_by_path_;
  Nodes kernel_nodes_;
  Nodes unmapped_nodes_;
  std::vector<profile::LocationId> locations_;  // by node
  std::vector<ProvisionalNames> provisional_;
  std::vector<profile::LocationId> stack_;
};

}  // namespace vesta::agent
