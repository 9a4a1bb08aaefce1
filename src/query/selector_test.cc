#include "src/query/selector.h"

#include <gtest/gtest.h>

#include <string>

#include "src/query/matcher.h"

namespace vesta::query {
namespace {

std::string ErrorOf(std::string_view text) {
  const auto selector = ParseSelector(text);
  return selector.ok() ? "read as " + SelectorText(*selector) : selector.error().message();
}

TEST(SelectorTest, ReadsWhatPeopleWriteAndPrintsWhatItReadsBack) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "{}"},
      {"{}", "{}"},
      {" cpu ", "cpu"},
      {"cpu{}", "cpu"},
      {"cpu:nanoseconds", "cpu:nanoseconds"},
      {"samples{service=\"x\"}", "samples{service.name=\"x\"}"},
      {"{ service = \"x\" , version =~ `1\\..*` , }",
       "{service.name=\"x\",service.version=~\"1\\\\..*\"}"},
      {"cpu{version=~\"1\\\\..*\"}", "cpu{service.version=~\"1\\\\..*\"}"},
      {"cpu{k8s.pod.uid!=\"a\"}", "cpu{k8s.pod.uid!=\"a\"}"},
      {"cpu{\"k8s.pod.uid\"!~\"a\"}", "cpu{k8s.pod.uid!~\"a\"}"},
      {"cpu{\"odd name\"=\"a\\\"b\\\\c\\nd\"}", "cpu{\"odd name\"=\"a\\\"b\\\\c\\nd\"}"},
      {"\"my type\":\"my unit\"", "\"my type\":\"my unit\""},
      {"cpu@-2h..-1h", "cpu@-2h..-1h"},
      {"@-2h", "{}@-2h..now"},
      {"cpu{a=\"b\"} @ 14:02 .. 14:05", "cpu{a=\"b\"}@14:02:00..14:05:00"},
      {"cpu@yesterday 14:02..-1d@14:05", "cpu@yesterday 14:02:00..yesterday 14:05:00"},
  };
  for (const auto& [text, printed] : cases) {
    const auto selector = ParseSelector(text);
    ASSERT_TRUE(selector.ok()) << text << ": " << selector.error().message();
    EXPECT_EQ(SelectorText(*selector), printed) << text;
    const auto again = ParseSelector(printed);
    ASSERT_TRUE(again.ok()) << printed;
    EXPECT_EQ(*again, *selector) << text;
  }
}

TEST(SelectorTest, ErrorsNameThePlaceAndWhatWasExpected) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"cpu{", "position 5: expected the name of a label"},
      {"cpu{a", "position 6: expected =, !=, =~ or !~"},
      {"cpu{a=b}",
       "position 7: expected a value in quotes; a shell takes them away unless the whole stands in "
       "single quotes"},
      {"service=\"shop\"", "position 8: labels stand in braces, as in {service=\"shop\"}"},
      {"service!~\"a\"", "position 8: labels stand in braces, as in {service=\"shop\"}"},
      {"cpu{a=\"b", "position 7: expected the quote that ends what begins here"},
      {"cpu{a=\"b\"", "position 10: expected ',' or '}'"},
      {"cpu{a=\"\\d\"}",
       "position 9: expected \\\\, \\\", \\n, \\r or \\t; a pattern's \\d is "
       "written \\\\d"},
      {"cpu{a=~\"(\"}", "position 8: the pattern is no RE2 expression: missing ): ("},
      {"cpu{\"\"=\"a\"}", "position 5: expected the name of a label, which is not empty"},
      {"cpu:", "position 5: expected the unit behind ':'"},
      {"cpu}", "position 4: expected '{', '@' or the end"},
      {"cpu{} x", "position 7: expected '@' or the end"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(ErrorOf(text), expected) << text;
  EXPECT_NE(ErrorOf("cpu@someday").find("position 5: \"someday\" is no time"), std::string::npos);
  EXPECT_NE(ErrorOf("\xff").find("UTF-8"), std::string::npos);
  EXPECT_NE(ErrorOf(std::string(100'000, 'a')).find("64 KiB"), std::string::npos);
  EXPECT_NE(ErrorOf("{a=~\"((a{100}){100}){100}\"}").find("RE2"), std::string::npos);
}

TEST(MatcherTest, PatternsMatchWholeValuesAndAMissingLabelIsEmpty) {
  const store::Labels labels = {{"service.name", "web"}, {"service.version", "1.2"}};
  const std::pair<std::string_view, bool> cases[] = {
      {"{service=\"web\"}", true},
      {"{service=\"we\"}", false},
      {"{service!=\"web\"}", false},
      {"{service=~\"we.*\"}", true},
      {"{service=~\"we\"}", false},
      {"{service=~\"web|api\"}", true},
      {"{service!~\"we\"}", true},
      {"{version=~\"1\\\\..*\"}", true},
      {"{host=\"\"}", true},
      {"{host!=\"\"}", false},
      {"{host=~\".*\"}", true},
      {"{service=\"web\",version=\"2\"}", false},
      {"{pid=\"7\",service=\"web\"}", true},  // of tasks nothing is asked here
  };
  for (const auto& [text, expected] : cases) {
    const auto matcher = LabelMatcher::Compile(ParseSelector(text)->matchers);
    ASSERT_TRUE(matcher.ok());
    EXPECT_EQ(matcher->MatchesSeries(labels), expected) << text;
  }
}

TEST(MatcherTest, TasksAreAskedByTheirNumbersAndNames) {
  const store::Task task{7, 8, "worker"};
  const std::pair<std::string_view, bool> cases[] = {{"{pid=\"7\"}", true},
                                                     {"{tid=\"7\"}", false},
                                                     {"{thread=~\"work.*\"}", true},
                                                     {"{thread!=\"worker\"}", false}};
  for (const auto& [text, expected] : cases) {
    const auto matcher = LabelMatcher::Compile(ParseSelector(text)->matchers);
    EXPECT_TRUE(matcher->asks_tasks());
    EXPECT_EQ(matcher->MatchesTask(task), expected) << text;
  }
  EXPECT_EQ(TaskLabelValue({}, "pid"), "");
}

}  // namespace
}  // namespace vesta::query
