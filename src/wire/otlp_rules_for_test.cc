#include "src/wire/otlp_rules_for_test.h"

#include <protozero/pbf_reader.hpp>
#include <set>

namespace vesta::wire {
namespace {

using protozero::pbf_reader;

// A dictionary's tables by their field numbers.
enum Table { kMapping = 1, kLocation, kFunction, kLink, kString, kAttribute, kStack, kTableEnd };
constexpr const char* kTableNames[] = {"",     "mapping", "location",  "function",
                                       "link", "string",  "attribute", "stack"};

class Checker {
 public:
  explicit Checker(const OtlpRules& rules) : rules_(rules) {}

  std::vector<std::string> Run(std::string_view bytes) {
    std::vector<std::string> resources;
    pbf_reader request(bytes.data(), bytes.size());
    while (request.next()) {
      if (request.tag() == 1) {
        resources.push_back(request.get_string());
      } else if (request.tag() == 2) {
        ReadDictionary(request.get_message());
      } else {
        Say("request: field " + std::to_string(request.tag()));
        request.skip();
      }
    }
    if (resources.empty()) Say("resources: empty");
    for (const std::string& resource : resources) CheckResource(resource);
    CheckTables();
    return faults_;
  }

 private:
  using Indices = std::vector<uint64_t>;

  void Say(const std::string& fault) { faults_.push_back(fault); }

  void ReadDictionary(pbf_reader reader) {
    while (reader.next()) {
      if (reader.tag() < kMapping || reader.tag() >= kTableEnd) {
        Say("dictionary: field " + std::to_string(reader.tag()));
        reader.skip();
        continue;
      }
      rows_[reader.tag()].push_back(reader.get_string());
      used_[reader.tag()].push_back(false);
    }
    for (int table = kMapping; table < kTableEnd; ++table) {
      const std::string name = kTableNames[table];
      if (rows_[table].empty()) {
        Say(name + " table: empty");
      } else if (!rows_[table][0].empty()) {
        Say(name + " table: entry 0 is not zero");
      } else {
        used_[table][0] = true;
      }
    }
  }

  void Use(const std::string& who, Table table, uint64_t index) {
    if (index >= rows_[table].size()) return Say(who + ": " + kTableNames[table] + " index");
    used_[table][index] = true;
  }

  static Indices Packed(pbf_reader& reader) {
    Indices indices;
    for (const uint64_t index : reader.get_packed_uint64()) indices.push_back(index);
    return indices;
  }

  uint64_t KeyOf(uint64_t attribute) const {
    if (attribute >= rows_[kAttribute].size()) return 0;
    pbf_reader reader(rows_[kAttribute][attribute]);
    return reader.next(1) ? reader.get_uint64() : 0;
  }

  void UseAttributes(const std::string& who, pbf_reader& reader) {
    std::set<uint64_t> keys;
    for (const uint64_t index : Packed(reader)) {
      Use(who, kAttribute, index);
      if (!keys.insert(KeyOf(index)).second) Say(who + ": attribute key twice");
    }
  }

  void UseValueType(const std::string& who, pbf_reader reader) {
    while (reader.next()) Use(who, kString, reader.get_uint64());
  }

  void CheckResource(const std::string& bytes) {
    size_t scopes = 0;
    pbf_reader reader(bytes);
    while (reader.next()) {
      if (reader.tag() == 2) {
        ++scopes;
        CheckScope(reader.get_message());
      } else {
        reader.skip();
      }
    }
    if (scopes == 0) Say("scopes: empty");
  }

  void CheckScope(pbf_reader reader) {
    size_t profiles = 0;
    while (reader.next()) {
      if (reader.tag() == 2) {
        ++profiles;
        CheckProfile(reader.get_message());
      } else {
        reader.skip();
      }
    }
    if (profiles == 0) Say("profiles: empty");
  }

  void CheckProfile(pbf_reader reader) {
    std::vector<std::string> samples;
    uint64_t start = 0;
    uint64_t duration = 0;
    while (reader.next()) {
      switch (reader.tag()) {
        case 1:
          UseValueType("sample type", reader.get_message());
          break;
        case 2:
          samples.push_back(reader.get_string());
          break;
        case 3:
          start = reader.get_fixed64();
          break;
        case 4:
          duration = reader.get_uint64();
          break;
        case 5:
          UseValueType("period type", reader.get_message());
          break;
        case 11:
          UseAttributes("profile", reader);
          break;
        default:
          reader.skip();
      }
    }
    std::set<int> shapes;
    for (const std::string& sample : samples) shapes.insert(CheckSample(sample, start, duration));
    if (rules_.shapes && shapes.size() > 1) Say("profile: samples of several shapes");
  }

  int CheckSample(const std::string& bytes, uint64_t start, uint64_t duration) {
    uint64_t stack = 0;
    uint64_t link = 0;
    size_t values = 0;
    size_t times = 0;
    pbf_reader reader(bytes);
    while (reader.next()) {
      switch (reader.tag()) {
        case 1:
          stack = reader.get_uint64();
          break;
        case 2:
          UseAttributes("sample", reader);
          break;
        case 3:
          link = reader.get_uint64();
          break;
        case 4:
          values += Packed(reader).size();
          break;
        case 5:
          for (const uint64_t time : reader.get_packed_fixed64()) {
            ++times;
            if (time < start || time - start >= duration) Say("sample: time outside of profile");
          }
          break;
        default:
          Say("sample: field " + std::to_string(reader.tag()));
          reader.skip();
      }
    }
    Use("sample", kStack, stack);
    Use("sample", kLink, link);
    if (rules_.shapes) {
      if (values + times == 0) Say("sample: empty");
      if (times == 0 && values > 1) Say("sample: several values without times");
      if (times != 0 && values != 0 && times != values) Say("sample: values and times differ");
    }
    return (values != 0 ? 1 : 0) + (times != 0 ? 2 : 0);
  }

  void CheckTables() {
    for (const std::string& row : rows_[kStack]) {
      pbf_reader reader(row);
      while (reader.next()) {
        for (const uint64_t index : Packed(reader)) Use("stack", kLocation, index);
      }
    }
    for (const std::string& row : rows_[kLocation]) CheckLocation(row);
    for (const std::string& row : rows_[kFunction]) CheckFunction(row);
    for (const std::string& row : rows_[kMapping]) CheckMapping(row);
    for (size_t i = 1; i < rows_[kLink].size(); ++i) {
      size_t sizes[3] = {};
      pbf_reader reader(rows_[kLink][i]);
      while (reader.next()) sizes[reader.tag()] = reader.get_string().size();
      if (sizes[1] != 16 || sizes[2] != 8) Say("link: size of an id");
    }
    for (const std::string& row : rows_[kAttribute]) {
      pbf_reader reader(row);
      while (reader.next()) {
        if (reader.tag() == 2) {
          reader.skip();
        } else {
          Use("attribute", kString, reader.get_uint64());
        }
      }
    }
    if (rules_.doubles) {
      for (const Table table : {kString, kMapping}) {
        const std::set<std::string> distinct(rows_[table].begin(), rows_[table].end());
        if (distinct.size() != rows_[table].size())
          Say(std::string(kTableNames[table]) + ": twice");
      }
    }
    for (int table = kMapping; rules_.orphans && table < kTableEnd; ++table) {
      for (const bool is_used : used_[table]) {
        if (!is_used) Say(std::string(kTableNames[table]) + ": nobody refers to it");
      }
    }
  }

  void CheckLocation(const std::string& row) {
    pbf_reader reader(row);
    while (reader.next()) {
      if (reader.tag() == 1) {
        Use("location", kMapping, reader.get_uint64());
      } else if (reader.tag() == 3) {
        uint64_t function = 0;
        pbf_reader line = reader.get_message();
        while (line.next()) {
          const int64_t number = line.get_int64();
          if (line.tag() == 1) function = static_cast<uint64_t>(number);
          if (line.tag() != 1 && number < 0) Say("line: negative");
        }
        Use("line", kFunction, function);
      } else if (reader.tag() == 4) {
        UseAttributes("location", reader);
      } else {
        reader.skip();
      }
    }
  }

  void CheckFunction(const std::string& row) {
    pbf_reader reader(row);
    while (reader.next()) {
      if (reader.tag() == 4) {
        if (reader.get_int64() < 0) Say("function: negative line");
      } else {
        Use("function", kString, reader.get_uint64());
      }
    }
  }

  void CheckMapping(const std::string& row) {
    uint64_t start = 0;
    uint64_t limit = 0;
    pbf_reader reader(row);
    while (reader.next()) {
      if (reader.tag() == 5) {
        UseAttributes("mapping", reader);
        continue;
      }
      const uint64_t number = reader.get_uint64();
      if (reader.tag() == 1) start = number;
      if (reader.tag() == 2) limit = number;
      if (reader.tag() == 4) Use("mapping", kString, number);
    }
    if ((start != 0 || limit != 0) && start >= limit) Say("mapping: start behind limit");
  }

  const OtlpRules rules_;
  std::vector<std::string> rows_[kTableEnd];
  std::vector<bool> used_[kTableEnd];
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> OtlpFaults(std::string_view bytes, const OtlpRules& rules) {
  return Checker(rules).Run(bytes);
}

}  // namespace vesta::wire
