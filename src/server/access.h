// Who may ask for what: the address that is listened at, tokens, and names that are ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/server/message.h"

namespace vesta::server {

// Shape: host without brackets; port 0 = any free one.
struct ListenAddress {
  std::string host;
  uint16_t port = 0;
};
// Shape: "HOST:PORT", "[IPV6]:PORT", ":PORT" = every address; a host is an IP address or localhost.
// Errors: InvalidInput.
base::Result<ListenAddress> ParseListenAddress(std::string_view text);

// What a token may do; admin may everything.
enum class Scope : uint8_t { kNone, kRead, kWrite, kAdmin };

struct Token {
  std::string secret;
  bool may_read = false;
  bool may_write = false;
  bool may_admin = false;
};
// Shape: a line per token: "SECRET" (everything) or "SECRET read,write"; '#' begins a comment. A
//        secret has 16 to 512 visible ASCII characters. Messages name lines, never secrets.
// Errors: InvalidInput.
base::Result<std::vector<Token>> ParseTokens(std::string_view text);

// Shape: without tokens everybody may do everything.
struct AccessRules {
  std::vector<Token> tokens = {};
  bool is_loopback = true;  // is listened at
  bool is_tls = false;
  std::string host_name = {};  // of this machine
};

// The refusal, or nothing. 401 without a good token, 403 with one of too little scope and for a
// Host, an Origin or a foreign page that is not ours: a page of another site makes the reader's own
// browser ask (DNS rebinding, cross-site requests), and where no token is asked for, that browser's
// address is all there is to trust.
// Cost: every token is compared to its end, so that the time tells nothing.
std::optional<Response> CheckAccess(const AccessRules& rules, const Request& request, Scope needs);

}  // namespace vesta::server
