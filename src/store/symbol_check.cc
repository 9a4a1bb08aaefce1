#include "src/store/symbol_check.h"

#include <string>

#include "src/store/batch_check.h"

namespace vesta::store {

SymbolImage SymbolImageOf(std::string_view path, std::string_view build_id) {
  return build_id.empty() ? SymbolImage{false, path} : SymbolImage{true, build_id};
}

SymbolImage SymbolImageOf(const profile::Profile& profile, const profile::Location& location) {
  if (location.mapping == profile::kNoMapping) return {};
  const profile::Mapping& mapping = profile.mapping(location.mapping);
  return SymbolImageOf(profile.String(mapping.path), profile.String(mapping.build_id));
}

PlaceVerdict JudgePlace(const profile::Profile& profile, const profile::Location& location) {
  if (SymbolImageOf(profile, location).text.empty()) return PlaceVerdict::kWithoutImage;
  if (location.lines.empty()) return PlaceVerdict::kWithoutName;
  if (location.lines.size() > kSymbolLinesMax) return PlaceVerdict::kTooLarge;
  size_t bytes = 0;
  for (const profile::Line& line : location.lines) {
    const profile::Function& function = profile.function(line.function);
    for (const profile::StringId text : {function.name, function.system_name, function.file}) {
      bytes += profile.String(text).size();
    }
  }
  return bytes > kSymbolTextBytesMax ? PlaceVerdict::kTooLarge : PlaceVerdict::kGood;
}

void CountVerdict(PlaceVerdict verdict, SymbolsOutcome* outcome) {
  switch (verdict) {
    case PlaceVerdict::kGood:
      return;
    case PlaceVerdict::kWithoutImage:
      ++outcome->locations_without_image;
      return;
    case PlaceVerdict::kWithoutName:
      ++outcome->locations_without_name;
      return;
    case PlaceVerdict::kTooLarge:
      ++outcome->locations_too_large;
      return;
  }
}

base::Result<void> CheckSymbols(const SymbolBatch& batch) {
  if (batch.id) RETURN_IF_ERROR(CheckBatchId(*batch.id));
  if (batch.profile == nullptr && !batch.locations.empty()) {
    return base::Error(base::ErrorCode::kInvalidInput, "profile is missing");
  }
  for (size_t i = 0; i < batch.locations.size(); ++i) {
    if (batch.locations[i].value() < batch.profile->location_count()) continue;
    return base::Error(base::ErrorCode::kInvalidInput,
                       "locations[" + std::to_string(i) + "] is none of the profile's locations");
  }
  return {};
}

}  // namespace vesta::store
