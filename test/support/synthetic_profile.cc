#include "test/support/synthetic_profile.h"

#include <random>
#include <sstream>
#include <vector>

namespace vesta::test {
namespace {

using profile::FunctionId;
using profile::Label;
using profile::LocationId;
using profile::MappingId;
using profile::Profile;
using profile::StringId;

class Maker {
 public:
  explicit Maker(const SyntheticShape& shape) : shape_(shape), random_(shape.seed) {}

  Profile Make() {
    profile_.SetSampleTypes({profile_.InternValueType("samples", "count"),
                             profile_.InternValueType("cpu", "nanoseconds")});
    MakeHeader();
    for (size_t i = 0; i < shape_.mappings; ++i) AddMapping(i);
    for (size_t i = 0; i < shape_.functions; ++i) AddFunction(i);
    for (size_t i = 0; i < shape_.locations; ++i) AddLocation(i);
    if (Odd(2) && shape_.mappings > 0)
      profile_.header().main_mapping = MappingId{static_cast<uint32_t>(Below(shape_.mappings))};
    for (size_t i = 0; i < shape_.samples; ++i) AddSample();
    return std::move(profile_);
  }

 private:
  size_t Below(size_t limit) { return static_cast<size_t>(random_() % limit); }
  // True once in `times` where odd content is wanted.
  bool Odd(size_t times) { return shape_.odd_content && Below(times) == 0; }

  void MakeHeader() {
    profile::Header& header = profile_.header();
    header.period_type = profile_.InternValueType("cpu", "nanoseconds");
    header.period = 10'101'010;
    header.time_unix_ns = 1'790'000'000'123'456'789;
    header.duration_ns = 10'000'000'000;
    if (Odd(2)) header.comments = {profile_.InternString("one"), {}, profile_.InternString("two")};
    if (Odd(2)) header.default_sample_type = profile_.InternString("samples");
    if (Odd(2)) header.drop_frames = profile_.InternString("^drop$");
    if (Odd(2)) header.keep_frames = profile_.InternString("^keep$");
    if (Odd(2)) header.doc_url = profile_.InternString("http://127.0.0.1/doc");
  }

  void AddMapping(size_t i) {
    profile::Mapping mapping;
    mapping.path = profile_.InternString("/usr/lib/lib" + std::to_string(i) + ".so");
    mapping.build_id = profile_.InternString("abcdef0" + std::to_string(i));
    mapping.memory_start = 0x1000 * (i + 1);
    mapping.memory_limit = mapping.memory_start + 0x1000;
    mapping.file_offset = Odd(2) ? 0x200 : 0;
    mapping.has_functions = Odd(2);
    mapping.has_filenames = Odd(2);
    mapping.has_line_numbers = Odd(2);
    mapping.has_inline_frames = Odd(2);
    if (Odd(4)) mapping = profile::Mapping{};
    profile_.AddMapping(mapping);
  }

  void AddFunction(size_t i) {
    std::string name = "ns::function_" + std::to_string(i);
    if (Odd(5)) name += "<a;b \"c\" \xff \n>";
    if (name.size() < shape_.name_bytes_min) name.resize(shape_.name_bytes_min, 'x');
    profile::Function function;
    function.name = profile_.InternString(name);
    function.system_name = Odd(2) ? profile_.InternString("_ZN" + name) : function.name;
    function.file = Odd(2) ? profile_.InternString("/src/file.cc") : StringId{};
    function.start_line = Odd(2) ? static_cast<int64_t>(Below(1000)) : 0;
    if (Odd(8)) function = profile::Function{};
    profile_.AddFunction(function);
    if (Odd(8)) profile_.AddFunction(function);
  }

  void AddLocation(size_t i) {
    std::vector<profile::Line> lines;
    const size_t count = Odd(6) ? 0 : Odd(4) ? 3 : 1;
    for (size_t j = 0; j < count && profile_.function_count() > 0; ++j) {
      profile::Line line;
      line.function = FunctionId{static_cast<uint32_t>(Below(profile_.function_count()))};
      line.line = Odd(2) ? static_cast<int64_t>(Below(5000)) : 0;
      line.column = Odd(4) ? 7 : 0;
      lines.push_back(line);
    }
    profile::Location location;
    if (!Odd(5) && shape_.mappings > 0)
      location.mapping = MappingId{static_cast<uint32_t>(Below(shape_.mappings))};
    location.address = Odd(7) ? 0xffffffff81000000 + i : 0x1000 + i * 16;
    location.is_folded = Odd(9);
    location.lines = lines;
    profile_.AddLocation(location);
    if (Odd(9)) profile_.AddLocation(location);
  }

  void AddSample() {
    std::vector<LocationId> stack(Below(shape_.depth_max + 1));
    if (profile_.location_count() == 0) stack.clear();
    for (LocationId& id : stack)
      id = LocationId{static_cast<uint32_t>(Below(profile_.location_count()))};
    std::vector<Label> labels;
    if (Below(2) == 0) {
      labels.push_back(
          profile_.TextLabel(profile::kLabelProcess, "app " + std::to_string(Below(3))));
      labels.push_back(profile_.NumberLabel(profile::kLabelPid, static_cast<int64_t>(Below(90))));
    }
    if (Odd(5)) labels.push_back(profile_.NumberLabel("bytes", -4096, "bytes"));
    if (Odd(9))
      labels.push_back({profile_.InternString("both"), profile_.InternString("x"), 3, {}});
    const auto count = static_cast<int64_t>(Below(1000));
    const int64_t values[] = {count, Odd(7) ? -count : count * 10'101'010};
    profile_.AppendSample(profile_.InternStack(stack), profile_.InternLabels(labels), values);
  }

  SyntheticShape shape_;
  std::mt19937_64 random_;
  Profile profile_;
};

void DumpLocation(const Profile& profile, LocationId id, std::ostringstream& out) {
  const profile::Location location = profile.location(id);
  out << "  " << std::hex << location.address << std::dec << (location.is_folded ? " folded" : "");
  if (location.mapping != profile::kNoMapping) {
    const profile::Mapping& mapping = profile.mapping(location.mapping);
    out << " @" << profile.String(mapping.path) << ' ' << profile.String(mapping.build_id) << ' '
        << mapping.memory_start << '-' << mapping.memory_limit << '+' << mapping.file_offset << ' '
        << mapping.has_functions << mapping.has_filenames << mapping.has_line_numbers
        << mapping.has_inline_frames;
  }
  for (const profile::Line& line : location.lines) {
    const profile::Function& function = profile.function(line.function);
    out << " | " << profile.String(function.name) << ' ' << profile.String(function.system_name)
        << ' ' << profile.String(function.file) << ':' << function.start_line << ' ' << line.line
        << ':' << line.column;
  }
  out << '\n';
}

}  // namespace

Profile SyntheticProfile(const SyntheticShape& shape) { return Maker(shape).Make(); }

std::string DumpProfile(const Profile& profile) {
  std::ostringstream out;
  const profile::Header& header = profile.header();
  const auto type = [&](const profile::ValueType& value) {
    return std::string(profile.String(value.type)) + '/' + std::string(profile.String(value.unit));
  };
  for (const auto& value : profile.sample_types()) out << "type " << type(value) << '\n';
  out << "period " << type(header.period_type) << ' ' << header.period << "\ntime "
      << header.time_unix_ns << ' ' << header.duration_ns << "\ndefault "
      << profile.String(header.default_sample_type) << "\nframes "
      << profile.String(header.drop_frames) << ' ' << profile.String(header.keep_frames) << "\ndoc "
      << profile.String(header.doc_url) << '\n';
  for (const StringId comment : header.comments) out << "# " << profile.String(comment) << '\n';
  out << "tables " << profile.mapping_count() << ' ' << profile.function_count() << ' '
      << profile.location_count() << '\n';
  for (uint32_t i = 0; i < profile.location_count(); ++i) DumpLocation(profile, LocationId{i}, out);
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    out << "sample";
    for (const int64_t value : profile.sample_values(i)) out << ' ' << value;
    for (const Label& label : profile.labels(profile.sample_labels(i))) {
      out << ' ' << profile.String(label.key) << '=' << profile.String(label.text) << ','
          << label.number << profile.String(label.unit);
    }
    out << '\n';
    for (const LocationId id : profile.stack(profile.sample_stack(i)))
      DumpLocation(profile, id, out);
  }
  return out.str();
}

}  // namespace vesta::test
