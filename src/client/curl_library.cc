#include "src/client/curl_library.h"

#include "src/base/shared_library.h"

namespace vesta::client {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

Result<CurlLibrary> Load() {
  ASSIGN_OR_RETURN(
      const auto library,
      base::SharedLibrary::Open({"libcurl.so.4", "libcurl-gnutls.so.4"},
                                "talking to a server needs libcurl: apt-get install libcurl4"));
  CurlLibrary curl;
  if (!library.Find("curl_global_init", curl.global_init) ||
      !library.Find("curl_easy_init", curl.easy_init) ||
      !library.Find("curl_easy_setopt", curl.easy_setopt) ||
      !library.Find("curl_easy_getinfo", curl.easy_getinfo) ||
      !library.Find("curl_easy_reset", curl.easy_reset) ||
      !library.Find("curl_easy_cleanup", curl.easy_cleanup) ||
      !library.Find("curl_easy_strerror", curl.easy_strerror) ||
      !library.Find("curl_multi_init", curl.multi_init) ||
      !library.Find("curl_multi_add_handle", curl.multi_add_handle) ||
      !library.Find("curl_multi_remove_handle", curl.multi_remove_handle) ||
      !library.Find("curl_multi_perform", curl.multi_perform) ||
      !library.Find("curl_multi_poll", curl.multi_poll) ||
      !library.Find("curl_multi_wakeup", curl.multi_wakeup) ||
      !library.Find("curl_multi_info_read", curl.multi_info_read) ||
      !library.Find("curl_multi_cleanup", curl.multi_cleanup) ||
      !library.Find("curl_slist_append", curl.slist_append) ||
      !library.Find("curl_slist_free_all", curl.slist_free_all) ||
      curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    return Error(ErrorCode::kUnsupported, "libcurl is too old: 7.85 or newer is needed");
  }
  return curl;
}

}  // namespace

Result<const CurlLibrary*> CurlLibrary::Get() {
  static const Result<CurlLibrary>& loaded = *new Result<CurlLibrary>(Load());
  if (!loaded.ok()) return Error(loaded.error().code(), loaded.error().message());
  return &*loaded;
}

}  // namespace vesta::client
