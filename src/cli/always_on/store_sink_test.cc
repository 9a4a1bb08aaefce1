#include "src/cli/always_on/store_sink.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "src/uplink/uplink_fixture.h"

namespace vesta::cli {
namespace {

using uplink::Parcel;
using uplink::Verdict;

constexpr int64_t kNowUnixMs = 1'800'000'060'000;  // a minute after the rows of the fixture

class StoreSinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "vesta_store_sink_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    parent_ = pattern;
    store::DiskStoreOptions options;
    options.folder = parent_ + "/store";
    options.now_unix_ms = [this] { return now_unix_ms_; };
    auto opened = store::DiskStore::Open(std::move(options));
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    store_ = *std::move(opened);
    sink_ = std::make_unique<StoreSink>(*store_, senders_);
  }
  void TearDown() override {
    sink_.reset();
    store_.reset();
    std::filesystem::remove_all(parent_);
  }
  // As it comes back from the spool.
  static Parcel BatchFromSpool(std::string plain) {
    return Parcel(/*is_batch=*/true, "agent/boot/3", 3, std::move(plain));
  }

  std::string parent_;
  int64_t now_unix_ms_ = kNowUnixMs;
  std::unique_ptr<store::DiskStore> store_;
  server::Senders senders_;
  std::unique_ptr<StoreSink> sink_;
};

TEST_F(StoreSinkTest, ABatchCountsOnceFreshOrFromTheSpool) {
  Parcel fresh(uplink::MakeBatch(3));
  fresh.SetBook(uplink::MakeBatch(3)->book);
  const std::string plain = fresh.Plain();
  EXPECT_EQ(sink_->Deliver(fresh).verdict, Verdict::kDelivered);
  EXPECT_EQ(store_->Status().rows, 3u);
  Parcel again = BatchFromSpool(plain);
  const uplink::Delivery delivery = sink_->Deliver(again);
  EXPECT_EQ(delivery.verdict, Verdict::kDelivered);
  EXPECT_EQ(delivery.samples_rejected, 0u) << "it was kept, though earlier";
  EXPECT_EQ(store_->Status().rows, 3u);
  const auto list = senders_.List();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].agent, "agent");
  EXPECT_EQ(list[0].rows.batches, 2u);
  EXPECT_EQ(list[0].rows.received, 6u);
  EXPECT_EQ(list[0].rows.kept, 3u);
  EXPECT_EQ(list[0].rows.duplicate, 3u);
  ASSERT_TRUE(list[0].book.has_value());
  EXPECT_EQ(list[0].book->stages[0].name, "batch");
}

TEST_F(StoreSinkTest, ABatchWithoutRowsTellsThatItsAgentIsThere) {
  Parcel empty(uplink::MakeBatch(0));
  EXPECT_EQ(sink_->Deliver(empty).verdict, Verdict::kDelivered);
  ASSERT_EQ(senders_.List().size(), 1u);
  EXPECT_EQ(senders_.List()[0].rows.received, 0u);
}

TEST_F(StoreSinkTest, WhatTheStoreHasNoPlaceForIsToldAndNotSentAgain) {
  now_unix_ms_ -= int64_t{2} * 86'400'000;  // the rows are of the day after tomorrow
  Parcel early(uplink::MakeBatch(3));
  const uplink::Delivery delivery = sink_->Deliver(early);
  EXPECT_EQ(delivery.verdict, Verdict::kDelivered);
  EXPECT_EQ(delivery.samples_rejected, 3u);
  EXPECT_NE(delivery.message.find("3 samples"), std::string::npos) << delivery.message;
  EXPECT_EQ(senders_.List()[0].rows.too_new, 3u);
}

TEST_F(StoreSinkTest, DamagedBytesAreRefusedForGood) {
  Parcel damaged = BatchFromSpool("\x0a\xff");
  EXPECT_EQ(sink_->Deliver(damaged).verdict, Verdict::kRefused);
  Parcel names(/*is_batch=*/false, "agent/boot/4", 0, "\x0a\xff");
  EXPECT_EQ(sink_->Deliver(names).verdict, Verdict::kRefused);
  EXPECT_EQ(store_->Status().rows, 0u);
}

TEST_F(StoreSinkTest, NamesArriveFreshOrFromTheSpool) {
  Parcel fresh(uplink::MakeSymbols(1));
  const std::string plain = fresh.Plain();
  EXPECT_EQ(sink_->Deliver(fresh).verdict, Verdict::kDelivered);
  EXPECT_EQ(store_->Status().symbol_places, 1u);
  Parcel again(/*is_batch=*/false, "agent/boot/1", 0, plain);
  EXPECT_EQ(sink_->Deliver(again).verdict, Verdict::kDelivered);
  EXPECT_EQ(store_->Status().symbols.locations_unchanged, 1u);
}

TEST_F(StoreSinkTest, AfterTheEndAllIsForLater) {
  sink_->Cancel();
  Parcel batch(uplink::MakeBatch(3));
  EXPECT_EQ(sink_->Deliver(batch).verdict, Verdict::kLater);
  Parcel names(uplink::MakeSymbols(1));
  EXPECT_EQ(sink_->Deliver(names).verdict, Verdict::kLater);
  EXPECT_EQ(store_->Status().rows, 0u);
}

}  // namespace
}  // namespace vesta::cli
