// SPDX-License-Identifier: Apache-2.0
// ByteTrie: built level by level from the sorted keys.
#include "src/text/byte_trie.hpp"

#include <algorithm>

namespace hz::text::detail {

ByteTrie::ByteTrie(std::vector<std::pair<std::string_view, std::int32_t>> entries) {
  first_.fill(-1);
  std::sort(entries.begin(), entries.end());
  struct Range {
    std::size_t begin, end;  // the entries below a node
    std::size_t depth;       // bytes already matched
  };
  std::vector<Range> ranges{{0, entries.size(), 0}};
  nodes_.emplace_back();
  label_.push_back(0);
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    auto [begin, end, depth] = ranges[n];
    if (begin < end && entries[begin].first.size() == depth) nodes_[n].value = entries[begin++].second;
    nodes_[n].child = static_cast<std::int32_t>(nodes_.size());
    while (begin < end) {
      const char b = entries[begin].first[depth];
      std::size_t stop = begin;
      while (stop < end && entries[stop].first[depth] == b) ++stop;
      nodes_.emplace_back();
      label_.push_back(static_cast<unsigned char>(b));
      ranges.push_back({begin, stop, depth + 1});
      ++nodes_[n].children;
      begin = stop;
    }
  }
  for (std::uint16_t i = 0; i < nodes_[0].children; ++i) first_[label_[1U + i]] = 1 + i;
}

std::int32_t ByteTrie::step(std::int32_t node, unsigned char b) const {
  if (node == 0) return first_[b];
  const Node& n = nodes_[static_cast<std::size_t>(node)];
  const auto begin = label_.begin() + n.child, end = begin + n.children;
  const auto at = std::lower_bound(begin, end, b);
  return at != end && *at == b ? n.child + static_cast<std::int32_t>(at - begin) : -1;
}

}  // namespace hz::text::detail
