#include "src/server/message.h"

#include <algorithm>

#include "src/base/ascii.h"
#include "src/base/json.h"

namespace vesta::server {
namespace {

using base::EqualIgnoringCase;
using base::Trim;

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = base::LowerCase(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// False when an escape is none, or stands for a byte that no name or value has.
bool Unescape(std::string_view text, bool plus_is_space, std::string& out) {
  out.clear();
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return false;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (c == '\0') return false;
    out += c;
  }
  return true;
}

// Takes the text up to the separator, and the separator, away from `rest`.
std::string_view TakeUntil(std::string_view& rest, char separator) {
  const size_t end = rest.find(separator);
  const std::string_view taken = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return taken;
}

}  // namespace

std::optional<std::string_view> Request::Header(std::string_view name) const {
  for (const Parameter& header : headers) {
    if (header.name == name) return header.value;
  }
  return std::nullopt;
}

Response ErrorResponse(int status, std::string_view code, std::string_view message) {
  base::JsonWriter json;
  json.BeginObject().Key("error").BeginObject();
  json.Key("code").String(code).Key("message").String(message);
  json.EndObject().EndObject();
  return {.status = status, .body = json.Take() + "\n", .error_message = std::string(message)};
}

void TellPprof(Response& response) {
  if (response.error_message.empty()) return;
  response.content_type = "text/plain; charset=utf-8";
  response.body = response.error_message + "\n";
  response.headers.push_back({"X-Go-Pprof", "1"});
}

std::optional<Target> ParseTarget(std::string_view target) {
  target = target.substr(0, target.find('#'));
  if (!target.starts_with('/')) return std::nullopt;
  Target out;
  const size_t question = target.find('?');
  if (!Unescape(target.substr(0, question), false, out.path)) return std::nullopt;
  if (question == std::string_view::npos) return out;
  std::string_view rest = target.substr(question + 1);
  while (!rest.empty()) {
    std::string_view pair = TakeUntil(rest, '&');
    if (pair.empty()) continue;
    if (out.parameters.size() == kParametersMax) return std::nullopt;
    Parameter& parameter = out.parameters.emplace_back();
    if (!Unescape(TakeUntil(pair, '='), true, parameter.name) ||
        !Unescape(pair, true, parameter.value)) {
      return std::nullopt;
    }
  }
  return out;
}

bool AcceptsCoding(std::string_view header, std::string_view coding) {
  std::optional<bool> any;
  while (!header.empty()) {
    std::string_view item = TakeUntil(header, ',');
    const std::string_view name = Trim(TakeUntil(item, ';'));
    const std::string_view quality = Trim(item);
    // q=0, q=0.0, q=0.000
    const bool is_refused = quality.size() >= 3 && EqualIgnoringCase(quality.substr(0, 2), "q=") &&
                            quality.substr(2).find_first_not_of("0.") == std::string_view::npos;
    if (EqualIgnoringCase(name, coding)) return !is_refused;
    if (name == "*") any = !is_refused;
  }
  return any.value_or(false);
}

}  // namespace vesta::server
