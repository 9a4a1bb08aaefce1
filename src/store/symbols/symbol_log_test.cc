#include "src/store/symbols/symbol_log.h"

#include <gtest/gtest.h>

#include <string>

#include "src/store/symbols/facts_for_test.h"

namespace vesta::store::symbols {
namespace {

std::string Record(uint64_t version) {
  GivenFacts given;
  FactWriter writer;
  writer.Add(PlaceAt("a", 16), given.Of(version, {"f"}));
  return LogRecord(writer.Finish());
}

TEST(SymbolLog, GivesBackItsRecords) {
  const std::string bytes = LogHeader() + Record(1) + Record(2);
  const auto content = ReadLog(bytes);
  ASSERT_TRUE(content.ok());
  ASSERT_EQ(content->blocks.size(), 2u);
  EXPECT_EQ(content->blocks[1]->fact(0).version, 2u);
  EXPECT_EQ(content->good_bytes, bytes.size());
  EXPECT_FALSE(content->is_damaged);
  EXPECT_TRUE(ReadLog(LogHeader())->blocks.empty());
}

TEST(SymbolLog, ARecordThatWasBeingWrittenIsNone) {
  const std::string whole = LogHeader() + Record(1);
  const std::string last = Record(2);
  for (size_t bytes = 0; bytes < last.size(); ++bytes) {
    for (const std::string& rest : {last.substr(0, bytes), std::string(bytes, '\0')}) {
      const auto content = ReadLog(whole + rest);
      ASSERT_TRUE(content.ok());
      EXPECT_EQ(content->blocks.size(), 1u);
      EXPECT_EQ(content->good_bytes, whole.size());
      EXPECT_FALSE(content->is_damaged);
    }
  }
}

TEST(SymbolLog, WhatIsDamagedCostsOneRecord) {
  const std::string before = LogHeader() + Record(1);
  const std::string middle = Record(2);
  const std::string behind = Record(3);
  for (size_t at = 0; at < middle.size(); ++at) {
    std::string changed = middle;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    const auto content = ReadLog(before + changed + behind);
    ASSERT_TRUE(content.ok());
    ASSERT_EQ(content->blocks.size(), 2u) << at;
    EXPECT_EQ(content->blocks[1]->fact(0).version, 3u);
    EXPECT_TRUE(content->is_damaged);
    EXPECT_EQ(content->good_bytes, before.size());
  }
}

TEST(SymbolLog, OtherFilesAreRefused) {
  EXPECT_EQ(ReadLog("").error().code(), base::ErrorCode::kCorrupt);
  EXPECT_EQ(ReadLog(std::string(100, 'x')).error().code(), base::ErrorCode::kCorrupt);
  std::string newer = LogHeader();
  newer[8] = 9;
  EXPECT_EQ(ReadLog(newer).error().code(), base::ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace vesta::store::symbols
