#include "src/profile/profile.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

namespace vesta::profile {
namespace {

using base::Error;
using base::ErrorCode;

// Linux gives the kernel at most the uppermost 2^56 bytes (x86-64 with five levels of page tables).
constexpr uint64_t kKernelAddressMin = 0xff00'0000'0000'0000;
constexpr size_t kStringChunkBytes = size_t{64} << 10;
constexpr size_t kRowsMax = std::numeric_limits<uint32_t>::max() - 1;

uint32_t NextId(size_t rows) {
  CHECK(rows < kRowsMax);
  return static_cast<uint32_t>(rows);
}

uint64_t HashFunction(const Function& function) {
  uint64_t hash = HashWord(function.name.value(), function.system_name.value());
  hash = HashWord(hash, function.file.value());
  return HashWord(hash, static_cast<uint64_t>(function.start_line));
}

uint64_t HashLocation(const Location& location) {
  uint64_t hash = HashWord(location.mapping.value(), location.address);
  hash = HashWord(hash, location.is_folded ? 1 : 0);
  for (const Line& line : location.lines) {
    hash = HashWord(hash, line.function.value());
    hash = HashWord(hash, static_cast<uint64_t>(line.line));
    hash = HashWord(hash, static_cast<uint64_t>(line.column));
  }
  return hash;
}

// Two frames a step: each waits for the one before.
uint64_t HashStack(std::span<const LocationId> stack) {
  uint64_t hash = stack.size();
  size_t at = 0;
  for (; at + 1 < stack.size(); at += 2) {
    hash = HashWord(hash, uint64_t{stack[at].value()} << 32 | stack[at + 1].value());
  }
  if (at < stack.size()) hash = HashWord(hash, stack[at].value());
  return hash;
}

uint64_t HashLabels(std::span<const Label> labels) {
  uint64_t hash = labels.size();
  for (const Label& label : labels) {
    hash = HashWord(hash, uint64_t{label.key.value()} << 32 | label.text.value());
    hash = HashWord(hash, static_cast<uint64_t>(label.number));
    hash = HashWord(hash, label.unit.value());
  }
  return hash;
}

bool SameLocation(const Location& a, const Location& b) {
  return a.mapping == b.mapping && a.address == b.address && a.is_folded == b.is_folded &&
         std::ranges::equal(a.lines, b.lines);
}

// "[kernel...]", "[module]", or a module's file. Other names in brackets are areas of a process.
bool IsKernelPath(std::string_view path) {
  for (const std::string_view end : {".ko", ".ko.xz", ".ko.zst", ".ko.gz"}) {
    if (path.ends_with(end)) return true;
  }
  if (path.starts_with("[kernel") || path.starts_with("[guest.kernel")) return true;
  if (path.size() < 3 || path.front() != '[' || path.back() != ']') return false;
  for (const std::string_view area : {"[anon]", "[heap]", "[jit]", "[stack]", "[unknown]",
                                      "[uprobes]", "[vdso]", "[vsyscall]", "[vvar]"}) {
    if (path == area) return false;
  }
  return std::ranges::all_of(path.substr(1, path.size() - 2), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

Profile::Profile() {
  InternString("");
  InternStack({});
  InternLabels({});
}

void Profile::Reserve(const Sizes& sizes) {
  strings_.reserve(sizes.strings);
  string_index_.Reserve(sizes.strings);
  functions_.reserve(sizes.functions);
  locations_.reserve(sizes.locations);
  location_lines_.Reserve(sizes.locations, sizes.locations);
  stacks_.Reserve(sizes.samples, sizes.frames);
  stack_index_.Reserve(sizes.samples);
  sample_stacks_.reserve(sizes.samples);
  sample_labels_.reserve(sizes.samples);
}

void Profile::SetSampleTypes(std::vector<ValueType> types) {
  CHECK(sample_count() == 0);
  sample_types_ = std::move(types);
  values_.reserve(sample_stacks_.capacity() * sample_types_.size());
}

size_t Profile::DefaultSampleTypeIndex() const {
  if (sample_types_.empty()) return 0;
  if (header_.default_sample_type != StringId{}) {
    for (size_t i = 0; i < sample_types_.size(); ++i) {
      if (sample_types_[i].type == header_.default_sample_type) return i;
    }
  }
  return sample_types_.size() - 1;
}

StringId Profile::InternString(std::string_view text) {
  const auto fresh = NextId(strings_.size());
  const uint32_t id =
      string_index_.FindOrInsert(std::hash<std::string_view>{}(text), fresh,
                                 [&](uint32_t other) { return strings_[other] == text; });
  if (id != fresh) return StringId{id};
  if (text.size() > string_room_) {
    // A long string gets a chunk of its own; the current one goes on being filled.
    const bool alone = text.size() > kStringChunkBytes / 4;
    const size_t chunk_bytes = alone ? text.size() : kStringChunkBytes;
    string_chunks_.emplace_back(new char[chunk_bytes]);
    string_bytes_ += chunk_bytes;
    if (alone) {
      std::memcpy(string_chunks_.back().get(), text.data(), text.size());
      strings_.emplace_back(string_chunks_.back().get(), text.size());
      return StringId{id};
    }
    string_next_ = string_chunks_.back().get();
    string_room_ = chunk_bytes;
  }
  if (!text.empty()) std::memcpy(string_next_, text.data(), text.size());
  strings_.emplace_back(string_next_, text.size());
  string_next_ += text.size();
  string_room_ -= text.size();
  return StringId{id};
}

MappingId Profile::AddMapping(const Mapping& mapping) {
  const MappingId id{NextId(mappings_.size())};
  mappings_.push_back(mapping);
  return id;
}

FunctionId Profile::AddFunction(const Function& function) {
  const FunctionId id{NextId(functions_.size())};
  functions_.push_back(function);
  return id;
}

void Profile::CatchUpFunctions() {
  for (; functions_indexed_ < functions_.size(); ++functions_indexed_) {
    const Function& row = functions_[functions_indexed_];
    function_index_.FindOrInsert(HashFunction(row), static_cast<uint32_t>(functions_indexed_),
                                 [&](uint32_t other) { return functions_[other] == row; });
  }
}

FunctionId Profile::InternFunction(const Function& function) {
  CatchUpFunctions();
  const auto fresh = NextId(functions_.size());
  const uint32_t id = function_index_.FindOrInsert(
      HashFunction(function), fresh, [&](uint32_t other) { return functions_[other] == function; });
  if (id == fresh) {
    functions_.push_back(function);
    ++functions_indexed_;
  }
  return FunctionId{id};
}

LocationId Profile::AddLocation(const Location& location) {
  CHECK(location.mapping == kNoMapping || location.mapping.value() < mappings_.size());
  const LocationId id{NextId(locations_.size())};
  locations_.push_back({location.address, location.mapping, location.is_folded});
  location_lines_.Append(location.lines);
  return id;
}

void Profile::CatchUpLocations() {
  for (; locations_indexed_ < locations_.size(); ++locations_indexed_) {
    const auto id = static_cast<uint32_t>(locations_indexed_);
    const Location row = location(LocationId{id});
    location_index_.FindOrInsert(HashLocation(row), id, [&](uint32_t other) {
      return SameLocation(location(LocationId{other}), row);
    });
  }
}

LocationId Profile::InternLocation(const Location& wanted) {
  CatchUpLocations();
  const auto fresh = NextId(locations_.size());
  const uint32_t id = location_index_.FindOrInsert(
      HashLocation(wanted), fresh,
      [&](uint32_t other) { return SameLocation(location(LocationId{other}), wanted); });
  if (id == fresh) {
    AddLocation(wanted);
    ++locations_indexed_;
  }
  return LocationId{id};
}

StackId Profile::InternStack(std::span<const LocationId> leaf_first) {
  const auto fresh = NextId(stacks_.size());
  const uint32_t id = stack_index_.FindOrInsert(HashStack(leaf_first), fresh, [&](uint32_t other) {
    return std::ranges::equal(stacks_[other], leaf_first);
  });
  if (id == fresh) stacks_.Append(leaf_first);
  return StackId{id};
}

LabelSetId Profile::InternLabels(std::span<const Label> labels) {
  const auto fresh = NextId(label_sets_.size());
  const uint32_t id = label_set_index_.FindOrInsert(HashLabels(labels), fresh, [&](uint32_t other) {
    return std::ranges::equal(label_sets_[other], labels);
  });
  if (id == fresh) label_sets_.Append(labels);
  return LabelSetId{id};
}

void Profile::AppendSample(StackId stack, LabelSetId labels, std::span<const int64_t> values) {
  CHECK(values.size() == sample_types_.size());
  CHECK(stack.value() < stacks_.size() && labels.value() < label_sets_.size());
  NextId(sample_stacks_.size());
  sample_stacks_.push_back(stack);
  sample_labels_.push_back(labels);
  values_.insert(values_.end(), values.begin(), values.end());
}

uint64_t Profile::HashSample(size_t sample) const {
  return HashWord(sample_stacks_[sample].value(), sample_labels_[sample].value());
}

void Profile::CatchUpSamples() {
  for (; samples_indexed_ < sample_stacks_.size(); ++samples_indexed_) {
    const size_t row = samples_indexed_;
    sample_index_.FindOrInsert(HashSample(row), static_cast<uint32_t>(row), [&](uint32_t other) {
      return sample_stacks_[other] == sample_stacks_[row] &&
             sample_labels_[other] == sample_labels_[row];
    });
  }
}

void Profile::AddSample(StackId stack, LabelSetId labels, std::span<const int64_t> values) {
  CHECK(values.size() == sample_types_.size());
  CatchUpSamples();
  const auto fresh = NextId(sample_stacks_.size());
  const uint32_t id = sample_index_.FindOrInsert(
      HashWord(stack.value(), labels.value()), fresh, [&](uint32_t other) {
        return sample_stacks_[other] == stack && sample_labels_[other] == labels;
      });
  if (id == fresh) {
    AppendSample(stack, labels, values);
    ++samples_indexed_;
    return;
  }
  int64_t* row = values_.data() + size_t{id} * sample_types_.size();
  for (size_t i = 0; i < values.size(); ++i) row[i] = AddSaturating(row[i], values[i]);
}

Location Profile::location(LocationId id) const {
  const LocationRow& row = locations_[id.value()];
  return {row.mapping, row.address, row.is_folded, location_lines_[id.value()]};
}

base::Result<void> Profile::Validate() const {
  const auto bad = [](std::string_view kind, size_t row, std::string_view what) {
    return Error(ErrorCode::kInvalidInput,
                 std::string(kind) + " " + std::to_string(row) + ": " + std::string(what));
  };
  const auto is_string = [&](StringId id) { return id.value() < strings_.size(); };
  const auto is_type = [&](const ValueType& type) {
    return is_string(type.type) && is_string(type.unit);
  };
  for (size_t i = 0; i < sample_types_.size(); ++i) {
    if (!is_type(sample_types_[i])) return bad("sample type", i, "string that does not exist");
  }
  const bool header_ok =
      is_type(header_.period_type) && is_string(header_.default_sample_type) &&
      is_string(header_.drop_frames) && is_string(header_.keep_frames) &&
      is_string(header_.doc_url) && std::ranges::all_of(header_.comments, is_string) &&
      (header_.main_mapping == kNoMapping || header_.main_mapping.value() < mappings_.size());
  if (!header_ok) return Error(ErrorCode::kInvalidInput, "header: string that does not exist");
  for (size_t i = 0; i < mappings_.size(); ++i) {
    if (!is_string(mappings_[i].path) || !is_string(mappings_[i].build_id))
      return bad("mapping", i, "string that does not exist");
  }
  for (size_t i = 0; i < functions_.size(); ++i) {
    const Function& row = functions_[i];
    if (!is_string(row.name) || !is_string(row.system_name) || !is_string(row.file))
      return bad("function", i, "string that does not exist");
  }
  for (uint32_t i = 0; i < locations_.size(); ++i) {
    for (const Line& line : location_lines_[i]) {
      if (line.function.value() >= functions_.size())
        return bad("location", i, "function that does not exist");
    }
  }
  for (uint32_t i = 0; i < stacks_.size(); ++i) {
    for (const LocationId id : stacks_[i]) {
      if (id.value() >= locations_.size()) return bad("stack", i, "location that does not exist");
    }
  }
  for (uint32_t i = 0; i < label_sets_.size(); ++i) {
    for (const Label& label : label_sets_[i]) {
      if (!is_string(label.key) || !is_string(label.text) || !is_string(label.unit))
        return bad("label set", i, "string that does not exist");
    }
  }
  return {};
}

size_t Profile::memory_bytes() const {
  return string_bytes_ + strings_.capacity() * sizeof(std::string_view) +
         mappings_.capacity() * sizeof(Mapping) + functions_.capacity() * sizeof(Function) +
         locations_.capacity() * sizeof(LocationRow) + location_lines_.memory_bytes() +
         stacks_.memory_bytes() + label_sets_.memory_bytes() +
         sample_stacks_.capacity() * sizeof(StackId) +
         sample_labels_.capacity() * sizeof(LabelSetId) + values_.capacity() * sizeof(int64_t) +
         string_index_.memory_bytes() + function_index_.memory_bytes() +
         location_index_.memory_bytes() + stack_index_.memory_bytes() +
         label_set_index_.memory_bytes() + sample_index_.memory_bytes();
}

bool IsKernelLocation(const Profile& profile, const Location& location) {
  std::string_view path;
  if (location.mapping != kNoMapping) path = profile.String(profile.mapping(location.mapping).path);
  return IsKernelCode(path, location.address);
}

bool IsKernelCode(std::string_view path, uint64_t address) {
  return path != "[vsyscall]" && (address >= kKernelAddressMin || IsKernelPath(path));
}

std::string_view MappingShortName(const Profile& profile, MappingId mapping) {
  if (mapping == kNoMapping) return {};
  const std::string_view path = profile.String(profile.mapping(mapping).path);
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace vesta::profile
