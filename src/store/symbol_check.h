// What a batch of late names must be, and of which image a place is. Every backend asks this.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/base/result.h"
#include "src/profile/profile.h"
#include "src/store/batch.h"

namespace vesta::store {

// Of one place.
inline constexpr size_t kSymbolLinesMax = 1'024;
inline constexpr size_t kSymbolTextBytesMax = size_t{256} << 10;  // of all its names and files

// Which code an image is, wherever it was mapped.
// Shape: the build id where there is one, else the path; "" = nobody knows.
struct SymbolImage {
  bool is_build_id = false;
  std::string_view text;
  friend auto operator<=>(const SymbolImage&, const SymbolImage&) = default;
};
SymbolImage SymbolImageOf(std::string_view path, std::string_view build_id);

enum class PlaceVerdict : uint8_t { kGood, kWithoutImage, kWithoutName, kTooLarge };
PlaceVerdict JudgePlace(const profile::Profile& profile, const profile::Location& location);
// Counts what is not good.
void CountVerdict(PlaceVerdict verdict, SymbolsOutcome* outcome);

// The image of a place that has one.
SymbolImage SymbolImageOf(const profile::Profile& profile, const profile::Location& location);

// Shape: ids exist, and the batch's name is within the limits of batch_check.h. The profile is
//        taken as valid; it may be missing when there are no locations.
// Errors: InvalidInput naming the field.
base::Result<void> CheckSymbols(const SymbolBatch& batch);

}  // namespace vesta::store
