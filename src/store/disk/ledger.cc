#include "src/store/disk/ledger.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace vesta::store {

namespace {

base::Error Damaged(const std::string& what) {
  return base::Error(base::ErrorCode::kCorrupt, "ledger: " + what);
}

// As JSON numbers above 2^53 lose digits in many readers, sequences are texts.
base::Result<uint64_t> SequenceOf(const base::JsonValue& value) {
  const std::string* text = value.AsString();
  if (text == nullptr || text->empty() || text->size() > 20) return Damaged("no sequence number");
  uint64_t sequence = 0;
  for (const char digit : *text) {
    if (digit < '0' || digit > '9' || __builtin_mul_overflow(sequence, 10, &sequence) ||
        __builtin_add_overflow(sequence, static_cast<uint64_t>(digit - '0'), &sequence)) {
      return Damaged("no sequence number");
    }
  }
  return sequence;
}

}  // namespace

bool SequenceSet::Contains(uint64_t sequence) const {
  const auto after = ranges_.upper_bound(sequence);
  return after != ranges_.begin() && std::prev(after)->second >= sequence;
}

bool SequenceSet::AddRange(uint64_t first, uint64_t last) {
  // The first range that overlaps or touches.
  auto at = ranges_.upper_bound(first);
  if (at != ranges_.begin()) {
    const auto before = std::prev(at);
    if (before->second >= last) return false;
    if (before->second >= first || before->second + 1 == first) at = before;
  }
  while (at != ranges_.end() &&
         (at->first <= last ||
          (last != std::numeric_limits<uint64_t>::max() && at->first == last + 1))) {
    first = std::min(first, at->first);
    last = std::max(last, at->second);
    at = ranges_.erase(at);
  }
  ranges_.emplace(first, last);
  return true;
}

bool Ledger::Contains(std::string_view agent, std::string_view boot, uint64_t sequence) const {
  const auto found = agents_.find(Less::View(agent, boot));
  return found != agents_.end() && found->second.Contains(sequence);
}

bool Ledger::Add(std::string_view agent, std::string_view boot, uint64_t sequence) {
  return At(agent, boot).Add(sequence);
}

void Ledger::Merge(const Ledger& other) {
  for (const auto& [agent, sequences] : other.agents_) {
    SequenceSet& ours = At(agent.first, agent.second);
    for (const auto& [first, last] : sequences.ranges()) ours.AddRange(first, last);
  }
}

size_t Ledger::range_count() const {
  size_t count = 0;
  for (const auto& [agent, sequences] : agents_) count += sequences.ranges().size();
  return count;
}

SequenceSet& Ledger::At(std::string_view agent, std::string_view boot) {
  const auto found = agents_.find(Less::View(agent, boot));
  if (found != agents_.end()) return found->second;
  return agents_[Agent(agent, boot)];
}

void Ledger::WriteJson(base::JsonWriter& json) const {
  json.BeginArray();
  for (const auto& [agent, sequences] : agents_) {
    json.BeginObject().Key("agent").String(agent.first).Key("boot").String(agent.second);
    json.Key("sequences").BeginArray();
    for (const auto& [first, last] : sequences.ranges()) {
      json.BeginArray().String(std::to_string(first)).String(std::to_string(last)).EndArray();
    }
    json.EndArray().EndObject();
  }
  json.EndArray();
}

base::Result<Ledger> Ledger::FromJson(const base::JsonValue& value) {
  if (value.kind() != base::JsonValue::Kind::kArray) return Damaged("no list of agents");
  Ledger ledger;
  for (const base::JsonValue& item : value.items()) {
    const base::JsonValue* agent = item.Find("agent");
    const base::JsonValue* boot = item.Find("boot");
    const base::JsonValue* sequences = item.Find("sequences");
    if (agent == nullptr || boot == nullptr || sequences == nullptr ||
        agent->AsString() == nullptr || boot->AsString() == nullptr) {
      return Damaged("an agent without name, boot or sequences");
    }
    SequenceSet& set = ledger.At(*agent->AsString(), *boot->AsString());
    for (const base::JsonValue& range : sequences->items()) {
      if (range.items().size() != 2) return Damaged("a range without two ends");
      ASSIGN_OR_RETURN(const uint64_t first, SequenceOf(range.items()[0]));
      ASSIGN_OR_RETURN(const uint64_t last, SequenceOf(range.items()[1]));
      if (first > last) return Damaged("a range that ends before it begins");
      set.AddRange(first, last);
    }
  }
  return ledger;
}

}  // namespace vesta::store
