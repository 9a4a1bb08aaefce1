// Names that came after the rows: what a store must do with them.
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "src/store/contract/contract_answers.h"
#include "src/store/contract/contract_data.h"
#include "src/store/contract/contract_places.h"
#include "src/store/contract/store_contract.h"
#include "src/store/memory/memory_store.h"

namespace vesta::store {
namespace {

using profile::LocationId;
using profile::Profile;

// What stands at an address of an image: one line per name, innermost first; none = no name.
struct GivenPlace {
  std::string path = "/bin/app";
  std::string build_id = "abcd";
  uint64_t address = 0;
  std::vector<std::string> names = {};
  bool is_folded = false;
};

LocationId AddPlace(const GivenPlace& place, Profile* profile) {
  std::vector<profile::Line> lines;
  for (const std::string& name : place.names) {
    profile::Function function;
    function.name = profile->InternString(name);
    function.system_name = profile->InternString("_Z" + name);
    function.file = profile->InternString(name + ".cc");
    function.start_line = 3;
    lines.push_back({profile->InternFunction(function), 7, 2});
  }
  profile::Mapping mapping;
  mapping.path = profile->InternString(place.path);
  mapping.build_id = profile->InternString(place.build_id);
  profile::Location location;
  if (!place.path.empty() || !place.build_id.empty())
    location.mapping = profile->AddMapping(mapping);
  location.address = place.address;
  location.is_folded = place.is_folded;
  location.lines = lines;
  return profile->InternLocation(location);
}

// A row of one stack, innermost place first.
std::unique_ptr<GivenBatch> RowOf(const std::vector<GivenPlace>& stack, int64_t value = 10,
                                  int64_t time_unix_ms = kContractNowUnixMs) {
  auto given = std::make_unique<GivenBatch>();
  given->profile.SetSampleTypes({});
  std::vector<LocationId> leaf_first;
  for (const GivenPlace& place : stack) leaf_first.push_back(AddPlace(place, &given->profile));
  given->batch = {.profile = &given->profile,
                  .types = {{"cpu", "nanoseconds", "samples", "", ""}},
                  .series = {{{"service.name", "simple"}}},
                  .tasks = {{1, 2, "worker"}},
                  .rows = {}};
  given->batch.rows.push_back({.stack = given->profile.InternStack(leaf_first),
                               .time_unix_ms = time_unix_ms,
                               .value = value});
  return given;
}

struct GivenSymbols {
  Profile profile;
  SymbolBatch batch;
};

std::unique_ptr<GivenSymbols> SymbolsOf(const std::vector<GivenPlace>& places) {
  auto given = std::make_unique<GivenSymbols>();
  given->batch.profile = &given->profile;
  for (const GivenPlace& place : places) {
    given->batch.locations.push_back(AddPlace(place, &given->profile));
  }
  return given;
}

SymbolsOutcome Tell(Store& store, const GivenSymbols& symbols) {
  const auto outcome = store.AppendSymbols(symbols.batch);
  EXPECT_TRUE(outcome.ok()) << outcome.error().message();
  return outcome.ok() ? *outcome : SymbolsOutcome{};
}

// All that can be read of names.
std::vector<ContractAnswer> AllAnswers(Store& store) {
  const auto all = AskForAll(store);
  EXPECT_TRUE(all.ok());
  std::vector<ContractAnswer> answers;
  for (const auto& answer :
       {StacksAnswer(store, *all), FunctionsAnswer(store, *all), RowsAnswer(store, *all)}) {
    EXPECT_TRUE(answer.ok()) << answer.error().message();
    answers.push_back(answer.ok() ? *answer : ContractAnswer{});
  }
  return answers;
}

void ExpectSame(Store& given, Store& wanted) {
  const auto wanted_answers = AllAnswers(wanted);
  const auto given_answers = AllAnswers(given);
  for (size_t i = 0; i < wanted_answers.size(); ++i) {
    EXPECT_EQ(Difference(wanted_answers[i], given_answers[i]), "") << "answer " << i;
  }
}

// What a store answers that had these rows from the beginning.
void ExpectRows(Store& given, const std::vector<std::unique_ptr<GivenBatch>>& rows) {
  MemoryStore wanted;
  for (const auto& batch : rows) ASSERT_TRUE(wanted.Append(batch->batch).ok());
  ExpectSame(given, wanted);
}

std::vector<std::unique_ptr<GivenBatch>> One(std::unique_ptr<GivenBatch> batch) {
  std::vector<std::unique_ptr<GivenBatch>> batches;
  batches.push_back(std::move(batch));
  return batches;
}

const GivenPlace kMain = {.address = 16, .names = {"main"}};
const GivenPlace kBare = {.address = 32};
const GivenPlace kNamed = {.address = 32, .names = {"inner", "work"}};

TEST_P(StoreContract, ALateNameRepairsWhatIsThere) {
  for (const ContractPlace& place : ContractPlaces()) {
    SCOPED_TRACE(place.name);
    ContractRun world(GetParam());
    world.Append(RowOf({kBare, kMain})->batch);
    world.GoTo(place);
    EXPECT_EQ(Tell(world.store(), *SymbolsOf({kNamed})),
              (SymbolsOutcome{.locations_received = 1, .locations_kept = 1}));
    ExpectRows(world.store(), One(RowOf({kNamed, kMain})));
    world.GoTo(place);
    ExpectRows(world.store(), One(RowOf({kNamed, kMain})));
  }
}

TEST_P(StoreContract, ALateNameHoldsWhereverTheRowsGo) {
  for (const ContractPlace& place : ContractPlaces()) {
    SCOPED_TRACE(place.name);
    ContractRun world(GetParam());
    world.Append(RowOf({kBare, kMain})->batch);
    Tell(world.store(), *SymbolsOf({kNamed}));
    world.GoTo(place);
    ExpectRows(world.store(), One(RowOf({kNamed, kMain})));
    // And of rows that come later with the old names.
    world.Append(RowOf({kBare, kMain}, 20)->batch);
    auto both = One(RowOf({kNamed, kMain}));
    both.push_back(RowOf({kNamed, kMain}, 20));
    ExpectRows(world.store(), both);
  }
}

TEST_P(StoreContract, ABetterNameTakesThePlaceOfAnother) {
  for (const ContractPlace& place : ContractPlaces()) {
    SCOPED_TRACE(place.name);
    ContractRun world(GetParam());
    const GivenPlace poor = {.address = 32, .names = {"main"}};  // as its caller is called
    world.Append(RowOf({poor, kMain})->batch);
    world.GoTo(place);
    Tell(world.store(), *SymbolsOf({kNamed}));
    ExpectRows(world.store(), One(RowOf({kNamed, kMain})));
  }
}

// A function that is in a stack by its old frame and by a repaired one is one function.
TEST_P(StoreContract, ARepairedFunctionIsTheOneThatWasThere) {
  for (const ContractPlace& place : ContractPlaces()) {
    SCOPED_TRACE(place.name);
    ContractRun world(GetParam());
    const GivenPlace work = {.address = 48, .names = {"work"}};
    world.Append(RowOf({kBare, work, kMain})->batch);
    world.GoTo(place);
    Tell(world.store(), *SymbolsOf({kNamed}));
    ExpectRows(world.store(), One(RowOf({kNamed, work, kMain})));
  }
}

TEST_P(StoreContract, TheLaterNameOfTwoHolds) {
  for (const ContractPlace& place : ContractPlaces()) {
    SCOPED_TRACE(place.name);
    ContractRun world(GetParam());
    world.Append(RowOf({kBare, kMain})->batch);
    const GivenPlace other = {.address = 32, .names = {"other"}};
    Tell(world.store(), *SymbolsOf({other}));
    world.GoTo(place);
    EXPECT_EQ(Tell(world.store(), *SymbolsOf({kNamed})).locations_kept, 1u);
    ExpectRows(world.store(), One(RowOf({kNamed, kMain})));
    world.GoTo(place);
    ExpectRows(world.store(), One(RowOf({kNamed, kMain})));
  }
}

TEST_P(StoreContract, NamesThatAreSentAgainChangeNothing) {
  for (const ContractPlace& place : ContractPlaces()) {
    SCOPED_TRACE(place.name);
    ContractRun world(GetParam());
    world.Append(RowOf({kBare, kMain})->batch);
    const auto first = SymbolsOf({{.address = 32, .names = {"other"}}});
    first->batch.id = BatchId{"agent", "boot", 1};
    const auto second = SymbolsOf({kNamed});
    second->batch.id = BatchId{"agent", "boot", 2};
    EXPECT_EQ(Tell(world.store(), *first).locations_kept, 1u);
    EXPECT_EQ(Tell(world.store(), *second).locations_kept, 1u);
    world.GoTo(place);
    // The same batch, and the same names in another one.
    EXPECT_EQ(Tell(world.store(), *first),
              (SymbolsOutcome{.locations_received = 1, .locations_unchanged = 1}));
    second->batch.id->sequence = 3;
    EXPECT_EQ(Tell(world.store(), *second),
              (SymbolsOutcome{.locations_received = 1, .locations_unchanged = 1}));
    ExpectRows(world.store(), One(RowOf({kNamed, kMain})));
    EXPECT_EQ(world.store().Status().symbol_places, 1u);
  }
}

TEST_P(StoreContract, AnImageIsItsBuildIdElseItsPath) {
  for (const ContractPlace& place : ContractPlaces()) {
    SCOPED_TRACE(place.name);
    ContractRun world(GetParam());
    const GivenPlace by_path = {.path = "/bin/app", .build_id = "", .address = 32};
    const GivenPlace moved = {.path = "/elsewhere", .build_id = "abcd", .address = 32};
    const GivenPlace of_none = {.path = "", .build_id = "", .address = 32};
    const GivenPlace folded = {.address = 32, .is_folded = true};
    const GivenPlace further = {.address = 33};
    world.Append(RowOf({by_path, moved, of_none, folded, further})->batch);
    world.GoTo(place);
    const auto named = [](GivenPlace one, const std::string& name) {
      one.names = {name};
      return one;
    };
    Tell(world.store(), *SymbolsOf({named(by_path, "by path"), named(kBare, "by build id")}));
    ExpectRows(world.store(), One(RowOf({named(by_path, "by path"), named(moved, "by build id"),
                                         of_none, folded, further})));
  }
}

TEST_P(StoreContract, PlacesThatCannotBeKeptAreCounted) {
  ContractRun world(GetParam());
  const GivenPlace of_none = {.path = "", .build_id = "", .address = 32, .names = {"f"}};
  const GivenPlace large = {.address = 64, .names = {std::string(300'000, 'x')}};
  const auto outcome = Tell(world.store(), *SymbolsOf({kNamed, kNamed, kBare, of_none, large}));
  EXPECT_EQ(outcome.locations_received, 5u);
  EXPECT_EQ(outcome.locations_kept, 1u);
  EXPECT_EQ(outcome.locations_unchanged, 1u);
  EXPECT_EQ(outcome.locations_without_name, 1u);
  EXPECT_EQ(outcome.locations_without_image, 1u);
  EXPECT_EQ(outcome.locations_too_large, 1u);
  EXPECT_EQ(world.store().Status().symbols, outcome);
  SymbolBatch wrong;
  wrong.locations.push_back(LocationId{0});
  EXPECT_EQ(world.store().AppendSymbols(wrong).error().code(), base::ErrorCode::kInvalidInput);
  EXPECT_EQ(Tell(world.store(), GivenSymbols{}), SymbolsOutcome{});
}

// Random rows with random late names, against a store to which the names were known from the
// beginning.
void RunSymbolSeed(const ContractBackend& backend, uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  ContractRandom random(seed);
  const auto random_place = [&random] {
    return GivenPlace{.path = "/bin/" + std::to_string(random.Below(3)),
                      .build_id = random.Chance(2) ? "" : std::to_string(random.Below(2)),
                      .address = random.Below(12) * 16,
                      .is_folded = random.Chance(9)};
  };
  const auto random_names = [&random] {
    std::vector<std::string> names;
    for (uint64_t left = 1 + random.Below(3); left > 0; --left) {
      names.push_back("function " + std::to_string(random.Below(8)));
    }
    return names;
  };
  ContractRun world(backend);
  MemoryStore wanted;
  const std::vector<ContractPlace>& places = ContractPlaces();
  for (int step = 0; step < 12 && !::testing::Test::HasFailure(); ++step) {
    for (int rows = 0; rows < 6; ++rows) {
      std::vector<GivenPlace> stack;
      for (uint64_t depth = 1 + random.Below(6); depth > 0; --depth) {
        stack.push_back(random_place());
        if (random.Chance(2)) stack.back().names = random_names();
      }
      const int64_t time = kContractNowUnixMs - random.Between(0, 2) * kContractDayMs;
      const auto batch = RowOf(stack, random.Between(1, 100), time);
      world.Append(batch->batch);
      ASSERT_TRUE(wanted.Append(batch->batch).ok());
    }
    std::vector<GivenPlace> told;
    for (uint64_t left = random.Below(8); left > 0; --left) {
      told.push_back(random_place());
      told.back().is_folded = false;
      told.back().names = random_names();
    }
    const auto symbols = SymbolsOf(told);
    ASSERT_TRUE(wanted.AppendSymbols(symbols->batch).ok());
    Tell(world.store(), *symbols);
    ExpectSame(world.store(), wanted);
    world.GoTo(places[random.Below(places.size())]);
    ExpectSame(world.store(), wanted);
    EXPECT_EQ(world.store().Status().symbol_places, wanted.Status().symbol_places);
  }
}

TEST_P(StoreContract, LateNamesAnswerAsNamesFromTheBeginning) {
  for (uint64_t seed = 1; seed <= 3 && !HasFailure(); ++seed) RunSymbolSeed(GetParam(), seed);
}

}  // namespace
}  // namespace vesta::store
