// OTLP messages as a test wants them, good or bad, in any layout and order: the writer of everybody
// else.
#pragma once

#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <utility>
#include <vector>

#include "src/wire/otlp_dictionary_writer.h"

namespace vesta::wire {

enum class TestLayout { kV1_5, kV1_7, kV1_8, kV1_9, kV1_10 };

struct TestWriting {
  TestLayout layout = TestLayout::kV1_10;
  bool dictionary_first = false;
  bool is_packed = true;
  bool has_dictionary = true;
};

// Shape: as profiles.proto; values of attributes are bytes of an AnyValue. The tables begin with
// their
//        zero entries.
struct TestMessage {
  using Indices = std::vector<uint64_t>;
  struct KeyValue {
    std::string key;
    std::string value;
    uint64_t key_index = 0;  // instead of the key
  };
  struct Sample {
    uint64_t stack = 0;
    Indices attributes = {};
    uint64_t link = 0;
    Indices values = {};
    Indices times = {};
  };
  struct Profile {
    std::pair<uint64_t, uint64_t> sample_type = {};
    std::vector<Sample> samples = {};
    uint64_t time = 0;
    uint64_t duration = 0;
    std::pair<uint64_t, uint64_t> period_type = {};
    int64_t period = 0;
    Indices attributes = {};
    std::string id = {};
  };
  struct Scope {
    std::string name = {};
    std::vector<KeyValue> attributes = {};
    std::vector<Profile> profiles = {};
  };
  struct Resource {
    std::vector<KeyValue> attributes = {};
    std::vector<Scope> scopes = {};
  };
  struct Line {
    uint64_t function = 0;
    int64_t line = 0;
    int64_t column = 0;
  };
  struct Location {
    uint64_t mapping = 0;
    uint64_t address = 0;
    std::vector<Line> lines = {};
    Indices attributes = {};
  };
  struct Function {
    uint64_t name = 0;
    uint64_t system_name = 0;
    uint64_t file = 0;
    int64_t start_line = 0;
  };
  struct Mapping {
    uint64_t start = 0;
    uint64_t limit = 0;
    uint64_t file_offset = 0;
    uint64_t path = 0;
    Indices attributes = {};
  };
  struct Attribute {
    uint64_t key = 0;
    std::string value = {};
    uint64_t unit = 0;
  };

  std::vector<Resource> resources = {};
  std::vector<Mapping> mappings = {{}};
  std::vector<Location> locations = {{}};
  std::vector<Function> functions = {{}};
  std::vector<std::pair<std::string, std::string>> links = {{}};
  std::vector<std::string> strings = {""};
  std::vector<Attribute> attributes = {{}};
  std::vector<Indices> stacks = {{}};

  uint64_t String(const std::string& text) {
    for (size_t i = 0; i < strings.size(); ++i) {
      if (strings[i] == text) return i;
    }
    strings.push_back(text);
    return strings.size() - 1;
  }
  uint64_t Add(const std::string& key, std::string value) {
    attributes.push_back({String(key), std::move(value)});
    return attributes.size() - 1;
  }
  uint64_t AddFunction(const std::string& name) {
    functions.push_back({String(name)});
    locations.push_back({.lines = {{functions.size() - 1}}});
    return locations.size() - 1;
  }
  std::pair<uint64_t, uint64_t> Type(const std::string& type, const std::string& unit) {
    const uint64_t name = String(type);
    return {name, String(unit)};
  }
  Profile& profile() { return resources[0].scopes[0].profiles[0]; }
};

class TestWriter {
 public:
  TestWriter(const TestMessage& message, const TestWriting& how) : message_(message), how_(how) {}

  std::string Run() const {
    std::string all;
    protozero::pbf_writer writer(all);
    if (how_.dictionary_first && how_.has_dictionary) writer.add_message(2, Dictionary());
    for (const TestMessage::Resource& resource : message_.resources)
      writer.add_message(1, Resource(resource));
    if (!how_.dictionary_first && how_.has_dictionary) writer.add_message(2, Dictionary());
    return all;
  }

 private:
  using Writer = protozero::pbf_writer;

  void Add(Writer& writer, uint32_t field, const TestMessage::Indices& values) const {
    if (how_.is_packed) return writer.add_packed_uint64(field, values.begin(), values.end());
    for (const uint64_t value : values) writer.add_uint64(field, value);
  }
  static void Add(Writer& writer, uint32_t field, uint64_t value) {
    if (value != 0) writer.add_uint64(field, value);
  }
  static std::string KeyValue(const TestMessage::KeyValue& attribute) {
    std::string bytes;
    Writer writer(bytes);
    // Value before key, as the Collector writes.
    writer.add_message(2, attribute.value);
    if (attribute.key_index != 0) {
      writer.add_int32(3, static_cast<int32_t>(attribute.key_index));
    } else {
      writer.add_string(1, attribute.key);
    }
    return bytes;
  }
  static std::string ValueType(std::pair<uint64_t, uint64_t> type) {
    std::string bytes;
    Writer writer(bytes);
    Add(writer, 1, type.first);
    Add(writer, 2, type.second);
    return bytes;
  }

  std::string Resource(const TestMessage::Resource& resource) const {
    std::string attributes;
    Writer attribute_writer(attributes);
    for (const auto& attribute : resource.attributes)
      attribute_writer.add_message(1, KeyValue(attribute));
    std::string bytes;
    Writer writer(bytes);
    writer.add_string(3, "https://opentelemetry.io/schemas/1.37.0");
    for (const TestMessage::Scope& scope : resource.scopes) writer.add_message(2, Scope(scope));
    writer.add_message(1, attributes);
    return bytes;
  }

  std::string Scope(const TestMessage::Scope& scope) const {
    std::string inner;
    Writer inner_writer(inner);
    for (const auto& attribute : scope.attributes) inner_writer.add_message(3, KeyValue(attribute));
    if (!scope.name.empty()) inner_writer.add_string(1, scope.name);
    std::string bytes;
    Writer writer(bytes);
    for (const TestMessage::Profile& profile : scope.profiles)
      writer.add_message(2, Profile(profile));
    if (!inner.empty()) writer.add_message(1, inner);
    return bytes;
  }

  std::string Profile(const TestMessage::Profile& profile) const {
    const bool is_v1_7 = how_.layout == TestLayout::kV1_7;
    const bool is_v1_8 = how_.layout == TestLayout::kV1_8;
    std::string bytes;
    Writer writer(bytes);
    writer.add_message(1, ValueType(profile.sample_type));
    for (const TestMessage::Sample& sample : profile.samples) writer.add_message(2, Sample(sample));
    if (how_.layout == TestLayout::kV1_5) {
      writer.add_message(3, std::string());
      writer.add_message(4, std::string());
      writer.add_message(10, std::string());
      Add(writer, 11, profile.time);
    } else if (is_v1_7) {
      Add(writer, 3, TestMessage::Indices{1});
      Add(writer, 4, profile.time);
      Add(writer, 5, profile.duration);
      writer.add_message(6, ValueType(profile.period_type));
      Add(writer, 7, static_cast<uint64_t>(profile.period));
    } else {
      if (profile.time != 0) writer.add_fixed64(3, profile.time);
      Add(writer, 4, profile.duration);
      writer.add_message(5, ValueType(profile.period_type));
      Add(writer, 6, static_cast<uint64_t>(profile.period));
      if (!profile.id.empty()) writer.add_bytes(is_v1_8 ? 8 : 7, profile.id);
      Add(writer, is_v1_8 ? 12 : 11, profile.attributes);
    }
    return bytes;
  }

  std::string Sample(const TestMessage::Sample& sample) const {
    std::string bytes;
    Writer writer(bytes);
    if (how_.layout <= TestLayout::kV1_7) {
      Add(writer, 1, sample.stack);
      Add(writer, 2, uint64_t{1});
      Add(writer, 3, sample.values);
      Add(writer, 4, sample.attributes);
      Add(writer, 6, sample.times);
      return bytes;
    }
    const bool is_new = how_.layout == TestLayout::kV1_10;
    Add(writer, 1, sample.stack);
    Add(writer, is_new ? 2 : 3, sample.attributes);
    Add(writer, is_new ? 3 : 4, sample.link);
    Add(writer, is_new ? 4 : 2, sample.values);
    if (how_.is_packed) {
      writer.add_packed_fixed64(5, sample.times.begin(), sample.times.end());
    } else {
      for (const uint64_t time : sample.times) writer.add_fixed64(5, time);
    }
    return bytes;
  }

  std::string Dictionary() const {
    std::string bytes;
    Writer all(bytes);
    for (const TestMessage::Indices& stack : message_.stacks)
      AddMessage(all, 7, [&](Writer& writer) { Add(writer, 1, stack); });
    for (const TestMessage::Attribute& attribute : message_.attributes) {
      AddMessage(all, 6, [&](Writer& writer) {
        if (how_.layout == TestLayout::kV1_7) {
          writer.add_string(1, message_.strings[attribute.key]);
        } else {
          Add(writer, 1, attribute.key);
        }
        // The Collector writes a value into entry 0, too.
        writer.add_message(2, attribute.value);
        Add(writer, 3, attribute.unit);
      });
    }
    for (const std::string& text : message_.strings) all.add_string(5, text);
    for (const auto& link : message_.links) {
      AddMessage(all, 4, [&](Writer& writer) {
        if (!link.first.empty()) writer.add_bytes(1, link.first);
        if (!link.second.empty()) writer.add_bytes(2, link.second);
      });
    }
    AddTables(all);
    return bytes;
  }

  void AddTables(Writer& all) const {
    for (const TestMessage::Function& function : message_.functions) {
      AddMessage(all, 3, [&](Writer& writer) {
        Add(writer, 1, function.name);
        Add(writer, 2, function.system_name);
        Add(writer, 3, function.file);
        Add(writer, 4, static_cast<uint64_t>(function.start_line));
      });
    }
    for (const TestMessage::Location& location : message_.locations) {
      AddMessage(all, 2, [&](Writer& writer) {
        Add(writer, 1, location.mapping);
        Add(writer, 2, location.address);
        for (const TestMessage::Line& line : location.lines) {
          AddMessage(writer, 3, [&](Writer& inner) {
            Add(inner, 1, line.function);
            Add(inner, 2, static_cast<uint64_t>(line.line));
            Add(inner, 3, static_cast<uint64_t>(line.column));
          });
        }
        Add(writer, 4, location.attributes);
      });
    }
    for (const TestMessage::Mapping& mapping : message_.mappings) {
      AddMessage(all, 1, [&](Writer& writer) {
        Add(writer, 1, mapping.start);
        Add(writer, 2, mapping.limit);
        Add(writer, 3, mapping.file_offset);
        Add(writer, 4, mapping.path);
        Add(writer, 5, mapping.attributes);
      });
    }
  }

  template <typename Fill>
  static void AddMessage(Writer& writer, uint32_t field, const Fill& fill) {
    std::string bytes;
    Writer inner(bytes);
    fill(inner);
    writer.add_message(field, bytes);
  }

  const TestMessage& message_;
  const TestWriting& how_;
};

inline std::string Write(const TestMessage& message, const TestWriting& how = {}) {
  return TestWriter(message, how).Run();
}

// What a profiler of the whole machine sends: a process of the service "shop" with two threads, on
// CPU in work <- main, ten seconds from time 1.79e18 ns.
inline TestMessage ForeignCpu() {
  using otlp::IntValue, otlp::TextValue;
  TestMessage message;
  message.resources = {
      {.attributes = {{"service.name", TextValue("shop")}, {"process.pid", IntValue(42)}},
       .scopes = {{.name = "other", .profiles = {{}}}}}};
  TestMessage::Profile& profile = message.profile();
  profile.sample_type = message.Type("samples", "count");
  profile.period_type = message.Type("cpu", "nanoseconds");
  profile.period = 50'000'000;
  profile.time = 1'790'000'000'000'000'000;
  profile.duration = 10'000'000'000;
  const uint64_t work = message.AddFunction("work");
  const uint64_t main = message.AddFunction("main");
  message.stacks.push_back({work, main});
  message.stacks.push_back({main});
  const uint64_t name = message.Add("thread.name", TextValue("worker"));
  const uint64_t id = message.Add("thread.id", IntValue(43));
  const uint64_t cpu = message.Add("cpu.logical_number", IntValue(1));
  profile.samples = {
      {.stack = 1,
       .attributes = {name, id, cpu},
       .times = {profile.time, profile.time + 1'000'000}},
      {.stack = 2, .attributes = {name, id, cpu}, .times = {profile.time + 3'000'000}}};
  return message;
}

}  // namespace vesta::wire
