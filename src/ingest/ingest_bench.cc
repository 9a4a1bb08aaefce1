// Nanoseconds per row of MakeBatch, for pushes of 1,000 samples:
//   build/src/ingest/ingest_bench [ROUNDS]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "src/ingest/profile_batch.h"

namespace {

using vesta::profile::Profile;

constexpr int kSamples = 1'000;

// `span_every` samples share a span; 0 = no spans.
Profile Push(int span_every) {
  Profile profile;
  profile.SetSampleTypes(
      {profile.InternValueType("samples", "count"), profile.InternValueType("cpu", "nanoseconds")});
  for (int i = 0; i < kSamples; ++i) {
    std::vector<vesta::profile::Label> labels = {profile.TextLabel("process", "checkout"),
                                                 profile.NumberLabel("pid", 4'000),
                                                 profile.NumberLabel("tid", 4'000 + i % 16)};
    if (span_every > 0) {
      labels.push_back(profile.TextLabel("span_id", "00112233" + std::to_string(i / span_every)));
    }
    const int64_t values[] = {1, 10'000'000};
    profile.AppendSample({}, profile.InternLabels(labels), values);
  }
  return profile;
}

void Measure(const char* name, const Profile& profile, int rounds) {
  vesta::ingest::BatchOptions options;
  options.labels = {{"service.name", "checkout"}, {"service.version", "1.2"}};
  options.time_unix_ms = 1'700'000'000'000;
  size_t rows = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < rounds; ++i) {
    const auto made = vesta::ingest::MakeBatch(profile, options);
    CHECK(made.ok());
    rows += made->batch.rows.size();
  }
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
  std::printf("%-28s %6.1f ns per row\n", name, spent.count() / static_cast<double>(rows));
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
  Measure("16 threads, no spans", Push(0), rounds);
  Measure("a span per 10 samples", Push(10), rounds);
  Measure("a span per sample", Push(1), rounds);
  return 0;
}
