// The built page of ui/ inside of the binary: what `tools/dev build` made of ui/src.
#pragma once

#include <string_view>

namespace vesta::ui {

// One classic script, with the worker's text in it; holds no "</script".
std::string_view FlamePageScript();
// Holds no "</style".
std::string_view FlamePageStyle();

}  // namespace vesta::ui
