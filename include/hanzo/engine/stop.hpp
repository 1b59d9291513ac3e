// SPDX-License-Identifier: Apache-2.0
// StopMatcher: ends a stream of text at the first of some strings, wherever the pieces of text are cut.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hz {

// For one stream; not for several threads. Copies go on independently.
class StopMatcher {
 public:
  // No strings: nothing ever stops. Throws Error(usage) for an empty string, one that is not UTF-8 (it could cut a
  // character), or more than 1 MiB of strings.
  explicit StopMatcher(std::span<const std::string> stops = {});

  // The next piece of text. Returns what can no longer belong to a stop string; the longest end that may still become
  // one is held back. Once a stop string is complete, returns the text before it; after that always nothing.
  std::string feed(std::string_view text);

  // The end of the stream: what was held back (nothing once stopped). The matcher is then as new, but for stopped().
  std::string flush();

  bool stopped() const { return matched_ >= 0; }
  // Index of the string that stopped the stream, -1 before. The one that completes first wins, of those the longest.
  int matched() const { return matched_; }
  std::size_t pending() const { return held_.size(); }  // bytes held back
  void reset();

 private:
  struct Automaton;
  std::shared_ptr<const Automaton> automaton_;
  std::string held_;
  std::int32_t state_ = 0;
  int matched_ = -1;
};

}  // namespace hz
