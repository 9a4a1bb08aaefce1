#include "src/server/push.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/ascii.h"
#include "src/base/json.h"
#include "src/ingest/profile_batch.h"
#include "src/ingest/pusher_labels.h"
#include "src/query/stored_rows.h"
#include "src/query/time_text.h"
#include "src/wire/gzip.h"
#include "src/wire/profile_decoder.h"
#include "src/wire/zstd.h"

namespace vesta::server {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::string_view kLabelPrefix = "label.";
constexpr size_t kNameBytesMax = 200;  // of agent and boot
constexpr size_t kLayersMax = 3;
constexpr uint64_t kUsualRatio = 16;
constexpr uint64_t kDecodedRatio = 2;  // of a decoded profile with its rows to its file
constexpr uint64_t kUsualBytes = 64 << 10;

enum class Packing : uint8_t { kNone, kGzip, kZstd };

Packing PackingOf(std::string_view bytes) {
  if (wire::IsGzip(bytes)) return Packing::kGzip;
  return wire::IsZstd(bytes) ? Packing::kZstd : Packing::kNone;
}

Result<Packing> ParseEncoding(std::string_view header) {
  const std::string_view word = base::Trim(header);
  if (word.empty() || base::EqualIgnoringCase(word, "identity")) return Packing::kNone;
  if (base::EqualIgnoringCase(word, "gzip") || base::EqualIgnoringCase(word, "x-gzip"))
    return Packing::kGzip;
  if (base::EqualIgnoringCase(word, "zstd")) return Packing::kZstd;
  return Error(ErrorCode::kUnsupported,
               "Content-Encoding must be gzip, zstd or identity, and one of them only");
}

Result<std::string> Unpack(std::string_view bytes, Packing packing, uint64_t bytes_max,
                           std::string_view prefix) {
  return packing == Packing::kGzip ? wire::Gunzip(bytes, bytes_max)
                                   : wire::Unzstd(bytes, bytes_max, prefix);
}

uint64_t SizeHint(std::string_view bytes, Packing packing) {
  return packing == Packing::kGzip ? wire::GunzippedSizeHint(bytes) : wire::UnzstdSizeHint(bytes);
}

// Room is taken for what the pack says that it holds, or for what is usual; one that holds more is
// unpacked once again, with room for the largest that is allowed.
Result<std::string> UnpackWithin(std::string_view bytes, Packing packing, uint64_t bytes_max,
                                 std::string_view prefix, BudgetShare* share) {
  if (share == nullptr) return Unpack(bytes, packing, bytes_max, prefix);
  const uint64_t stated = SizeHint(bytes, packing);
  const uint64_t guess =
      std::min(stated != 0 ? stated : kUsualRatio * bytes.size() + kUsualBytes, bytes_max);
  if (!share->Grow(guess)) return NoRoomForPush();
  auto plain = Unpack(bytes, packing, guess, prefix);
  const bool is_larger = !plain.ok() && plain.error().code() == ErrorCode::kExhausted;
  if (!is_larger || guess == bytes_max) return plain;
  if (!share->Grow(bytes_max - guess)) return NoRoomForPush();
  return Unpack(bytes, packing, bytes_max, prefix);
}

Result<ingest::BatchOptions> ParseOptions(const Request& request, int64_t now_unix_ms) {
  ingest::BatchOptions batch;
  batch.fallback_time_unix_ms = now_unix_ms;
  ASSIGN_OR_RETURN(batch.labels, PushedLabels(request));
  for (const Parameter& parameter : request.parameters) {
    if (parameter.name == "time") {
      auto time = query::ParseTime(parameter.value);
      if (!time.ok()) return std::move(time).error().Context("time");
      batch.time_unix_ms = time->UnixMs(now_unix_ms);
    } else if (parameter.name == "counted_type") {
      batch.counted_type = parameter.value;
    }
  }
  if (const auto header = request.Header("vesta-batch")) {
    ASSIGN_OR_RETURN(batch.id, ParseBatchId(*header));
  }
  return batch;
}

// What to do with rows that the store has already.
enum class Stored : uint8_t {
  kAdd,    // they are others that look alike
  kSkip,   // they are the same
  kCount,  // so, too, and nothing is to be added: somebody only wants to know
};

Result<Stored> StoredOf(const Request& request) {
  Stored stored = Stored::kAdd;
  for (const Parameter& parameter : request.parameters) {
    if (parameter.name != "stored") continue;
    if (parameter.value != "add" && parameter.value != "skip" && parameter.value != "count")
      return Error(ErrorCode::kInvalidInput, "stored must be add, skip or count");
    stored = parameter.value == "add"    ? Stored::kAdd
             : parameter.value == "skip" ? Stored::kSkip
                                         : Stored::kCount;
  }
  return stored;
}

// Takes the rows that are there away and returns how many they are.
Result<uint64_t> RemoveStored(store::Store& store, const ApiOptions& options,
                              const AnswerContext& context, store::Batch& batch) {
  base::ByteBudget memory(options.query_memory_bytes, options.questions_memory);
  store::ReadLimits limits;
  limits.deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(options.query_timeout_ms);
  limits.memory_bytes_max = options.query_memory_bytes;
  limits.memory = &memory;
  limits.cancelled = context.cancelled;
  ASSIGN_OR_RETURN(const std::vector<bool> is_stored, query::FindStoredRows(store, limits, batch));
  size_t at = 0;
  return uint64_t{
      std::erase_if(batch.rows, [&](const store::BatchRow&) { return is_stored[at++]; })};
}

std::string OutcomeJson(const ingest::BatchReport& report, const store::AppendOutcome& outcome) {
  base::JsonWriter json;
  json.BeginObject();
  json.Key("samples").Uint(report.samples);
  json.Key("rows_received").Uint(outcome.rows_received);
  json.Key("rows_kept").Uint(outcome.rows_kept);
  json.Key("rows_overflowed").Uint(outcome.rows_overflowed);
  json.Key("rows_duplicate").Uint(outcome.rows_duplicate);
  json.Key("rows_too_old").Uint(outcome.rows_too_old);
  json.Key("rows_too_new").Uint(outcome.rows_too_new);
  json.Key("values_empty").Uint(report.values_empty);
  json.Key("labels_dropped").BeginObject();
  for (const auto& [name, samples] : report.labels_dropped) json.Key(name).Uint(samples);
  json.EndObject().EndObject();
  return json.Take() + "\n";
}

}  // namespace

Response RetryPush(const std::string& message, const char* seconds) {
  Response response = ErrorResponse(503, "unavailable", message);
  response.headers.push_back({"Retry-After", seconds});
  return response;
}

Response RefusePush(const Error& error, int status_of_invalid) {
  switch (error.code()) {
    case ErrorCode::kInvalidInput:
      return ErrorResponse(status_of_invalid, "invalid", error.message());
    case ErrorCode::kCorrupt:
      return ErrorResponse(400, "damaged", error.message());
    case ErrorCode::kUnsupported:
      return ErrorResponse(415, "unsupported", error.message());
    case ErrorCode::kExhausted:
      return ErrorResponse(413, "too_large", error.message());
    case ErrorCode::kUnavailable:
      return RetryPush(error.message(), "1");
    default:
      return ErrorResponse(500, "internal", error.message());
  }
}

Response BodyTooLarge(uint64_t body_bytes_max) {
  return ErrorResponse(413, "too_large",
                       "the body is larger than " + wire::HumanBytes(body_bytes_max));
}

Error NoRoomForPush() {
  return Error(ErrorCode::kUnavailable, "too much is being pushed at once: try again in a second");
}

Result<store::Labels> PushedLabels(const Request& request) {
  store::Labels pairs;
  for (const Parameter& parameter : request.parameters) {
    if (!parameter.name.starts_with(kLabelPrefix)) continue;
    pairs.push_back({parameter.name.substr(kLabelPrefix.size()), parameter.value});
  }
  // A header with a list may come as several.
  for (const Parameter& header : request.headers) {
    if (header.name != "vesta-labels") continue;
    auto more = ingest::ParsePusherLabels(header.value);
    if (!more.ok()) return std::move(more).error().Context("header Vesta-Labels");
    pairs.insert(pairs.end(), more->begin(), more->end());
  }
  return ingest::PusherLabels(std::move(pairs));
}

Result<store::BatchId> ParseBatchId(std::string_view text) {
  const size_t first = text.find('/');
  const size_t second = first == std::string_view::npos ? first : text.find('/', first + 1);
  const Error error(ErrorCode::kInvalidInput,
                    "header Vesta-Batch must be AGENT/BOOT/SEQUENCE: two names of at most " +
                        std::to_string(kNameBytesMax) + " bytes and a whole number");
  if (second == std::string_view::npos) return error;
  store::BatchId id;
  id.agent = text.substr(0, first);
  id.boot = text.substr(first + 1, second - first - 1);
  const std::string_view number = text.substr(second + 1);
  const auto [end, status] =
      std::from_chars(number.data(), number.data() + number.size(), id.sequence);
  const bool is_number = status == std::errc{} && end == number.data() + number.size();
  if (!is_number || id.agent.empty() || id.boot.empty() || id.agent.size() > kNameBytesMax ||
      id.boot.size() > kNameBytesMax) {
    return error;
  }
  return id;
}

Result<std::string_view> UnpackBody(const Request& request, uint64_t plain_bytes_max,
                                    BudgetShare* share, std::string& storage,
                                    std::string_view prefix) {
  ASSIGN_OR_RETURN(Packing packing, ParseEncoding(request.Header("content-encoding").value_or("")));
  std::string_view bytes = request.body;
  for (size_t layer = 0;; ++layer) {
    if (packing == Packing::kNone) packing = PackingOf(bytes);
    if (packing == Packing::kNone) return bytes;
    if (layer == kLayersMax)
      return Error(ErrorCode::kUnsupported, "it is packed more than three times over");
    ASSIGN_OR_RETURN(std::string plain,
                     UnpackWithin(bytes, packing, plain_bytes_max,
                                  layer == 0 ? prefix : std::string_view(), share));
    storage = std::move(plain);
    bytes = storage;
    packing = Packing::kNone;
  }
}

Response AnswerPush(store::Store& store, const ApiOptions& options, const Request& request,
                    const AnswerContext& context) {
  const auto batch_options = ParseOptions(request, options.now_unix_ms());
  if (!batch_options.ok()) return RefusePush(batch_options.error(), 400);
  const auto stored = StoredOf(request);
  if (!stored.ok()) return RefusePush(stored.error(), 400);
  if (request.body.empty())
    return ErrorResponse(400, "bad_request", "the body is empty: it must be a profile");
  if (request.body.size() > options.body_bytes_max) {
    return BodyTooLarge(options.body_bytes_max);
  }
  std::string storage;
  const auto plain = UnpackBody(request, options.plain_bytes_max, context.share, storage);
  if (!plain.ok()) return RefusePush(plain.error(), 400);
  const uint64_t plain_bytes = plain->size();
  const auto has_room = [&](uint64_t bytes) {
    return context.share == nullptr || context.share->GrowUnlessShared(bytes);
  };
  if (!has_room(kDecodedRatio * plain_bytes)) return RefusePush(NoRoomForPush(), 400);
  const auto profile =
      wire::DecodeProfile(*plain, "the profile", {.size_bytes_max = options.plain_bytes_max});
  if (!profile.ok()) return RefusePush(profile.error(), 400);
  auto made = ingest::MakeBatch(*profile, *batch_options);
  if (!made.ok()) return RefusePush(made.error(), 422);
  // What it has become may be more than what it usually is.
  const uint64_t decoded_bytes =
      profile->memory_bytes() + made->batch.rows.size() * sizeof(made->batch.rows[0]);
  if (decoded_bytes > kDecodedRatio * plain_bytes &&
      !has_room(decoded_bytes - kDecodedRatio * plain_bytes)) {
    return RefusePush(NoRoomForPush(), 400);
  }
  uint64_t rows_stored = 0;
  if (*stored != Stored::kAdd) {
    const auto removed = RemoveStored(store, options, context, made->batch);
    if (!removed.ok()) return RefusePush(removed.error(), 422);
    rows_stored = *removed;
  }
  if (*stored == Stored::kCount) made->batch.rows.clear();
  auto outcome = store.Append(made->batch);
  if (outcome.ok()) {
    outcome->rows_received += rows_stored;
    outcome->rows_duplicate += rows_stored;
    return {.body = OutcomeJson(made->report, *outcome)};
  }
  if (outcome.error().code() == ErrorCode::kUnavailable)
    return RetryPush(outcome.error().message(), "10");
  return RefusePush(outcome.error(), 422);
}

bool IsProtobuf(const Request& request) {
  const std::string_view header = request.Header("content-type").value_or("");
  const std::string_view type = base::Trim(header.substr(0, header.find(';')));
  return type.empty() || base::EqualIgnoringCase(type, kProtobuf) ||
         base::EqualIgnoringCase(type, "application/protobuf");
}

}  // namespace vesta::server
