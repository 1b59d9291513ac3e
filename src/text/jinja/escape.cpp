// SPDX-License-Identifier: Apache-2.0
#include "src/text/jinja/escape.hpp"

namespace hz::text::jinja {

namespace {
std::string_view entity(char c) {
  switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '\'': return "&#39;";
    case '"': return "&#34;";
    default: return {};
  }
}
}  // namespace

Value escape(Heap& heap, const Value& str, bool again) {
  if (str.markup() && !again) return str;
  const std::string_view text = text_of(str);
  Builder out(heap);
  std::size_t plain = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view e = entity(text[i]);
    if (e.empty()) continue;
    out.add(str, plain, i);
    out.add(e, origin_at(str, i));
    plain = i + 1;
  }
  out.add(str, plain, text.size());
  return out.take(true);
}

}  // namespace hz::text::jinja
