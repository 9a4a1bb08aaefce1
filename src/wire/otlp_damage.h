// Where protobuf of OTLP Profiles is broken, for people who write senders.
#pragma once

#include <string>
#include <string_view>

namespace vesta::wire::otlp {

// "the message at byte 17 ends too early": the outermost part that is broken while all around it is
// whole; "" when none is.
// Cost: reads the message once more, which is done only for what was refused.
std::string DescribeDamage(std::string_view bytes);

}  // namespace vesta::wire::otlp
