#include "src/cli/settings/commands.h"

#include <gtest/gtest.h>

#include <set>

#include "src/base/byte_source.h"

namespace vesta::cli {
namespace {

TEST(OptionTableTest, EachCommandHasAFlagAndALetterOnce) {
  for (const CommandSpec& command : AllCommands()) {
    std::set<std::string_view> flags = {"config", "expert", "help", "json", "version"};
    std::set<char> letters = {'h', 'V'};
    for (const OptionSpec& option : AllOptions()) {
      if ((option.commands & command.bit) == 0) continue;
      EXPECT_TRUE(flags.insert(option.flag).second) << command.name << " " << option.flag;
      EXPECT_EQ(FindOption(option.flag, command.bit), &option);
      if (option.short_flag == 0) continue;
      EXPECT_TRUE(letters.insert(option.short_flag).second) << command.name << " " << option.flag;
      EXPECT_EQ(FindShortOption(option.short_flag, command.bit), &option);
    }
  }
}

TEST(OptionTableTest, AKeyOfConfigFilesMeansOneThing) {
  std::set<std::string_view> keys;
  for (const OptionSpec& option : AllOptions()) {
    if (option.scope != OptionScope::kEverywhere) continue;
    EXPECT_TRUE(keys.insert(option.flag).second) << option.flag;
    EXPECT_EQ(FindOption(option.flag), &option) << option.flag;
  }
}

TEST(OptionTableTest, BoundsAndDefaultsFollowTheirOwnRules) {
  for (const OptionSpec& option : AllOptions()) {
    Settings settings;
    if (!option.default_text.empty()) {
      EXPECT_TRUE(option.store(option, option.default_text, settings).ok()) << option.flag;
    }
    if (option.minimum.empty()) continue;
    EXPECT_TRUE(option.store(option, option.minimum, settings).ok()) << option.flag;
    EXPECT_TRUE(option.store(option, option.maximum, settings).ok()) << option.flag;
  }
}

TEST(OptionTableTest, ChoiceWordsFollowTheOrderOfTheirEnum) {
  Settings settings;
  const OptionSpec* loop = FindOption("unwind_loop");
  ASSERT_NE(loop, nullptr);
  ASSERT_TRUE(loop->store(*loop, "bounded", settings).ok());
  EXPECT_EQ(settings.unwind_loop, UnwindLoop::kBounded);
  const OptionSpec* event = FindOption("event");
  ASSERT_TRUE(event->store(*event, "cycles", settings).ok());
  EXPECT_EQ(settings.event, Event::kCycles);
  const auto refused = event->store(*event, "instructions", settings);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(), "is not known: give auto, cpu-clock or cycles");
}

TEST(OptionTableTest, EnvironmentNamesAreCapitals) {
  EXPECT_EQ(EnvironmentName(*FindOption("ring-size")), "VESTA_RING_SIZE");
}

TEST(HelpTest, EachCommandShowsItsOptionsAndExamplesOnly) {
  const std::string record = CommandHelp(*FindCommand("record"), false);
  EXPECT_NE(record.find("--frequency HZ"), std::string::npos);
  EXPECT_NE(record.find("vesta record --duration 10s"), std::string::npos);
  EXPECT_NE(record.find("1 to 1000; default auto"), std::string::npos);
  EXPECT_EQ(record.find("--unwind-loop"), std::string::npos);
  EXPECT_EQ(record.find("--interval"), std::string::npos);
  EXPECT_NE(CommandHelp(*FindCommand("record"), true).find("--unwind-loop"), std::string::npos);
  EXPECT_EQ(CommandHelp(*FindCommand("doctor"), false).find("--frequency"), std::string::npos);
}

TEST(HelpTest, LinesFitATerminal) {
  for (const CommandSpec& command : AllCommands()) {
    const std::string help = CommandHelp(command, true);
    for (size_t start = 0; start < help.size();) {
      const size_t end = help.find('\n', start);
      EXPECT_LE(end - start, 100u) << help.substr(start, end - start);
      start = end + 1;
    }
  }
}

TEST(HelpTest, MarkdownHasARowForEachOption) {
  const std::string text = ConfigMarkdown();
  for (const OptionSpec& option : AllOptions()) {
    EXPECT_NE(text.find("| `" + std::string(option.flag) + "` |"), std::string::npos);
  }
}

TEST(HelpTest, DocumentedSettingsAreUpToDate) {
  const auto file = base::ReadSmallFile(VESTA_SOURCE_DIR "/docs/config.md");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(*file, ConfigMarkdown()) << "`tools/dev gen` writes docs/config.md";
}

}  // namespace
}  // namespace vesta::cli
