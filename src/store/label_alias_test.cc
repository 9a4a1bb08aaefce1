#include "src/store/label_alias.h"

#include <gtest/gtest.h>

namespace vesta::store {
namespace {

TEST(LabelAlias, ResolvesShortNames) {
  EXPECT_EQ(ResolveLabelAlias("service"), "service.name");
  EXPECT_EQ(ResolveLabelAlias("version"), "service.version");
  EXPECT_EQ(ResolveLabelAlias("node"), "host.name");
  EXPECT_EQ(ResolveLabelAlias("host"), "host.name");
  EXPECT_EQ(ResolveLabelAlias("container"), "container.id");
  EXPECT_EQ(ResolveLabelAlias("pod"), "k8s.pod.uid");
  EXPECT_EQ(ResolveLabelAlias("unit"), "systemd.unit");
}

TEST(LabelAlias, LeavesOtherNamesAsTheyAre) {
  for (const std::string_view name : {"", "service.name", "Service", "process", "zz", "aa"}) {
    EXPECT_EQ(ResolveLabelAlias(name), name);
  }
}

TEST(LabelAlias, FindsEveryEntryAndNoNameIsAnAlias) {
  for (const LabelAlias& entry : LabelAliases()) {
    EXPECT_EQ(ResolveLabelAlias(entry.alias), entry.name);
    EXPECT_EQ(ResolveLabelAlias(entry.name), entry.name) << "the name of " << entry.alias;
  }
}

}  // namespace
}  // namespace vesta::store
