// Any bytes: a walk through every value says the same as passing over all of them, but for halves
// of UTF-16 pairs, which only a look at the strings finds.
#include <cstdint>
#include <string_view>
#include <vector>

#include "src/base/check.h"
#include "src/base/json_pull.h"

namespace {

using vesta::base::JsonDecimal;
using vesta::base::JsonPull;

void Walk(JsonPull& pull) {
  std::vector<bool> is_object;  // open ones
  std::string_view text;
  JsonDecimal number;
  bool flag = false;
  bool rounded = false;
  while (pull.ok()) {
    switch (pull.Peek()) {
      case JsonPull::Kind::kObject:
        if (pull.EnterObject()) is_object.push_back(true);
        break;
      case JsonPull::Kind::kArray:
        if (pull.EnterArray()) is_object.push_back(false);
        break;
      case JsonPull::Kind::kString:
        pull.String(&text);
        break;
      case JsonPull::Kind::kBool:
        pull.Bool(&flag);
        break;
      case JsonPull::Kind::kNull:
        pull.Null();
        break;
      default:
        if (pull.Number(&number)) {
          number.ToInt(0, &rounded);
          number.ToInt(9, &rounded);
        }
    }
    for (;;) {
      if (is_object.empty() || !pull.ok()) return;
      if (is_object.back() ? pull.NextKey(&text) : pull.NextItem()) break;
      is_object.pop_back();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  JsonPull walked(text);
  Walk(walked);
  const bool valid = walked.End();
  JsonPull skipped(text);
  const bool passed = skipped.Skip() && skipped.End();
  if (valid) CHECK(passed);
  if (passed && !valid) CHECK(walked.error().message().find("UTF-16") != std::string::npos);
  if (!valid) CHECK(!walked.error().message().empty());
  return 0;
}
