#include "ui/ui_assets.h"

#include <gtest/gtest.h>

namespace vesta::ui {
namespace {

TEST(UiAssets, AreThereAndCannotCloseTheirElement) {
  EXPECT_GT(FlamePageScript().size(), 10'000u);
  EXPECT_NE(FlamePageScript().find("vesta-data"), std::string_view::npos);
  EXPECT_EQ(FlamePageScript().find("</script"), std::string_view::npos);
  EXPECT_GT(FlamePageStyle().size(), 1'000u);
  EXPECT_EQ(FlamePageStyle().find("</style"), std::string_view::npos);
  EXPECT_NE(LivePageScript().find("/api/v1/"), std::string_view::npos);
  EXPECT_NE(LivePageStyle().find(".u-over"), std::string_view::npos) << "uPlot's own";
}

}  // namespace
}  // namespace vesta::ui
