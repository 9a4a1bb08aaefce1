// Readers beside the thread that interns: what Dictionary promises. Also run under TSan.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "src/store/index/batch_interner.h"
#include "src/store/index/dictionary.h"
#include "src/store/index/index_for_test.h"
#include "src/store/index/rollup.h"

namespace vesta::store::index {
namespace {

// Sums stacks of the trie as it is now, and looks at every name. Returns false when anything that
// was given out cannot be read.
bool ReadEverything(const Dictionary& dictionary) {
  const DictionaryMarks marks = dictionary.marks();
  std::vector<StackTotal> stacks;
  for (uint32_t node = 0; node < marks.nodes; node += 3) stacks.push_back({node, 1, 1});
  std::vector<FunctionTotal> functions;
  if (!FunctionSummer(&dictionary).Sum(stacks, &functions).ok()) return false;
  for (const FunctionTotal& function : functions) {
    if (!dictionary.callable(function.callable).ok()) return false;
  }
  for (uint32_t node = 1; node < marks.nodes; ++node) {
    const auto frame = dictionary.frame(dictionary.node(node).frame);
    if (!frame.ok() || !dictionary.image(frame->image).ok()) return false;
    for (const FrameLine& line : frame->lines) {
      if (!dictionary.function(line.function).ok()) return false;
    }
  }
  for (uint32_t id = 0; id < marks.series; ++id) {
    if (dictionary.series(id).size() != 1) return false;
  }
  return true;
}

TEST(DictionaryReaders, NeedNoLock) {
  Dictionary dictionary;
  std::atomic<bool> is_done = false;
  std::atomic<int> rounds = 0;
  std::atomic<int> failures = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!is_done) {
        if (!ReadEverything(dictionary)) ++failures;
        ++rounds;
      }
    });
  }
  BatchInterner interner(&dictionary);
  for (uint32_t number = 0; number < 30 || rounds < 4; ++number) {
    const Service service(number, {.functions = 60, .stacks = 200, .depth = 12});
    std::vector<uint32_t> which;
    for (uint32_t i = 0; i < service.stack_count(); ++i) which.push_back(i);
    std::vector<profile::StackId> ids;
    const profile::Profile profile = service.Push(which, &ids);
    std::vector<uint32_t> nodes(ids.size());
    interner.Intern(profile, ids, nodes);
    dictionary.InternSeries({{"number", std::to_string(number)}});
  }
  is_done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(failures, 0);
  EXPECT_TRUE(ReadEverything(dictionary));
}

}  // namespace
}  // namespace vesta::store::index
