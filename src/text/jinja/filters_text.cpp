// SPDX-License-Identifier: Apache-2.0
// Filters on text.
#include <limits>

#include "src/text/jinja/bind.hpp"
#include "src/text/jinja/compare.hpp"
#include "src/text/jinja/filters.hpp"
#include "src/text/jinja/format.hpp"
#include "src/text/jinja/iterate.hpp"
#include "src/text/jinja/print.hpp"
#include "src/text/jinja/str_ops.hpp"

namespace hz::text::jinja {

namespace {

// Words begin after one of these characters.
bool word_break(char32_t c) { return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || is_space(c); }

Value plain(const Value& str) {
  Value r = str;
  r.set_markup(false);
  return r;
}

}  // namespace

Value filter_capitalize(Interp& in, const Value& v, Args& args) {
  bind_none("capitalize", args);
  return recase(in.heap(), soft_str(in, v), Recase::capitalize);
}

Value filter_lower(Interp& in, const Value& v, Args& args) {
  bind_none("lower", args);
  return recase(in.heap(), soft_str(in, v), Recase::lower);
}

Value filter_upper(Interp& in, const Value& v, Args& args) {
  bind_none("upper", args);
  return recase(in.heap(), soft_str(in, v), Recase::upper);
}

Value filter_string(Interp& in, const Value& v, Args& args) {
  bind_none("string", args);
  return soft_str(in, v);
}

Value filter_center(Interp& in, const Value& v, Args& args) {
  const auto [width_] = bind<1>("center", args, {"width"}, 0);
  const Value s = soft_str(in, v);
  const std::size_t width = want_count(in, "center", int_or("center", width_, 80));
  const std::size_t length = s.str().length;
  if (width <= length) return s;
  const std::size_t left = center_left(width - length, width);
  return pad(in.heap(), s, left, width - length - left, " ", in.here());
}

Value filter_format(Interp& in, const Value& v, Args& args) {
  const Value s = soft_str(in, v);
  if (!args.positional.empty() && !args.named.empty()) {
    throw Fault{"can't handle positional and keyword arguments at the same time"};
  }
  if (args.named.empty()) return format_percent(in, s, make_tuple(in.heap(), std::move(args.positional), in.here()));
  const Value named = make_dict(in.heap(), in.here());
  for (auto& [name, value] : args.named) named.as<Dict>().set(in.heap(), in.text(name), std::move(value));
  return format_percent(in, s, named);
}

Value filter_indent(Interp& in, const Value& v, Args& args) {
  const auto [width, first, blank] = bind<3>("indent", args, {"width", "first", "blank"}, 0);
  const Value text = want_str("indent", v);
  Value indent = width;
  if (!width.is_str()) {
    const std::size_t n = want_count(in, "indent", int_or("indent", width, 4));
    Builder b(in.heap());
    b.add_repeated(" ", n, in.here());
    indent = b.take();
  }
  // A last newline is kept by giving the text one more before it is split.
  Builder extended(in.heap());
  extended.add(text);
  extended.add('\n', in.here());
  const Values lines = split_lines(in.heap(), extended.take(), false);
  Builder out(in.heap());
  if (truth_or(first, false)) out.add(indent);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    in.heap().charge();
    if (i != 0) out.add('\n', in.here());
    if (i != 0 && (truth_or(blank, false) || !text_of(lines[i]).empty())) out.add(indent);
    out.add(lines[i]);
  }
  return out.take(text.markup());
}

Value filter_replace(Interp& in, const Value& v, Args& args) {
  const auto [from, to, count] = bind<3>("replace", args, {"old", "new", "count"}, 2);
  Heap& heap = in.heap();
  return replace(heap, plain(to_str(heap, v)), to_str(heap, from), plain(to_str(heap, to)), int_or("replace", count, -1));
}

Value filter_title(Interp& in, const Value& v, Args& args) {
  bind_none("title", args);
  const Value s = soft_str(in, v);
  const std::string_view text = text_of(s);
  in.heap().charge_bytes(16 * text.size());
  Builder out(in.heap());
  bool start = true;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t at = i;
    const char32_t c = decode(text, i);
    std::string piece;
    if (!start && c == 0x3a3 && is_final_sigma(text, at, i)) piece = "\xcf\x82";
    else map_case(start ? Case::upper : Case::lower, c, piece);
    out.add(piece, origin_at(s, at));
    start = word_break(c);
  }
  return out.take();
}

Value filter_trim(Interp& in, const Value& v, Args& args) {
  const auto [chars] = bind<1>("trim", args, {"chars"}, 0);
  if (!chars.is_missing() && !chars.is_none()) want_str("trim", chars);
  return strip(in.heap(), soft_str(in, v), chars, true, true);
}

Value filter_truncate(Interp& in, const Value& v, Args& args) {
  const auto [length_, killwords, end_, leeway_] = bind<4>("truncate", args, {"length", "killwords", "end", "leeway"}, 0);
  const Value end = end_.is_missing() ? in.text("...") : want_str("truncate", end_);
  const std::int64_t length = int_or("truncate", length_, 255);
  const std::int64_t leeway = int_or("truncate", leeway_, 5);
  const auto end_length = static_cast<std::int64_t>(end.str().length);
  if (length < end_length) throw Fault{"expected length >= " + std::to_string(end_length) + ", got " + std::to_string(length)};
  if (leeway < 0) throw Fault{"expected leeway >= 0, got " + std::to_string(leeway)};
  const std::int64_t have = length_of(v);
  if (have >= 0 && (have <= length || have - length <= leeway)) return v;
  const Value& s = want_str("truncate", v);
  std::size_t cut = s.str().offset(static_cast<std::size_t>(length - end_length));
  if (!truth_or(killwords, false)) {
    const std::size_t space = text_of(s).substr(0, cut).rfind(' ');
    if (space != std::string_view::npos) cut = space;
  }
  Builder out(in.heap());
  out.add(s, 0, cut);
  out.add(end);
  return out.take(s.markup());
}

Value filter_wordcount(Interp& in, const Value& v, Args& args) {
  bind_none("wordcount", args);
  const Value s = soft_str(in, v);
  const std::string_view text = text_of(s);
  in.heap().charge_bytes(16 * text.size());
  std::int64_t n = 0;
  bool inside = false;
  for (std::size_t i = 0; i < text.size();) {
    const char32_t c = decode(text, i);
    const bool word = is_alpha(c) || is_numeric(c) || c == '_';
    if (word && !inside) ++n;
    inside = word;
  }
  return Value::integer(n, in.here());
}

}  // namespace hz::text::jinja
