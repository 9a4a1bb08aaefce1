#include "src/cli/always_on/exclusion_rule.h"

#include <gtest/gtest.h>

namespace vesta::cli {
namespace {

using agent::process::ExclusionRule;
using agent::process::Labels;
using agent::process::TaskInfo;

TaskInfo Task(const std::string& comm, const std::string& service, bool is_kernel_thread = false) {
  Labels labels;
  labels.service_name = service;
  labels.known = true;
  return {42, 7, comm, std::make_shared<const Labels>(labels), is_kernel_thread};
}

ExclusionRule Rule(const std::vector<std::string>& selectors) {
  auto rule = MakeExclusionRule(selectors, {{"deployment.environment.name", "prod"}});
  EXPECT_TRUE(rule.ok()) << rule.error().message();
  return *rule;
}

TEST(ExclusionRuleTest, WithoutASelectorThereIsNoRule) { EXPECT_FALSE(Rule({})); }

TEST(ExclusionRuleTest, OneThatFitsIsEnoughAndAllOfItMustFit) {
  const ExclusionRule rule =
      Rule({R"({service="vault"})", R"({process=~"java.*",service!="shop"})"});
  EXPECT_TRUE(rule(Task("x", "vault")));
  EXPECT_TRUE(rule(Task("java11", "search")));
  EXPECT_FALSE(rule(Task("java11", "shop")));
  EXPECT_FALSE(rule(Task("notjava", "shop")));
}

TEST(ExclusionRuleTest, LabelsAreThoseOfTheStore) {
  EXPECT_TRUE(Rule({R"({process="kworker"})"})(Task("kworker/3:1-events", "kworker", true)));
  EXPECT_TRUE(Rule({R"({service="[kernel]"})"})(Task("kworker/3:1", "kworker", true)));
  EXPECT_TRUE(Rule({R"({pid="42"})"})(Task("x", "y")));
  EXPECT_FALSE(Rule({R"({pid="43"})"})(Task("x", "y")));
  EXPECT_TRUE(Rule({R"({env="prod",service="y"})"})(Task("x", "y")));
  EXPECT_TRUE(Rule({R"({container.id=""})"})(Task("x", "y")));
}

TEST(ExclusionRuleTest, WhatSelectsNoProcessesIsRefusedWithAReason) {
  const auto why = [](const std::string& selector) {
    const auto rule = MakeExclusionRule({R"({service="a"})", selector}, {});
    EXPECT_FALSE(rule.ok()) << selector;
    return rule.ok() ? std::string() : rule.error().message();
  };
  EXPECT_NE(why("{servce=\"x\"}").find("no label servce, only container.id, "), std::string::npos);
  EXPECT_NE(why("{}").find("every process"), std::string::npos);
  EXPECT_NE(why("cpu{service=\"x\"}").find("labels alone"), std::string::npos);
  EXPECT_NE(why("{service=\"x\"}@-1h").find("labels alone"), std::string::npos);
  EXPECT_NE(why("{thread=\"x\"}").find("no label thread"), std::string::npos);
  EXPECT_NE(why("{tid=\"5\"}").find("no label tid"), std::string::npos);
  EXPECT_NE(why("{incomplete=\"depth\"}").find("no label incomplete"), std::string::npos);
  EXPECT_NE(why("{service=x}").find("--exclude {service=x}: position 10"), std::string::npos);
  EXPECT_NE(why("{service=~\"(\"}").find("RE2"), std::string::npos);
}

}  // namespace
}  // namespace vesta::cli
