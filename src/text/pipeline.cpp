// SPDX-License-Identifier: Apache-2.0
// Pipeline.
#include "src/text/pipeline.hpp"

#include "hanzo/text/utf8.hpp"
#include "src/core/stop_check.hpp"

namespace hz::text::detail {

void Pipeline::encode(const Fragment& fragment, Output& out) const {
  const auto rewritten = chain_.apply(fragment, out.wants_spans());
  const std::string_view text = rewritten ? std::string_view(rewritten->text()) : fragment.text;
  PieceOutput pieces(out, rewritten ? &*rewritten : nullptr, fragment.begin);
  const auto encoder = model_->start(pieces);
  PreTokenizer::Splitter splitter(pre_);
  StopCheck check;

  // Well-formed stretches are cut; a stretch of ill-formed bytes is one piece.
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    Utf8Char c = decode_utf8(text, begin);
    const bool valid = c.valid;
    while (c.valid == valid) {
      check();
      end += c.length;
      if (end >= text.size()) break;
      c = decode_utf8(text, end);
    }
    if (valid)
      for (const auto& p : splitter.split(text.substr(begin, end - begin))) {
        check();
        encoder->piece(text, begin + p.begin, begin + p.end, true);
      }
    else
      encoder->piece(text, begin, end, false);
    begin = end;
  }
}

}  // namespace hz::text::detail
