// Labels as people and programs write them in one line.
#pragma once

#include <string_view>

#include "src/base/result.h"
#include "src/store/batch.h"

namespace vesta::ingest {

// "service=x,version=1.2" -> the labels service.name and service.version.
// Shape: pairs NAME=VALUE with commas between; blanks around names and values go. A value in double
//        quotes may hold anything, with \" and \\ inside; without quotes it ends at the comma.
//        Aliases (src/store/label_alias.h) become their names. An empty value is no label; empty
//        text is no labels. The result is sorted and passes store::CheckLabels.
// Errors: InvalidInput naming the pair: no '=', no name, a name twice (an alias and its name
//         included), a quote that does not end, text that is no UTF-8 or beyond the limits.
base::Result<store::Labels> ParsePusherLabels(std::string_view text);

// The same rules for pairs that came apart, such as the parameters of a URL.
base::Result<store::Labels> PusherLabels(store::Labels pairs);

}  // namespace vesta::ingest
