#include "src/store/contract/contract_data.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace vesta::store {
namespace {

using profile::LocationId;
using profile::Profile;
using profile::StackId;

// Fills the tables of one profile from pools that all batches of a scene draw from.
class ProfileMaker {
 public:
  ProfileMaker(ContractRandom* random, Profile* profile) : random_(*random), profile_(*profile) {
    profile_.SetSampleTypes({});
    for (int i = 0; i < 24; ++i) locations_.push_back(RandomLocation());
    stacks_.push_back(StackId{});
    for (int i = 0; i < 12; ++i) stacks_.push_back(RandomStack());
  }
  StackId PickStack() { return stacks_[random_.Below(stacks_.size())]; }

 private:
  profile::MappingId RandomMapping() {
    const uint64_t number = random_.Below(5);
    if (number == 0) return profile::kNoMapping;
    profile::Mapping mapping;
    // Number 4 differs from 3 only by its build id.
    mapping.path =
        profile_.InternString("/bin/app" + std::to_string(std::min<uint64_t>(number, 3)));
    mapping.build_id = profile_.InternString(number == 4 ? "beef" : "");
    mapping.memory_start = number == 2 ? 0x400000 : 0;
    mapping.memory_limit = number == 2 ? 0x500000 : 0;
    mapping.file_offset = number == 2 ? 0x1000 : 0;
    return profile_.AddMapping(mapping);
  }

  profile::FunctionId RandomFunction() {
    const uint64_t number = random_.Below(12);
    profile::Function function;
    if (number != 0 && number != 1) {
      function.name = profile_.InternString("function " + std::to_string(number));
    }
    if (number != 0 && number != 2) {
      function.system_name = profile_.InternString("_Z" + std::to_string(number));
    }
    if (number % 2 == 1) {
      function.file = profile_.InternString("/src/file" + std::to_string(number % 3));
    }
    function.start_line = static_cast<int64_t>(number);
    return profile_.AddFunction(function);
  }

  LocationId RandomLocation() {
    std::vector<profile::Line> lines;
    for (uint64_t left = random_.Below(4); left > 0; --left) {
      const int64_t line = random_.Chance(20) ? std::numeric_limits<int64_t>::max()
                                              : static_cast<int64_t>(random_.Below(5));
      lines.push_back({RandomFunction(), line, static_cast<int64_t>(random_.Below(2))});
    }
    profile::Location location;
    location.mapping = RandomMapping();
    location.address =
        random_.Chance(20) ? std::numeric_limits<uint64_t>::max() : random_.Below(6) * 16;
    location.is_folded = random_.Chance(8);
    location.lines = lines;
    return profile_.AddLocation(location);
  }

  StackId RandomStack() {
    std::vector<LocationId> leaf_first;
    uint64_t depth = 1 + random_.Below(10);
    if (random_.Chance(15)) depth = 300 + random_.Below(300);
    while (leaf_first.size() < depth) {
      leaf_first.push_back(locations_[random_.Below(locations_.size())]);
    }
    // Most stacks stand on the same outer frames.
    if (!random_.Chance(4))
      leaf_first.insert(leaf_first.end(), locations_.begin(), locations_.begin() + 3);
    return profile_.InternStack(leaf_first);
  }

  ContractRandom& random_;
  Profile& profile_;
  std::vector<LocationId> locations_;
  std::vector<StackId> stacks_;
};

Labels SceneLabels(uint64_t number) {
  Labels labels = {{"process", "comm " + std::to_string(number % 3)},
                   {"service.name", "service " + std::to_string(number / 2)}};
  if (number % 2 == 1) labels.push_back({"service.version", std::to_string(number)});
  if (number % 5 == 0) labels.erase(labels.begin());
  if (number == 0) labels.clear();
  return labels;
}

ProfileType SceneType(uint64_t number) {
  switch (number) {
    case 0:
      return {"cpu", "nanoseconds", "samples", "cpu", "nanoseconds"};
    case 1:
      return {"alloc_space", "bytes", "alloc_objects", "", ""};
    case 2:
      return {"cpu", "count", "", "", ""};  // another unit of the same name
    default:
      return {"off_cpu", "nanoseconds", "", "", ""};
  }
}

int64_t SceneTime(ContractRandom* random, const ContractScene& scene, int64_t day_start_unix_ms) {
  if (scene.has_odd_times && random->Chance(60)) {
    const int64_t away_ms = (random->Chance(2) ? -500 : 3) * kContractDayMs;
    return kContractNowUnixMs + away_ms + random->Between(0, 1'000);
  }
  // Many rows share minutes; some lie on the first and the last moments of minutes and days.
  if (random->Chance(12)) return day_start_unix_ms + (random->Chance(2) ? 0 : kContractDayMs - 1);
  const int64_t minute_ms = random->Between(0, 30) * 47 * 60'000 % kContractDayMs;
  if (random->Chance(6)) return day_start_unix_ms + minute_ms + (random->Chance(2) ? 0 : 59'999);
  return day_start_unix_ms + minute_ms + random->Between(0, 59'999);
}

}  // namespace

uint64_t ContractRandom::Next() {
  state_ += 0x9e3779b97f4a7c15u;
  uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

std::unique_ptr<GivenBatch> RandomBatch(ContractRandom* random, const ContractScene& scene,
                                        uint64_t sequence) {
  auto given = std::make_unique<GivenBatch>();
  ProfileMaker maker(random, &given->profile);
  Batch& batch = given->batch;
  batch.profile = &given->profile;
  batch.id = BatchId{"agent " + std::to_string(sequence % 3), "boot", sequence};
  for (uint64_t type = 0; type < 4; ++type) batch.types.push_back(SceneType(type));
  for (int i = 0; i < 5; ++i) {
    const auto pid = static_cast<uint32_t>(random->Below(4));
    const auto tid = static_cast<uint32_t>(random->Below(6));
    batch.tasks.push_back({pid, tid, i == 0 ? "" : "thread " + std::to_string(i % 3)});
  }
  // Most batches are of one day, some go over midnight.
  const int64_t today = kContractNowUnixMs / kContractDayMs;
  const int64_t first_day = today - 1 - random->Between(0, scene.days_back - 1);
  const int64_t days = random->Chance(3) ? 2 : 1;
  std::map<uint64_t, uint32_t> series_of;
  for (uint64_t left = 1 + random->Below(scene.rows_max); left > 0; --left) {
    const uint64_t series = random->Below(scene.series);
    const auto [place, is_new] =
        series_of.emplace(series, static_cast<uint32_t>(batch.series.size()));
    if (is_new) batch.series.push_back(SceneLabels(series));
    const int64_t day = first_day + random->Between(0, days - 1);
    BatchRow row = {.type = static_cast<uint32_t>(random->Below(batch.types.size())),
                    .series = place->second,
                    .task = static_cast<uint32_t>(random->Below(batch.tasks.size())),
                    .stack = maker.PickStack(),
                    .time_unix_ms = SceneTime(random, scene, day * kContractDayMs),
                    .value = random->Between(0, 1'000'000),
                    .count = random->Between(0, 3),
                    .weight = random->Chance(5) ? 2.5f : 1.0f};
    if (random->Chance(10)) row.value = 0;
    if (row.value == 0 && row.count == 0) row.count = 1;
    if (random->Chance(10)) row.value <<= 30;
    batch.rows.push_back(row);
    if (random->Chance(10)) batch.rows.push_back(row);  // equal rows are both rows
  }
  return given;
}

std::unique_ptr<GivenBatch> SimpleBatch(const std::vector<SimpleRow>& rows,
                                        const std::string& service) {
  auto given = std::make_unique<GivenBatch>();
  Profile& profile = given->profile;
  profile.SetSampleTypes({});
  std::vector<LocationId> leaf_first;
  for (const std::string_view name : {"work", "main"}) {
    profile::Function function;
    function.name = profile.InternString(name);
    const std::vector<profile::Line> lines = {{profile.InternFunction(function), 7, 0}};
    profile::Location location;
    location.lines = lines;
    leaf_first.push_back(profile.InternLocation(location));
  }
  const StackId stack = profile.InternStack(leaf_first);
  given->batch = {.profile = &profile,
                  .types = {{"cpu", "nanoseconds", "samples", "", ""}},
                  .series = {{{"service.name", service}}},
                  .tasks = {{1, 2, "worker"}},
                  .rows = {}};
  for (const SimpleRow& row : rows) {
    given->batch.rows.push_back(
        {.stack = stack, .time_unix_ms = row.time_unix_ms, .value = row.value, .count = row.count});
  }
  return given;
}

}  // namespace vesta::store
