// SPDX-License-Identifier: Apache-2.0
// The normalizer, pre_tokenizer and decoder of a tokenizer.json, as steps of the pipeline.
#pragma once
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "src/text/hf/json.hpp"
#include "src/text/normalize.hpp"
#include "src/text/pretokenizer.hpp"

namespace hz::text::hf {

struct Steps {
  std::vector<detail::NormStep> chain;
  std::vector<detail::CutStep> cuts;
  std::deque<std::string> patterns;  // what the cuts refer to
  bool byte_level = false;           // symbols are bytes in printable stand-ins

  void cut(detail::Cut cut, std::string pattern) {
    patterns.push_back(std::move(pattern));
    cuts.push_back({cut, patterns.back()});
  }
};

// The pattern in a node; errors name the node.
std::shared_ptr<const detail::Regex> read_pattern(const Node& node, const std::string& pattern);

// Appends to steps. Error(unsupported) naming a type that is not built.
void read_normalizer(const Node& node, Steps& steps);
void read_pre_tokenizer(const Node& node, Steps& steps);

struct Decoder {
  std::function<std::string(std::string_view)> piece;  // what a token's text stands for
  bool strips_first_space = false;
  bool clean_up = false;
};
Decoder read_decoder(const Node& node, const Steps& steps);

}  // namespace hz::text::hf
