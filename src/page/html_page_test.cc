#include "src/page/html_page.h"

#include <gtest/gtest.h>

#include <random>

#include "src/base/utf8.h"
#include "src/page/page_data.h"
#include "src/wire/gzip.h"

namespace vesta::page {
namespace {

size_t Count(std::string_view text, std::string_view what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1))
    ++count;
  return count;
}

std::string FromBase64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  unsigned bits = 0;
  int bit_count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return "no base64";
    bits = bits << 6 | static_cast<unsigned>(digit);
    bit_count += 6;
    if (bit_count < 8) continue;
    bit_count -= 8;
    out.push_back(static_cast<char>(bits >> bit_count));
  }
  return out;
}

// The bytes in the page; each piece is whole for itself.
std::string DataOf(std::string_view html, size_t pieces) {
  std::string gzip;
  for (size_t i = 0; i < pieces; ++i) {
    const std::string open =
        "<script type=\"text/plain\" id=\"vesta-data-" + std::to_string(i) + "\">";
    const size_t begin = html.find(open) + open.size();
    const size_t end = html.find("</script>", begin);
    EXPECT_LE(end - begin, size_t{1} << 20);
    gzip += FromBase64(html.substr(begin, end - begin));
  }
  const auto data = wire::Gunzip(gzip, 1u << 30);
  EXPECT_TRUE(data.ok());
  return data.ok() ? *data : "";
}

TEST(HtmlPageTest, ApplicationComesBeforeDataAndTheEndIsMarked) {
  const std::string html = RenderHtmlPage(
      {.title = "cpu", .page_data = "VSTPdata", .script = "start()", .style = "body{}"});
  const std::string_view order[] = {
      "<style>body{}</style>",    "<div id=\"vesta-page\">", "<noscript>",
      "<script>start()</script>", "id=\"vesta-data-0\"",     "dataset.vestaPieces = \"1\""};
  size_t at = 0;
  for (const std::string_view part : order) {
    const size_t found = html.find(part, at);
    ASSERT_NE(found, std::string::npos) << part;
    at = found;
  }
  EXPECT_EQ(DataOf(html, 1), "VSTPdata");
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(Count(html, "http"), 1u);  // http-equiv
  EXPECT_TRUE(html.ends_with("</html>\n"));
}

TEST(HtmlPageTest, LargeDataComesInPieces) {
  std::mt19937_64 random(1);
  std::string data(3'000'000, '\0');
  for (char& c : data) c = static_cast<char>(random());
  const std::string html =
      RenderHtmlPage({.title = "", .page_data = data, .script = "", .style = ""});
  EXPECT_EQ(Count(html, "id=\"vesta-data-"), 4u);
  EXPECT_NE(html.find("vestaPieces = \"4\""), std::string::npos);
  EXPECT_TRUE(DataOf(html, 4) == data);
}

TEST(HtmlPageTest, HostileNamesStayInside) {
  const std::string hostile =
      std::string("</script></style></title><script>alert(1)<!--\"'&\0\x01", 51) +
      "\xe2\x80\xae\xff]]>";
  profile::Profile profile;
  profile.SetSampleTypes({profile.InternValueType(hostile, hostile)});
  const profile::Line line{
      profile.InternFunction({profile.InternString(hostile), {}, profile.InternString(hostile), 1}),
      1, 0};
  const auto mapping = profile.AddMapping({profile.InternString(hostile), {}, 0, 0, 0});
  const auto labels = profile.InternLabels(std::vector{profile.TextLabel("process", hostile)});
  const auto location = profile.AddLocation({mapping, 1, false, {&line, 1}});
  profile.AppendSample(profile.InternStack(std::vector{location}), labels, {{1}});
  const flame::TreeInput input{&profile, hostile};
  const auto tree = flame::MakeStackTree({&input, 1});
  ASSERT_TRUE(tree.ok());
  for (const std::string& text : tree->strings) EXPECT_TRUE(base::IsUtf8(text));
  const auto data = EncodePageData(*tree, {.title = hostile, .notes = {hostile}});
  ASSERT_TRUE(data.ok());
  const std::string html =
      RenderHtmlPage({.title = hostile, .page_data = *data, .script = "start()", .style = ""});
  EXPECT_EQ(DataOf(html, 1), *data);
  EXPECT_EQ(Count(html, "<script"), 3u);  // application, data, end
  EXPECT_EQ(Count(html, "</script"), 3u);
  EXPECT_EQ(Count(html, "</style"), 1u);
  EXPECT_EQ(Count(html, "</title"), 1u);
  EXPECT_EQ(Count(html, "<!--"), 0u);
  EXPECT_EQ(html.find('\0'), std::string::npos);
  EXPECT_TRUE(base::IsUtf8(html));
  EXPECT_NE(html.find("&lt;/script&gt;&lt;/style&gt;"), std::string::npos);
}

}  // namespace
}  // namespace vesta::page
