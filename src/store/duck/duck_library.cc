#include "src/store/duck/duck_library.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/base/shared_library.h"

namespace vesta::store::duck {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::SharedLibrary;

constexpr std::string_view kVersion = "v1.5.6";
constexpr const char* kRemedy =
    "the store needs DuckDB 1.5.6, and libduckdb.so is not beside the program: run tools/dev deps "
    "and build again, or name the file in VESTA_DUCKDB_LIBRARY";

// Of the running program, "" when it cannot be told.
std::string ProgramFolder() {
  char path[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof(path));
  if (size <= 0 || size == ssize_t{PATH_MAX}) return "";
  const std::string_view program(path, static_cast<size_t>(size));
  return std::string(program.substr(0, program.rfind('/')));
}

Result<SharedLibrary> OpenLibrary() {
  const char* named = std::getenv("VESTA_DUCKDB_LIBRARY");
  if (named != nullptr && *named != '\0') {
    return SharedLibrary::Open({named}, "VESTA_DUCKDB_LIBRARY names no library that can be loaded");
  }
  const std::string folder = ProgramFolder();
  const std::string beside = folder + "/libduckdb.so";
  const std::string installed = folder + "/../lib/vesta/libduckdb.so";
  return SharedLibrary::Open({beside.c_str(), installed.c_str(), "libduckdb.so"}, kRemedy);
}

Result<const DuckLibrary*> Load() {
  ASSIGN_OR_RETURN(const SharedLibrary library, OpenLibrary());
  static DuckLibrary functions;
  const char* missing = nullptr;
  // The version first: another one may lack functions.
  if (!library.Find("duckdb_library_version", functions.library_version)) {
    return Error(ErrorCode::kUnsupported, "libduckdb.so is not a library of DuckDB");
  }
  const std::string_view version = functions.library_version();
  if (version != kVersion) {
    return Error(ErrorCode::kUnsupported, "libduckdb.so is DuckDB " + std::string(version) +
                                              ", but the store needs " + std::string(kVersion) +
                                              ": run tools/dev deps, or name the file in "
                                              "VESTA_DUCKDB_LIBRARY");
  }
#define VESTA_DUCKDB_FUNCTION(name) \
  if (!library.Find("duckdb_" #name, functions.name)) missing = "duckdb_" #name;
  VESTA_DUCKDB_FUNCTIONS(VESTA_DUCKDB_FUNCTION)
#undef VESTA_DUCKDB_FUNCTION
  if (missing != nullptr) {
    return Error(ErrorCode::kUnsupported, std::string("libduckdb.so lacks ") + missing);
  }
  return &functions;
}

}  // namespace

base::Result<const DuckLibrary*> LoadDuckLibrary() {
  static const Result<const DuckLibrary*> loaded = Load();
  return loaded;
}

}  // namespace vesta::store::duck
