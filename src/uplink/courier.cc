#include "src/uplink/courier.h"

#include <algorithm>
#include <utility>

#include "src/base/check.h"
#include "src/uplink/spool_codec.h"

namespace vesta::uplink {
namespace {

constexpr uint64_t kTickMs = 1'000;      // while the spool has something to care for
constexpr uint64_t kQuietMs = 60'000;    // else
constexpr uint64_t kStuckFailures = 10;  // then a record is given up

}  // namespace

Courier::Courier(const UplinkOptions& options, Sink& sink, std::unique_ptr<spool::Spool> spool,
                 Traffic& traffic)
    : options_(options),
      sink_(sink),
      spool_(std::move(spool)),
      traffic_(traffic),
      pause_(options.pause_ms_first, options.pause_ms_max, options.retry_after_ms_max),
      bytes_limit_(static_cast<double>(options.catch_up_bytes_per_s)),
      requests_limit_(options.catch_up_requests_per_s) {
  CHECK(options_.now_mono_ms && options_.chance);
  traffic_.Apply({}, spool_.get());
}

uint64_t Courier::Round() {
  bool has_work = true;
  while (has_work && !IsPaused() && !traffic_.is_stopping()) {
    Maintain();
    has_work = DeliverFresh();
    if (!IsPaused() && DeliverOldest()) has_work = true;
  }
  Maintain();
  if (IsPaused()) StowAll();
  return WaitMs();
}

void Courier::Maintain() {
  if (!spool_) return;
  spool_->Maintain();
  traffic_.Apply({}, spool_.get());
}

uint64_t Courier::WaitMs() {
  const int64_t now = now_ms();
  const spool::SpoolState state = spool_ ? spool_->State() : spool::SpoolState{};
  uint64_t wait_ms = kQuietMs;
  if (IsPaused()) {
    wait_ms = pause_.LeftMs(now);
  } else if (state.waiting.records > 0) {
    wait_ms = std::max(bytes_limit_.MsUntilReady(now), requests_limit_.MsUntilReady(now));
    if (now < read_again_ms_) wait_ms = kTickMs;
  }
  if (held_ || state.disk_bytes > 0) wait_ms = std::min(wait_ms, kTickMs);
  return std::max<uint64_t>(wait_ms, 1);
}

// The one that was held, or the next of the queue, with the book as it is when it leaves.
std::unique_ptr<Parcel> Courier::NextFresh(size_t leave) {
  if (held_) return std::move(held_);
  std::unique_ptr<Parcel> parcel = traffic_.Take(leave);
  if (!parcel || parcel->batch() == nullptr) return parcel;
  book::Book book = parcel->batch()->book;
  UplinkState state = traffic_.State(now_ms());
  book.stages.push_back(std::move(state.queue));
  book.stages.push_back(std::move(state.spool));
  book.details.insert(book.details.end(), state.details.begin(), state.details.end());
  parcel->SetBook(std::move(book));
  return parcel;
}

Delivery Courier::Send(Parcel& parcel) {
  const Delivery delivery = sink_.Deliver(parcel);
  const int64_t now = now_ms();
  has_failed_ = delivery.verdict == Verdict::kLater;
  if (!has_failed_) {
    if (is_failure_told_) {
      Tell("back", "delivers again after " + std::to_string((now - failing_since_ms_) / 1'000) +
                       " s; " + std::to_string(traffic_.State(now).spool_waiting) +
                       " samples wait and follow, oldest first");
    }
    is_failure_told_ = false;
    failing_since_ms_ = 0;
    pause_.Succeed();
    const bool is_taken = delivery.verdict == Verdict::kDelivered;
    traffic_.SetContact(true, is_taken ? "" : delivery.message, 0);
    return delivery;
  }
  if (traffic_.is_stopping()) return delivery;  // cancelled
  if (failing_since_ms_ == 0) {
    failing_since_ms_ = now;
    notices_.MakeNew("away");
  }
  pause_.Fail(now, delivery.retry_after_ms, options_.chance());
  traffic_.SetContact(false, delivery.message, pause_.until_ms());
  const bool is_told =
      Tell("away", "cannot deliver: " + delivery.message +
                       (spool_ ? ". What is measured goes into the spool meanwhile"
                               : ". There is no spool: what does not fit the queue is lost"));
  is_failure_told_ = is_failure_told_ || is_told;
  return delivery;
}

bool Courier::DeliverFresh() {
  std::unique_ptr<Parcel> parcel = NextFresh();
  if (!parcel) return false;
  const uint64_t samples = parcel->samples();
  const Delivery delivery = Send(*parcel);
  if (delivery.verdict == Verdict::kLater) {
    if (!Stow(*parcel)) held_ = std::move(parcel);
    return true;
  }
  if (delivery.verdict == Verdict::kRefused) {
    refused_samples_ += samples;
    traffic_.Apply({.from_hand = samples, .dropped = samples, .reason = kDroppedRefused},
                   spool_.get());
    TellRefused(delivery.message);
    return true;
  }
  const uint64_t rejected = std::min(delivery.samples_rejected, samples);
  is_other_taken_ = true;
  traffic_.Apply({.from_hand = samples,
                  .acknowledged = samples - rejected,
                  .dropped = rejected,
                  .reason = kDroppedRejected},
                 spool_.get());
  if (!delivery.message.empty()) Tell("rejected", "taken, but: " + delivery.message);
  return true;
}

bool Courier::DeliverOldest() {
  if (!spool_) return false;
  const int64_t now = now_ms();
  if (now < read_again_ms_ || !bytes_limit_.IsReady(now) || !requests_limit_.IsReady(now)) {
    return false;
  }
  const auto oldest = spool_->Oldest();
  if (!oldest.ok()) {
    Tell("read", "the spool cannot be read now: " + oldest.error().message());
    read_again_ms_ = now + static_cast<int64_t>(kTickMs);
    return false;
  }
  if (*oldest == nullptr) return false;
  const spool::Record& record = **oldest;
  const uint64_t sequence = record.sequence;
  const uint64_t samples = record.samples;
  bytes_limit_.Take(static_cast<double>(record.payload.size()));
  requests_limit_.Take(1);
  const std::unique_ptr<Parcel> parcel = Unpack(record);
  if (!parcel) {
    spool_->Discard(sequence, spool::kLostDamaged);
    traffic_.Apply({}, spool_.get());
    return true;
  }
  SettleOldest(sequence, samples, Send(*parcel));
  return true;
}

void Courier::SettleOldest(uint64_t sequence, uint64_t samples, const Delivery& delivery) {
  if (!delivery.may_be_the_parcel) stuck_sequence_ = 0;
  switch (delivery.verdict) {
    case Verdict::kDelivered: {
      const uint64_t rejected = std::min(delivery.samples_rejected, samples);
      spool_->Acknowledge(sequence);
      is_other_taken_ = true;
      traffic_.Apply({.spooled_rejected = rejected}, spool_.get());
      if (!delivery.message.empty()) Tell("rejected", "taken, but: " + delivery.message);
      return;
    }
    case Verdict::kRefused:
      LoseOldest(sequence, samples);
      TellRefused(delivery.message);
      return;
    case Verdict::kLater:
      break;
  }
  if (!delivery.may_be_the_parcel) return;
  if (stuck_sequence_ != sequence) {
    stuck_sequence_ = sequence;
    stuck_failures_ = 0;
  } else if (!is_other_taken_) {
    return;
  }
  is_other_taken_ = false;
  if (++stuck_failures_ < kStuckFailures) return;
  stuck_sequence_ = 0;
  LoseOldest(sequence, samples);
  Tell("stuck",
       "one batch was given up, since others are taken and it never is: " + delivery.message);
}

void Courier::LoseOldest(uint64_t sequence, uint64_t samples) {
  refused_samples_ += samples;
  spool_->Discard(sequence, kDroppedRefused);
  traffic_.Apply({}, spool_.get());
}

base::Result<std::string> Courier::PrefixOf(const spool::Record& record) {
  ASSIGN_OR_RETURN(const std::string payload, spool_->Referenced(record.reference));
  ASSIGN_OR_RETURN(const SpooledParcel first, DecodeSpooled(payload));
  return UnpackSpooled(first, "");
}

// Null when it cannot be read.
std::unique_ptr<Parcel> Courier::Unpack(const spool::Record& record) {
  if (record.reference != 0 && read_.sequence != record.reference) {
    auto plain = PrefixOf(record);
    if (!plain.ok()) {
      Tell("unpack", "a record of the spool cannot be read: " + plain.error().message());
      return nullptr;
    }
    read_ = {record.reference, *std::move(plain)};
  }
  const std::string_view prefix =
      record.reference != 0 ? std::string_view(read_.plain) : std::string_view();
  const auto parcel = DecodeSpooled(record.payload);
  auto plain = parcel.ok() ? UnpackSpooled(*parcel, prefix) : parcel.error();
  if (!plain.ok()) {
    Tell("unpack", "a record of the spool cannot be read: " + plain.error().message());
    return nullptr;
  }
  const bool is_batch = record.kind == spool::RecordKind::kBatch;
  return std::make_unique<Parcel>(is_batch, std::string(parcel->id), record.samples,
                                  *std::move(plain));
}

base::Result<void> Courier::Append(Parcel& parcel) {
  const uint64_t first = spool_->OpenFileFirst();
  spool::NewRecord record;
  record.kind = parcel.is_batch() ? spool::RecordKind::kBatch : spool::RecordKind::kSymbols;
  record.samples = parcel.samples();
  const std::string& plain = parcel.Plain();
  if (parcel.is_batch() && first != 0 && first == written_.sequence) {
    record.reference = first;
    const std::string payload =
        EncodeSpooled(parcel.id(), plain, written_.plain, options_.compression_level);
    record.payload = payload;
    const auto appended = spool_->Append(record);
    if (appended.ok()) return {};
    if (appended.error().code() != base::ErrorCode::kNotFound) return appended.error();
    record.reference = 0;  // the first one made room for this one
  }
  const std::string payload = EncodeSpooled(parcel.id(), plain, "", options_.compression_level);
  record.payload = payload;
  const auto appended = spool_->Append(record);
  if (!appended.ok()) return appended.error();
  const bool is_first = spool_->OpenFileFirst() == *appended;
  if (is_first && parcel.is_batch() && plain.size() <= options_.reference_bytes_max) {
    written_ = {*appended, plain};
  } else if (is_first) {
    written_ = {};
  }
  return {};
}

// False when it stays in hand.
bool Courier::Stow(Parcel& parcel) {
  if (!spool_) return false;
  const uint64_t samples = parcel.samples();
  const auto appended = Append(parcel);
  if (appended.ok()) {
    traffic_.Apply({.from_hand = samples}, spool_.get());
    return true;
  }
  if (appended.error().code() == base::ErrorCode::kInvalidInput) {
    traffic_.Apply({.from_hand = samples, .dropped = samples, .reason = kDroppedTooLarge},
                   spool_.get());
    Tell("too_large", appended.error().message());
    return true;
  }
  Tell("stow", "the spool takes nothing: " + appended.error().message() +
                   ". What is measured waits in memory, and is lost when that is full");
  return false;
}

void Courier::StowAll() {
  if (!spool_) return;
  while (std::unique_ptr<Parcel> parcel = NextFresh(stuck_sequence_ != 0 ? 1 : 0)) {
    if (Stow(*parcel)) continue;
    held_ = std::move(parcel);
    return;
  }
}

void Courier::Finish(uint64_t deadline_ms) {
  const int64_t half_time_ms = now_ms() + static_cast<int64_t>(deadline_ms / 2);
  bool is_taking = !IsPaused() || !spool_;
  while (std::unique_ptr<Parcel> parcel = NextFresh()) {
    if (is_taking && now_ms() < half_time_ms) {
      held_ = std::move(parcel);
      is_taking = DeliverFresh() && !has_failed_;
      continue;
    }
    if (Stow(*parcel)) continue;
    const uint64_t samples = parcel->samples();
    traffic_.Apply({.from_hand = samples, .dropped = samples, .reason = kDroppedStopped},
                   spool_.get());
  }
  if (spool_) static_cast<void>(spool_->Sync().ok());  // it has said so
}

void Courier::TellRefused(const std::string& message) {
  Tell("refused", "refused for good: " + message + ". " + std::to_string(refused_samples_) +
                      " samples were lost by that so far");
}

bool Courier::Tell(const std::string& topic, const std::string& text) {
  if (!options_.on_notice || !notices_.MayTell(topic, text, now_ms())) return false;
  options_.on_notice(text);
  return true;
}

}  // namespace vesta::uplink
