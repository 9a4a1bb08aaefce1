#include "src/flame/sample_worth.h"

#include <algorithm>

namespace vesta::flame {

void SampleWorth::Add(int64_t value, int64_t count) {
  if (value == 0 && count == 0) return;
  const auto sum = static_cast<double>(value);
  const auto samples = static_cast<double>(count);
  values_ += sum;
  counts_ += samples;
  if (value <= 0 || count <= 0) {
    is_odd_ = true;
    return;
  }
  const double mean = sum / samples;
  squares_ += sum * mean;
  least_ = rows_ == 0 ? mean : std::min(least_, mean);
  most_ = std::max(most_, mean);
  ++rows_;
}

bool SampleWorth::is_mixed() const { return is_odd_ || most_ > least_ * 1.01; }

double SampleWorth::PerSample(bool is_sampled) const {
  if (rows_ == 0 || values_ <= 0 || counts_ <= 0) return 0;
  const double mean = values_ / counts_;
  if (!is_mixed()) return mean;
  if (!is_sampled) return 0;
  if (is_odd_) return mean;
  const double between = std::max(squares_ - values_ * mean, 0.0);  // of more than one sum
  const double drawn = values_ * mean + between / (rows_ - 1) * counts_;
  const double most = (least_ + most_) * values_ - least_ * most_ * counts_;
  return std::min(drawn, most) / values_;
}

}  // namespace vesta::flame
