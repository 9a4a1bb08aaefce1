#include "src/page/html_page.h"

#include <algorithm>
#include <cstddef>

#include "src/base/check.h"
#include "src/base/printable.h"
#include "src/base/utf8.h"
#include "src/wire/gzip.h"

namespace vesta::page {
namespace {

constexpr size_t kPieceBytes = (size_t{1} << 20) / 4 * 3;  // 1 MiB of base64

void AppendBase64(std::string_view bytes, std::string& out) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const size_t start = out.size();
  out.resize(start + (bytes.size() + 2) / 3 * 4, '=');
  char* to = out.data() + start;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    unsigned bits = 0;
    for (size_t j = 0; j < 3; ++j)
      bits = bits << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (size_t j = 0; j <= count; ++j) to[j] = kDigits[bits >> (18 - 6 * j) & 63];
    to += 4;
  }
}

}  // namespace

std::string RenderHtmlPage(const HtmlPageParts& parts) {
  CHECK(parts.script.find("</script") == std::string_view::npos);
  CHECK(parts.style.find("</style") == std::string_view::npos);
  wire::GzipWriter gzip(parts.gzip_level);
  gzip.Write(parts.page_data);
  const std::string data = gzip.Finish();

  std::string out;
  out.reserve(parts.script.size() + parts.style.size() + data.size() / 3 * 4 + 8192);
  out +=
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "script-src 'unsafe-inline' blob:; worker-src blob:; style-src 'unsafe-inline'; "
      "img-src data:; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>";
  out += base::EscapeMarkup(base::Printable(base::ToUtf8(parts.title)));
  out += "</title>\n<style>";
  out += parts.style;
  out +=
      "</style>\n</head>\n<body>\n<div id=\"vesta-page\"></div>\n"
      "<noscript>This profile is shown by the script in this file: allow scripts to see it."
      "</noscript>\n<script>";
  out += parts.script;
  out += "</script>\n";
  size_t pieces = 0;
  for (size_t at = 0; at < data.size(); at += kPieceBytes) {
    out += "<script type=\"text/plain\" id=\"vesta-data-" + std::to_string(pieces++) + "\">";
    AppendBase64(std::string_view(data).substr(at, kPieceBytes), out);
    out += "</script>\n";
  }
  out += "<script>document.documentElement.dataset.vestaPieces = \"" + std::to_string(pieces) +
         "\"</script>\n</body>\n</html>\n";
  return out;
}

}  // namespace vesta::page
