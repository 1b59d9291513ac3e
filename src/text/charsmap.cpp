// SPDX-License-Identifier: Apache-2.0
// Charsmap: look-ups in the double array. A unit holds a label (bits 0-7 and 31), whether a value hangs below it
// (bit 8), and the distance to its children (bits 10-30, times 256 if bit 9 is set); a value unit has bits 0-30.
#include "src/text/charsmap.hpp"

#include <fmt/format.h>

#include "hanzo/core/error.hpp"

namespace hz::text::detail {
namespace {

std::uint32_t load_u32(std::string_view bytes, std::size_t at) {
  std::uint32_t v = 0;
  for (std::size_t i = 4; i-- > 0;) v = v << 8 | static_cast<unsigned char>(bytes[at + i]);
  return v;
}

std::uint32_t distance(std::uint32_t unit) { return (unit >> 10) << ((unit & 0x200U) >> 6); }
std::uint32_t label(std::uint32_t unit) { return unit & 0x800000FFU; }
bool has_value(std::uint32_t unit) { return (unit & 0x100U) != 0; }

}  // namespace

Charsmap::Charsmap(std::string_view blob, std::string_view what, const std::string& source) {
  const auto bad = [&](const std::string& why) { throw Error(ErrorKind::bad_file, fmt::format("{}: {}", what, why), source); };
  if (blob.size() < 4) bad(fmt::format("has {} bytes, too few for its own size", blob.size()));
  const std::uint32_t bytes = load_u32(blob, 0);
  if (bytes > blob.size() - 4 || bytes % 4 != 0)
    bad(fmt::format("says that its array has {} bytes, of {} there are", bytes, blob.size() - 4));
  units_.resize(bytes / 4);
  for (std::size_t i = 0; i < units_.size(); ++i) units_[i] = load_u32(blob, 4 + 4 * i);
  pool_ = blob.substr(4 + bytes);
  if (pool_.empty() || pool_.back() != '\0') bad("does not end its last replacement with a zero byte");
}

std::optional<Charsmap::Match> Charsmap::find(std::string_view text, std::size_t pos) const {
  std::optional<Match> best;
  if (units_.empty()) return best;
  std::size_t node = distance(units_[0]);
  for (std::size_t i = pos; i < text.size(); ++i) {
    const auto b = static_cast<unsigned char>(text[i]);
    node ^= b;
    if (b == 0 || node >= units_.size() || label(units_[node]) != b) break;
    const std::uint32_t unit = units_[node];
    node ^= distance(unit);
    if (!has_value(unit)) continue;
    if (node >= units_.size()) break;
    const std::size_t at = units_[node] & 0x7FFFFFFFU;
    if (at >= pool_.size()) break;
    best = Match{i + 1 - pos, std::string_view(pool_).substr(at, pool_.find('\0', at) - at)};
  }
  return best;
}

}  // namespace hz::text::detail
