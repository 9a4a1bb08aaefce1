// What a browser sees that opens the server's address.
#pragma once

#include <string>

#include "src/server/message.h"

namespace vesta::server {

// Says what this is and where to go on; asks no other host for anything.
Response FrontPage(const std::string& version);

}  // namespace vesta::server
