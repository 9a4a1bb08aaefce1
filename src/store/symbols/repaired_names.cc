#include "src/store/symbols/repaired_names.h"

#include <algorithm>

#include "src/store/callable_hash.h"

namespace vesta::store::symbols {
namespace {

uint32_t& At(std::vector<uint32_t>* numbers, uint32_t index) {
  if (index >= numbers->size()) {
    numbers->resize(std::max<size_t>(index + size_t{1}, numbers->size() * 2));
  }
  return (*numbers)[index];
}

}  // namespace

std::string_view RepairedNames::Keep(std::string_view text) const {
  return text.empty() ? std::string_view() : std::string_view(texts_.emplace_back(text));
}

uint32_t RepairedNames::NumberOf(const FunctionText& function) const {
  if (const auto known = function_numbers_.find(function); known != function_numbers_.end()) {
    return known->second;
  }
  const FunctionText kept = {Keep(function.name), Keep(function.system_name), Keep(function.file),
                             function.start_line};
  const auto number = below_.function_count + static_cast<uint32_t>(functions_.size());
  functions_.push_back(kept);
  function_numbers_.emplace(kept, number);
  return number;
}

base::Result<RepairedNames::Lines> RepairedNames::LinesOf(uint32_t frame,
                                                          const FrameView& view) const {
  if (view.is_folded || view.image >= is_concerned_.size() || is_concerned_[view.image] == 0) {
    return Lines{};
  }
  uint32_t& place = At(&place_of_frame_, frame);
  if (place != 0) return repaired_[place - 1];
  place = 1;
  const auto fact = view_.Find({images_[view.image], view.address}, after_);
  if (!fact) return Lines{};
  const Lines lines = {static_cast<uint32_t>(lines_.size()),
                       static_cast<uint32_t>(fact->lines.size())};
  for (const FactLine& line : fact->lines) {
    lines_.push_back({NumberOf(*line.function), line.line, line.column});
  }
  repaired_.push_back(lines);
  place = static_cast<uint32_t>(repaired_.size());
  return lines;
}

base::Result<FrameView> RepairedNames::frame(uint32_t id) const {
  ASSIGN_OR_RETURN(FrameView view, below_.names->frame(id));
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(id, view));
  if (lines.count != 0) view.lines = std::span(lines_).subspan(lines.first, lines.count);
  return view;
}

base::Result<FunctionView> RepairedNames::function(uint32_t id) const {
  if (id < below_.function_count) return below_.names->function(id);
  const uint32_t number = id - below_.function_count;
  if (number >= functions_.size()) {
    return base::Error(base::ErrorCode::kCorrupt, "there is no function " + std::to_string(id));
  }
  const FunctionText& function = functions_[number];
  return FunctionView{function.name, function.system_name, function.file, function.start_line};
}

base::Result<CallableView> RepairedNames::callable(uint32_t id) const {
  if (id < callable_base_) return below_.callables->callable(id);
  if (id - callable_base_ >= callables_.size()) {
    return base::Error(base::ErrorCode::kCorrupt, "there is no callable " + std::to_string(id));
  }
  const Callable& callable = callables_[id - callable_base_];
  return CallableView{callable.name, callable.image, callable.file};
}

base::Result<uint64_t> RepairedNames::callable_hash(uint32_t id) const {
  if (id < callable_base_) return below_.callables->callable_hash(id);
  if (id - callable_base_ >= callables_.size()) {
    return base::Error(base::ErrorCode::kCorrupt, "there is no callable " + std::to_string(id));
  }
  return callables_[id - callable_base_].hash;
}

// The id under which the callable counts in this read.
base::Result<uint32_t> RepairedNames::SameCallable(uint32_t id) const {
  uint32_t& same = At(&same_callable_, id);
  if (same == 0) {
    ASSIGN_OR_RETURN(const uint64_t hash, below_.callables->callable_hash(id));
    same = callable_of_hash_.try_emplace(hash, id).first->second + 1;
  }
  return same - 1;
}

base::Result<uint32_t> RepairedNames::CallableOf(uint32_t image, const FrameLine& line) const {
  ASSIGN_OR_RETURN(const ImageView image_view, below_.names->image(image));
  ASSIGN_OR_RETURN(const FunctionView function, this->function(line.function));
  Callable callable = {.name = function.name.empty() ? function.system_name : function.name,
                       .image = image_view.path,
                       .file = {}};
  if (callable.image.empty() && !callable.name.empty()) callable.file = function.file;
  callable.hash = CallableHash(callable.name, callable.image, callable.file);
  const auto [known, is_new] = callable_of_hash_.try_emplace(callable.hash, callable_count());
  if (is_new) callables_.push_back(callable);
  return known->second;
}

base::Result<std::span<const uint32_t>> RepairedNames::frame_callables(uint32_t frame) const {
  given_.clear();
  ASSIGN_OR_RETURN(const FrameView view, below_.names->frame(frame));
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(frame, view));
  for (uint32_t i = 0; i < lines.count; ++i) {
    ASSIGN_OR_RETURN(const uint32_t id, CallableOf(view.image, lines_[lines.first + i]));
    given_.push_back(id);
  }
  if (lines.count != 0) return std::span<const uint32_t>(given_);
  ASSIGN_OR_RETURN(const auto callables, below_.source->frame_callables(frame));
  for (const uint32_t callable : callables) {
    ASSIGN_OR_RETURN(const uint32_t id, SameCallable(callable));
    given_.push_back(id);
  }
  return std::span<const uint32_t>(given_);
}

}  // namespace vesta::store::symbols
