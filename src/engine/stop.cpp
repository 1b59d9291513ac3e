// SPDX-License-Identifier: Apache-2.0
// StopMatcher: the automaton of Aho and Corasick (1975). Its state is the longest end of the text that begins a stop
// string, which is exactly what has to be held back.
#include "hanzo/engine/stop.hpp"

#include <utility>
#include <vector>

#include "hanzo/core/error.hpp"
#include "hanzo/text/utf8.hpp"

namespace hz {

struct StopMatcher::Automaton {
  struct Node {
    std::int32_t child = -1, sibling = -1;  // first child; next child of the same parent
    std::int32_t fail = 0;
    std::int32_t depth = 0;   // bytes
    std::int32_t stop = -1;   // the longest stop string that ends here
    char byte = 0;
  };
  std::vector<Node> nodes{Node{}};
  std::vector<std::int32_t> lengths;  // of the stop strings

  Node& at(std::int32_t i) { return nodes[static_cast<std::size_t>(i)]; }
  const Node& at(std::int32_t i) const { return nodes[static_cast<std::size_t>(i)]; }

  std::int32_t child(std::int32_t node, char byte) const {
    std::int32_t c = at(node).child;
    while (c >= 0 && at(c).byte != byte) c = at(c).sibling;
    return c;
  }
  std::int32_t step(std::int32_t node, char byte) const {
    for (;; node = at(node).fail) {
      const std::int32_t c = child(node, byte);
      if (c >= 0) return c;
      if (node == 0) return 0;
    }
  }
  void add(std::string_view text, std::int32_t index) {
    std::int32_t node = 0;
    for (const char byte : text) {
      std::int32_t c = child(node, byte);
      if (c < 0) {
        c = static_cast<std::int32_t>(nodes.size());
        nodes.push_back({-1, at(node).child, 0, at(node).depth + 1, -1, byte});
        at(node).child = c;
      }
      node = c;
    }
    if (at(node).stop < 0) at(node).stop = index;
    lengths.push_back(static_cast<std::int32_t>(text.size()));
  }
  void link() {
    std::vector<std::int32_t> queue{0};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const std::int32_t parent = queue[i];
      for (std::int32_t c = at(parent).child; c >= 0; c = at(c).sibling) {
        if (parent != 0) at(c).fail = step(at(parent).fail, at(c).byte);
        if (at(c).stop < 0) at(c).stop = at(at(c).fail).stop;
        queue.push_back(c);
      }
    }
  }
};

StopMatcher::StopMatcher(std::span<const std::string> stops) {
  constexpr std::size_t kMostBytes = 1 << 20;
  auto automaton = std::make_shared<Automaton>();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < stops.size(); ++i) {
    const std::string where = "stop string " + std::to_string(i + 1) + " of " + std::to_string(stops.size());
    if (stops[i].empty()) throw Error(ErrorKind::usage, "a stop string is empty", where, "leave it out");
    if (!text::is_valid_utf8(stops[i])) throw Error(ErrorKind::usage, "a stop string is not valid UTF-8", where);
    bytes += stops[i].size();
    if (bytes > kMostBytes) throw Error(ErrorKind::usage, "the stop strings are longer than 1 MiB together", where);
    automaton->add(stops[i], static_cast<std::int32_t>(i));
  }
  automaton->link();
  automaton_ = std::move(automaton);
}

std::string StopMatcher::feed(std::string_view text) {
  if (stopped()) return {};
  const std::size_t before = held_.size();
  held_ += text;
  for (std::size_t i = before; i < held_.size(); ++i) {
    state_ = automaton_->step(state_, held_[i]);
    const std::int32_t stop = automaton_->at(state_).stop;
    if (stop < 0) continue;
    matched_ = stop;
    std::string out = held_.substr(0, i + 1 - static_cast<std::size_t>(automaton_->lengths[static_cast<std::size_t>(stop)]));
    held_.clear();
    state_ = 0;
    return out;
  }
  const auto keep = static_cast<std::size_t>(automaton_->at(state_).depth);
  std::string out = held_.substr(0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return out;
}

std::string StopMatcher::flush() {
  state_ = 0;
  return std::exchange(held_, {});
}

void StopMatcher::reset() {
  held_.clear();
  state_ = 0;
  matched_ = -1;
}

}  // namespace hz
