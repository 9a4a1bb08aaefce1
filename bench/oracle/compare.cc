#include "bench/oracle/compare.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "src/base/json.h"

namespace vesta::oracle {
namespace {

struct Reason {
  const char* name;
  bool is_complete;
};

constexpr std::array<Reason, ABI_STOP_COUNT> kReasons = {{
#define ORACLE_REASON(name, is_complete, meaning) {#name, is_complete != 0},
    ABI_STOP_REASONS(ORACLE_REASON)
#undef ORACLE_REASON
}};

void AddCounts(base::JsonWriter& json, const char* key,
               const std::map<std::string, uint64_t>& counts) {
  json.Key(key).BeginObject();
  for (const auto& [name, count] : counts) json.Key(name).Uint(count);
  json.EndObject();
}

void AppendLine(std::string& out, const char* format, const std::string& name, uint64_t count) {
  std::array<char, 512> line{};
  std::snprintf(line.data(), line.size(), format, static_cast<unsigned long long>(count),
                name.c_str());
  out += line.data();
}

}  // namespace

const char* NameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kEqual:
      return "equal";
    case Verdict::kTruncatedEqual:
      return "truncated_equal";
    case Verdict::kOursLonger:
      return "ours_longer";
    case Verdict::kTheirsLonger:
      return "theirs_longer";
    case Verdict::kDiffer:
      return "differ";
  }
  return "";
}

const char* NameOf(abi_stop_reason reason) { return kReasons[reason].name; }
bool IsComplete(abi_stop_reason reason) { return kReasons[reason].is_complete; }

Comparison Compare(const OurWalk& ours, const ElfutilsWalk& theirs) {
  const auto [our_place, their_place] =
      std::mismatch(ours.addresses.begin(), ours.addresses.end(), theirs.addresses.begin(),
                    theirs.addresses.end());
  const auto equal_count = static_cast<size_t>(our_place - ours.addresses.begin());
  Comparison comparison;
  comparison.frame = equal_count == 0 ? 0 : equal_count - 1;
  const bool ours_ends = our_place == ours.addresses.end();
  const bool theirs_ends = their_place == theirs.addresses.end();
  const bool is_truncated = theirs.left_copy && !IsComplete(ours.reason);
  if (ours_ends && theirs_ends) {
    comparison.verdict = is_truncated ? Verdict::kTruncatedEqual : Verdict::kEqual;
  } else if (ours_ends) {
    comparison.verdict = Verdict::kTheirsLonger;
  } else {
    comparison.verdict = theirs_ends ? Verdict::kOursLonger : Verdict::kDiffer;
  }
  return comparison;
}

std::string Report::Json() const {
  base::JsonWriter json;
  json.BeginObject().Key("lost").Uint(lost).Key("without_user_stack").Uint(without_user_stack);
  json.Key("comms").BeginObject();
  for (const auto& [comm, counts] : comms) {
    json.Key(comm).BeginObject();
    json.Key("samples").Uint(counts.samples).Key("equal").Uint(counts.equal);
    json.Key("truncated_equal").Uint(counts.truncated_equal);
    json.Key("guessed").Uint(counts.guessed);
    json.Key("different").Uint(counts.different).Key("complete").Uint(counts.complete);
    AddCounts(json, "kinds", counts.kinds);
    AddCounts(json, "incomplete", counts.incomplete);
    AddCounts(json, "odd_ends", counts.odd_ends);
    json.EndObject();
  }
  json.EndObject().EndObject();
  return json.Take();
}

std::string Report::Table() const {
  std::string out = "samples    equal truncated  guessed different complete  program\n";
  for (const auto& [comm, counts] : comms) {
    std::array<char, 160> line{};
    std::snprintf(line.data(), line.size(), "%7llu %8llu %9llu %8llu %9llu %8llu  %s\n",
                  static_cast<unsigned long long>(counts.samples),
                  static_cast<unsigned long long>(counts.equal),
                  static_cast<unsigned long long>(counts.truncated_equal),
                  static_cast<unsigned long long>(counts.guessed),
                  static_cast<unsigned long long>(counts.different),
                  static_cast<unsigned long long>(counts.complete), comm.c_str());
    out += line.data();
    for (const auto& [kind, count] : counts.kinds) {
      AppendLine(out, "%7llu   %s\n", kind, count);
    }
    for (const auto& [kind, count] : counts.incomplete) {
      AppendLine(out, "%7llu   both incomplete: %s\n", kind, count);
    }
    for (const auto& [kind, count] : counts.odd_ends) {
      AppendLine(out, "%7llu   odd end: %s\n", kind, count);
    }
  }
  AppendLine(out, "%7llu samples lost by perf%s\n", "", lost);
  AppendLine(out, "%7llu samples without a user stack%s\n", "", without_user_stack);
  return out;
}

}  // namespace vesta::oracle
