// SPDX-License-Identifier: Apache-2.0
// Near names: edit distance and the choice among candidates.
#include "hanzo/core/near_names.hpp"

#include <algorithm>
#include <utility>

namespace hz {
namespace {

char folded(char c) {
  if (c == '_') return '-';
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const char x = folded(a[i - 1]), y = folded(b[j - 1]);
      row[j] = std::min({last[j - 1] + (x == y ? 0 : 1), last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && x == folded(b[j - 2]) && folded(a[i - 2]) == y) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(last, row);
  }
  return last.back();
}

std::vector<std::string_view> nearest(std::string_view name, std::span<const std::string_view> names, std::size_t most) {
  std::vector<std::pair<std::size_t, std::string_view>> by_distance;
  for (const std::string_view n : names) by_distance.emplace_back(edit_distance(name, n), n);
  std::stable_sort(by_distance.begin(), by_distance.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string_view> result;
  for (std::size_t i = 0; i < std::min(most, by_distance.size()); ++i) result.push_back(by_distance[i].second);
  return result;
}

std::string_view meant(std::string_view name, std::span<const std::string_view> names) {
  const auto best = nearest(name, names, 1);
  if (best.empty()) return {};
  return edit_distance(name, best[0]) <= std::max<std::size_t>(1, best[0].size() / 3) ? best[0] : std::string_view{};
}

}  // namespace hz
