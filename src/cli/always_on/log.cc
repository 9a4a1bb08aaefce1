#include "src/cli/always_on/log.h"

#include <cstdio>

#include "src/base/printable.h"

namespace vesta::cli {

Log LogOf(const std::string& command) {
  return [command](const std::string& sentence) {
    std::fprintf(stderr, "vesta %s: %s\n", command.c_str(), base::Printable(sentence).c_str());
  };
}

}  // namespace vesta::cli
