#include "src/store/memory/memory_day.h"

#include "src/store/symbol_check.h"

namespace vesta::store {

void MemoryDay::Add(const profile::Profile& profile, profile::StackId stack, const Task& task,
                    StoredRow row, StackNodes* nodes) {
  const auto known = nodes->node_of.find(stack);
  row.node = known != nodes->node_of.end() ? known->second : AddStack(profile, stack);
  nodes->node_of.emplace(stack, row.node);
  bool is_new = false;
  std::tie(row.task, is_new) = task_numbers_.Number(task);
  if (is_new) tasks_.push_back(task);
  rows_.push_back(row);
}

uint32_t MemoryDay::AddImage(const profile::Profile& profile, profile::MappingId id) {
  if (id == profile::kNoMapping) return 0;
  const profile::Mapping& mapping = profile.mapping(id);
  const Image image = {.path = std::string(profile.String(mapping.path)),
                       .build_id = std::string(profile.String(mapping.build_id)),
                       .memory_start = mapping.memory_start,
                       .memory_limit = mapping.memory_limit,
                       .file_offset = mapping.file_offset};
  const auto [number, is_new] = image_numbers_.Number(image);
  if (is_new) images_.push_back(image);
  return number;
}

uint32_t MemoryDay::AddFunction(const profile::Profile& profile, profile::FunctionId id) {
  const profile::Function& row = profile.function(id);
  const Function function = {.name = std::string(profile.String(row.name)),
                             .system_name = std::string(profile.String(row.system_name)),
                             .file = std::string(profile.String(row.file)),
                             .start_line = row.start_line};
  return NumberOf(function);
}

uint32_t MemoryDay::NumberOf(const Function& function) {
  const auto [number, is_new] = function_numbers_.Number(function);
  if (is_new) functions_.push_back(function);
  return number;
}

void MemoryDay::Repair(const MemorySymbols& symbols) {
  for (Frame& frame : frames_) Repair(symbols, &frame);
}

void MemoryDay::Repair(const MemorySymbols& symbols, Frame* frame) {
  if (frame->image == 0 || frame->is_folded) return;
  const Image& image = images_[frame->image];
  const SymbolImage key = SymbolImageOf(image.path, image.build_id);
  const auto known = symbols.find({key.is_build_id, std::string(key.text), frame->address});
  if (known == symbols.end()) return;
  frame->lines.clear();
  for (const MemorySymbol::Line& line : known->second.lines) {
    const Function function = {line.name, line.system_name, line.file, line.start_line};
    frame->lines.push_back({NumberOf(function), line.line, line.column});
  }
}

uint32_t MemoryDay::AddFrame(const profile::Profile& profile, profile::LocationId id) {
  const profile::Location location = profile.location(id);
  Frame frame = {.image = AddImage(profile, location.mapping),
                 .address = location.address,
                 .is_folded = location.is_folded,
                 .lines = {}};
  FrameKey key = {frame.image, frame.address, frame.is_folded, {}};
  for (const profile::Line& line : location.lines) {
    frame.lines.push_back({AddFunction(profile, line.function), line.line, line.column});
    std::get<3>(key).emplace_back(frame.lines.back().function, line.line, line.column);
  }
  const auto [number, is_new] = frame_numbers_.Number(key);
  if (is_new) frames_.push_back(std::move(frame));
  return number;
}

uint32_t MemoryDay::AddStack(const profile::Profile& profile, profile::StackId id) {
  const auto leaf_first = profile.stack(id);
  uint32_t node = 0;
  for (size_t i = leaf_first.size(); i > 0; --i) {
    const uint32_t frame = AddFrame(profile, leaf_first[i - 1]);
    const auto [child, is_new] = node_numbers_.Number({node, frame});
    if (is_new) {
      parents_.push_back(node);
      node_frames_.push_back(frame);
    }
    node = child;
  }
  return node;
}

base::Result<FrameView> MemoryDay::frame(uint32_t id) const {
  CHECK(id < frames_.size());
  const Frame& frame = frames_[id];
  return FrameView{.image = frame.image,
                   .address = frame.address,
                   .is_folded = frame.is_folded,
                   .lines = frame.lines};
}

base::Result<FunctionView> MemoryDay::function(uint32_t id) const {
  CHECK(id < functions_.size());
  const Function& function = functions_[id];
  return FunctionView{.name = function.name,
                      .system_name = function.system_name,
                      .file = function.file,
                      .start_line = function.start_line};
}

base::Result<ImageView> MemoryDay::image(uint32_t id) const {
  CHECK(id < images_.size());
  const Image& image = images_[id];
  return ImageView{.path = image.path,
                   .build_id = image.build_id,
                   .memory_start = image.memory_start,
                   .memory_limit = image.memory_limit,
                   .file_offset = image.file_offset};
}

base::Result<std::vector<CallableView>> CallablesOf(const Names& names,
                                                    std::span<const uint32_t> parents,
                                                    std::span<const uint32_t> frames,
                                                    uint32_t node) {
  std::vector<CallableView> callables;
  for (uint32_t at = node; at != 0; at = parents[at]) {
    ASSIGN_OR_RETURN(const FrameView frame, names.frame(frames[at]));
    std::string_view path;
    if (frame.image != 0) {
      ASSIGN_OR_RETURN(const ImageView image, names.image(frame.image));
      path = image.path;
    }
    if (frame.lines.empty()) callables.push_back({.name = {}, .image = path, .file = {}});
    for (const FrameLine& line : frame.lines) {
      ASSIGN_OR_RETURN(const FunctionView function, names.function(line.function));
      const std::string_view name = function.name.empty() ? function.system_name : function.name;
      const bool by_file = path.empty() && !name.empty();
      callables.push_back(
          {.name = name, .image = path, .file = by_file ? function.file : std::string_view()});
    }
  }
  return callables;
}

}  // namespace vesta::store
