// What one sample of a selection stands for, so that noise can be told from change.
#pragma once

#include <cstdint>

namespace vesta::flame {

// Takes in sums of samples, such as one per stack, of which each sample stays unknown.
// Where samples differ in weight w (the agent was slower for a while), a sum varies by the square
// root of sum(w^2), as if each sample stood for sum(w^2) / sum(w): this is what is given then.
// Source: sum(w^2) is estimated from how far the means of the sums are apart (variance between
//         groups, whose weights are drawn alike), and is at most (a + b) sum(w) - a b n with all
//         weights within a..b, which is exact where there are only those two.
class SampleWorth {
 public:
  void Add(int64_t value, int64_t count);

  // is_sampled: samples were drawn at random, each for its part of the value. Others, such as
  // waiting times, have no noise of counts unless all stand for the same.
  // 0 = unknown.
  double PerSample(bool is_sampled) const;
  // Whether samples stand for different values, as far as it is seen.
  bool is_mixed() const;

 private:
  double values_ = 0;
  double counts_ = 0;
  double squares_ = 0;  // sum of value^2 / count
  double rows_ = 0;
  double least_ = 0;  // of value / count
  double most_ = 0;
  bool is_odd_ = false;  // a sum has no count, or no value
};

}  // namespace vesta::flame
