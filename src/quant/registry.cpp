// SPDX-License-Identifier: Apache-2.0
// The table of formats, built from the list.
#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "hanzo/core/checked.hpp"
#include "hanzo/core/near_names.hpp"
#include "hanzo/quant/visit.hpp"
#include "src/quant/encoders.hpp"  // generated: encoder_of(WType)

namespace hz::quant {
namespace {

constexpr std::size_t kCount = [] {
  std::size_t n = 0;
  for_each_wtype([&](auto, const char*, int) { ++n; });
  return n;
}();

struct Table {
  std::array<FormatInfo, kCount> rows;
  std::array<std::array<char, 16>, kCount> names{};

  Table() {
    std::size_t i = 0;
    for_each_wtype([&]<class W>(tag<W>, const char* lower, int id) {
      std::size_t n = 0;
      for (; lower[n] != 0; ++n) names[i][n] = static_cast<char>(std::toupper(static_cast<unsigned char>(lower[n])));
      const auto type = static_cast<WType>(id);
      rows[i] = {type, {names[i].data(), n}, W::kElems, sizeof(typename W::Block), W::kFloating, W::kWeight, encoder_of(type)};
      ++i;
    });
  }
};

const Table& table() {
  static const Table t;
  return t;
}

std::string lower(std::string_view s) {
  std::string r(s);
  for (char& c : r) c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return r;
}

}  // namespace

std::span<const FormatInfo> formats() { return table().rows; }

std::optional<WType> from_id(std::uint32_t id) {
  for (const FormatInfo& f : formats())
    if (static_cast<std::uint32_t>(f.type) == id) return f.type;
  return std::nullopt;
}

std::optional<WType> from_name(std::string_view name) {
  for (const FormatInfo& f : formats())
    if (lower(f.name) == lower(name)) return f.type;
  return std::nullopt;
}

const FormatInfo& info(WType type) {
  for (const FormatInfo& f : formats())
    if (f.type == type) return f;
  throw Error(ErrorKind::usage, "weight type " + std::to_string(static_cast<std::uint32_t>(type)) + " is not in the list of formats");
}

std::size_t row_bytes(WType type, std::int64_t n) {
  const FormatInfo& f = info(type);
  if (n < 0 || n % f.block_elems != 0)
    throw Error(ErrorKind::usage, "a row of " + std::to_string(n) + " weights does not divide into " + std::string(f.name) + " blocks of " +
                                      std::to_string(f.block_elems));
  const auto bytes = (Checked(n / f.block_elems) * Checked(f.block_bytes)).get();
  if (!bytes) throw Error(ErrorKind::usage, "a row of " + std::to_string(n) + " weights is too long");
  return *bytes;
}

std::string near_names(std::string_view name) {
  std::vector<std::string_view> names;
  for (const FormatInfo& f : formats())
    if (f.weight) names.push_back(f.name);
  std::string s;
  for (const std::string_view n : nearest(name, names, 4)) s += (s.empty() ? "" : ", ") + std::string(n);
  return s;
}

}  // namespace hz::quant
