// Random batches and random questions: a backend answers as the store that looks at each raw row.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "src/store/contract/contract_answers.h"
#include "src/store/contract/contract_data.h"
#include "src/store/contract/store_contract.h"
#include "src/store/memory/memory_store.h"

namespace vesta::store {
namespace {

constexpr uint64_t kSeedsDefault = 3;
constexpr int kBatchesPerStep = 12;
constexpr int kQuestionsPerMoment = 8;

TimeRange RandomRange(ContractRandom* random) {
  const int64_t today = kContractNowUnixMs / kContractDayMs;
  const int64_t day_start = (today - random->Between(0, 8)) * kContractDayMs;
  switch (random->Below(7)) {
    case 0:
      return {};
    case 1:  // days
      return {day_start, day_start + random->Between(1, 4) * kContractDayMs};
    case 2: {  // whole minutes
      const int64_t from = day_start + random->Between(0, 1'439) * 60'000;
      return {from, from + random->Between(1, 3'000) * 60'000};
    }
    case 3: {  // within a day
      const int64_t from = day_start + random->Between(0, kContractDayMs - 1);
      return {from, from + random->Between(1, 7'200'000)};
    }
    case 4: {  // over some days, to the millisecond
      const int64_t from = day_start + random->Between(0, kContractDayMs - 1);
      return {from, from + random->Between(1, 5 * kContractDayMs)};
    }
    case 5:  // the ends of a day
      return {day_start - random->Between(0, 1), day_start + random->Between(0, 1)};
    default:  // without one end
      return random->Chance(2) ? TimeRange{.from_unix_ms = day_start}
                               : TimeRange{.to_unix_ms = day_start};
  }
}

ContractQuestion RandomQuestion(ContractRandom* random, const ContractQuestion& all) {
  ContractQuestion question;
  question.range = RandomRange(random);
  question.group_count = random->Chance(2) ? 1 : 3;
  question.regroup =
      random->Chance(2) ? ContractRegroup::kNone : static_cast<ContractRegroup>(random->Below(4));
  const uint64_t one_in = 1 + random->Below(3);
  for (const ProfileType& type : all.types) {
    if (random->Chance(one_in)) question.types.push_back(type);
  }
  const uint64_t series_one_in = 1 + random->Below(3);
  for (const auto& [labels, group] : all.groups) {
    if (!random->Chance(series_one_in)) continue;
    question.groups[labels] = static_cast<uint32_t>(random->Below(question.group_count));
  }
  return question;
}

// Timelines need both ends, and not too many steps.
ContractQuestion WithTimeline(ContractRandom* random, ContractQuestion question) {
  question.range.from_unix_ms =
      std::max(question.range.from_unix_ms, kContractNowUnixMs - 12 * kContractDayMs);
  question.range.to_unix_ms =
      std::min(question.range.to_unix_ms, kContractNowUnixMs + 3 * kContractDayMs);
  constexpr std::array<int64_t, 7> kSteps = {
      1, 997, 60'000, 420'000, 3'600'000, kContractDayMs, 100 * kContractDayMs};
  question.step_ms = kSteps[random->Below(kSteps.size())];
  return question;
}

// A store and the reference, given the same.
class Pair {
 public:
  Pair(const ContractBackend& backend, uint64_t seed)
      : random_(seed), now_unix_ms_(kContractNowUnixMs) {
    world_.now_unix_ms = [this] { return now_unix_ms_.load(); };
    // Some worlds have fewer places than series.
    scene_.series = 4 + random_.Below(12);
    if (random_.Chance(2)) world_.series_max = scene_.series / 2;
    given_ = backend.make(world_);
    wanted_ = std::make_unique<MemoryStore>(
        MemoryStoreOptions{.series_max = world_.series_max,
                           .retention_age_ms = world_.retention_age_ms,
                           .now_unix_ms = world_.now_unix_ms});
  }

  void AppendSome() {
    for (int i = 0; i < kBatchesPerStep; ++i) {
      if (!sent_.empty() && random_.Chance(8)) {
        Append(*sent_[random_.Below(sent_.size())]);
        continue;
      }
      sent_.push_back(RandomBatch(&random_, scene_, ++sequence_));
      Append(*sent_.back());
    }
  }

  void BringTo(ContractMoment moment) {
    now_unix_ms_ += 7'200'000;
    const auto brought = given_->BringTo(moment);
    ASSERT_TRUE(brought.ok()) << brought.error().message();
  }

  void Reopen() {
    const auto reopened = given_->Reopen();
    ASSERT_TRUE(reopened.ok()) << reopened.error().message();
  }

  void Compare(const std::string& moment) {
    SCOPED_TRACE(moment);
    auto all = AskForAll(*wanted_);
    ASSERT_TRUE(all.ok());
    // What nobody has.
    all->groups[{{"service.name", "nobody"}}] = 0;
    all->types.push_back({"nothing", "count", "", "", ""});
    CompareOne(*all);
    CompareTotals(*all);
    for (int i = 0; i < kQuestionsPerMoment; ++i) CompareOne(RandomQuestion(&random_, *all));
    CompareStatus();
  }

 private:
  void Append(const GivenBatch& batch) {
    const auto wanted = wanted_->Append(batch.batch);
    const auto given = given_->store().Append(batch.batch);
    ASSERT_TRUE(wanted.ok()) << wanted.error().message();
    ASSERT_TRUE(given.ok()) << given.error().message();
    EXPECT_EQ(Text(*given), Text(*wanted));
  }

  static std::string Text(const AppendOutcome& outcome) {
    return "received " + std::to_string(outcome.rows_received) + " kept " +
           std::to_string(outcome.rows_kept) + " overflowed " +
           std::to_string(outcome.rows_overflowed) + " duplicate " +
           std::to_string(outcome.rows_duplicate) + " too old " +
           std::to_string(outcome.rows_too_old) + " too new " +
           std::to_string(outcome.rows_too_new);
  }

  void CompareOne(const ContractQuestion& question) {
    SCOPED_TRACE(question.Text());
    Store& given = given_->store();
    ExpectSame("series", SeriesAnswer(*wanted_, question.range),
               SeriesAnswer(given, question.range));
    ExpectSame("stacks", StacksAnswer(*wanted_, question), StacksAnswer(given, question));
    ExpectSame("functions", FunctionsAnswer(*wanted_, question), FunctionsAnswer(given, question));
    ExpectSame("rows", RowsAnswer(*wanted_, question), RowsAnswer(given, question));
    const ContractQuestion timeline = WithTimeline(&random_, question);
    SCOPED_TRACE("timeline " + timeline.Text());
    ExpectSame("timeline", TimelineAnswer(*wanted_, timeline), TimelineAnswer(given, timeline));
  }

  static void ExpectSame(const char* what, const base::Result<ContractAnswer>& wanted,
                         const base::Result<ContractAnswer>& given) {
    ASSERT_TRUE(wanted.ok()) << what << " of the reference: " << wanted.error().message();
    ASSERT_TRUE(given.ok()) << what << ": " << given.error().message();
    EXPECT_EQ(given->size(), wanted->size()) << what;
    EXPECT_EQ(Difference(*wanted, *given), "") << what;
  }

  // Sums of roll-ups are sums of rows.
  void CompareTotals(ContractQuestion all) {
    Store& given = given_->store();
    const auto rows = RowsTotals(given, all);
    const auto stacks = StacksTotals(given, all);
    const auto series = SeriesTotals(given, {});
    all.range = {kContractNowUnixMs - 12 * kContractDayMs, kContractNowUnixMs + 3 * kContractDayMs};
    const auto timeline = TimelineTotals(given, all);
    ASSERT_TRUE(rows.ok() && stacks.ok() && series.ok() && timeline.ok());
    EXPECT_TRUE(*stacks == *rows) << stacks->value << " and " << rows->value;
    EXPECT_TRUE(*series == *rows) << series->value << " and " << rows->value;
    EXPECT_TRUE(*timeline == *rows) << timeline->value << " and " << rows->value;
  }

  void CompareStatus() {
    const StoreStatus wanted = wanted_->Status();
    const StoreStatus given = given_->store().Status();
    EXPECT_EQ(given.days, wanted.days);
    EXPECT_EQ(given.rows, wanted.rows);
    EXPECT_EQ(given.series, wanted.series);
    EXPECT_EQ(given.range, wanted.range);
    EXPECT_EQ(Text(given.book), Text(wanted.book));
    EXPECT_EQ(given.rows_expired, 0u);
    EXPECT_EQ(given.rows_quarantined, 0u);
    EXPECT_EQ(given.refuses_writes, std::nullopt);
  }

  ContractRandom random_;
  std::atomic<int64_t> now_unix_ms_;
  ContractWorld world_;
  ContractScene scene_;
  std::unique_ptr<ContractStore> given_;
  std::unique_ptr<MemoryStore> wanted_;
  std::vector<std::unique_ptr<GivenBatch>> sent_;
  uint64_t sequence_ = 0;
};

// Each step appends or moves what is there to another place; after each, all answers are compared.
void RunSeed(const ContractBackend& backend, uint64_t seed) {
  SCOPED_TRACE("VESTA_CONTRACT_SEED=" + std::to_string(seed));
  Pair pair(backend, seed);
  const auto step = [&](const std::string& moment, const auto& act) {
    if (::testing::Test::HasFailure()) return;
    act();
    pair.Compare(moment);
  };
  const auto append = [&] { pair.AppendSome(); };
  const auto seal = [&] { pair.BringTo(ContractMoment::kSealed); };
  const auto settle = [&] { pair.BringTo(ContractMoment::kSettled); };
  const auto reopen = [&] { pair.Reopen(); };
  step("hot", append);
  step("hot, reopened", reopen);
  step("sealed", seal);
  step("sealed and hot", append);
  step("sealed and hot, reopened", reopen);
  step("settled", settle);
  step("settled, late rows", append);
  step("settled, late rows, sealed", seal);
  step("settled, late rows, sealed, reopened", reopen);
  step("settled again", settle);
  step("settled again, reopened", reopen);
}

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST_P(StoreContract, AnswersAsTheReferenceDoes) {
  const uint64_t alone = FromEnvironment("VESTA_CONTRACT_SEED", 0);
  if (alone != 0) return RunSeed(GetParam(), alone);
  const uint64_t seeds = FromEnvironment("VESTA_CONTRACT_SEEDS", kSeedsDefault);
  for (uint64_t seed = 1; seed <= seeds && !HasFailure(); ++seed) RunSeed(GetParam(), seed);
}

}  // namespace
}  // namespace vesta::store
