#include "src/server/access.h"

#include <algorithm>
#include <charconv>

#include "src/base/ascii.h"
#include "src/base/host_name.h"

namespace vesta::server {
namespace {

using base::EqualIgnoringCase;
using base::Error;
using base::ErrorCode;
using base::IsIpAddress;
using base::Result;

constexpr size_t kSecretCharsMin = 16;
constexpr size_t kSecretCharsMax = 512;

// All bytes of the secret are looked at, whatever the candidate is.
bool EqualInConstantTime(std::string_view secret, std::string_view candidate) {
  unsigned difference = secret.size() == candidate.size() ? 0 : 1;
  for (size_t i = 0; i < secret.size(); ++i) {
    const char other = candidate.empty() ? '\0' : candidate[i % candidate.size()];
    difference |= static_cast<unsigned>(static_cast<unsigned char>(secret[i]) ^
                                        static_cast<unsigned char>(other));
  }
  return difference == 0;
}

Error BadLine(size_t line, const std::string& what) {
  return Error(ErrorCode::kInvalidInput, "line " + std::to_string(line) + " " + what);
}

Result<Token> ParseToken(std::string_view text, size_t line) {
  const size_t secret_end = std::min(text.find_first_of(" \t"), text.size());
  Token token;
  token.secret = text.substr(0, secret_end);
  const bool is_visible = std::all_of(token.secret.begin(), token.secret.end(),
                                      [](char c) { return c > 0x20 && c < 0x7f; });
  if (!is_visible || token.secret.size() < kSecretCharsMin ||
      token.secret.size() > kSecretCharsMax) {
    return BadLine(line, "is no token: it needs " + std::to_string(kSecretCharsMin) + " to " +
                             std::to_string(kSecretCharsMax) +
                             " visible ASCII characters; `openssl rand -hex 32` makes one");
  }
  std::string_view scopes = base::Trim(text.substr(secret_end));
  if (scopes.empty()) scopes = "admin";
  while (!scopes.empty()) {
    const size_t comma = scopes.find(',');
    const std::string_view scope = base::Trim(scopes.substr(0, comma));
    scopes = comma == std::string_view::npos ? std::string_view() : scopes.substr(comma + 1);
    if (scope == "admin") {
      token.may_admin = token.may_read = token.may_write = true;
    } else if (scope == "read") {
      token.may_read = true;
    } else if (scope == "write") {
      token.may_write = true;
    } else {
      return BadLine(line, "has a scope that is none of read, write and admin");
    }
  }
  return token;
}

bool Grants(const Token& token, Scope needs) {
  switch (needs) {
    case Scope::kNone:
      return true;
    case Scope::kRead:
      return token.may_read;
    case Scope::kWrite:
      return token.may_write;
    case Scope::kAdmin:
      return token.may_admin;
  }
  return false;
}

std::string_view ScopeName(Scope scope) {
  switch (scope) {
    case Scope::kRead:
      return "read";
    case Scope::kWrite:
      return "write";
    default:
      return "admin";
  }
}

Response Unauthorized(std::string_view message) {
  Response response = ErrorResponse(401, "unauthorized", message);
  response.headers.push_back({"WWW-Authenticate", "Bearer"});
  return response;
}

std::optional<Response> CheckToken(const AccessRules& rules, const Request& request, Scope needs) {
  const auto header = request.Header("authorization");
  if (!header) {
    return Unauthorized(
        "this server wants a token: send the header \"Authorization: Bearer TOKEN\"");
  }
  constexpr std::string_view kScheme = "bearer ";
  if (header->size() <= kScheme.size() ||
      !EqualIgnoringCase(header->substr(0, kScheme.size()), kScheme)) {
    return Unauthorized("the Authorization header must be \"Bearer TOKEN\"");
  }
  const std::string_view candidate = base::Trim(header->substr(kScheme.size()));
  const Token* found = nullptr;
  for (const Token& token : rules.tokens) {
    if (EqualInConstantTime(token.secret, candidate)) found = &token;
  }
  if (found == nullptr) {
    return Unauthorized("the token is not one of this server's: ask whoever runs it for another");
  }
  if (Grants(*found, needs)) return std::nullopt;
  return ErrorResponse(403, "forbidden",
                       "the token is good but lacks the scope \"" + std::string(ScopeName(needs)) +
                           "\", which this needs");
}

// Names that nobody else can make a browser resolve to this address.
bool IsOurHost(const AccessRules& rules, std::string_view host) {
  if (base::IsLoopback(host)) return true;
  if (rules.is_loopback) return false;
  return IsIpAddress(host) || EqualIgnoringCase(host, rules.host_name);
}

std::optional<Response> CheckNames(const AccessRules& rules, const Request& request) {
  const auto host = request.Header("host");
  if (rules.tokens.empty() && host && !IsOurHost(rules, base::HostOf(*host))) {
    return ErrorResponse(403, "host_refused",
                         "the Host header names a host that is not this one: ask by IP address or "
                         "as localhost, or start the server with --token-file");
  }
  if (const auto origin = request.Header("origin")) {
    const std::string own =
        (rules.is_tls ? "https://" : "http://") + std::string(host.value_or(std::string_view()));
    if (!EqualIgnoringCase(*origin, own)) {
      return ErrorResponse(403, "origin_refused",
                           "the request comes from a page of another site; pages of others may not "
                           "ask this server");
    }
  }
  if (request.Header("sec-fetch-site") == "cross-site" &&
      request.Header("sec-fetch-mode") != "navigate") {
    return ErrorResponse(403, "origin_refused",
                         "the request comes from within a page of another site; pages of others "
                         "may not ask this server");
  }
  return std::nullopt;
}

}  // namespace

Result<ListenAddress> ParseListenAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return Error(ErrorCode::kInvalidInput,
                 "\"" + std::string(text) + "\" has no port: write ADDRESS:PORT");
  }
  ListenAddress address;
  const std::string_view port = text.substr(colon + 1);
  const auto [end, status] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (status != std::errc{} || end != port.data() + port.size()) {
    return Error(ErrorCode::kInvalidInput,
                 "\"" + std::string(port) + "\" is no port: 0 to 65535, 0 = a free one");
  }
  const std::string_view host = text.substr(0, colon);
  const bool has_brackets = host.starts_with('[') && host.ends_with(']') && host.size() > 2;
  address.host = has_brackets ? host.substr(1, host.size() - 2) : host;
  const bool is_six = address.host.find(':') != std::string::npos;
  if (address.host.empty()) address.host = "0.0.0.0";
  if (is_six != has_brackets ||
      !(IsIpAddress(address.host) || EqualIgnoringCase(address.host, "localhost"))) {
    return Error(ErrorCode::kInvalidInput,
                 "\"" + std::string(host) +
                     "\" is no address to listen at: an IP address ([::1] for IPv6) or localhost");
  }
  return address;
}

Result<std::vector<Token>> ParseTokens(std::string_view text) {
  std::vector<Token> tokens;
  for (size_t line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view content = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (content.ends_with('\r')) content.remove_suffix(1);
    content = base::Trim(content);
    if (content.empty() || content.starts_with('#')) continue;
    ASSIGN_OR_RETURN(Token token, ParseToken(content, line));
    tokens.push_back(std::move(token));
  }
  if (tokens.empty()) return Error(ErrorCode::kInvalidInput, "there is no token in it");
  return tokens;
}

std::optional<Response> CheckAccess(const AccessRules& rules, const Request& request, Scope needs) {
  if (auto refusal = CheckNames(rules, request)) return refusal;
  if (needs == Scope::kNone || rules.tokens.empty()) return std::nullopt;
  return CheckToken(rules, request, needs);
}

}  // namespace vesta::server
