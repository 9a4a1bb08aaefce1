#include "src/server/front_page.h"

#include "src/base/printable.h"

namespace vesta::server {

Response FrontPage(const std::string& version) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>vesta server</title>\n"
      "<style>body{font:16px/1.5 sans-serif;max-width:44em;margin:2em auto;padding:0 1em}"
      "pre{background:#eee;color:#111;padding:.7em;overflow-x:auto}</style>\n</head>\n<body>\n"
      "<h1>vesta server";
  if (!version.empty()) page += " " + base::EscapeMarkup(version);
  page +=
      "</h1>\n"
      "<p>This server stores profiles and answers questions about them over HTTP. A page to look "
      "around in is not here yet; these are:</p>\n"
      "<ul>\n"
      "<li><a href=\"/api/v1/tree?format=html\">the last hour as a flame graph</a></li>\n"
      "<li><a href=\"/api/v1/labels?format=text\">labels of the last hour</a></li>\n"
      "<li><a href=\"/api/v1/status\">what is stored</a></li>\n"
      "<li><a href=\"/metrics\">metrics for Prometheus</a></li>\n"
      "<li><a href=\"/openapi.yaml\">all paths and parameters</a> (docs/api.md explains "
      "them)</li>\n"
      "</ul>\n"
      "<p>Push a profile, and open it:</p>\n"
      "<pre>curl --data-binary @cpu.pb.gz 'http://127.0.0.1:7171/api/v1/profiles?label.service=x'\n"
      "go tool pprof 'http://127.0.0.1:7171/api/v1/profile?query=cpu{service=\"x\"}'</pre>\n"
      "</body>\n</html>\n";
  return {.content_type = "text/html; charset=utf-8", .body = std::move(page)};
}

}  // namespace vesta::server
