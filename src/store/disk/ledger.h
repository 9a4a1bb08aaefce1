// Which batches a day has counted: per agent and boot, ranges of sequence numbers. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/json.h"
#include "src/base/json_reader.h"
#include "src/base/result.h"

namespace vesta::store {

// Sequence numbers as ranges, since an agent counts them up one by one.
class SequenceSet {
 public:
  bool Contains(uint64_t sequence) const;
  // Whether it was not there.
  bool Add(uint64_t sequence) { return AddRange(sequence, sequence); }
  // Whether any of it was not there. Shape: first <= last.
  bool AddRange(uint64_t first, uint64_t last);
  const std::map<uint64_t, uint64_t>& ranges() const { return ranges_; }  // first -> last

 private:
  std::map<uint64_t, uint64_t> ranges_;
};

// Cost: about 100 bytes per agent and boot, and 48 per gap in their numbers.
class Ledger {
 public:
  bool Contains(std::string_view agent, std::string_view boot, uint64_t sequence) const;
  bool Add(std::string_view agent, std::string_view boot, uint64_t sequence);
  void Merge(const Ledger& other);
  size_t range_count() const;

  // [{"agent": "a", "boot": "b", "sequences": [[1, 9], [11, 11]]}, ...]
  void WriteJson(base::JsonWriter& json) const;
  // Errors: Corrupt naming what is wrong.
  static base::Result<Ledger> FromJson(const base::JsonValue& value);

 private:
  using Agent = std::pair<std::string, std::string>;  // and boot
  struct Less {
    using is_transparent = void;
    using View = std::pair<std::string_view, std::string_view>;
    static View Of(const Agent& agent) { return {agent.first, agent.second}; }
    static View Of(const View& view) { return view; }
    bool operator()(const auto& a, const auto& b) const { return Of(a) < Of(b); }
  };
  SequenceSet& At(std::string_view agent, std::string_view boot);

  std::map<Agent, SequenceSet, Less> agents_;
};

}  // namespace vesta::store
