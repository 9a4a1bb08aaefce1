#include "bench/oracle/our_walk.h"

#include <algorithm>
#include <unordered_map>

#include "src/agent/unwind/kernel_tables.h"
#include "src/agent/unwind/walk_finisher.h"
#include "src/base/check.h"
#include "src/object/go_unwind.h"
#include "src/object/unwind_table.h"

namespace vesta::oracle {
namespace {

// Tables that the walker reads, without a kernel. A slot is an image's number.
class Tables : public agent::unwind::KernelTables {
 public:
  uint32_t table_slots() const override { return ABI_TABLE_SLOT_NONE; }
  base::Result<void> StoreTable(uint32_t slot, std::span<const uint32_t> words) override {
    words_[slot].assign(words.begin(), words.end());
    return {};
  }
  void RemoveTable(uint32_t slot) override { words_.erase(slot); }
  base::Result<void> Publish() override { return {}; }
  std::span<const uint32_t> Table(uint32_t slot) override {
    const auto table = words_.find(slot);
    if (table == words_.end()) return {};
    return table->second;
  }
  std::span<abi_mapping> mappings() override { return {}; }
  base::Result<void> SetProcess(uint32_t, const abi_process&) override { return {}; }
  void RemoveProcess(uint32_t) override {}

  bool Knows(uint32_t slot) const { return words_.count(slot) != 0; }

 private:
  std::unordered_map<uint32_t, std::vector<uint32_t>> words_;
};

std::vector<uint32_t> BuildWords(const ImageFile& image) {
  if (!image.elf.has_value()) return {};
  std::vector<object::RowRange> go_ranges;
  if (auto ranges = object::GoUnwindRanges(*image.elf, *image.source); ranges.ok()) {
    go_ranges = std::move(ranges).value();
  }
  auto table = object::BuildUnwindTable(*image.elf, *image.source, go_ranges);
  return table.ok() ? std::move(table->words) : std::vector<uint32_t>{};
}

base::Result<std::unique_ptr<object::FrameFinder>> OpenFrameFinder(const ImageFile& image) {
  if (!image.elf.has_value()) return base::Error(base::ErrorCode::kNotFound, "no file");
  return object::FrameFinder::Open(*image.elf, image.source);
}

// The frame's address in the process; an image that is mapped twice is taken where it fits.
uint64_t ProcessAddressOf(const abi_frame& frame, std::span<const abi_mapping> mappings) {
  if (frame.kind == ABI_FRAME_PROCESS) return frame.address;
  for (const abi_mapping& mapping : mappings) {
    const uint64_t address = frame.address + mapping.bias;
    if (mapping.image_id == frame.image_id && address >= mapping.start && address < mapping.end) {
      return address;
    }
  }
  return frame.address;
}

}  // namespace

struct OurWalker::State {
  explicit State(const ImageFiles& image_files)
      : images(image_files),
        finders([this](uint32_t image_id) { return OpenFrameFinder(images.image(image_id)); }, {}),
        finisher(tables, finders) {}

  const std::vector<abi_mapping>& MappingsOf(const ReplayedProcess& process) {
    if (version == process.version && !mappings.empty()) return mappings;
    version = process.version;
    mappings.clear();
    for (const MappedCode& code : process.code) {
      const ImageFile& image = images.image(code.image);
      if (!tables.Knows(code.image)) {
        CHECK(tables.StoreTable(code.image, BuildWords(image)).ok());
      }
      uint64_t bias = 0;
      if (image.elf.has_value()) {
        const auto vaddr = image.elf->VaddrOf(code.file_offset);
        bias = code.start - vaddr.value_or(code.file_offset);
      }
      mappings.push_back(
          {code.start, code.end, bias, code.image,
           tables.Table(code.image).empty() ? uint32_t{ABI_TABLE_SLOT_NONE} : code.image});
    }
    return mappings;
  }

  const ImageFiles& images;
  Tables tables;
  agent::unwind::FrameFinderCache finders;
  agent::unwind::WalkFinisher finisher;
  std::vector<abi_mapping> mappings;  // of the last process
  uint64_t version = 0;
};

OurWalker::OurWalker(const ImageFiles& images) : state_(std::make_unique<State>(images)) {}
OurWalker::~OurWalker() = default;

OurWalk OurWalker::Walk(const ReplayedProcess& process, const wire::PerfSample& sample) {
  const std::vector<abi_mapping>& mappings = state_->MappingsOf(process);
  abi_resume resume{};
  resume.pc = sample.registers[16];
  resume.sp = sample.registers[7];
  // perf copies nothing below the stack pointer.
  resume.stack_address = resume.sp - wire::kRedZoneBytes;
  std::vector<uint64_t> red_zone(wire::kRedZoneBytes / sizeof(uint64_t), sample.registers[6]);
  const auto below = std::as_bytes(std::span(red_zone));
  std::vector<std::byte> stack(below.begin(), below.end());
  stack.insert(stack.end(), sample.stack.begin(), sample.stack.end());
  resume.fp = sample.registers[6];
  resume.interrupted = 1;
  std::copy(sample.registers.begin(), sample.registers.end(), std::begin(resume.registers));
  const agent::unwind::WalkFinisher::Callbacks callbacks{
      .mappings = [&] { return std::span<const abi_mapping>(mappings); },
      .refresh_mappings = [] { return false; },
      .load_table = [](uint32_t) { return false; }};
  const auto finished = state_->finisher.Finish({}, resume, stack, callbacks);
  OurWalk walk;
  walk.reason = finished.reason;
  for (const abi_frame& frame : finished.frames) {
    walk.addresses.push_back(ProcessAddressOf(frame, mappings));
  }
  return walk;
}

}  // namespace vesta::oracle
