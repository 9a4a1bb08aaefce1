#include "src/base/shared_library.h"

#include <dlfcn.h>

namespace vesta::base {

Result<SharedLibrary> SharedLibrary::Open(std::initializer_list<const char*> names,
                                          const char* remedy) {
  for (const char* name : names) {
    void* handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return SharedLibrary(handle);
  }
  return Error(ErrorCode::kUnsupported, remedy);
}

void* SharedLibrary::Symbol(const char* name) const { return ::dlsym(handle_, name); }

}  // namespace vesta::base
