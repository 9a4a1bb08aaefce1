// What a browser sees that opens the server's address: the live page of ui/.
#pragma once

#include <string>
#include <string_view>

#include "src/server/message.h"

namespace vesta::server {

// The page, whose script and style are files of their own; its policy lets it ask this server only.
// For who runs no scripts it says where to go on; the examples are for the address by which it was
// asked.
Response FrontPage(const std::string& version, bool is_tls, std::string_view host);
Response FrontPageScript();
Response FrontPageStyle();

}  // namespace vesta::server
