#include "src/agent/process/labels.h"

#include <gtest/gtest.h>

namespace vesta::agent::process {
namespace {

const std::string kId = "3f5c8d1e0a9b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d";
const std::string kUnitCgroup = "0::/system.slice/shop.service\n";
const std::string kContainerCgroup = "0::/docker/" + kId + "\n";

std::string Environ(std::initializer_list<const char*> entries) {
  std::string text;
  for (const char* entry : entries) {
    text += entry;
    text += '\0';
  }
  return text;
}

TEST(LabelsTest, TheFirstRuleThatAppliesNamesTheService) {
  struct Case {
    const char* what;
    std::string environ;
    std::string cgroup;
    const char* name;
    ServiceRule rule;
  };
  const Case cases[] = {
      {"variable before attributes",
       Environ({"A=b", "OTEL_RESOURCE_ATTRIBUTES=service.name=attr", "OTEL_SERVICE_NAME=variable"}),
       kUnitCgroup, "variable", ServiceRule::kServiceNameVariable},
      {"attributes before unit",
       Environ({"OTEL_RESOURCE_ATTRIBUTES=a=b, service.name = attr ,c=d"}), kUnitCgroup, "attr",
       ServiceRule::kResourceAttributes},
      {"an empty variable counts as unset", Environ({"OTEL_SERVICE_NAME="}), kUnitCgroup, "shop",
       ServiceRule::kUnit},
      {"a longer variable is another one",
       Environ({"OTEL_SERVICE_NAMES=x", "XOTEL_SERVICE_NAME=y"}), kUnitCgroup, "shop",
       ServiceRule::kUnit},
      {"unit", "", kUnitCgroup, "shop", ServiceRule::kUnit},
      {"container", "", kContainerCgroup, "3f5c8d1e0a9b", ServiceRule::kContainer},
      {"a login session names nothing", "", "0::/user.slice/session-3.scope\n", "python3.11",
       ServiceRule::kProgram},
      {"program", "", "0::/\n", "python3.11", ServiceRule::kProgram},
      {"the first of two equal variables counts",
       Environ({"OTEL_SERVICE_NAME=first", "OTEL_SERVICE_NAME=second"}), "", "first",
       ServiceRule::kServiceNameVariable},
      {"environment cut in the middle", "OTEL_SERVICE_NAME=cut", "", "cut",
       ServiceRule::kServiceNameVariable},
      {"percent signs", Environ({"OTEL_RESOURCE_ATTRIBUTES=service.name=a%2Cb%3d%20c"}), "",
       "a,b= c", ServiceRule::kResourceAttributes},
      {"damaged percent signs lose only their pair",
       Environ({"OTEL_RESOURCE_ATTRIBUTES=service.name=a%2,service.version=1"}), kUnitCgroup,
       "shop", ServiceRule::kUnit},
      {"not UTF-8, and a newline", Environ({"OTEL_SERVICE_NAME=a\xff\nb"}), "", "a??b",
       ServiceRule::kServiceNameVariable},
  };
  for (const Case& c : cases) {
    const Labels labels =
        MakeLabels({"/usr/bin/python3.11 (deleted)", "gunicorn: worke", c.cgroup, c.environ});
    EXPECT_EQ(labels.service_name, c.name) << c.what;
    EXPECT_EQ(labels.rule, c.rule) << c.what;
    EXPECT_EQ(labels.executable, "/usr/bin/python3.11") << c.what;
    EXPECT_TRUE(labels.known);
  }
}

TEST(LabelsTest, VersionComesFromTheAttributesWhoeverNamesTheService) {
  const Labels labels = MakeLabels(
      {"/bin/x", "x", kUnitCgroup,
       Environ({"OTEL_RESOURCE_ATTRIBUTES=service.version=1.2%2B3,deployment.environment=prod"})});
  EXPECT_EQ(labels.service_version, "1.2+3");
  EXPECT_EQ(labels.service_name, "shop");
  EXPECT_EQ(labels.unit, "shop.service");
}

TEST(LabelsTest, UnreadableExecutableFallsBackToTheComm) {
  EXPECT_EQ(MakeLabels({"", "worker", "", ""}).service_name, "worker");
}

TEST(LabelsTest, NothingElseOfTheEnvironmentIsKept) {
  const Labels labels = MakeLabels(
      {"/bin/x", "x", "",
       Environ({"PASSWORD=secret", "OTEL_RESOURCE_ATTRIBUTES=token=secret,service.name=a"})});
  for (const std::string& text : {labels.service_name, labels.service_version, labels.unit,
                                  labels.container_id, labels.pod_uid, labels.executable}) {
    EXPECT_EQ(text.find("secret"), std::string::npos);
  }
}

TEST(LabelsTest, CleanLabelKeepsWholeCharactersWithinTheLimit) {
  EXPECT_EQ(CleanLabel("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(CleanLabel(std::string(1000, 'a')).size(), kLabelBytesMax);
  const std::string cut = CleanLabel(std::string(255, 'a') + "\xc3\xbc");
  EXPECT_EQ(cut, std::string(255, 'a'));
  for (const char* bad : {"\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc3", "\x80"}) {
    EXPECT_EQ(CleanLabel(bad), std::string(std::string(bad).size(), '?')) << bad;
  }
}

TEST(LabelsTest, AProcessMaySayThatItIsNotToBeSampled) {
  for (const char* word : {"off", "0", "no", "false", "OFF", "False"}) {
    const std::string environ = std::string("A=1") + '\0' + "VESTA_PROFILE=" + word + '\0';
    EXPECT_TRUE(MakeLabels({"/bin/x", "x", "", environ}).opted_out) << word;
    EXPECT_TRUE(InheritLabels(MakeLabels({"/bin/x", "x", "", environ})).opted_out);
  }
  for (const char* word : {"", "on", "offline", "1"}) {
    const std::string environ = std::string("VESTA_PROFILE=") + word + '\0';
    EXPECT_FALSE(MakeLabels({"/bin/x", "x", "", environ}).opted_out) << word;
    EXPECT_EQ(MakeLabels({"/bin/x", "x", "", environ}).opt_out_unclear,
              std::string_view(word) == "offline")
        << word;
  }
}

}  // namespace
}  // namespace vesta::agent::process
