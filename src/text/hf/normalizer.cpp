// SPDX-License-Identifier: Apache-2.0
// The `normalizer` of a tokenizer.json.
#include <fmt/format.h>

#include <array>

#include "src/text/hf/steps.hpp"

namespace hz::text::hf {
namespace {

using namespace detail;
using Kind = NormStep::Kind;

std::string from_base64(const Node& node) {
  const std::string text = node.text();
  std::string out;
  std::uint32_t bits = 0;
  int have = 0;
  for (const char c : text) {
    std::uint32_t digit = 0;
    if (c >= 'A' && c <= 'Z') digit = static_cast<std::uint32_t>(c - 'A');
    else if (c >= 'a' && c <= 'z') digit = static_cast<std::uint32_t>(c - 'a' + 26);
    else if (c >= '0' && c <= '9') digit = static_cast<std::uint32_t>(c - '0' + 52);
    else if (c == '+') digit = 62;
    else if (c == '/') digit = 63;
    else if (c == '=') break;
    else node.bad("is not base64");
    bits = bits << 6 | digit;
    if ((have += 6) >= 8) out.push_back(static_cast<char>(bits >> (have -= 8) & 0xFF));
  }
  return out;
}

void read_replace(const Node& node, Steps& steps) {
  const std::string to = node["content"].text();
  const Node pattern = node["pattern"];
  if (pattern["String"].present())
    steps.chain.push_back({.kind = Kind::replace, .from = pattern["String"].text(), .to = to});
  else
    steps.chain.push_back({.kind = Kind::replace_match, .to = to, .pattern = read_pattern(pattern["Regex"], pattern["Regex"].text())});
}

void read_bert(const Node& node, Steps& steps) {
  const bool lower = node["lowercase"].flag(true);
  if (node["clean_text"].flag(true)) steps.chain.push_back({.kind = Kind::clean});
  if (node["handle_chinese_chars"].flag(true)) steps.chain.push_back({.kind = Kind::space_han});
  if (node["strip_accents"].flag(lower)) {
    steps.chain.push_back({.kind = Kind::form, .form = Form::nfd});
    steps.chain.push_back({.kind = Kind::strip_accents});
  }
  if (lower) steps.chain.push_back({.kind = Kind::lowercase});
}

void read_charsmap(const Node& node, Steps& steps) {
  const Node map = node["precompiled_charsmap"];
  if (!map.present() || map.text().empty()) return;
  steps.chain.push_back({.kind = Kind::charsmap, .map = std::make_shared<const Charsmap>(from_base64(map), map.path(), map.source())});
}

}  // namespace

std::shared_ptr<const Regex> read_pattern(const Node& node, const std::string& pattern) {
  try {
    return std::make_shared<const Regex>(pattern);
  } catch (const Error& e) {
    throw Error(e.kind(), fmt::format("{}: {}", node.path(), e.what()), node.source(), e.hint());
  }
}

void read_normalizer(const Node& node, Steps& steps) {
  if (!node.present()) return;
  const std::string type = node["type"].text();
  constexpr std::array<std::pair<std::string_view, Form>, 4> kForms{
      {{"NFC", Form::nfc}, {"NFD", Form::nfd}, {"NFKC", Form::nfkc}, {"NFKD", Form::nfkd}}};
  for (const auto& [name, form] : kForms)
    if (type == name) return void(steps.chain.push_back({.kind = Kind::form, .form = form}));
  if (type == "Sequence") {
    const Node list = node["normalizers"];
    for (std::size_t i = 0; i < list.size(); ++i) read_normalizer(list.at(i), steps);
  } else if (type == "Lowercase") {
    steps.chain.push_back({.kind = Kind::lowercase});
  } else if (type == "StripAccents") {
    steps.chain.push_back({.kind = Kind::strip_accents});
  } else if (type == "Strip") {
    steps.chain.push_back({.kind = Kind::strip, .left = node["strip_left"].flag(true), .right = node["strip_right"].flag(true)});
  } else if (type == "Prepend") {
    steps.chain.push_back({.kind = Kind::prepend, .to = node["prepend"].text()});
  } else if (type == "Replace") {
    read_replace(node, steps);
  } else if (type == "BertNormalizer") {
    read_bert(node, steps);
  } else if (type == "Precompiled") {
    read_charsmap(node, steps);
  } else if (type == "ByteLevel") {
    steps.byte_level = true;
  } else {
    node.unsupported(fmt::format("the normalizer '{}' is not built", type));
  }
}

}  // namespace hz::text::hf
