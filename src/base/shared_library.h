// Libraries that only some commands need: loaded when they are first asked for, so that nobody else
// pays for them.
#pragma once

#include <initializer_list>
#include <type_traits>

#include "src/base/result.h"

namespace vesta::base {

// A loaded library. It stays loaded until the program ends: code of it may still run then.
class SharedLibrary {
 public:
  // The first of the names that can be loaded.
  // Errors: Unsupported with `remedy`, such as "debuginfod needs libcurl (package libcurl4)".
  static Result<SharedLibrary> Open(std::initializer_list<const char*> names, const char* remedy);

  // Sets a pointer to a function; its type comes from the library's header. False when there is
  // none of that name.
  template <typename Function>
  bool Find(const char* name, Function*& function) const {
    static_assert(std::is_function_v<Function>);
    function = reinterpret_cast<Function*>(Symbol(name));
    return function != nullptr;
  }

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  void* Symbol(const char* name) const;

  void* handle_;
};

}  // namespace vesta::base
