// The built pages of ui/ inside of the binary: what `tools/dev build` made of ui/src.
#pragma once

#include <string_view>

namespace vesta::ui {

// Of the page that is one file. One classic script, with the worker's text in it; holds no
// "</script".
std::string_view FlamePageScript();
// Holds no "</style".
std::string_view FlamePageStyle();

// Of the page that a server shows; they are files of their own.
std::string_view LivePageScript();
std::string_view LivePageStyle();

}  // namespace vesta::ui
