// The names of a block as they are known by now: those that came with the rows, repaired by those
// that came later.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/store/index/node_source.h"
#include "src/store/store.h"
#include "src/store/symbols/symbol_view.h"

namespace vesta::store::symbols {

// What stands below: names as they came, all of one volume.
struct NamesAsTheyCame {
  const Names* names = nullptr;
  const Callables* callables = nullptr;
  const index::NodeSource* source = nullptr;
  uint32_t function_count = 0;  // of all that frames of the read may point at
};

// Shape: ids are those below; functions and callables of late names come behind them, dense. Equal
//        callables have one id, so that a function that is in a stack by an old frame and by a
//        repaired one counts once.
// Owner: one read, one thread; what is below and the view live longer. Views live as long as this.
// Cost:  a look at the view for each frame of a concerned image that is asked for, once; memory for
//        frames and functions that were asked for.
class RepairedNames final : public Names, public Callables, public index::NodeSource {
 public:
  // is_concerned: by images; facts later than `after` count.
  RepairedNames(const NamesAsTheyCame& below, std::vector<Hash128> images,
                std::vector<uint8_t> is_concerned, uint64_t after, SymbolView* view)
      : below_(below),
        images_(std::move(images)),
        is_concerned_(std::move(is_concerned)),
        after_(after),
        view_(*view),
        callable_base_(below.source->callable_count()) {}

  base::Result<FrameView> frame(uint32_t id) const override;
  base::Result<FunctionView> function(uint32_t id) const override;
  base::Result<ImageView> image(uint32_t id) const override { return below_.names->image(id); }
  base::Result<CallableView> callable(uint32_t id) const override;
  base::Result<uint64_t> callable_hash(uint32_t id) const override;
  uint32_t node_count() const override { return below_.source->node_count(); }
  base::Result<index::NodePage> node_page(uint32_t page) const override {
    return below_.source->node_page(page);
  }
  uint32_t callable_count() const override {
    return callable_base_ + static_cast<uint32_t>(callables_.size());
  }
  base::Result<std::span<const uint32_t>> frame_callables(uint32_t frame) const override;

 private:
  struct Lines {
    uint32_t first = 0;
    uint32_t count = 0;  // 0 = the frame keeps its own
  };
  struct Callable {
    std::string_view name;
    std::string_view image;
    std::string_view file;
    uint64_t hash = 0;
  };
  base::Result<Lines> LinesOf(uint32_t frame, const FrameView& view) const;
  uint32_t NumberOf(const FunctionText& function) const;
  base::Result<uint32_t> CallableOf(uint32_t image, const FrameLine& line) const;
  base::Result<uint32_t> SameCallable(uint32_t id) const;
  std::string_view Keep(std::string_view text) const;

  const NamesAsTheyCame below_;
  const std::vector<Hash128> images_;
  const std::vector<uint8_t> is_concerned_;
  const uint64_t after_;
  SymbolView& view_;
  const uint32_t callable_base_;

  // What was asked for so far.
  mutable std::vector<uint32_t> place_of_frame_;  // 0 = not asked, else of repaired_, plus 1
  mutable std::vector<Lines> repaired_ = {{}};    // the first: keeps its own
  mutable std::vector<FrameLine> lines_;
  mutable std::deque<std::string> texts_;
  mutable std::vector<FunctionText> functions_;
  mutable std::unordered_map<FunctionText, uint32_t, FunctionTextHash> function_numbers_;
  mutable std::vector<Callable> callables_;
  mutable std::unordered_map<uint64_t, uint32_t> callable_of_hash_;
  mutable std::vector<uint32_t> same_callable_;  // 0 = not asked, else the id plus 1
  mutable std::vector<uint32_t> given_;
};

}  // namespace vesta::store::symbols
