// What is decoded is written and decoded again as the same text.
#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/check.h"
#include "src/base/json_reader.h"
#include "src/store/disk/ledger.h"
#include "src/store/disk/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace vesta;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (const auto manifest = store::DecodeManifest(text); manifest.ok()) {
    const std::string written = store::EncodeManifest(*manifest);
    const auto again = store::DecodeManifest(written);
    CHECK(again.ok() && store::EncodeManifest(*again) == written);
  }
  if (const auto state = store::DecodeStoreState(text); state.ok()) {
    const std::string written = store::EncodeStoreState(*state);
    const auto again = store::DecodeStoreState(written);
    CHECK(again.ok() && store::EncodeStoreState(*again) == written);
  }
  if (const auto json = base::ParseJson(text); json.ok()) {
    if (const auto ledger = store::Ledger::FromJson(*json); ledger.ok()) {
      base::JsonWriter first;
      ledger->WriteJson(first);
      const std::string written = first.Take();
      const auto again = store::Ledger::FromJson(*base::ParseJson(written));
      CHECK(again.ok());
      base::JsonWriter second;
      again->WriteJson(second);
      CHECK(second.Take() == written);
    }
  }
  return 0;
}
