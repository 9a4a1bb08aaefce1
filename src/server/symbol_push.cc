#include "src/server/symbol_push.h"

#include <string>

#include "src/base/json.h"
#include "src/server/push.h"
#include "src/wire/otlp_decoder.h"

namespace vesta::server {
namespace {

// Of a decoded message to its bytes, at most.
constexpr uint64_t kDecodedRatio = 4;

std::string AnswerJson(const SymbolsBook& book, const std::vector<wire::OtlpCount>& rejected) {
  base::JsonWriter json;
  json.BeginObject();
  store::SymbolsOutcome outcome = book.outcome;
  outcome.locations_received = book.received();
  WriteSymbols(outcome, json);
  json.Key("locations_rejected").Uint(book.rejected);
  json.Key("rejected").BeginArray();
  for (const wire::OtlpCount& one : rejected) {
    json.BeginObject().Key("reason").String(one.reason).Key("count").Uint(one.count);
    json.Key("example").String(one.example).EndObject();
  }
  json.EndArray().EndObject();
  return json.Take() + "\n";
}

}  // namespace

Response AnswerSymbols(store::Store& store, const ApiOptions& options, Metrics& metrics,
                       const Request& request, const AnswerContext& context) {
  if (!IsProtobuf(request)) {
    return ErrorResponse(415, "unsupported",
                         "late names are taken as protobuf: send Content-Type "
                         "application/x-protobuf (docs/formats/otlp.md)");
  }
  if (request.body.size() > options.body_bytes_max) return BodyTooLarge(options.body_bytes_max);
  std::string storage;
  const auto plain = UnpackBody(request, options.plain_bytes_max, context.share, storage);
  if (!plain.ok()) return RefusePush(plain.error(), 400);
  if (context.share != nullptr && !context.share->GrowUnlessShared(kDecodedRatio * plain->size())) {
    return RefusePush(NoRoomForPush(), 400);
  }
  const auto decoded = wire::DecodeOtlpSymbols(*plain);
  if (!decoded.ok()) return RefusePush(decoded.error(), 400);
  const auto appended = store.AppendSymbols(decoded->symbols);
  if (!appended.ok()) {
    if (appended.error().code() == base::ErrorCode::kUnavailable) {
      return RetryPush(appended.error().message(), "10");
    }
    return RefusePush(appended.error(), 422);
  }
  SymbolsBook book = {.outcome = *appended};
  for (const wire::OtlpCount& one : decoded->rejected) book.rejected += one.count;
  metrics.CountSymbols(book);
  return {.body = AnswerJson(book, decoded->rejected)};
}

}  // namespace vesta::server
