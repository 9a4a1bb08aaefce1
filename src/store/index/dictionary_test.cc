#include "src/store/index/dictionary.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "src/profile/id_index.h"
#include "src/store/callable_hash.h"
#include "src/store/index/batch_interner.h"
#include "src/store/index/index_for_test.h"
#include "src/store/index/row_index.h"

namespace vesta::store::index {
namespace {

std::string FrameText(const Names& names, uint32_t id) {
  const FrameView frame = names.frame(id).value();
  const ImageView image = names.image(frame.image).value();
  std::string text = std::string(image.path) + "|" + std::string(image.build_id) + "|" +
                     std::to_string(image.memory_start) + "|" + std::to_string(frame.address) +
                     (frame.is_folded ? "|folded" : "");
  for (const FrameLine& line : frame.lines) {
    const FunctionView function = names.function(line.function).value();
    text += "|" + std::string(function.name) + "," + std::string(function.system_name) + "," +
            std::string(function.file) + "," + std::to_string(function.start_line) + ":" +
            std::to_string(line.line) + ":" + std::to_string(line.column);
  }
  return text;
}

std::string LocationText(const profile::Profile& profile, profile::LocationId id) {
  const profile::Location location = profile.location(id);
  profile::Mapping mapping;
  if (location.mapping != profile::kNoMapping) mapping = profile.mapping(location.mapping);
  std::string text = std::string(profile.String(mapping.path)) + "|" +
                     std::string(profile.String(mapping.build_id)) + "|" +
                     std::to_string(mapping.memory_start) + "|" + std::to_string(location.address) +
                     (location.is_folded ? "|folded" : "");
  for (const profile::Line& line : location.lines) {
    const profile::Function& function = profile.function(line.function);
    text += "|" + std::string(profile.String(function.name)) + "," +
            std::string(profile.String(function.system_name)) + "," +
            std::string(profile.String(function.file)) + "," + std::to_string(function.start_line) +
            ":" + std::to_string(line.line) + ":" + std::to_string(line.column);
  }
  return text;
}

std::string NodeText(const Dictionary& dictionary, uint32_t node) {
  std::string text;
  for (; node != 0; node = dictionary.node(node).parent)
    text += FrameText(dictionary, dictionary.node(node).frame) + "\n";
  return text;
}

std::string StackText(const profile::Profile& profile, profile::StackId stack) {
  std::string text;
  for (const profile::LocationId location : profile.stack(stack))
    text += LocationText(profile, location) + "\n";
  return text;
}

// Pushes of several services, into one dictionary; what each node must be.
class DictionaryTest : public testing::Test {
 protected:
  void Push(const Service& service, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<uint32_t> which;
    for (int i = 0; i < 30; ++i)
      which.push_back(static_cast<uint32_t>(random() % service.stack_count()));
    std::vector<profile::StackId> ids;
    const profile::Profile profile = service.Push(which, &ids);
    std::vector<uint32_t> nodes(ids.size());
    interner_.Intern(profile, ids, nodes);
    for (size_t i = 0; i < ids.size(); ++i) {
      const std::string text = StackText(profile, ids[i]);
      ASSERT_EQ(NodeText(dictionary_, nodes[i]), text);
      const auto [known, is_new] = node_of_.emplace(text, nodes[i]);
      ASSERT_EQ(known->second, nodes[i]) << "a stack has one node";
    }
  }
  void PushAll() {
    for (uint32_t round = 0; round < 6; ++round) {
      for (uint32_t number = 0; number < 3; ++number)
        Push(Service(number, ServiceShape{}), 10 * round + number);
    }
  }

  Dictionary dictionary_;
  BatchInterner interner_{&dictionary_};
  std::map<std::string, uint32_t> node_of_;
};

TEST_F(DictionaryTest, GivesEachStackOneNodeThatReadsBackAsItCame) {
  PushAll();
  EXPECT_GT(node_of_.size(), 100u);
  EXPECT_EQ(node_of_.at(""), 0u);
  // Equal rows share an id in every table.
  std::map<std::string, uint32_t> frames;
  for (uint32_t id = 0; id < dictionary_.marks().frames; ++id)
    EXPECT_TRUE(frames.emplace(FrameText(dictionary_, id), id).second) << id;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> nodes;
  for (uint32_t id = 1; id < dictionary_.marks().nodes; ++id) {
    const TrieNode node = dictionary_.node(id);
    EXPECT_LT(node.parent, id);
    EXPECT_TRUE(nodes.emplace(std::pair(node.parent, node.frame), id).second) << id;
  }
}

TEST_F(DictionaryTest, CountsOnlyStacksThatWereAskedFor) {
  const Service service(1, ServiceShape{});
  std::vector<uint32_t> all(service.stack_count());
  std::iota(all.begin(), all.end(), 0u);
  std::vector<profile::StackId> ids;
  const profile::Profile profile = service.Push(all, &ids);
  std::vector<uint32_t> node(1);
  interner_.Intern(profile, std::span(ids).first(1), node);
  EXPECT_EQ(dictionary_.marks().nodes, 1 + profile.stack(ids[0]).size());
  EXPECT_LE(dictionary_.marks().frames, profile.stack(ids[0]).size());
}

TEST_F(DictionaryTest, CallablesAreNameAndImageOrFile) {
  PushAll();
  for (uint32_t id = 0; id < dictionary_.marks().frames; ++id) {
    const FrameView frame = dictionary_.frame(id).value();
    const std::string_view path = dictionary_.image(frame.image)->path;
    const auto callables = dictionary_.frame_callables(id).value();
    ASSERT_EQ(callables.size(), std::max<size_t>(frame.lines.size(), 1));
    for (size_t i = 0; i < callables.size(); ++i) {
      const CallableView view = dictionary_.callable(callables[i]).value();
      EXPECT_EQ(view.image, path);
      FunctionView function;
      if (!frame.lines.empty()) function = dictionary_.function(frame.lines[i].function).value();
      EXPECT_EQ(view.name, function.name.empty() ? function.system_name : function.name);
      EXPECT_EQ(view.file, path.empty() && !view.name.empty() ? function.file : "");
      EXPECT_EQ(dictionary_.callable_hash(callables[i]).value(),
                CallableHash(view.name, view.image, view.file));
    }
  }
  std::map<std::string, uint32_t> seen;
  for (uint32_t id = 0; id < dictionary_.callable_count(); ++id) {
    const CallableView view = dictionary_.callable(id).value();
    const std::string key =
        std::string(view.name) + "\n" + std::string(view.image) + "\n" + std::string(view.file);
    EXPECT_TRUE(seen.emplace(key, id).second) << key;
  }
}

TEST_F(DictionaryTest, SeriesTypesAndTasksKeepTheirIds) {
  const Labels web = {{"service.name", "web"}, {"service.version", "1"}};
  const Labels swapped = {{"service.name", "1"}, {"service.version", "web"}};
  EXPECT_EQ(dictionary_.InternSeries(web), 0u);
  EXPECT_EQ(dictionary_.InternSeries({}), 1u);
  EXPECT_EQ(dictionary_.InternSeries(swapped), 2u);
  EXPECT_EQ(dictionary_.InternSeries(web), 0u);
  EXPECT_EQ(dictionary_.InternSeries({}), 1u);
  EXPECT_EQ(dictionary_.series(0), web);
  EXPECT_EQ(dictionary_.series(1), Labels{});
  EXPECT_EQ(dictionary_.series(2), swapped);
  const ProfileType cpu = {"cpu", "nanoseconds", "samples", "cpu", "nanoseconds"};
  EXPECT_EQ(dictionary_.InternType(cpu), 0u);
  EXPECT_EQ(dictionary_.InternType({"space", "bytes", "", "", ""}), 1u);
  EXPECT_EQ(dictionary_.InternType(cpu), 0u);
  EXPECT_EQ(dictionary_.type(0), cpu);
  EXPECT_EQ(dictionary_.InternTask({1, 2, "main"}), 0u);
  EXPECT_EQ(dictionary_.InternTask({2, 1, "main"}), 1u);
  EXPECT_EQ(dictionary_.InternTask({1, 2, "main"}), 0u);
  EXPECT_EQ(dictionary_.task(1), (Task{2, 1, "main"}));
}

TEST_F(DictionaryTest, AnIdThatDoesNotExistIsCorrupt) {
  PushAll();
  const DictionaryMarks marks = dictionary_.marks();
  EXPECT_EQ(dictionary_.frame(marks.frames).error().code(), base::ErrorCode::kCorrupt);
  EXPECT_EQ(dictionary_.function(marks.functions).error().code(), base::ErrorCode::kCorrupt);
  EXPECT_EQ(dictionary_.image(marks.images).error().code(), base::ErrorCode::kCorrupt);
  EXPECT_EQ(dictionary_.callable(marks.callables).error().code(), base::ErrorCode::kCorrupt);
  EXPECT_EQ(dictionary_.callable_hash(marks.callables).error().code(), base::ErrorCode::kCorrupt);
  EXPECT_EQ(dictionary_.frame_callables(marks.frames).error().code(), base::ErrorCode::kCorrupt);
  EXPECT_EQ(dictionary_.node_page(1).error().code(), base::ErrorCode::kCorrupt);
}

TEST_F(DictionaryTest, DeltasRebuildItAndTheCopyGivesTheSameIds) {
  Dictionary copy;
  DictionaryMarks since = copy.marks();
  DictionaryMarks first;
  for (uint32_t round = 0; round < 4; ++round) {
    for (uint32_t number = 0; number < 3; ++number)
      Push(Service(number, ServiceShape{}), 10 * round + number);
    dictionary_.InternSeries({{"round", std::to_string(round)}});
    dictionary_.InternTask({round, round, "t"});
    dictionary_.InternType({"cpu", std::to_string(round), "", "", ""});
    const auto delta = dictionary_.EncodeDelta(since);
    const auto applied = copy.ApplyDelta(delta);
    ASSERT_TRUE(applied.ok()) << applied.error().message();
    ASSERT_EQ(copy.marks(), dictionary_.marks());
    since = dictionary_.marks();
    if (round == 0) first = since;
    if (round == 1) copy.InternString("");  // its indexes are there from now on
  }
  EXPECT_TRUE(dictionary_.EncodeDelta(since).empty());
  Dictionary half;
  const auto early = dictionary_.EncodeDelta(half.marks(), first);
  ASSERT_TRUE(half.ApplyDelta(early).ok());
  EXPECT_EQ(half.marks(), first);
  ASSERT_TRUE(half.ApplyDelta(dictionary_.EncodeDelta(first)).ok());
  EXPECT_EQ(half.EncodeDelta(Dictionary().marks()), dictionary_.EncodeDelta(Dictionary().marks()));
  for (uint32_t id = 0; id < since.nodes; ++id)
    ASSERT_EQ(NodeText(copy, id), NodeText(dictionary_, id));
  for (uint32_t id = 0; id < since.series; ++id) EXPECT_EQ(copy.series(id), dictionary_.series(id));
  for (uint32_t id = 0; id < since.callables; ++id) {
    EXPECT_EQ(copy.callable(id)->name, dictionary_.callable(id)->name);
    EXPECT_EQ(copy.callable_hash(id).value(), dictionary_.callable_hash(id).value());
  }
  const IdMaps maps = MergeDictionary(dictionary_, &copy);
  EXPECT_EQ(copy.marks(), since) << "nothing was new";
  for (uint32_t id = 0; id < since.nodes; ++id) EXPECT_EQ(maps.nodes[id], id);
}

TEST_F(DictionaryTest, ADamagedDeltaChangesNothing) {
  Push(Service(0, ServiceShape{}), 1);
  dictionary_.InternSeries({{"a", "b"}});
  const auto delta = dictionary_.EncodeDelta(Dictionary().marks());
  Dictionary empty;
  for (size_t size = 1; size < delta.size(); ++size) {
    EXPECT_EQ(empty.ApplyDelta(std::span(delta).first(size)).error().code(),
              base::ErrorCode::kCorrupt);
  }
  for (size_t at = 0; at < delta.size(); ++at) {
    auto flipped = delta;
    flipped[at] ^= static_cast<uint8_t>(1u << (at % 8));
    EXPECT_EQ(empty.ApplyDelta(flipped).error().code(), base::ErrorCode::kCorrupt);
  }
  EXPECT_EQ(empty.marks(), Dictionary().marks());
  ASSERT_TRUE(empty.ApplyDelta(delta).ok());
  const auto twice = empty.ApplyDelta(delta);
  EXPECT_EQ(twice.error().code(), base::ErrorCode::kCorrupt) << "it begins where it did before";
}

// With the checksum made right again, what is wrong must be seen by looking at the ids.
TEST_F(DictionaryTest, ADeltaWithWrongIdsIsRefusedOrHarmless) {
  Push(Service(0, ServiceShape{}), 1);
  auto delta = dictionary_.EncodeDelta(Dictionary().marks());
  const size_t body = delta.size() - 8;
  size_t refused = 0;
  for (size_t at = 0; at < body; at += 5) {
    for (const unsigned flip : {0x01u, 0x80u, 0xffu}) {
      auto flipped = delta;
      flipped[at] = static_cast<uint8_t>(flipped[at] ^ flip);
      const uint64_t checksum = Checksum(flipped.data(), body);
      std::memcpy(flipped.data() + body, &checksum, sizeof(checksum));
      Dictionary copy;
      if (!copy.ApplyDelta(flipped).ok()) {
        ++refused;
        EXPECT_EQ(copy.marks(), Dictionary().marks());
        continue;
      }
      for (uint32_t id = 0; id < copy.marks().nodes; ++id) NodeText(copy, id);
    }
  }
  EXPECT_GT(refused, body / 10);
}

TEST_F(DictionaryTest, MergingKeepsEveryStackAndShare) {
  PushAll();
  Dictionary other;
  other.InternSeries({{"x", "y"}});
  BatchInterner interner(&other);
  std::vector<uint32_t> which = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (const uint32_t number : {2u, 7u}) {
    std::vector<profile::StackId> ids;
    const profile::Profile profile = Service(number, ServiceShape{}).Push(which, &ids);
    std::vector<uint32_t> nodes(ids.size());
    interner.Intern(profile, ids, nodes);
  }
  dictionary_.InternSeries({{"z", "z"}});
  const DictionaryMarks before = dictionary_.marks();
  const IdMaps maps = MergeDictionary(other, &dictionary_);
  ASSERT_EQ(maps.nodes.size(), other.marks().nodes);
  for (uint32_t id = 0; id < other.marks().nodes; ++id)
    EXPECT_EQ(NodeText(dictionary_, maps.nodes[id]), NodeText(other, id));
  for (uint32_t id = 0; id < other.callable_count(); ++id) {
    EXPECT_EQ(other.callable_hash(id).value(),
              dictionary_.callable_hash(maps.callables[id]).value());
  }
  EXPECT_EQ(dictionary_.series(maps.series[0]), (Labels{{"x", "y"}}));
  EXPECT_LT(dictionary_.marks().nodes - before.nodes, other.marks().nodes) << "some were known";
}

TEST_F(DictionaryTest, CutsTheTrieToWhatIsNeeded) {
  const ServiceShape large = {.functions = 300, .stacks = 3000, .depth = 20, .has_oddities = false};
  const Service service(5, large);
  std::vector<uint32_t> all(service.stack_count());
  std::iota(all.begin(), all.end(), 0u);
  std::vector<profile::StackId> ids;
  const profile::Profile profile = service.Push(all, &ids);
  std::vector<uint32_t> nodes(ids.size());
  interner_.Intern(profile, ids, nodes);
  ASSERT_GT(dictionary_.node_count(), 2 * kNodePageRows) << "more than one page";

  for (const size_t count : {size_t{0}, size_t{1}, size_t{50}, nodes.size()}) {
    std::vector<uint32_t> wanted(nodes.begin(), nodes.begin() + static_cast<ptrdiff_t>(count));
    wanted.push_back(0);
    if (count != 0) wanted.push_back(wanted[0]);
    std::set<uint32_t> expected = {0};
    for (uint32_t node : wanted) {
      for (; node != 0; node = dictionary_.node(node).parent) expected.insert(node);
    }
    std::vector<uint32_t> local(wanted.size());
    const SubTrie trie = CutSubTrie(dictionary_, wanted, local).value();
    EXPECT_EQ(trie.node, std::vector<uint32_t>(expected.begin(), expected.end()));
    for (size_t i = 0; i < trie.node.size(); ++i) {
      EXPECT_EQ(trie.frame[i], dictionary_.node(trie.node[i]).frame);
      EXPECT_EQ(trie.node[trie.parent[i]], dictionary_.node(trie.node[i]).parent);
    }
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(trie.node[local[i]], wanted[i]);
  }
  const std::vector<uint32_t> missing = {dictionary_.node_count()};
  std::vector<uint32_t> local(1);
  EXPECT_EQ(CutSubTrie(dictionary_, missing, local).error().code(), base::ErrorCode::kCorrupt);
}

TEST(Dictionary, OnlyANameHasAFileInItsCallable) {
  Dictionary dictionary;
  const uint32_t file = dictionary.InternString("a.cc");
  const uint32_t name = dictionary.InternString("f");
  const std::vector<FrameLine> nameless = {{dictionary.InternFunction({0, 0, file, 0}), 0, 0}};
  const std::vector<FrameLine> named = {{dictionary.InternFunction({0, name, file, 0}), 0, 0}};
  const auto callable = [&](const std::vector<FrameLine>& lines) {
    return dictionary.frame_row(dictionary.InternFrame(0, 1, false, lines)).callable;
  };
  EXPECT_EQ(dictionary.callable(callable(nameless))->file, "");
  EXPECT_EQ(dictionary.callable(callable(named))->file, "a.cc");
  EXPECT_EQ(dictionary.callable(callable(named))->name, "f") << "the system's, when it is alone";
}

TEST_F(DictionaryTest, WithoutItsIndexesItIsSmallerAndStillFindsAll) {
  PushAll();
  const DictionaryMarks marks = dictionary_.marks();
  const auto whole = dictionary_.EncodeDelta(Dictionary().marks());
  const size_t bytes = dictionary_.memory_bytes();
  dictionary_.DropIndexes();
  EXPECT_LT(dictionary_.memory_bytes(), bytes * 4 / 5);
  EXPECT_EQ(dictionary_.EncodeDelta(Dictionary().marks()), whole);
  PushAll();
  EXPECT_EQ(dictionary_.marks(), marks) << "nothing was new";
  EXPECT_LE(dictionary_.memory_bytes(), bytes);
  EXPECT_GT(dictionary_.memory_bytes(), bytes * 4 / 5);
}

TEST(RowIndex, ATableOfAnySizeFindsItsRowsAndIsHalfFullAtLeast) {
  TaggedIndex rows;
  const auto hash_of = [](uint32_t row) { return profile::HashWord(1, row); };
  constexpr uint32_t kRows = 1'000'000;
  for (uint32_t row = 0; row < kRows; ++row) {
    const auto same = [row](uint32_t other) { return other == row; };
    ASSERT_EQ(rows.FindOrInsert(hash_of(row), row, same), row);
    if (row > 200'000) {
      ASSERT_LE(rows.memory_bytes(), size_t{row} * 16);
    }
  }
  for (uint32_t row = 0; row < kRows; ++row) {
    const auto same = [row](uint32_t other) { return other == row; };
    ASSERT_EQ(rows.FindOrInsert(hash_of(row), kRows, same), row);
  }
  uint32_t missing = 0;
  for (uint32_t row = kRows; row < kRows + 1'000; ++row) {
    if (rows.Guess(hash_of(row)) == kNoRow) ++missing;
  }
  EXPECT_GT(missing, 990u) << "a tag alone tells nearly all that are not there";
}

TEST(RowIndex, RowsAtTheEndOfATableGoOnAtItsStart) {
  TaggedIndex rows;
  const uint64_t last = 0xffff'fff0;  // of the last slot, whatever the size
  for (uint32_t row = 0; row < 1'000; ++row) {
    const auto same = [row](uint32_t other) { return other == row; };
    ASSERT_EQ(rows.FindOrInsert(last + row % 8, row, same), row);
  }
  for (uint32_t row = 0; row < 1'000; ++row) {
    const auto same = [row](uint32_t other) { return other == row; };
    EXPECT_EQ(rows.FindOrInsert(last + row % 8, 1'000, same), row);
  }
  EXPECT_EQ(rows.Guess(1), kNoRow);
}

TEST(Dictionary, TextsMayBeLongAndStayWhereTheyAre) {
  Dictionary dictionary;
  const uint32_t first = dictionary.InternString("first");
  const char* place = dictionary.string(first).data();
  const std::string large(300'000, 'x');
  const uint32_t id = dictionary.InternString(large);
  for (int i = 0; i < 20'000; ++i) dictionary.InternString("text" + std::to_string(i));
  EXPECT_EQ(dictionary.string(id), large);
  EXPECT_EQ(dictionary.string(first).data(), place);
  EXPECT_EQ(dictionary.InternString(large), id);
  EXPECT_EQ(dictionary.InternString("text19999"), id + 20'000);
  EXPECT_GT(dictionary.memory_bytes(), 400'000u);
}

}  // namespace
}  // namespace vesta::store::index
