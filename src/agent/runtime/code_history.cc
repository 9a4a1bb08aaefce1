#include "src/agent/runtime/code_history.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace vesta::agent::runtime {

void CodeHistory::Add(std::span<const CodeRange> added) {
  if (!added.empty()) now_ = Overlay(now_, Resolve(added));
}

void CodeHistory::EndAll(uint64_t time_mono_ns) {
  for (const CodeRange& range : now_) Remember(range, time_mono_ns);
  now_.clear();
}

void CodeHistory::Remember(const CodeRange& range, uint64_t until_mono_ns) {
  if (until_mono_ns <= range.from_mono_ns || until_mono_ns <= since_mono_ns_) return;
  if (past_.size() >= ranges_max_) {
    // What was replaced first is asked for least.
    past_.erase(past_.begin(), past_.begin() + static_cast<std::ptrdiff_t>(past_.size() / 2));
    has_forgotten_ = true;
  }
  past_.push_back({range, until_mono_ns});
}

CodeHistory::Ranges CodeHistory::Resolve(std::span<const CodeRange> in_order) {
  if (in_order.size() == 1) return {in_order[0]};
  const size_t half = in_order.size() / 2;
  const Ranges below = Resolve(in_order.first(half));
  return Overlay(below, Resolve(in_order.subspan(half)));
}

// Everything of `above`, and of `below` what still shows between.
CodeHistory::Ranges CodeHistory::Overlay(const Ranges& below, const Ranges& above) {
  Ranges merged;
  merged.reserve(below.size() + above.size());
  size_t next_above = 0;
  for (CodeRange rest : below) {
    while (next_above < above.size() && above[next_above].end <= rest.start) {
      merged.push_back(above[next_above++]);
    }
    // What covers the end of this one may cover the next one too: it is not used up here.
    for (size_t i = next_above; i < above.size() && above[i].start < rest.end; ++i) {
      if (rest.start < above[i].start) {
        CodeRange part = rest;
        part.end = above[i].start;
        merged.push_back(part);
        rest.start = part.end;
      }
      CodeRange hidden = rest;
      hidden.end = std::min(rest.end, above[i].end);
      Remember(hidden, above[i].from_mono_ns);
      rest.start = hidden.end;
      if (rest.start == rest.end) break;
      merged.push_back(above[i]);
      next_above = i + 1;
    }
    if (rest.start < rest.end) merged.push_back(rest);
  }
  merged.insert(merged.end(), above.begin() + static_cast<std::ptrdiff_t>(next_above), above.end());
  return merged;
}

const CodeRange* CodeHistory::Find(uint64_t address) const {
  const auto after =
      std::upper_bound(now_.begin(), now_.end(), address,
                       [](uint64_t value, const CodeRange& range) { return value < range.start; });
  if (after == now_.begin()) return nullptr;
  const CodeRange& range = *std::prev(after);
  return address < range.end ? &range : nullptr;
}

std::vector<std::vector<CodeEra>> CodeHistory::Eras(std::span<const uint64_t> addresses) const {
  struct Held {
    CodeEra era;
    uint64_t until_mono_ns;
  };
  std::vector<std::vector<Held>> held(addresses.size());
  for (const Past& past : past_) {
    const auto first = std::lower_bound(addresses.begin(), addresses.end(), past.range.start);
    for (auto at = first; at != addresses.end() && *at < past.range.end; ++at) {
      held[static_cast<size_t>(at - addresses.begin())].push_back(
          {{past.range.from_mono_ns, &past.range}, past.until_mono_ns});
    }
  }
  std::vector<std::vector<CodeEra>> eras(addresses.size());
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (const CodeRange* now = Find(addresses[i])) {
      held[i].push_back({{now->from_mono_ns, now}, ~uint64_t{0}});
    }
    // Ranges of one time keep the order in which they were replaced.
    std::stable_sort(held[i].begin(), held[i].end(), [](const Held& a, const Held& b) {
      return a.era.from_mono_ns < b.era.from_mono_ns;
    });
    uint64_t until_mono_ns = 0;
    for (auto each = held[i].begin(); each != held[i].end(); ++each) {
      const auto next = std::next(each);
      // Replaced by a range that was itself replaced before both were added.
      if (next != held[i].end() && next->era.from_mono_ns <= since_mono_ns_) continue;
      if (!eras[i].empty() && until_mono_ns < each->era.from_mono_ns) {
        eras[i].push_back({until_mono_ns, nullptr});
      }
      eras[i].push_back(each->era);
      until_mono_ns = std::max(until_mono_ns, each->until_mono_ns);
    }
    if (!held[i].empty() && until_mono_ns != ~uint64_t{0}) {
      eras[i].push_back({until_mono_ns, nullptr});
    }
  }
  return eras;
}

void CodeHistory::Trim(std::span<const uint64_t> wanted) {
  if (now_.size() <= ranges_max_) return;
  const auto is_wanted = [&](const CodeRange& range) {
    const auto at = std::lower_bound(wanted.begin(), wanted.end(), range.start);
    return at != wanted.end() && *at < range.end;
  };
  std::vector<uint64_t> ages;  // numbers of functions grow with time
  for (const CodeRange& range : now_) {
    if (!is_wanted(range)) ages.push_back(range.function);
  }
  const size_t excess = std::min(now_.size() - ranges_max_ / 4 * 3, ages.size());
  if (excess == 0) return;
  const auto last_to_go = ages.begin() + static_cast<std::ptrdiff_t>(excess - 1);
  std::nth_element(ages.begin(), last_to_go, ages.end());
  const uint64_t age = *last_to_go;
  std::erase_if(now_,
                [&](const CodeRange& range) { return range.function <= age && !is_wanted(range); });
  now_.shrink_to_fit();
  has_forgotten_ = true;
}

}  // namespace vesta::agent::runtime
