// What is known of late names at one moment.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/result.h"
#include "src/store/symbols/recent_symbols.h"
#include "src/store/symbols/symbol_run.h"

namespace vesta::store::symbols {

// Owner: one thread; made for a read, or for the making of a file.
class SymbolView {
 public:
  using Recent = std::vector<std::shared_ptr<const RecentSymbols>>;
  using Runs = std::vector<std::shared_ptr<const SymbolRun>>;
  SymbolView() = default;
  // Shape: newest first; of all that is told up to and with the version.
  SymbolView(Recent recent, Runs runs, uint64_t version)
      : recent_(std::move(recent)), runs_(std::move(runs)), version_(version) {}

  uint64_t version() const { return version_; }
  // Whether any place of the image has a fact that is later than that. It may have none within the
  // view.
  bool Knows(const Hash128& image, uint64_t after) const;
  // The latest fact of the place, if that is later. Lives until the next call. What cannot be read
  // is not there; damage() tells.
  std::optional<Fact> Find(const Place& place, uint64_t after);

  // The first file that could not be read, and why.
  struct Damage {
    std::shared_ptr<const SymbolRun> run;
    base::Error error;
  };
  const std::optional<Damage>& damage() const { return damage_; }

 private:
  Recent recent_;
  Runs runs_;
  uint64_t version_ = 0;
  std::shared_ptr<const FactBlock> block_;
  std::optional<Damage> damage_;
};

}  // namespace vesta::store::symbols
