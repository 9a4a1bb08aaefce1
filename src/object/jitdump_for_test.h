// Makes the bytes of jitdump files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vesta::object {

class JitDumpBytes {
 public:
  explicit JitDumpBytes(uint64_t flags = 0, uint32_t version = 1) {
    for (const uint32_t value : {0x4a695444u, version, 40u, 62u, 0u, 12u}) Add32(value);
    Add64(0);
    Add64(flags);
  }

  struct Entry {
    uint64_t address;
    uint32_t line;
    std::string_view file;
  };

  void Load(uint64_t time_ns, uint64_t address, uint64_t size_bytes, std::string_view name) {
    // The code itself, too.
    Record(0, 40 + name.size() + 1 + size_bytes, time_ns);
    Add64(12);
    for (const uint64_t value : {address, address, size_bytes, index_++}) Add64(value);
    bytes_.append(name).append(1 + size_bytes, '\0');
  }
  void Move(uint64_t time_ns, uint64_t from, uint64_t to, uint64_t size_bytes) {
    Record(1, 48, time_ns);
    Add64(12);
    for (const uint64_t value : {to, from, to, size_bytes, index_++}) Add64(value);
  }
  void Debug(uint64_t time_ns, uint64_t address, const std::vector<Entry>& entries) {
    size_t size = 16;
    for (const Entry& entry : entries) size += 17 + entry.file.size();
    Record(2, size, time_ns);
    Add64(address);
    Add64(entries.size());
    for (const Entry& entry : entries) {
      Add64(entry.address);
      Add32(entry.line);
      Add32(0);
      bytes_.append(entry.file).append(1, '\0');
    }
  }
  void Other(uint32_t id, size_t size_bytes) {
    Record(id, size_bytes, 0);
    bytes_.append(size_bytes, 'x');
  }

  const std::string& bytes() const { return bytes_; }

 private:
  void Record(uint32_t id, size_t body_bytes, uint64_t time_ns) {
    Add32(id);
    Add32(static_cast<uint32_t>(16 + body_bytes));
    Add64(time_ns);
  }
  void Add32(uint32_t value) { bytes_.append(reinterpret_cast<const char*>(&value), 4); }
  void Add64(uint64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), 8); }

  std::string bytes_;
  uint64_t index_ = 0;
};

}  // namespace vesta::object
