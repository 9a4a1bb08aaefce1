// A selection as one profile, for pprof and folded output.
#include <cmath>
#include <utility>

#include "src/query/asking.h"
#include "src/query/row_profile.h"

namespace vesta::query {
namespace {

constexpr size_t kSumsPerCheck = 4096;

// Labels of a group; the numbers of tasks are numbers.
profile::LabelSetId LabelsOf(const Plan& plan, const PlanGroup& group, profile::Profile& profile) {
  std::vector<profile::Label> labels;
  for (size_t i = 0; i < plan.by.size(); ++i) {
    const std::string& value = group.values[i];
    if (value.empty()) continue;
    const bool is_number = (plan.by[i] == profile::kLabelPid || plan.by[i] == profile::kLabelTid) &&
                           value.find_first_not_of("0123456789") == std::string::npos;
    labels.push_back(is_number ? profile.NumberLabel(plan.by[i], std::stoll(value))
                               : profile.TextLabel(plan.by[i], value));
  }
  return profile.InternLabels(labels);
}

void Describe(const Asking& asking, const ValueCount& sum, double least, double most,
              profile::Header& header) {
  const store::TimeRange range = asking.plan().ranges[0];
  int64_t length_ms = 0;
  if (__builtin_mul_overflow(range.from_unix_ms, 1'000'000, &header.time_unix_ns))
    header.time_unix_ns = 0;
  if (__builtin_sub_overflow(range.to_unix_ms, range.from_unix_ms, &length_ms) ||
      __builtin_mul_overflow(length_ms, 1'000'000, &header.duration_ns))
    header.duration_ns = 0;
  // The store has no period; it is what each sample stands for, where that is the same for all.
  const store::ProfileType& type = asking.plan().type.type;
  if (!type.period_type.empty() && least > 0 && most / least < 1.01 && sum.count > 0)
    header.period = std::llround(static_cast<double>(sum.value) / static_cast<double>(sum.count));
}

}  // namespace

base::Result<Answer> AskProfile(Asking& asking) {
  RowProfile rows(asking.plan().type.type);
  ValueCount sum;
  double least = 0, most = 0;
  bool any = false;
  std::vector<profile::LabelSetId> labels;  // by group
  store::ReadGuard guard(asking.limits());
  const auto add_block = [&](const store::StackBlock& block) -> base::Result<void> {
    rows.StartBlock(block.names, block.parent, block.frame);
    for (size_t i = 0; i < block.sums.size(); ++i) {
      if (i % kSumsPerCheck == 0) {
        RETURN_IF_ERROR(guard.Check());
        RETURN_IF_ERROR(guard.Hold(rows.profile().memory_bytes()));
      }
      const store::StackSum& row = block.sums[i];
      ASSIGN_OR_RETURN(const profile::StackId stack, rows.StackOf(row.node));
      for (auto group = static_cast<uint32_t>(labels.size()); group < asking.groups().size();
           ++group)
        labels.push_back(LabelsOf(asking.plan(), asking.groups()[group], rows.profile()));
      rows.Add(stack, labels[row.group], row.value, row.count);
      sum.Add({row.value, row.count});
      const double ratio = row.value > 0 && row.count > 0
                               ? static_cast<double>(row.value) / static_cast<double>(row.count)
                               : 0;
      least = any ? std::min(least, ratio) : ratio;
      most = std::max(most, ratio);
      any = true;
    }
    return {};
  };
  for (const PlanRead& read : asking.plan().reads) RETURN_IF_ERROR(asking.Stacks(read, add_block));
  asking.AddTotal(0, sum);
  Describe(asking, sum, least, most, rows.profile().header());
  const PlanType& type = asking.plan().type;
  rows.profile().header().default_sample_type =
      rows.profile().InternString(type.shows_count ? type.type.count_type : type.type.type);
  ProfileAnswer answer{asking.TakeAbout(), std::move(rows.profile())};
  profile::Profile& profile = answer.profile;
  for (const std::string& note : answer.about.notes)
    profile.header().comments.push_back(profile.InternString(note));
  return Answer(std::move(answer));
}

}  // namespace vesta::query
