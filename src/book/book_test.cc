#include "src/book/book.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

namespace vesta::book {
namespace {

using base::ErrorCode;

Book Example() {
  Book book;
  book.time_unix_ms = 1'790'000'000'000;
  book.duration_ns = 10'000'000'000;
  book.stages = {{"kernel", 100, {{"idle", 60}}, 37, {{"ring_full", 3}}},
                 {"agent", 37, {}, 37, {}}};
  book.incomplete = {{"READ_FAULT", 2}, {"DEPTH", 0}};
  book.details = {{"wakeups", 5}};
  return book;
}

struct TemporaryFolder {
  TemporaryFolder() {
    char path_template[] = "/tmp/vesta-book-XXXXXX";
    path = ::mkdtemp(path_template);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  std::string path;
};

TEST(RecordingBookTest, JsonIsAsDocumented) {
  EXPECT_EQ(BookToJson(Example()),
            "{\"time_unix_ms\":1790000000000,\"duration_ns\":10000000000,\"stages\":["
            "{\"name\":\"kernel\",\"received\":100,\"excluded\":{\"idle\":60},\"kept\":37,"
            "\"dropped\":{\"ring_full\":3}},"
            "{\"name\":\"agent\",\"received\":37,\"excluded\":{},\"kept\":37,\"dropped\":{}}],"
            "\"incomplete\":{\"READ_FAULT\":2,\"DEPTH\":0},\"details\":{\"wakeups\":5}}");
}

TEST(RecordingBookTest, SavedBookComesBack) {
  const TemporaryFolder folder;
  const std::string state_dir = folder.path + "/not/yet/there";
  ASSERT_TRUE(SaveBook(state_dir, Example()).ok());
  const auto loaded = LoadBook(state_dir);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message();
  EXPECT_EQ(BookToJson(*loaded), BookToJson(Example()));
  EXPECT_TRUE(loaded->stages[0].Balances());
  size_t file_count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(state_dir)) {
    file_count += entry.is_regular_file();
  }
  EXPECT_EQ(file_count, 1u);  // nothing aside is left behind
}

TEST(RecordingBookTest, MissingAndBrokenBooksAreErrors) {
  const TemporaryFolder folder;
  EXPECT_EQ(LoadBook(folder.path).error().code(), ErrorCode::kNotFound);
  const std::string good = BookToJson(Example());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(BookFromJson(good.substr(0, size)).ok()) << size;
  }
  for (const char* json : {"{}", "[]", "3", "{\"time_unix_ms\":-1}"}) {
    EXPECT_EQ(BookFromJson(json).error().code(), ErrorCode::kCorrupt) << json;
  }
  std::string wrong = good;
  wrong.replace(wrong.find("\"kept\":37"), 9, "\"kept\":\"a\"");
  EXPECT_EQ(BookFromJson(wrong).error().message(), "the book has no right value for 'kept'");
}

TEST(RecordingBookTest, FolderThatCannotBeMadeSaysWhich) {
  const TemporaryFolder folder;
  const auto saved = SaveBook("/dev/null/vesta", Example());
  ASSERT_FALSE(saved.ok());
  EXPECT_NE(saved.error().message().find("/dev/null/vesta"), std::string::npos);
}

TEST(RecordingBookTest, TextShowsLossesAndAnUnbalancedStage) {
  Book book = Example();
  const std::string text = BookToText(book);
  EXPECT_NE(text.find("kernel: 100 samples received\n"), std::string::npos) << text;
  EXPECT_NE(text.find("dropped              3  ring_full"), std::string::npos) << text;
  EXPECT_NE(text.find("READ_FAULT"), std::string::npos);
  EXPECT_EQ(text.find("DEPTH"), std::string::npos);
  EXPECT_EQ(text.find("BALANCE"), std::string::npos);
  book.stages[0].kept = 38;
  EXPECT_NE(BookToText(book).find("DOES NOT BALANCE"), std::string::npos);
}

}  // namespace
}  // namespace vesta::book
