#include "src/server/otlp_push.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "src/server/push.h"
#include "src/wire/otlp_response.h"

namespace vesta::server {
namespace {

using base::Error;
using base::ErrorCode;

// Of a decoded batch to its message, at most.
constexpr uint64_t kDecodedRatio = 2;

// Whose layout may be remembered: the exporter, as it names itself, from its address.
std::string PeerOf(const Request& request) {
  return std::string(request.Header("user-agent").value_or(""));
}

// What the sender is told: samples that will never be there, with the reason of each kind.
wire::OtlpResponse ResponseOf(const wire::OtlpBatch& decoded, const store::AppendOutcome& outcome) {
  wire::OtlpResponse response;
  const auto say = [&](uint64_t count, const std::string& what) {
    if (count == 0) return;
    response.rejected += static_cast<int64_t>(count);
    if (!response.message.empty()) response.message += "; ";
    response.message += std::to_string(count) + " " + what;
  };
  for (const wire::OtlpCount& rejected : decoded.rejected) {
    say(rejected.count, rejected.reason + " (" + rejected.example + ")");
  }
  say(outcome.rows_too_old, "too old: before what the store keeps (--retention)");
  say(outcome.rows_too_new, "more than a day ahead of the server's clock");
  return response;
}

Response Taken(const wire::OtlpResponse& response) {
  return {.content_type = kProtobuf, .body = wire::EncodeOtlpResponse(response)};
}

}  // namespace

Response AnswerOtlp(store::Store& store, const ApiOptions& options, Senders& senders,
                    const Request& request, const AnswerContext& context) {
  if (!IsProtobuf(request)) {
    return ErrorResponse(415, "unsupported",
                         "OTLP is taken as protobuf: send Content-Type application/x-protobuf "
                         "(of an OpenTelemetry exporter: encoding: proto)");
  }
  if (request.body.size() > options.body_bytes_max) return BodyTooLarge(options.body_bytes_max);
  std::shared_ptr<const std::string> prefix;
  if (const auto batch_id = request.Header("vesta-dictionary")) {
    prefix = senders.BodyOf(std::string(*batch_id));
    if (prefix == nullptr) {
      return ErrorResponse(409, "dictionary_unknown",
                           "the batch that this one is packed against is not at hand: send it "
                           "without Vesta-Dictionary");
    }
  }
  std::string storage;
  const auto plain = UnpackBody(request, options.plain_bytes_max, context.share, storage,
                                prefix == nullptr ? std::string_view() : *prefix);
  if (!plain.ok()) return RefusePush(plain.error(), 400);
  const uint64_t plain_bytes = plain->size();
  const auto has_room = [&](uint64_t bytes) {
    return context.share == nullptr || context.share->GrowUnlessShared(bytes);
  };
  if (!has_room(kDecodedRatio * plain_bytes)) return RefusePush(NoRoomForPush(), 400);

  const std::string peer = PeerOf(request);
  wire::OtlpDecodeOptions decode;
  decode.arrival_unix_ms = options.now_unix_ms();
  decode.layout_of_peer = senders.LayoutOf(peer);
  auto decoded = wire::DecodeOtlp(*plain, decode);
  // The exporter of a foreign tool cannot send it in another way, so it is no 415.
  if (!decoded.ok()) {
    const bool is_foreign_layout = decoded.error().code() == ErrorCode::kUnsupported;
    return is_foreign_layout ? ErrorResponse(400, "unsupported", decoded.error().message())
                             : RefusePush(decoded.error(), 400);
  }
  const uint64_t decoded_bytes = decoded->profile->memory_bytes() +
                                 decoded->batch.rows.size() * sizeof(decoded->batch.rows[0]);
  if (decoded_bytes > kDecodedRatio * plain_bytes &&
      !has_room(decoded_bytes - kDecodedRatio * plain_bytes)) {
    return RefusePush(NoRoomForPush(), 400);
  }
  if (decoded->layout_is_told) senders.NoteLayout(peer, decoded->layout);

  store::AppendOutcome outcome;
  if (!decoded->batch.rows.empty()) {
    const auto appended = store.Append(decoded->batch);
    if (!appended.ok()) {
      if (appended.error().code() == ErrorCode::kUnavailable) {
        return RetryPush(appended.error().message(), "10");
      }
      return RefusePush(appended.error(), 422);
    }
    outcome = *appended;
  }
  senders.Note({decoded->batch.id, decoded->facts,
                BookOf(outcome, decoded->excluded, decoded->rejected_samples()),
                decode.arrival_unix_ms});
  Response response = Taken(ResponseOf(*decoded, outcome));
  if (decoded->batch.id) {
    const size_t kept_bytes_max =
        senders.KeepBody(*decoded->batch.id, storage.empty() ? request.body : std::move(storage),
                         decode.arrival_unix_ms);
    response.headers.push_back({"Vesta-Dictionary", std::to_string(kept_bytes_max)});
  }
  return response;
}

}  // namespace vesta::server
