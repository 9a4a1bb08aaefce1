// Result<T>: a value, or an Error that carries a code for callers to branch on, a message for
// people, and the place where it was made. Ignoring one does not compile.
//
// A subset of std::expected, so that it can become an alias once every compiler we use has it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "src/base/check.h"

namespace vesta::base {

enum class ErrorCode {
  kInvalidInput,  // the caller's or the user's input is wrong
  kNotFound,
  kPermission,
  kExhausted,    // a limit of ours was reached
  kCorrupt,      // foreign or stored bytes do not follow their format
  kUnavailable,  // may work later
  kBusy,         // another process has it
  kUnsupported,  // this kernel, machine or format lacks it
  kInternal,
};

// Stable lower-case name of a code, e.g. "not found".
const char* ErrorCodeName(ErrorCode code);

class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message, const char* file = __builtin_FILE(),
        int line = __builtin_LINE())
      : state_(std::make_unique<State>(State{code, std::move(message), file, line})) {}
  Error(const Error& other) : state_(std::make_unique<State>(*other.state_)) {}
  Error& operator=(const Error& other) {
    state_ = std::make_unique<State>(*other.state_);
    return *this;
  }
  Error(Error&&) = default;
  Error& operator=(Error&&) = default;
  ~Error() = default;

  ErrorCode code() const { return state_->code; }
  const std::string& message() const { return state_->message; }
  const char* file() const { return state_->file; }
  int line() const { return state_->line; }

  // Adds the outer step in front: "opening a.pb.gz: file is empty".
  Error Context(const std::string& outer) const {
    Error copy = *this;
    copy.state_->message = outer + ": " + state_->message;
    return copy;
  }

 private:
  struct State {
    ErrorCode code;
    std::string message;
    const char* file;
    int line;
  };
  std::unique_ptr<State> state_;
};

// Makes an Error from errno: "opening /x: Permission denied"; the code follows the errno.
Error ErrnoError(const std::string& what, int errno_value, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE());

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    CHECK(ok());
    return std::get<0>(state_);
  }
  const T& value() const& {
    CHECK(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    CHECK(ok());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    CHECK(!ok());
    return std::get<1>(state_);
  }
  Error&& error() && {
    CHECK(!ok());
    return std::get<1>(std::move(state_));
  }

  Result Context(const std::string& outer) && {
    if (ok()) return std::move(*this);
    return error().Context(outer);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::make_unique<Error>(std::move(error))) {}  // NOLINT

  bool ok() const { return error_ == nullptr; }
  explicit operator bool() const { return ok(); }
  void value() const { CHECK(ok()); }
  const Error& error() const& {
    CHECK(!ok());
    return *error_;
  }
  Error&& error() && {
    CHECK(!ok());
    return std::move(*error_);
  }

  Result Context(const std::string& outer) && {
    if (ok()) return std::move(*this);
    return error_->Context(outer);
  }

 private:
  std::unique_ptr<Error> error_;
};

}  // namespace vesta::base

#define VESTA_CONCAT_INNER(a, b) a##b
#define VESTA_CONCAT(a, b) VESTA_CONCAT_INNER(a, b)

#define RETURN_IF_ERROR(expression)                                           \
  do {                                                                        \
    if (auto result_of_expression = (expression); !result_of_expression.ok()) \
      return std::move(result_of_expression).error();                         \
  } while (false)

#define ASSIGN_OR_RETURN(target, expression) \
  ASSIGN_OR_RETURN_IMPL(VESTA_CONCAT(result_at_line_, __LINE__), target, expression)
#define ASSIGN_OR_RETURN_IMPL(result, target, expression) \
  auto result = (expression);                             \
  if (!result.ok()) return std::move(result).error();     \
  target = std::move(result).value()
