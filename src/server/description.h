// docs/openapi.yaml inside of the binary.
#pragma once

#include <string_view>

namespace vesta::server {

std::string_view OpenApiDescription();

}  // namespace vesta::server
