// Hosts as URLs and headers name them.
#pragma once

#include <string_view>

namespace vesta::base {

// The host of "host:port", "[::1]:port" or "host", without brackets; "" when a bracket is not
// closed.
std::string_view HostOf(std::string_view authority);

bool IsIpAddress(std::string_view host);
// 127.0.0.0/8, ::1 and localhost, and nothing that only begins like them.
bool IsLoopback(std::string_view host);

}  // namespace vesta::base
