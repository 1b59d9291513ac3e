// SPDX-License-Identifier: Apache-2.0
// The `decoder` of a tokenizer.json: what each token's text stands for.
#include <fmt/format.h>

#include "src/text/bpe.hpp"
#include "src/text/hf/steps.hpp"

namespace hz::text::hf {
namespace {

using namespace detail;

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; !from.empty() && (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// Runs `then` on what the decoder gives so far.
void chain(Decoder& decoder, std::function<std::string(std::string)> then) {
  decoder.piece = [before = std::move(decoder.piece), then = std::move(then)](std::string_view text) {
    return then(before ? before(text) : std::string(text));
  };
}

void read(const Node& node, Decoder& decoder) {
  const std::string type = node["type"].text();
  if (type == "Sequence") {
    const Node list = node["decoders"];
    for (std::size_t i = 0; i < list.size(); ++i) read(list.at(i), decoder);
  } else if (type == "ByteLevel") {
    chain(decoder, [](const std::string& text) { return decode_byte_chars(text); });
  } else if (type == "Metaspace") {
    const std::string mark = node["replacement"].text(std::string(kSpaceMark));
    const std::string scheme = node["prepend_scheme"].text(node["add_prefix_space"].flag(true) ? "always" : "never");
    chain(decoder, [mark](std::string text) { return replaced(std::move(text), mark, " "); });
    decoder.strips_first_space = scheme != "never";
  } else if (type == "Replace") {
    const Node pattern = node["pattern"];
    if (!pattern["String"].present()) pattern.unsupported("a decoder that replaces by pattern is not built");
    chain(decoder,
          [from = pattern["String"].text(), to = node["content"].text()](std::string text) { return replaced(std::move(text), from, to); });
  } else if (type == "WordPiece") {
    const std::string prefix = node["prefix"].text("##");
    chain(decoder, [prefix](const std::string& text) { return text.starts_with(prefix) ? text.substr(prefix.size()) : " " + text; });
    decoder.strips_first_space = true;
    decoder.clean_up = node["cleanup"].flag(true);
  } else if (type == "BPEDecoder") {
    chain(decoder, [suffix = node["suffix"].text("</w>")](std::string text) { return replaced(std::move(text), suffix, " "); });
  } else if (type == "Strip") {
    decoder.strips_first_space = node["content"].text(" ") == " " && node["start"].present() && node["start"].integer() > 0;
  } else if (type != "ByteFallback" && type != "Fuse") {
    node.unsupported(fmt::format("the decoder '{}' is not built", type));
  }
}

}  // namespace

Decoder read_decoder(const Node& node, const Steps& steps) {
  Decoder decoder;
  if (node.present()) {
    read(node, decoder);
  } else if (steps.byte_level) {
    chain(decoder, [](const std::string& text) { return decode_byte_chars(text); });
  } else {
    // Without one, tokens are words.
    chain(decoder, [](const std::string& text) { return " " + text; });
    decoder.strips_first_space = true;
  }
  if (!decoder.piece) decoder.piece = [](std::string_view text) { return std::string(text); };
  return decoder;
}

}  // namespace hz::text::hf
