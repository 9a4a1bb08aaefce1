// Any bytes: the parser ends, stays inside them, and what it accepts is what a store accepts and
// what it reads again when it is written with quotes.
#include "src/ingest/pusher_labels.h"
#include "src/store/batch_check.h"

namespace {

std::string Quoted(const std::string& value) {
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto labels = vesta::ingest::ParsePusherLabels({reinterpret_cast<const char*>(data), size});
  if (!labels.ok()) return 0;
  CHECK(vesta::store::CheckLabels(*labels).ok());
  std::string text;
  for (const vesta::store::Label& label : *labels) {
    text += (text.empty() ? "" : ",") + label.name + "=" + Quoted(label.value);
  }
  const auto again = vesta::ingest::ParsePusherLabels(text);
  CHECK(again.ok() && *again == *labels);
  return 0;
}
