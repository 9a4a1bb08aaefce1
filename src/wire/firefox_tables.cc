#include "src/wire/firefox_tables.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "src/base/check.h"
#include "src/base/json.h"
#include "src/profile/frame_name.h"

namespace vesta::wire {
namespace {

using profile::Line;
using profile::Location;
using profile::LocationId;
using profile::MappingId;

constexpr uint64_t kExactMax = uint64_t{1} << 53;  // what numbers of JavaScript hold

bool IsHex(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

// Breakpad's form of a build id: the first 16 bytes as a GUID, whose first three fields are numbers
// in little-endian order, and an age of 0.
std::string BreakpadId(std::string_view build_id) {
  std::string hex(IsHex(build_id) ? build_id.substr(0, 32) : "");
  hex.resize(32, '0');
  static constexpr std::array<size_t, 16> kOrder = {3, 2, 1,  0,  5,  4,  7,  6,
                                                    8, 9, 10, 11, 12, 13, 14, 15};
  std::string id;
  for (const size_t byte : kOrder) id += hex.substr(byte * 2, 2);
  for (char& c : id) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return id + "0";
}

// Relative to the file, as Firefox counts addresses; -1 where that is unknown.
int64_t AddressOf(const profile::Profile& profile, const Location& location) {
  if (location.mapping == profile::kNoMapping || location.address == 0) return -1;
  const profile::Mapping& mapping = profile.mapping(location.mapping);
  uint64_t address = location.address;
  if (address >= mapping.memory_start && address < mapping.memory_limit)
    address = address - mapping.memory_start + mapping.file_offset;
  return address > kExactMax ? -1 : static_cast<int64_t>(address);
}

std::string_view FileName(std::string_view path) {
  return path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1);
}

}  // namespace

JsonColumn& JsonColumn::Int(int64_t value) {
  std::array<char, 24> text;
  const auto [end, status] = std::to_chars(text.data(), text.data() + text.size(), value);
  CHECK(status == std::errc{});
  return Raw({text.data(), static_cast<size_t>(end - text.data())});
}

JsonColumn& JsonColumn::Text(std::string_view text) {
  Separate();
  base::AppendJsonString(text, text_);
  return *this;
}

JsonColumn& JsonColumn::Raw(std::string_view json) {
  Separate();
  text_ += json;
  return *this;
}

JsonColumn& JsonColumn::Decimal(int64_t value, int decimals) {
  if (decimals == 0 || value == 0) return Int(value);
  const bool negative = value < 0;
  const uint64_t size = negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  std::string digits = std::to_string(size);
  const auto places = static_cast<size_t>(decimals);
  if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
  digits.insert(digits.size() - places, 1, '.');
  digits.resize(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return Raw((negative ? "-" : "") + digits);
}

void AppendColumn(std::string_view key, const JsonColumn& column, std::string& out) {
  out += '"';
  out += key;
  out += "\":[";
  out += column.text();
  out += "],";
}

void AppendLength(size_t length, std::string& out) {
  out += "\"length\":" + std::to_string(length);
}

uint32_t FirefoxTables::StringOf(std::string_view text) {
  const auto fresh = static_cast<uint32_t>(string_index_.size());
  const auto [entry, is_new] = string_index_.try_emplace(std::string(text), fresh);
  if (is_new) strings_.Text(text);
  return entry->second;
}

uint32_t FirefoxTables::SourceOf(std::string_view path) {
  if (path.empty()) return kNone;
  const uint32_t name = StringOf(path);
  const auto [entry, is_new] =
      source_index_.try_emplace(name, static_cast<uint32_t>(source_index_.size()));
  if (is_new) source_names_.Int(name);
  return entry->second;
}

// A resource is a library here, each with an entry of its own in "libs".
uint32_t FirefoxTables::ResourceOf(MappingId id) {
  if (id == profile::kNoMapping) return kNone;
  const profile::Mapping& mapping = profile_.mapping(id);
  const std::string_view path = profile_.String(mapping.path);
  const std::string_view build_id = profile_.String(mapping.build_id);
  if (path.empty() && build_id.empty()) return kNone;
  const uint32_t key =
      StringOf(std::string(path) + (build_id.empty() ? "" : " ") + std::string(build_id));
  const auto [entry, is_new] =
      resource_index_.try_emplace(key, static_cast<uint32_t>(resource_index_.size()));
  if (!is_new) return entry->second;
  const std::string_view name = FileName(path);
  resource_names_.Int(StringOf(name.empty() ? path : name));
  base::JsonWriter lib;
  lib.BeginObject().Key("arch").String("").Key("name").String(name).Key("path").String(path);
  lib.Key("debugName").String(name).Key("debugPath").String(path);
  lib.Key("breakpadId").String(BreakpadId(build_id)).Key("codeId");
  if (build_id.empty() || !IsHex(build_id)) {
    lib.Null();
  } else {
    lib.String(build_id);
  }
  libs_.Raw(lib.EndObject().Take());
  return entry->second;
}

uint32_t FirefoxTables::FunctionOf(const Location& location, const Line* line) {
  Function row{0, kNone, ResourceOf(location.mapping), 0};
  std::string name;
  if (line != nullptr) {
    const profile::Function& function = profile_.function(line->function);
    name = profile_.String(profile::FunctionName(profile_, line->function));
    row.file = SourceOf(profile_.String(function.file));
    row.start_line = function.start_line;
  }
  if (name.empty()) name = profile::AddressName(profile_, location);
  row.name = StringOf(name);
  uint64_t hash = profile::HashWord(row.name, row.file);
  hash = profile::HashWord(hash, row.resource);
  hash = profile::HashWord(hash, static_cast<uint64_t>(row.start_line));
  const auto fresh = static_cast<uint32_t>(functions_.size());
  const uint32_t id = function_index_.FindOrInsert(
      hash, fresh, [&](uint32_t other) { return functions_[other] == row; });
  if (id == fresh) functions_.push_back(row);
  return id;
}

uint32_t FirefoxTables::AddFrame(const Location& location, size_t depth, const Line* line) {
  const bool kernel = profile::IsKernelLocation(profile_, location);
  address_.Int(AddressOf(profile_, location));
  inline_depth_.Int(static_cast<int64_t>(depth));
  category_.Int(kernel ? kKernel : kUser);
  frame_function_.Int(FunctionOf(location, line));
  line_.IntOrNull(line == nullptr ? 0 : line->line);
  column_.IntOrNull(line == nullptr ? 0 : line->column);
  return static_cast<uint32_t>(address_.size() - 1);
}

const std::vector<uint32_t>& FirefoxTables::FramesOf(LocationId id) {
  const auto [entry, is_new] = location_frames_.try_emplace(id.value());
  if (!is_new) return entry->second;
  const Location location = profile_.location(id);
  for (size_t i = location.lines.size(); i-- > 0;) {
    const size_t depth = location.lines.size() - 1 - i;
    entry->second.push_back(AddFrame(location, depth, &location.lines[i]));
  }
  if (location.lines.empty()) entry->second.push_back(AddFrame(location, 0, nullptr));
  return entry->second;
}

uint32_t FirefoxTables::ChildOf(uint32_t prefix, uint32_t frame) {
  const auto fresh = static_cast<uint32_t>(stacks_.size());
  const uint32_t id =
      stack_index_.FindOrInsert(profile::HashWord(prefix, frame), fresh, [&](uint32_t other) {
        return stacks_[other].prefix == prefix && stacks_[other].frame == frame;
      });
  if (id == fresh) stacks_.push_back({prefix, frame});
  return id;
}

uint32_t FirefoxTables::StackOf(profile::StackId stack) {
  if (stack_rows_.empty()) stack_rows_.assign(profile_.stack_count(), kNone);
  uint32_t& row = stack_rows_[stack.value()];
  if (row != kNone) return row;
  const auto locations = profile_.stack(stack);
  // Neighbours mostly begin alike, and what is alike needs no search.
  size_t depth = 0;
  for (size_t i = locations.size(); i-- > 0;) {
    for (const uint32_t frame : FramesOf(locations[i])) {
      if (depth == last_way_.size() || last_way_[depth].frame != frame) {
        last_way_.resize(depth);
        last_way_.push_back({frame, ChildOf(row, frame)});
      }
      row = last_way_[depth++].row;
    }
  }
  if (!locations.empty()) return row;
  // A sample without any frame would not be counted.
  functions_.push_back({StringOf(profile::kNoStackName), kNone, kNone, 0});
  address_.Int(-1);
  inline_depth_.Int(0);
  category_.Int(kOther);
  frame_function_.Int(static_cast<int64_t>(functions_.size() - 1));
  line_.Null();
  column_.Null();
  return row = ChildOf(kNone, static_cast<uint32_t>(address_.size() - 1));
}

void FirefoxTables::Append(std::string& out) const {
  const auto repeat = [](std::string_view value, size_t count) {
    JsonColumn column;
    for (size_t i = 0; i < count; ++i) column.Raw(value);
    return column;
  };
  const auto index = [](uint32_t id, JsonColumn& column) {
    id == kNone ? column.Null() : column.Int(id);
  };
  out += "\"libs\":[" + libs_.text() + "],\n\"shared\":{";
  AppendColumn("stringArray", strings_, out);
  out += "\n\"sources\":{";
  AppendColumn("uuid", repeat("null", source_names_.size()), out);
  AppendColumn("filename", source_names_, out);
  AppendLength(source_names_.size(), out);
  JsonColumn prefixes, frames;
  for (const Stack& stack : stacks_) {
    index(stack.prefix, prefixes);
    frames.Int(stack.frame);
  }
  out += "},\n\"stackTable\":{";
  AppendColumn("frame", frames, out);
  AppendColumn("prefix", prefixes, out);
  AppendLength(stacks_.size(), out);
  const size_t frame_count = address_.size();
  out += "},\n\"frameTable\":{";
  AppendColumn("address", address_, out);
  AppendColumn("inlineDepth", inline_depth_, out);
  AppendColumn("category", category_, out);
  AppendColumn("subcategory", repeat("0", frame_count), out);
  AppendColumn("func", frame_function_, out);
  AppendColumn("nativeSymbol", repeat("null", frame_count), out);
  AppendColumn("innerWindowID", repeat("null", frame_count), out);
  AppendColumn("line", line_, out);
  AppendColumn("column", column_, out);
  AppendLength(frame_count, out);
  JsonColumn names, resources, sources, start_lines;
  for (const Function& function : functions_) {
    names.Int(function.name);
    resources.Int(function.resource == kNone ? -1 : int64_t{function.resource});
    index(function.file, sources);
    start_lines.IntOrNull(function.start_line);
  }
  out += "},\n\"funcTable\":{";
  AppendColumn("name", names, out);
  AppendColumn("isJS", repeat("false", functions_.size()), out);
  AppendColumn("relevantForJS", repeat("false", functions_.size()), out);
  AppendColumn("resource", resources, out);
  AppendColumn("source", sources, out);
  AppendColumn("lineNumber", start_lines, out);
  AppendColumn("columnNumber", repeat("null", functions_.size()), out);
  AppendLength(functions_.size(), out);
  JsonColumn libs;
  for (size_t i = 0; i < resource_names_.size(); ++i) libs.Int(static_cast<int64_t>(i));
  out += "},\n\"resourceTable\":{";
  AppendColumn("lib", libs, out);
  AppendColumn("name", resource_names_, out);
  AppendColumn("host", repeat("null", resource_names_.size()), out);
  AppendColumn("type", repeat("1", resource_names_.size()), out);  // a library
  AppendLength(resource_names_.size(), out);
  out += "},\n\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],";
  AppendLength(0, out);
  out += "}}";
}

}  // namespace vesta::wire
