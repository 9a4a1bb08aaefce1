// Delivers to a vesta server, or to any other that takes OTLP profiles.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "src/base/result.h"
#include "src/client/http_client.h"
#include "src/uplink/sink.h"

namespace vesta::uplink {

struct HttpSinkOptions {
  client::HttpClientOptions client = {};  // url, ca_file, ...; the token comes from read_token
  // Asked at the start and after each answer that the token is not right, so that a new one needs
  // no restart; nothing = no token.
  std::function<base::Result<std::string>()> read_token = {};
  uint64_t timeout_ms = 20'000;  // of one delivery
  int compression_level = 6;
  // Of the last delivered batch, kept to compress the next one against; 0 = none is.
  uint64_t dictionary_bytes_max = uint64_t{4} << 20;
  // Tables that batches have in common begin anew beyond this, and beyond four times what a batch
  // of this machine needs.
  uint64_t tables_bytes_max = uint64_t{1} << 20;
};

// Shape: POST /v1development/profiles (OTLP, zstd) and POST /api/v1/symbols. A server that answers
//        with Vesta-Dictionary: BYTES keeps a batch's plain bytes, if they are no more than that:
//        the next one is packed against them (Vesta-Dictionary: its id) and continues its tables.
//        When it does not know them any more (409 dictionary_unknown) it gets the batch again at
//        once alone; one that does so time after time is left alone with them for a while.
//        2xx = delivered, with what it says of rejected samples; 400, 413, 415, 422 = refused;
//        anything else, and no answer = later.
class HttpSink : public Sink {
 public:
  // Errors: as HttpClient::Open, and as read_token.
  static base::Result<std::unique_ptr<HttpSink>> Open(const HttpSinkOptions& options);
};

}  // namespace vesta::uplink
