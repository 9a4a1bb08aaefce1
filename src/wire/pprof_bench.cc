// What a large profile costs: memory, encoding, decoding. Prints one JSON object; times are CPU
// seconds of this process.
//
//     pprof_bench [SAMPLES]      default 1000000
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>

#include "src/base/json.h"
#include "src/wire/folded_decoder.h"
#include "src/wire/folded_encoder.h"
#include "src/wire/gzip.h"
#include "src/wire/pprof_decoder.h"
#include "src/wire/pprof_encoder.h"
#include "test/support/synthetic_profile.h"

namespace {

using vesta::profile::Profile;
using vesta::wire::DecodePprof;
using vesta::wire::EncodePprof;

// Runs `step` and puts its seconds under `key`.
template <typename Step>
auto Timed(vesta::base::JsonWriter& json, std::string_view key, Step step) {
  const std::clock_t start = std::clock();
  auto result = step();
  const auto ticks = static_cast<double>(std::clock() - start);
  json.Key(std::string(key) + "_cpu_s").Double(ticks / CLOCKS_PER_SEC);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  vesta::test::SyntheticShape shape;
  shape.samples = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1'000'000;
  shape.functions = 20'000;
  shape.locations = 60'000;
  shape.mappings = 40;
  shape.depth_max = 60;
  shape.odd_content = false;
  shape.name_bytes_min = 40;
  vesta::base::JsonWriter json;
  json.BeginObject();
  const Profile profile =
      Timed(json, "build", [&] { return vesta::test::SyntheticProfile(shape); });
  json.Key("samples").Uint(profile.sample_count()).Key("stacks").Uint(profile.stack_count());
  json.Key("memory_bytes").Uint(profile.memory_bytes());
  const std::string plain =
      Timed(json, "encode_plain", [&] { return EncodePprof(profile, {.gzip = false}); });
  json.Key("plain_bytes").Uint(plain.size());
  for (const int level : {1, 3, 6}) {
    const std::string name = "gzip" + std::to_string(level);
    const std::string bytes =
        Timed(json, "encode_" + name, [&] { return EncodePprof(profile, {.gzip_level = level}); });
    json.Key(name + "_bytes").Uint(bytes.size());
    if (level != 1) continue;
    const auto back = Timed(json, "decode_" + name, [&] { return DecodePprof(bytes); });
    json.Key("decoded_samples").Uint(back.ok() ? back->sample_count() : 0);
    if (back.ok()) json.Key("decoded_memory_bytes").Uint(back->memory_bytes());
  }
  const auto back = Timed(json, "decode_plain", [&] { return DecodePprof(plain); });
  const std::string folded =
      Timed(json, "encode_folded", [&] { return vesta::wire::EncodeFolded(profile); });
  json.Key("folded_bytes").Uint(folded.size());
  const auto unfolded =
      Timed(json, "decode_folded", [&] { return vesta::wire::DecodeFolded(folded); });
  json.EndObject();
  std::printf("%s\n", json.Take().c_str());
  return back.ok() && unfolded.ok() ? 0 : 1;
}
