// Who listens at a TCP port of this machine, so that a message can say whom to stop.
#pragma once

#include <cstdint>
#include <string>

namespace vesta::server {

// "vesta (process 812)"; "" = nobody, or a process that we may not look at.
// Cost: reads the descriptors of all processes, some milliseconds.
std::string PortOwner(uint16_t port);

}  // namespace vesta::server
