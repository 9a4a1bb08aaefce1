#include "src/server/push.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "src/base/json.h"
#include "src/ingest/profile_batch.h"
#include "src/ingest/pusher_labels.h"
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
constexpr uint64_t kUsualBytes = 64 << 10;

enum class Packing : uint8_t { kNone, kGzip, kZstd };

Packing PackingOf(std::string_view bytes) {
  if (wire::IsGzip(bytes)) return Packing::kGzip;
  return wire::IsZstd(bytes) ? Packing::kZstd : Packing::kNone;
}

Result<Packing> ParseEncoding(std::string_view header) {
  const std::string_view word = TrimSpaces(header);
  if (word.empty() || EqualIgnoringCase(word, "identity")) return Packing::kNone;
  if (EqualIgnoringCase(word, "gzip") || EqualIgnoringCase(word, "x-gzip")) return Packing::kGzip;
  if (EqualIgnoringCase(word, "zstd")) return Packing::kZstd;
  return Error(ErrorCode::kUnsupported,
               "Content-Encoding must be gzip, zstd or identity, and one of them only");
}

Result<std::string> Unpack(std::string_view bytes, Packing packing, uint64_t bytes_max) {
  return packing == Packing::kGzip ? wire::Gunzip(bytes, bytes_max)
                                   : wire::Unzstd(bytes, bytes_max);
}

uint64_t SizeHint(std::string_view bytes, Packing packing) {
  return packing == Packing::kGzip ? wire::GunzippedSizeHint(bytes) : wire::UnzstdSizeHint(bytes);
}

Error NoRoom() {
  return Error(ErrorCode::kUnavailable,
               "too much is being unpacked at once: try again in a second");
}

// Room is taken for what the pack says that it holds, or for what is usual; one that holds more is
// unpacked once again, with room for the largest that is allowed.
Result<std::string> UnpackWithin(std::string_view bytes, Packing packing, uint64_t bytes_max,
                                 BudgetShare* share) {
  if (share == nullptr) return Unpack(bytes, packing, bytes_max);
  const uint64_t stated = SizeHint(bytes, packing);
  const uint64_t guess =
      std::min(stated != 0 ? stated : kUsualRatio * bytes.size() + kUsualBytes, bytes_max);
  if (!share->Grow(guess)) return NoRoom();
  auto plain = Unpack(bytes, packing, guess);
  const bool is_larger = !plain.ok() && plain.error().code() == ErrorCode::kExhausted;
  if (!is_larger || guess == bytes_max) return plain;
  if (!share->Grow(bytes_max - guess)) return NoRoom();
  return Unpack(bytes, packing, bytes_max);
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

Response Retry(const std::string& message, const char* seconds) {
  Response response = ErrorResponse(503, "unavailable", message);
  response.headers.push_back({"Retry-After", seconds});
  return response;
}

Response Refuse(const Error& error, int status_of_invalid) {
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
      return Retry(error.message(), "1");
    default:
      return ErrorResponse(500, "internal", error.message());
  }
}

}  // namespace

Result<store::Labels> PushedLabels(const Request& request) {
  store::Labels pairs;
  for (const Parameter& parameter : request.parameters) {
    if (!parameter.name.starts_with(kLabelPrefix)) continue;
    pairs.push_back({parameter.name.substr(kLabelPrefix.size()), parameter.value});
  }
  if (const auto header = request.Header("vesta-labels")) {
    auto more = ingest::ParsePusherLabels(*header);
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
                                    BudgetShare* share, std::string& storage) {
  ASSIGN_OR_RETURN(Packing packing, ParseEncoding(request.Header("content-encoding").value_or("")));
  std::string_view bytes = request.body;
  for (size_t layer = 0;; ++layer) {
    if (packing == Packing::kNone) packing = PackingOf(bytes);
    if (packing == Packing::kNone) return bytes;
    if (layer == kLayersMax)
      return Error(ErrorCode::kUnsupported, "it is packed more than three times over");
    ASSIGN_OR_RETURN(std::string plain, UnpackWithin(bytes, packing, plain_bytes_max, share));
    storage = std::move(plain);
    bytes = storage;
    packing = Packing::kNone;
  }
}

Response AnswerPush(store::Store& store, const ApiOptions& options, const Request& request,
                    const AnswerContext& context) {
  const auto batch_options = ParseOptions(request, options.now_unix_ms());
  if (!batch_options.ok()) return Refuse(batch_options.error(), 400);
  if (request.body.empty())
    return ErrorResponse(400, "bad_request", "the body is empty: it must be a profile");
  if (request.body.size() > options.body_bytes_max) {
    return ErrorResponse(413, "too_large",
                         "the body is larger than " + wire::HumanBytes(options.body_bytes_max));
  }
  std::string storage;
  const auto plain = UnpackBody(request, options.plain_bytes_max, context.share, storage);
  if (!plain.ok()) return Refuse(plain.error(), 400);
  const auto profile =
      wire::DecodeProfile(*plain, "the profile", {.size_bytes_max = options.plain_bytes_max});
  if (!profile.ok()) return Refuse(profile.error(), 400);
  const auto made = ingest::MakeBatch(*profile, *batch_options);
  if (!made.ok()) return Refuse(made.error(), 422);
  const auto outcome = store.Append(made->batch);
  if (outcome.ok()) return {.body = OutcomeJson(made->report, *outcome)};
  if (outcome.error().code() == ErrorCode::kUnavailable)
    return Retry(outcome.error().message(), "10");
  return Refuse(outcome.error(), 422);
}

}  // namespace vesta::server
