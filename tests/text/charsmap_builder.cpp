// SPDX-License-Identifier: Apache-2.0
// A double array, slot by slot: node i with distance d has its child for byte c at i ^ d ^ c, its value at i ^ d.
#include "tests/text/charsmap_builder.hpp"

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace hz::test {
namespace {

struct Builder {
  std::vector<std::uint32_t> units = std::vector<std::uint32_t>(1 << 14, 0);
  std::size_t next = 0;
  std::vector<std::pair<std::string, std::uint32_t>> keys;  // sorted; with the place of the replacement

  // Places the children of node i, whose keys [begin, end) share `depth` bytes.
  void place(std::size_t i, std::size_t begin, std::size_t end, std::size_t depth) {
    const bool value = keys[begin].first.size() == depth;
    std::vector<std::pair<unsigned char, std::size_t>> children;  // byte, first key
    for (std::size_t k = begin + (value ? 1 : 0); k < end; ++k) {
      const auto b = static_cast<unsigned char>(keys[k].first[depth]);
      if (children.empty() || children.back().first != b) children.emplace_back(b, k);
    }
    // A block of its own for every node: shared ones would make children of strangers look like one's own.
    const std::size_t base = next += 256;
    if (base + 256 > units.size()) throw std::runtime_error("too many rules");
    units[i] |= static_cast<std::uint32_t>(i ^ base) << 10;
    if (value) {
      units[i] |= 1U << 8;
      units[base] = 1U << 31 | keys[begin].second;
    }
    for (const auto& [b, k] : children) units[base ^ b] = b;
    for (std::size_t c = 0; c < children.size(); ++c)
      place(base ^ children[c].first, children[c].second, c + 1 < children.size() ? children[c + 1].second : end, depth + 1);
  }
};

void put_u32(std::string& out, std::uint32_t v) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(v >> (8 * i)));
}

}  // namespace

std::string charsmap(const std::map<std::string, std::string>& rules) {
  Builder b;
  std::string pool;
  for (const auto& [from, to] : rules) {
    b.keys.emplace_back(from, static_cast<std::uint32_t>(pool.size()));
    pool += to;
    pool += '\0';
  }
  b.place(0, 0, b.keys.size(), 0);
  std::string out;
  put_u32(out, static_cast<std::uint32_t>(4 * b.units.size()));
  for (const std::uint32_t u : b.units) put_u32(out, u);
  return out + pool;
}

}  // namespace hz::test
