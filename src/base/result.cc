#include "src/base/result.h"

#include <cerrno>
#include <cstring>

namespace vesta::base {

const char* ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidInput:
      return "invalid input";
    case ErrorCode::kNotFound:
      return "not found";
    case ErrorCode::kPermission:
      return "permission denied";
    case ErrorCode::kExhausted:
      return "limit reached";
    case ErrorCode::kCorrupt:
      return "corrupt";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kBusy:
      return "busy";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kInternal:
      return "internal error";
  }
  return "unknown error";
}

Error ErrnoError(const std::string& what, int errno_value, const char* file, int line) {
  ErrorCode code = ErrorCode::kUnavailable;
  switch (errno_value) {
    case ENOENT:
    case ESRCH:
    case ENOTDIR:
      code = ErrorCode::kNotFound;
      break;
    case EPERM:
    case EACCES:
      code = ErrorCode::kPermission;
      break;
    case EINVAL:
    case ENAMETOOLONG:
      code = ErrorCode::kInvalidInput;
      break;
    case ENOSPC:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EDQUOT:
    case EFBIG:
      code = ErrorCode::kExhausted;
      break;
    case ENOSYS:
    case EOPNOTSUPP:
      code = ErrorCode::kUnsupported;
      break;
    default:
      break;
  }
  return Error(code, what + ": " + std::strerror(errno_value), file, line);
}

}  // namespace vesta::base
