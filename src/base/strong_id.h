// Ids and addresses as types of their own, so that a StackId cannot be passed as a FrameId.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace vesta::base {

template <typename Tag, typename Rep = uint32_t>
class StrongId {
 public:
  using rep = Rep;
  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  friend constexpr auto operator<=>(StrongId, StrongId) = default;

 private:
  Rep value_ = 0;
};

}  // namespace vesta::base

template <typename Tag, typename Rep>
struct std::hash<vesta::base::StrongId<Tag, Rep>> {
  size_t operator()(vesta::base::StrongId<Tag, Rep> id) const noexcept {
    return std::hash<Rep>{}(id.value());
  }
};
