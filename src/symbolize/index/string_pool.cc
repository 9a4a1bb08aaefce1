#include "src/symbolize/index/string_pool.h"

#include <limits>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace vesta::symbolize {

namespace {

constexpr size_t kSlotsMin = 1024;
constexpr size_t kLengthBytesMax = 5;

}  // namespace

void IdTable::Insert(uint64_t hash, uint32_t id) {
  if ((count_ + 1) * 3 > slots_.size() * 2) {
    std::vector<Slot> old(slots_.empty() ? kSlotsMin : slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.used) Put(slot);
    }
  }
  Put({static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32), id, true});
  ++count_;
}

void IdTable::Put(const Slot& slot) {
  size_t i = slot.place & (slots_.size() - 1);
  while (slots_[i].used) i = (i + 1) & (slots_.size() - 1);
  slots_[i] = slot;
}

uint32_t StringPool::Intern(std::string_view text) {
  if (text.empty()) return 0;
  const uint64_t hash = XXH3_64bits(text.data(), text.size());
  const uint32_t* known = table_.Find(hash, [&](uint32_t id) { return At(id) == text; });
  if (known != nullptr) return *known;
  if (bytes_.size() + text.size() + kLengthBytesMax > std::numeric_limits<uint32_t>::max()) {
    fits_ = false;
    return 0;
  }
  const auto id = static_cast<uint32_t>(bytes_.size());
  AppendUnsigned(bytes_, static_cast<uint32_t>(text.size()));
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  bytes_.insert(bytes_.end(), data, data + text.size());
  table_.Insert(hash, id);
  return id;
}

std::string_view StringPool::At(uint32_t id) const {
  NumberReader reader(IndexBytes(bytes_).subspan(id));
  const uint32_t size_bytes = reader.Unsigned();
  return {reinterpret_cast<const char*>(reader.Rest().data()), size_bytes};
}

}  // namespace vesta::symbolize
