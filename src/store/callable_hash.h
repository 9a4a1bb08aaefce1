// A number that equal callables of any blocks share, so that most of them need no names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace vesta::store {

// Folds text into a hash, eight bytes at a time.
inline uint64_t HashText(uint64_t seed, std::string_view text) {
  const auto fold = [](uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a ^ 0x9e3779b97f4a7c15u) *
                         static_cast<unsigned __int128>(b ^ 0xd6e8feb86659fd93u);
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  uint64_t hash = fold(seed, text.size());
  size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    hash = fold(hash, word);
  }
  if (at < text.size()) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, text.size() - at);
    hash = fold(hash, word);
  }
  return hash;
}

// Never 0. It is written to files: changing it is a new version of the index format.
inline uint64_t CallableHash(std::string_view name, std::string_view image, std::string_view file) {
  const uint64_t hash = HashText(HashText(HashText(1, name), image), file);
  return hash == 0 ? 1 : hash;
}

}  // namespace vesta::store
