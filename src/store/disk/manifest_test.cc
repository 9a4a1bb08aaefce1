#include "src/store/disk/manifest.h"

#include <gtest/gtest.h>

#include "src/store/disk/day.h"

namespace vesta::store {
namespace {

constexpr const char* kHash = "0123456789abcdef0123456789abcdef";

Manifest Sample() {
  Manifest manifest;
  manifest.day = *ParseDayName("2026-11-30");
  manifest.number = 2;
  manifest.replaces = {1};
  const int64_t start = DayStartUnixMs(manifest.day);
  manifest.segments = {
      {7, "seg-0001.parquet", "seg-0001.idx", 10, {start, start + 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9}},
      {9, "", "seg-0002.idx", 20, {start + 3, start + 9}, {}}};
  manifest.files = {
      {"seg-0001.parquet", 100, kHash}, {"seg-0001.idx", 50, kHash}, {"seg-0002.idx", 51, kHash}};
  manifest.book.outcome.rows_received = 31;
  manifest.book.outcome.rows_kept = 30;
  manifest.book.outcome.rows_duplicate = 1;
  manifest.book.rows_quarantined = 20;
  return manifest;
}

TEST(Manifest, IsReadAsItWasWritten) {
  const std::string text = EncodeManifest(Sample());
  const auto manifest = DecodeManifest(text);
  ASSERT_TRUE(manifest.ok()) << manifest.error().message();
  EXPECT_EQ(EncodeManifest(*manifest), text);
  EXPECT_EQ(manifest->segments, Sample().segments);
  EXPECT_EQ(manifest->files, Sample().files);
  EXPECT_EQ(manifest->rows(), 10u);
  EXPECT_EQ(manifest->book.rows_quarantined, 20u);
}

// The format is a promise to the next version.
TEST(Manifest, Golden) {
  Manifest manifest = Sample();
  manifest.segments.resize(1);
  manifest.files.resize(2);
  EXPECT_EQ(
      EncodeManifest(manifest),
      R"({"version":1,"day":"2026-11-30","number":2,"closed":false,"replaces":[1],"segments":[)"
      R"({"part":7,"rows_file":"seg-0001.parquet","index_file":"seg-0001.idx","rows":10,)"
      R"("from_unix_ms":1795996800000,"to_unix_ms":1795996800005,)"
      R"("marks":[1,2,3,4,5,6,7,8,9]}],"files":[)"
      R"({"name":"seg-0001.parquet","bytes":100,"xxh3_128":"0123456789abcdef0123456789abcdef"},)"
      R"({"name":"seg-0001.idx","bytes":50,"xxh3_128":"0123456789abcdef0123456789abcdef"}],)"
      R"("book":{"rows_received":31,"rows_kept":30,"rows_overflowed":0,"rows_duplicate":1,)"
      R"("rows_too_old":0,"rows_too_new":0,"rows_expired":0,"rows_quarantined":20}})"
      "\n");
}

Manifest OpenSample() {
  Manifest manifest = Sample();
  manifest.names_files = {"seg-0002.names", "seg-0001.names"};
  for (const std::string& name : manifest.names_files) manifest.files.push_back({name, 7, kHash});
  manifest.names_marks = {9, 8, 7, 6, 5, 4, 3, 2, 1};
  manifest.sealed_book.outcome.rows_received = 40;
  manifest.sealed_book.outcome.rows_kept = 40;
  return manifest;
}

TEST(Manifest, WhatGoesWithoutTheHotFileIsReadAsItWasWritten) {
  const std::string text = EncodeManifest(OpenSample());
  EXPECT_NE(text.find(R"("sealed":{"names":["seg-0002.names","seg-0001.names"],)"
                      R"("marks":[9,8,7,6,5,4,3,2,1],"book":{"rows_received":40,)"),
            std::string::npos)
      << text;
  const auto manifest = DecodeManifest(text);
  ASSERT_TRUE(manifest.ok()) << manifest.error().message();
  EXPECT_EQ(EncodeManifest(*manifest), text);
  Manifest wrong = OpenSample();
  wrong.files.pop_back();
  EXPECT_FALSE(DecodeManifest(EncodeManifest(wrong)).ok());
}

TEST(Manifest, EveryTruncationIsRefused) {
  const std::string text = EncodeManifest(OpenSample());
  for (size_t size = 0; size + 1 < text.size(); ++size) {  // the last byte is the end of the line
    const auto manifest = DecodeManifest(std::string_view(text).substr(0, size));
    ASSERT_FALSE(manifest.ok()) << size;
    EXPECT_EQ(manifest.error().code(), base::ErrorCode::kCorrupt);
  }
}

TEST(Manifest, ANewerVersionIsUnsupported) {
  std::string text = EncodeManifest(Sample());
  text.replace(text.find("\"version\":1"), 11, "\"version\":2");
  const auto manifest = DecodeManifest(text);
  ASSERT_FALSE(manifest.ok());
  EXPECT_EQ(manifest.error().code(), base::ErrorCode::kUnsupported);
  EXPECT_NE(manifest.error().message().find("newer"), std::string::npos);
}

TEST(Manifest, WhatCannotBeIsRefused) {
  const auto refuses = [](void (*change)(Manifest&)) {
    Manifest manifest = Sample();
    change(manifest);
    const auto decoded = DecodeManifest(EncodeManifest(manifest));
    return !decoded.ok() && decoded.error().code() == base::ErrorCode::kCorrupt;
  };
  EXPECT_TRUE(refuses([](Manifest& m) { m.files[0].name = "../../etc/passwd"; }));
  EXPECT_TRUE(refuses([](Manifest& m) { m.files[0].name = ".."; }));
  EXPECT_TRUE(refuses([](Manifest& m) { m.files[0].name = ""; }));
  EXPECT_TRUE(refuses([](Manifest& m) { m.files[0].xxh3_128 = "0123"; }));
  EXPECT_TRUE(refuses([](Manifest& m) { m.files[1] = m.files[0]; }));
  EXPECT_TRUE(refuses([](Manifest& m) { m.segments[0].rows_file = "elsewhere.parquet"; }));
  EXPECT_TRUE(refuses([](Manifest& m) { m.segments[1].part = m.segments[0].part; }));
  EXPECT_TRUE(refuses([](Manifest& m) { m.segments[0].range.to_unix_ms = 0; }));
  EXPECT_TRUE(refuses([](Manifest& m) { m.is_closed = true; }));
  EXPECT_TRUE(refuses([](Manifest& m) { m.number = 0; }));
  EXPECT_FALSE(refuses([](Manifest&) {}));
}

TEST(Manifest, MarksAreOneNumberOfEachTable) {
  const std::string text = EncodeManifest(Sample());
  const std::string marks = "[1,2,3,4,5,6,7,8,9]";
  for (const char* wrong : {"[1,2,3,4,5,6,7,8]", "[1,2,3,4,5,6,7,8,9,10]", "9",
                            "[1,2,3,4,5,6,7,8,4294967296]", "[1,2,3,4,5,6,7,8,-1]"}) {
    std::string changed = text;
    changed.replace(changed.find(marks), marks.size(), wrong);
    const auto manifest = DecodeManifest(changed);
    ASSERT_FALSE(manifest.ok()) << wrong;
    EXPECT_NE(manifest.error().message().find("\"marks\""), std::string::npos) << wrong;
  }
}

TEST(StoreState, IsReadAsItWasWritten) {
  StoreState state;
  state.book.outcome.rows_received = 5;
  state.book.rows_expired = 3;
  state.removed = {{20'000, 1}, {20'001, 3}};
  state.files_quarantined = 2;
  const std::string text = EncodeStoreState(state);
  const auto decoded = DecodeStoreState(text);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(EncodeStoreState(*decoded), text);
  EXPECT_EQ(decoded->removed, state.removed);
  for (size_t size = 0; size + 1 < text.size(); ++size) {
    EXPECT_FALSE(DecodeStoreState(std::string_view(text).substr(0, size)).ok()) << size;
  }
}

}  // namespace
}  // namespace vesta::store
