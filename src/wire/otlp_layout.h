// Which of the layouts of OTLP Profiles a request has.
#pragma once

#include <optional>
#include <string_view>

#include "src/base/result.h"
#include "src/wire/otlp_decoder.h"
#include "src/wire/otlp_reader.h"

namespace vesta::wire::otlp {

struct LayoutFound {
  OtlpLayout layout = OtlpLayout::kV1_10;
  bool is_told = false;  // by the request, not by the peer's earlier ones or by custom
};

// Shape:  the numbers and wire types of fields of profiles and samples tell. A sample without link
//         and values fits v1.8 and v1.10: then it is v1.8 where its second list is as long as that
//         of its times in every sample, as values would be. Scopes of vesta are v1.10.
// Cost:   a look at the outermost fields of each sample.
// Errors: Unsupported naming the layout for v1.7 and older, and for what fits none as a whole.
//         Throws protozero's exceptions.
// Source: field tables of opentelemetry-proto v1.4.0 to v1.11.0.
base::Result<LayoutFound> FindLayout(const RawRequest& request,
                                     std::optional<OtlpLayout> layout_of_peer);

}  // namespace vesta::wire::otlp
