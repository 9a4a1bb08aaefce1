#include "src/agent/stop_reason.h"

#include <array>
#include <cstddef>
#include <string>

#include "src/base/check.h"

namespace vesta::agent {
namespace {

struct Table {
  Table() {
    size_t reason = 0;
#define ADD_REASON(name, is_complete, meaning) Add(reason++, #name, (is_complete) != 0);
    ABI_STOP_REASONS(ADD_REASON)
#undef ADD_REASON
  }

  void Add(size_t reason, const char* name, bool is_complete) {
    for (const char* c = name; *c != '\0'; ++c) {
      names[reason] += *c >= 'A' && *c <= 'Z' ? static_cast<char>(*c - 'A' + 'a') : *c;
    }
    infos[reason] = {names[reason].c_str(), is_complete};
  }

  std::array<std::string, ABI_STOP_COUNT> names;
  std::array<StopReasonInfo, ABI_STOP_COUNT> infos{};
};

}  // namespace

const StopReasonInfo& InfoOf(abi_stop_reason reason) {
  static const Table table;
  CHECK(reason < ABI_STOP_COUNT);
  return table.infos[reason];
}

}  // namespace vesta::agent
