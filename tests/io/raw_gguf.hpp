// SPDX-License-Identifier: Apache-2.0
// RawGguf: GGUF bytes put together field by field, legal or not, for tests of the reader.
#pragma once
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hanzo/core/error.hpp"

namespace hz::test {

template <class T>
std::string le(T v) {
  return {reinterpret_cast<const char*>(&v), sizeof(T)};
}
inline std::string text(std::string_view s) { return le(std::uint64_t{s.size()}) + std::string(s); }
// A key with its value type number and the value's bytes.
inline std::string kv(std::string_view key, std::uint32_t type, const std::string& value) { return text(key) + le(type) + value; }
inline std::string array(std::uint32_t type, std::uint64_t n, const std::string& values) { return le(type) + le(n) + values; }

struct RawTensor {
  std::string name;
  std::vector<std::uint64_t> dims;
  std::uint32_t type = 0;
  std::uint64_t offset = 0;
  std::optional<std::uint32_t> n_dims = {};
};

struct RawGguf {
  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::optional<std::uint64_t> n_tensors = {}, n_keys = {};
  std::vector<std::string> keys;
  std::vector<RawTensor> tensors;
  std::uint64_t alignment = 32;
  std::string data;

  std::string head() const {
    std::string s = magic + le(version) + le(n_tensors.value_or(tensors.size())) + le(n_keys.value_or(keys.size()));
    for (const std::string& k : keys) s += k;
    for (const RawTensor& t : tensors) {
      s += text(t.name) + le(t.n_dims.value_or(static_cast<std::uint32_t>(t.dims.size())));
      for (const std::uint64_t d : t.dims) s += le(d);
      s += le(t.type) + le(t.offset);
    }
    return s;
  }
  std::string bytes() const {
    std::string s = head();
    s.resize((s.size() + alignment - 1) / alignment * alignment);
    return s + data;
  }
};

inline void put_file(const std::filesystem::path& path, std::string_view content) {
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}
inline std::string get_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A message without the names of our temporary folders.
inline std::string without_folders(std::string s) {
  for (std::size_t at; (at = s.find("hanzo-test-")) != std::string::npos;) {
    std::size_t begin = at;
    while (begin > 0 && s[begin - 1] != ' ' && s[begin - 1] != '"' && s[begin - 1] != '(') --begin;
    const std::size_t end = s.find('/', at);
    if (end == std::string::npos) break;
    s.erase(begin, end + 1 - begin);
  }
  return s;
}

// The error that f() throws, as "what | where | hint"; "" when it throws none.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return without_folders(std::string(e.what()) + " | " + e.where() + " | " + e.hint());
  }
  return {};
}

}  // namespace hz::test
