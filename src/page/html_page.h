// One HTML file that shows a profile and asks nobody for anything.
#pragma once

#include <string>
#include <string_view>

namespace vesta::page {

struct HtmlPageParts {
  std::string_view title;
  std::string_view page_data;  // of EncodePageData
  // What ui/ was built into; they must not end their own elements.
  std::string_view script;
  std::string_view style;
  // Of 1 M nodes, 4 takes as long as 3, and half as long as 6 for 2 % more bytes (page_bench).
  int gzip_level = 4;
};

// Shape: UTF-8. The application stands in front of the data, so that it starts while the rest is
//        still being read. The data is gzip, then base64, in
//        <script type="text/plain" id="vesta-data-0">, -1, ... of at most 1 MiB of text each; a
//        last script gives their number, so a file that was cut off lacks it. A
//        Content-Security-Policy forbids every request.
// Source: what the page relies on is said in ui/src/pages/file_page.ts.
std::string RenderHtmlPage(const HtmlPageParts& parts);

}  // namespace vesta::page
