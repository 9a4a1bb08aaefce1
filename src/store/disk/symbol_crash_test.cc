// kill -9 at each step of the files of late names: what was acknowledged is there afterwards.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <new>
#include <string>

#include "src/store/disk/store_fixture.h"
#include "src/store/disk/symbol_files.h"

namespace vesta::store {
namespace {

constexpr uint64_t kBatches = 14;
constexpr uint64_t kPlaces = 5;

// Shared with the child.
struct Shared {
  std::atomic<uint64_t> acknowledged{0};
  std::atomic<uint64_t> steps{0};
  std::atomic<uint64_t> merges{0};
};

class SymbolCrashTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "vesta_symbols_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    parent_ = pattern;
    options_.folder = parent_ + "/symbols";
    options_.aside_folder = parent_ + "/quarantine";
    options_.recent_bytes_max = 3'000;  // a sorted file after two batches or three
    options_.runs_max = 2;
    options_.now_unix_ms = [] { return kTestNow; };
    options_.step = [](std::string_view) {};
    options_.on_notice = [](const std::string& sentence) { ADD_FAILURE() << sentence; };
    void* memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    shared_ = new (memory) Shared;
  }
  void TearDown() override {
    ::munmap(shared_, sizeof(Shared));
    EXPECT_TRUE(RemoveAll(parent_).ok());
  }

  // Batch n names its own places, and place 0 anew.
  static base::Result<SymbolsOutcome> Append(SymbolFiles* files, uint64_t batch) {
    profile::Profile profile;
    profile::Mapping mapping;
    mapping.build_id = profile.InternString("abcd");
    const auto mapping_id = profile.AddMapping(mapping);
    SymbolBatch symbols;
    symbols.id = BatchId{"agent", "boot", batch};
    symbols.profile = &profile;
    const std::string name = "batch " + std::to_string(batch);
    const auto function = profile.InternFunction({profile.InternString(name), {}, {}, 0});
    const profile::Line line{function, 1, 0};
    for (uint64_t place = 0; place < kPlaces; ++place) {
      const uint64_t address = place == 0 ? 0 : batch * kPlaces + place;
      symbols.locations.push_back(profile.InternLocation({mapping_id, address, false, {&line, 1}}));
    }
    return files->Append(symbols);
  }

  bool LiveUntil(uint64_t step) {
    shared_->steps = 0;
    shared_->acknowledged = 0;
    const pid_t child = ::fork();
    if (child == 0) {
      options_.step = [this, step](std::string_view name) {
        if (name == "symbols merge remove") ++shared_->merges;
        if (++shared_->steps == step) ::kill(::getpid(), SIGKILL);
      };
      auto files = SymbolFiles::Open(options_);
      if (!files.ok()) ::_exit(2);
      for (uint64_t batch = 1; batch <= kBatches; ++batch) {
        if (!Append(files->get(), batch).ok()) ::_exit(3);
        shared_->acknowledged = batch;
        if (batch % 3 == 0 && !(*files)->Maintain(0, UINT64_MAX).ok()) ::_exit(4);
      }
      ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) return true;
    EXPECT_EQ(WEXITSTATUS(status), 0);
    return false;
  }

  std::string parent_;
  SymbolFilesOptions options_;
  Shared* shared_ = nullptr;
};

std::string NameAt(SymbolFiles* files, uint64_t address) {
  symbols::SymbolView view = files->View();
  const auto fact = view.Find({symbols::HashOf(SymbolImage{true, "abcd"}), address}, 0);
  return fact ? std::string(fact->lines[0].function->name) : "none";
}

TEST_F(SymbolCrashTest, EachStep) {
  ASSERT_FALSE(LiveUntil(0));
  const uint64_t steps = shared_->steps;
  ASSERT_GT(steps, 30u);
  ASSERT_GT(shared_->merges, 0u);
  for (uint64_t step = 1; step <= steps && !HasFailure(); ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    ASSERT_TRUE(RemoveAll(options_.folder).ok());
    ASSERT_TRUE(LiveUntil(step));
    auto files = SymbolFiles::Open(options_);
    ASSERT_TRUE(files.ok()) << files.error().message();
    const uint64_t acknowledged = shared_->acknowledged;
    const std::string newest = NameAt(files->get(), 0);
    if (newest != "batch " + std::to_string(acknowledged + 1)) {  // may be there
      EXPECT_EQ(newest, acknowledged == 0 ? "none" : "batch " + std::to_string(acknowledged));
    }
    for (uint64_t batch = 1; batch <= acknowledged; ++batch) {
      ASSERT_EQ(NameAt(files->get(), batch * kPlaces + 1), "batch " + std::to_string(batch));
    }
    // The sender sends again what it knows nothing of, and more.
    for (uint64_t batch = 1; batch <= kBatches; ++batch) {
      const auto outcome = Append(files->get(), batch);
      ASSERT_TRUE(outcome.ok());
      if (batch <= acknowledged) {
        EXPECT_EQ(outcome->locations_unchanged, kPlaces);
      }
    }
    EXPECT_EQ(NameAt(files->get(), 0), "batch " + std::to_string(kBatches));
    EXPECT_EQ((*files)->status().places, kBatches * (kPlaces - 1) + 1);
    ASSERT_TRUE((*files)->Maintain(0, UINT64_MAX).ok());
    EXPECT_EQ(NameAt(files->get(), kBatches * kPlaces + 1), "batch " + std::to_string(kBatches));
  }
}

}  // namespace
}  // namespace vesta::store
