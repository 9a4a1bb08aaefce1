// docs/query.md says only what is so: each of its examples is run.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "src/query/ask.h"
#include "src/store/memory/memory_store.h"

namespace vesta::query {
namespace {

constexpr int64_t kNow = 1'796'047'200'000;  // 2026-11-30T14:00:00Z

// The lines of the blocks of this kind, comments left out.
std::vector<std::string> Examples(const std::string& kind) {
  std::ifstream file(VESTA_QUERY_DOCUMENT);
  std::vector<std::string> lines;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      inside = line == "```" + kind;
      continue;
    }
    if (!inside || line.empty()) continue;
    const size_t comment = line.find("  # ");
    if (comment != std::string::npos) line.resize(comment);
    while (line.ends_with(' ')) line.pop_back();
    lines.push_back(line);
  }
  EXPECT_FALSE(lines.empty()) << kind;
  return lines;
}

void Fill(store::MemoryStore& store) {
  profile::Profile profile;
  std::vector<profile::LocationId> stack;
  for (const std::string_view name : {"handle", "main"}) {
    const profile::Line line{profile.InternFunction({profile.InternString(name), {}, {}, 0}), 5, 0};
    stack.push_back(profile.InternLocation({profile::kNoMapping, stack.size(), false, {&line, 1}}));
  }
  store::Batch batch;
  batch.profile = &profile;
  batch.types = {{"cpu", "nanoseconds", "samples", "cpu", "nanoseconds"}};
  batch.tasks = {{1, 2, "worker 1"}};
  for (const std::string version : {"1.4", "1.5"}) {
    batch.series.push_back(
        {{"process", "postgres"}, {"service.name", "checkout"}, {"service.version", version}});
  }
  const auto id = profile.InternStack(stack);
  for (const int64_t minutes : {5, 90}) {
    for (uint32_t series = 0; series < 2; ++series)
      batch.rows.push_back({0, series, 0, id, kNow - minutes * 60'000, 10'000'000, 1, 1});
  }
  ASSERT_TRUE(store.Append(batch).ok());
}

std::optional<std::string>& FieldOf(RequestText& text, const std::string& name) {
  if (name == "query") return text.query;
  if (name == "before") return text.before;
  if (name == "from") return text.from;
  if (name == "by") return text.by;
  if (name == "order") return text.order;
  if (name == "step") return text.step;
  if (name == "max_nodes") return text.max_nodes;
  if (name == "limit") return text.limit;
  if (name == "label") return text.label;
  if (name == "function") return text.function;
  EXPECT_EQ(name, "normalize");
  return text.normalize;
}

TEST(QueryDocumentTest, SelectorsAreRead) {
  store::MemoryStore store;
  Fill(store);
  for (const std::string& text : Examples("selectors")) {
    RequestText asked;
    asked.query = text;
    const auto request = MakeRequest(Question::kTree, asked, kNow);
    ASSERT_TRUE(request.ok()) << text << ": " << request.error().message();
    const auto answer = Ask(store, *request);
    EXPECT_TRUE(answer.ok()) << text << ": " << answer.error().message();
  }
}

TEST(QueryDocumentTest, ErrorsAreAsWritten) {
  for (const std::string& line : Examples("errors")) {
    const size_t end = line.find("    ");
    const auto selector = ParseSelector(line.substr(0, end));
    ASSERT_FALSE(selector.ok()) << line;
    EXPECT_EQ(selector.error().message(), line.substr(line.find_first_not_of(' ', end)));
  }
}

TEST(QueryDocumentTest, TimesAreRead) {
  for (const std::string& text : Examples("times")) EXPECT_TRUE(ParseTime(text).ok()) << text;
}

TEST(QueryDocumentTest, QuestionsFindWhatIsThere) {
  store::MemoryStore store;
  Fill(store);
  for (const std::string& line : Examples("questions")) {
    const size_t mark = std::min(line.find('?'), line.size());
    const auto question = QuestionOf(line.substr(0, mark));
    ASSERT_TRUE(question) << line;
    RequestText text;
    for (size_t at = mark + 1; at < line.size();) {
      const size_t equals = line.find('=', at), end = std::min(line.find('&', at), line.size());
      FieldOf(text, line.substr(at, equals - at)) = line.substr(equals + 1, end - equals - 1);
      at = end + 1;
    }
    const auto request = MakeRequest(*question, text, kNow);
    ASSERT_TRUE(request.ok()) << line << ": " << request.error().message();
    const auto answer = Ask(store, *request);
    ASSERT_TRUE(answer.ok()) << line << ": " << answer.error().message();
    EXPECT_TRUE(AboutOf(*answer).notes.empty()) << line << ": " << AboutOf(*answer).notes[0];
    EXPECT_GT(AboutOf(*answer).plan.series[0], 0u) << line;
    EXPECT_FALSE(AnswerJson(*answer).empty());
    EXPECT_FALSE(AnswerText(*answer, 100).empty());
  }
}

}  // namespace
}  // namespace vesta::query
