#include "src/uplink/http_sink.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <string_view>
#include <utility>

#include "src/base/json_reader.h"
#include "src/base/printable.h"
#include "src/wire/gzip.h"
#include "src/wire/otlp_response.h"
#include "src/wire/zstd.h"

namespace vesta::uplink {
namespace {

using base::Error;
using base::Result;
using client::HttpResponse;

constexpr const char* kProfilesTarget = "/v1development/profiles";
constexpr const char* kSymbolsTarget = "/api/v1/symbols";
constexpr uint64_t kAnswerBytesMax = 1 << 20;
// So many in a row are no restarts of the server; perhaps it is several that take turns.
constexpr uint64_t kDictionaryFailuresMax = 3;
constexpr uint64_t kBatchesAlone = 100;
constexpr size_t kMessageBytesMax = 300;
constexpr uint64_t kTablesRatio = 4;

// What the server says in an error, for people: the message of our own servers, else the beginning.
std::string MessageOf(const HttpResponse& response) {
  std::string text = response.body.substr(0, kMessageBytesMax);
  if (const auto json = base::ParseJson(response.body); json.ok()) {
    const base::JsonValue* error = json->Find("error");
    const base::JsonValue* message = error == nullptr ? nullptr : error->Find("message");
    if (message != nullptr && message->AsString() != nullptr) text = *message->AsString();
  }
  return base::Printable(std::string_view(text).substr(0, kMessageBytesMax));
}

std::string CodeOf(const HttpResponse& response) {
  const auto json = base::ParseJson(response.body);
  if (!json.ok()) return "";
  const base::JsonValue* error = json->Find("error");
  const base::JsonValue* code = error == nullptr ? nullptr : error->Find("code");
  return code != nullptr && code->AsString() != nullptr ? *code->AsString() : "";
}

// How large a batch may be that the server keeps to unpack the next one with; 0 = it keeps none.
uint64_t KeptBytesMaxOf(const HttpResponse& response) {
  const std::string text = response.Header("vesta-dictionary");
  uint64_t bytes = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), bytes);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() ? bytes : 0;
}

// The client's only question of trust is that of the server's certificate.
std::string WithAdvice(const Error& error) {
  const bool is_untrusted = error.code() == base::ErrorCode::kPermission;
  return error.message() + (is_untrusted ? ": give the file of who signed it by --ca-file" : "");
}

bool IsRefusal(int status) {
  return status == 400 || status == 413 || status == 415 || status == 422;
}

class OtlpHttpSink final : public HttpSink {
 public:
  explicit OtlpHttpSink(const HttpSinkOptions& options) : options_(options) {
    options_.client.timeout_ms = options.timeout_ms;
    options_.client.answer_bytes_max = kAnswerBytesMax;
  }

  // The client with the token as it is now.
  Result<void> Connect() {
    if (options_.read_token) {
      ASSIGN_OR_RETURN(options_.client.token, options_.read_token());
    }
    ASSIGN_OR_RETURN(auto made, client::HttpClient::Open(options_.client));
    const std::lock_guard lock(mutex_);
    client_ = std::move(made);
    if (is_cancelled_) client_->Cancel();
    return {};
  }

  Delivery Deliver(Parcel& parcel) override {
    if (is_token_refused_) {
      const auto connected = Connect();
      if (!connected.ok()) return Later(connected.error().message());
      is_token_refused_ = false;
    }
    const bool has_prefix = parcel.is_batch() && !last_id_.empty();
    std::string plain = Encode(parcel, has_prefix);
    auto response = Send(parcel, plain, has_prefix);
    if (has_prefix && response.ok() && (response->status == 409 || IsRefusal(response->status))) {
      const bool is_unknown = CodeOf(*response) == "dictionary_unknown";
      plain = Encode(parcel, false);
      response = Send(parcel, plain, false);
      const bool is_prefix_at_fault = response.ok() && response->status / 100 == 2;
      if (is_unknown || is_prefix_at_fault) ++dictionary_failures_;
    } else if (has_prefix && response.ok() && response->status / 100 == 2) {
      dictionary_failures_ = 0;
    }
    if (response.ok() && response->status == 415 && !is_gzip_) {
      is_gzip_ = true;
      response = Send(parcel, plain, false);
      is_gzip_ = response.ok() && response->status / 100 == 2;
    }
    if (!response.ok()) return Later(WithAdvice(response.error()));
    Delivery delivery = Judge(parcel, *response);
    if (delivery.verdict == Verdict::kDelivered) Remember(parcel, std::move(plain), *response);
    return delivery;
  }

  void Cancel() override {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
    if (client_) client_->Cancel();
  }

 private:
  // What continues the tables of the last batch, or begins new ones and stands alone.
  std::string Encode(Parcel& parcel, bool is_continued) {
    if (parcel.batch() == nullptr) return parcel.Plain();
    const uint64_t bytes_max = std::min(
        kept_bytes_max_ / 4 * 3, std::max(options_.tables_bytes_max, kTablesRatio * alone_bytes_));
    const bool is_begin = !is_continued || tables_.bytes() > bytes_max;
    if (is_begin) tables_ = {};
    std::string plain = parcel.PlainBehind(&tables_);
    if (is_begin) alone_bytes_ = plain.size();
    return plain;
  }

  Result<HttpResponse> Send(const Parcel& parcel, const std::string& plain, bool has_prefix) {
    client::HttpRequest request;
    request.target = parcel.is_batch() ? kProfilesTarget : kSymbolsTarget;
    request.headers = {{"Content-Type", "application/x-protobuf"},
                       {"Content-Encoding", is_gzip_ ? "gzip" : "zstd"}};
    std::string packed;
    if (is_gzip_) {
      wire::GzipWriter gzip(options_.compression_level);
      gzip.Write(plain);
      packed = gzip.Finish();
    } else {
      const std::string_view prefix = has_prefix ? std::string_view(last_plain_) : "";
      packed = wire::Zstd(plain, options_.compression_level, prefix);
      if (has_prefix) request.headers.emplace_back("Vesta-Dictionary", last_id_);
    }
    request.body = {std::string_view(packed)};
    return client_->Send(request);
  }

  Delivery Judge(const Parcel& parcel, const HttpResponse& response) {
    const int status = response.status;
    const std::string& url = options_.client.url;
    const std::string said = "HTTP " + std::to_string(status) + " " + MessageOf(response);
    if (status / 100 == 2) return Taken(parcel, response);
    if (IsRefusal(status)) return {.verdict = Verdict::kRefused, .message = url + ": " + said};
    if (status == 401 || status == 403) {
      is_token_refused_ = true;
      return Later(url + " does not take our token: look at --token-file on both sides (" + said +
                   ")");
    }
    if (status == 404 || status == 405) {
      if (!parcel.is_batch()) {
        return {.verdict = Verdict::kRefused, .message = url + " takes no late names: " + said};
      }
      return Later(url + " takes no OTLP profiles at " + kProfilesTarget +
                   ": is that the address of a vesta server? (" + said + ")");
    }
    Delivery later = Later(url + " cannot take it now: " + said);
    later.retry_after_ms = response.retry_after_s * 1'000;
    later.may_be_the_parcel = status == 500;
    return later;
  }

  Delivery Taken(const Parcel& parcel, const HttpResponse& response) {
    Delivery delivery;
    if (!parcel.is_batch() ||
        response.Header("content-type").find("protobuf") == std::string::npos) {
      return delivery;
    }
    const auto answer = wire::DecodeOtlpResponse(response.body);
    if (!answer.ok()) return delivery;  // the status has said it
    delivery.samples_rejected = static_cast<uint64_t>(std::max<int64_t>(answer->rejected, 0));
    if (delivery.samples_rejected != 0 || !answer->message.empty()) {
      delivery.message =
          options_.client.url + " rejects " + std::to_string(delivery.samples_rejected) +
          " samples of a batch: " + base::Printable(answer->message.substr(0, kMessageBytesMax));
    }
    return delivery;
  }

  static Delivery Later(std::string message) {
    return {.verdict = Verdict::kLater, .message = std::move(message)};
  }

  void Remember(const Parcel& parcel, std::string plain, const HttpResponse& response) {
    if (!parcel.is_batch()) return;
    // What comes out of the spool has tables of its own: the next fresh one has little of them.
    if (parcel.batch() == nullptr && is_last_fresh_ && !last_id_.empty()) return;
    const uint64_t kept_bytes_max =
        std::min(KeptBytesMaxOf(response), options_.dictionary_bytes_max);
    const bool is_left_alone = dictionary_failures_ >= kDictionaryFailuresMax;
    if (is_left_alone && ++batches_alone_ >= kBatchesAlone)
      dictionary_failures_ = batches_alone_ = 0;
    const bool is_kept = !is_left_alone && !is_gzip_ && plain.size() <= kept_bytes_max;
    last_id_ = is_kept ? parcel.id() : "";
    last_plain_ = is_kept ? std::move(plain) : "";
    is_last_fresh_ = parcel.batch() != nullptr;
    kept_bytes_max_ = kept_bytes_max;
  }

  HttpSinkOptions options_;
  std::mutex mutex_;
  std::unique_ptr<client::HttpClient> client_;  // changed under the lock, by the uplink's thread
  bool is_cancelled_ = false;

  bool is_token_refused_ = false;
  bool is_gzip_ = false;  // zstd it does not know
  // The last batch that was delivered, and that the server keeps; "" = none.
  std::string last_id_;
  std::string last_plain_;
  bool is_last_fresh_ = false;  // not from the spool: of these tables
  wire::otlp::DictionaryTables tables_;
  uint64_t alone_bytes_ = 0;          // of the batch that began them
  uint64_t kept_bytes_max_ = 0;       // of a batch, by the server
  uint64_t dictionary_failures_ = 0;  // one after another
  uint64_t batches_alone_ = 0;        // since they were too many
};

}  // namespace

Result<std::unique_ptr<HttpSink>> HttpSink::Open(const HttpSinkOptions& options) {
  auto sink = std::make_unique<OtlpHttpSink>(options);
  RETURN_IF_ERROR(sink->Connect());
  return std::unique_ptr<HttpSink>(std::move(sink));
}

}  // namespace vesta::uplink
