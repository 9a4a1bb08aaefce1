#include "src/cli/always_on/server_place.h"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string_view>

#include "src/base/byte_source.h"
#include "src/base/host_name.h"
#include "src/base/json.h"
#include "src/base/json_reader.h"
#include "src/store/disk/files.h"

namespace vesta::cli {
namespace {

using base::Error;
using base::ErrorCode;

constexpr size_t kFileBytesMax = 4096;

std::string PathOf(const std::string& folder) { return folder + "/SERVER"; }

// The URL as this machine reaches it.
base::Result<std::string> LocalUrl(const std::string& url) {
  const size_t begin = url.find("://");
  if (begin == std::string::npos || !url.starts_with("http"))
    return Error(ErrorCode::kCorrupt, "it names no URL");
  const std::string_view authority = std::string_view(url).substr(begin + 3);
  const std::string_view host = base::HostOf(authority);
  if (base::IsLoopback(host)) return url;
  const size_t port = authority.rfind(':');
  const bool is_any = host == "0.0.0.0" || host == "::";
  if (!is_any || port == std::string_view::npos) {
    return Error(ErrorCode::kUnsupported,
                 "its server listens at " + url + ": ask it by --server " + url);
  }
  return url.substr(0, begin + 3) + (host == "::" ? "[::1]" : "127.0.0.1") +
         std::string(authority.substr(port));
}

}  // namespace

std::string NewInstance() {
  std::random_device random;
  std::string text;
  for (int i = 0; i < 4; ++i) {
    std::array<char, 9> digits;
    std::snprintf(digits.data(), digits.size(), "%08x", static_cast<uint32_t>(random()));
    text += digits.data();
  }
  return text;
}

base::Result<void> WriteServerPlace(const std::string& folder, const ServerPlace& place) {
  base::JsonWriter json;
  json.BeginObject().Key("url").String(place.url);
  json.Key("instance").String(place.instance).EndObject();
  return store::WriteFileAtomically(PathOf(folder), json.Take() + "\n");
}

void RemoveServerPlace(const std::string& folder) {
  // One that stays names a server that is no more: who reads it finds nobody there.
  static_cast<void>(::unlink(PathOf(folder).c_str()));
}

base::Result<ServerPlace> ReadServerPlace(const std::string& folder) {
  const std::string path = PathOf(folder);
  ASSIGN_OR_RETURN(const std::string text, base::ReadSmallFile(path, kFileBytesMax));
  const auto json = base::ParseJson(text);
  const auto member = [&](std::string_view key) -> const std::string* {
    const base::JsonValue* value = json.ok() ? json->Find(key) : nullptr;
    return value == nullptr ? nullptr : value->AsString();
  };
  const std::string* const url = member("url");
  const std::string* const instance = member("instance");
  if (url == nullptr || instance == nullptr || instance->empty())
    return Error(ErrorCode::kCorrupt, path + " says not where its server listens");
  auto local = LocalUrl(*url);
  if (!local.ok()) return local.error();
  return ServerPlace{std::move(*local), *instance};
}

}  // namespace vesta::cli
