#include "src/server/front_page.h"

#include <algorithm>

#include "src/base/printable.h"
#include "ui/ui_assets.h"

namespace vesta::server {

namespace {

constexpr std::string_view kUsualHost = "127.0.0.1:7171";

// A header says what its sender likes, and the examples are made to be pasted into a shell.
bool IsPlainHost(std::string_view host) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == ':' || c == '[' || c == ']';
  });
}

// The page may run what it came with, make workers of it, and ask this server. Styles are set by
// script, which needs no permission.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "worker-src blob:; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

Response PageFile(std::string_view content_type, std::string_view text) {
  Response response{.content_type = std::string(content_type), .body = std::string(text)};
  // Another version of the server may be behind the address next time.
  response.headers.push_back({"Cache-Control", "no-cache"});
  response.headers.push_back({"X-Content-Type-Options", "nosniff"});
  return response;
}

}  // namespace

Response FrontPage(const std::string& version, bool is_tls, std::string_view host) {
  const std::string url = std::string(is_tls ? "https://" : "http://") +
                          std::string(IsPlainHost(host) ? host : kUsualHost);
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>vesta</title>\n"
      "<link rel=\"stylesheet\" href=\"/page.css\">\n"
      "<script defer src=\"/page.js\"></script>\n</head>\n<body>\n"
      "<div id=\"vesta-page\"></div>\n<noscript>\n<h1>vesta server";
  if (!version.empty()) page += " " + base::EscapeMarkup(version);
  page +=
      "</h1>\n"
      "<p>This server stores profiles and shows them on this page, which needs scripts. Without "
      "them there are:</p>\n"
      "<ul>\n"
      "<li><a href=\"/api/v1/top?format=text\">the last hour's functions</a></li>\n"
      "<li><a href=\"/api/v1/labels?format=text\">labels of the last hour</a></li>\n"
      "<li><a href=\"/api/v1/status\">what is stored</a></li>\n"
      "<li><a href=\"/metrics\">metrics for Prometheus</a></li>\n"
      "<li><a href=\"/openapi.yaml\">all paths and parameters</a> (docs/api.md explains "
      "them)</li>\n"
      "</ul>\n"
      "<p>Push a profile, and open it:</p>\n"
      "<pre>curl --data-binary @cpu.pb.gz '" +
      url +
      "/api/v1/profiles?label.service=x'\n"
      "go tool pprof '" +
      url +
      "/api/v1/profile?query=cpu{service=\"x\"}'</pre>\n"
      "</noscript>\n</body>\n</html>\n";
  Response response = PageFile("text/html; charset=utf-8", page);
  response.headers.push_back({"Content-Security-Policy", std::string(kPolicy)});
  response.headers.push_back({"Referrer-Policy", "no-referrer"});
  return response;
}

Response FrontPageScript() {
  return PageFile("text/javascript; charset=utf-8", ui::LivePageScript());
}

Response FrontPageStyle() { return PageFile("text/css; charset=utf-8", ui::LivePageStyle()); }

}  // namespace vesta::server
