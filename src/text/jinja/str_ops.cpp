// SPDX-License-Identifier: Apache-2.0
#include "src/text/jinja/str_ops.hpp"

#include <cstring>

namespace hz::text::jinja {

namespace {

constexpr std::size_t kNone = std::string_view::npos;

// One code point of `s` at [at, end), recased; sigma needs its neighbours.
void recase_code(Recase how, bool start, std::string_view text, std::size_t at, std::size_t end, char32_t c, std::string& out) {
  Case to = Case::lower;
  switch (how) {
    case Recase::upper: to = Case::upper; break;
    case Recase::lower: break;
    case Recase::fold: to = Case::fold; break;
    case Recase::swap: to = is_lower(c) ? Case::upper : is_upper(c) ? Case::lower : Case::fold; break;
    case Recase::capitalize:
    case Recase::title: to = start ? Case::title : Case::lower; break;
  }
  if (how == Recase::swap && to == Case::fold) return encode(c, out);
  if (to == Case::lower && c == 0x3a3 && is_final_sigma(text, at, end)) return encode(0x3c2, out);
  map_case(to, c, out);
}

std::size_t next_space(std::string_view s, std::size_t at, std::size_t& after) {
  while (at < s.size()) {
    after = at;
    if (is_space(decode(s, after))) return at;
    at = after;
  }
  after = at;
  return at;
}

std::size_t skip_spaces(std::string_view s, std::size_t at) {
  while (at < s.size()) {
    std::size_t after = at;
    if (!is_space(decode(s, after))) break;
    at = after;
  }
  return at;
}

std::size_t back_over(std::string_view s, std::size_t end, bool spaces) {
  while (end > 0) {
    std::size_t at = end;
    step_back(s, at);
    std::size_t after = at;
    if (is_space(decode(s, after)) != spaces) break;
    end = at;
  }
  return end;
}

void check_separator(const Value& separator) {
  if (!separator.is_str()) throw Fault{"must be str or None, not " + std::string(type_name(separator.kind()))};
  if (text_of(separator).empty()) throw Fault{"empty separator"};
}

std::string reversed(std::string_view s) { return {s.rbegin(), s.rend()}; }

void reverse(Values& v) {
  for (std::size_t i = 0, j = v.size(); i + 1 < j; ++i) std::swap(v[i], v[--j]);
}

}  // namespace

Value recase(Heap& heap, const Value& s, Recase how) {
  const std::string_view text = text_of(s);
  heap.charge_bytes(16 * text.size());
  Builder out(heap);
  std::string piece;
  Origin origin = origin_at(s, 0);
  const bool single = s.str().runs.empty();
  bool start = true;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t at = i;
    const char32_t c = decode(text, i);
    if (!single) {
      const Origin o = origin_at(s, at);
      if (!(o == origin)) {
        out.add(piece, origin);
        piece.clear();
        origin = o;
      }
    }
    recase_code(how, start, text, at, i, c, piece);
    start = how == Recase::title && !(is_upper(c) || is_lower(c) || is_title(c));
    if (piece.size() > 4096) {
      out.add(piece, origin);
      piece.clear();
    }
  }
  out.add(piece, origin);
  return out.take(s.markup());
}

Value strip(Heap& heap, const Value& s, const Value& chars, bool left, bool right) {
  const std::string_view text = text_of(s);
  const bool spaces = !chars.is_str();
  const std::string_view set = spaces ? std::string_view() : text_of(chars);
  const auto drops = [&](std::string_view code, char32_t c) {
    heap.charge_bytes(set.size());
    return spaces ? is_space(c) : find_text(set, code, 0, set.size()) != kNone;
  };
  std::size_t begin = 0;
  std::size_t end = text.size();
  while (left && begin < end) {
    std::size_t after = begin;
    const char32_t c = decode(text, after);
    if (!drops(text.substr(begin, after - begin), c)) break;
    begin = after;
  }
  while (right && begin < end) {
    std::size_t at = end;
    step_back(text, at);
    std::size_t after = at;
    const char32_t c = decode(text, after);
    if (!drops(text.substr(at, end - at), c)) break;
    end = at;
  }
  heap.charge_bytes(8 * (text.size() - (end - begin)));
  return slice_bytes(heap, s, begin, end);
}

std::size_t find_text(std::string_view hay, std::string_view needle, std::size_t from, std::size_t to) {
  if (from > to) return kNone;
  if (needle.empty()) return from;
  const void* at = memmem(hay.data() + from, to - from, needle.data(), needle.size());
  return at == nullptr ? kNone : static_cast<std::size_t>(static_cast<const char*>(at) - hay.data());
}

std::size_t find_text_last(std::string_view hay, std::string_view needle, std::size_t from, std::size_t to) {
  if (from > to || needle.size() > to - from) return kNone;
  if (needle.empty()) return to;
  // Search the reversed text, so that this is linear too.
  const std::string turned = reversed(hay.substr(from, to - from));
  const std::size_t at = find_text(turned, reversed(needle), 0, turned.size());
  return at == kNone ? kNone : to - at - needle.size();
}

std::size_t count_codes(std::string_view text) {
  std::size_t n = 0;
  for (const char c : text) n += (static_cast<unsigned char>(c) & 0xc0U) != 0x80U ? 1U : 0U;
  return n;
}

Value replace(Heap& heap, const Value& s, const Value& from, const Value& to, std::int64_t limit) {
  const std::string_view text = text_of(s);
  const std::string_view old = text_of(from);
  heap.charge_bytes(2 * text.size());
  Builder out(heap);
  std::size_t done = 0;
  if (old.empty()) {
    // Between all code points and at both ends.
    for (std::size_t i = 0; limit != 0; --limit) {
      heap.charge();
      out.add(to);
      if (i >= text.size()) break;
      decode(text, i);
      out.add(s, done, i);
      done = i;
    }
  } else {
    for (; limit != 0; --limit) {
      const std::size_t at = find_text(text, old, done, text.size());
      if (at == kNone) break;
      heap.charge();
      out.add(s, done, at);
      out.add(to);
      done = at + old.size();
    }
    if (done == 0) return s;
  }
  out.add(s, done, text.size());
  return out.take(s.markup());
}

Values split(Heap& heap, const Value& s, const Value& separator, std::int64_t limit) {
  const std::string_view text = text_of(s);
  heap.charge_bytes(4 * text.size());
  Values parts;
  const auto push = [&](std::size_t a, std::size_t b) {
    heap.charge();
    parts.push_back(slice_bytes(heap, s, a, b));
  };
  if (separator.is_missing() || separator.is_none()) {
    std::size_t at = skip_spaces(text, 0);
    for (; at < text.size() && limit != 0; --limit) {
      std::size_t after = 0;
      const std::size_t end = next_space(text, at, after);
      push(at, end);
      at = skip_spaces(text, after);
    }
    if (at < text.size()) push(at, text.size());
    return parts;
  }
  check_separator(separator);
  const std::string_view sep = text_of(separator);
  std::size_t done = 0;
  for (; limit != 0; --limit) {
    const std::size_t at = find_text(text, sep, done, text.size());
    if (at == kNone) break;
    push(done, at);
    done = at + sep.size();
  }
  push(done, text.size());
  return parts;
}

Values split_right(Heap& heap, const Value& s, const Value& separator, std::int64_t limit) {
  if (limit < 0) return split(heap, s, separator, -1);
  const std::string_view text = text_of(s);
  heap.charge_bytes(4 * text.size());
  Values parts;
  const auto push = [&](std::size_t a, std::size_t b) {
    heap.charge();
    parts.push_back(slice_bytes(heap, s, a, b));
  };
  std::size_t end = text.size();
  if (separator.is_missing() || separator.is_none()) {
    end = back_over(text, end, true);
    for (; end > 0 && limit != 0; --limit) {
      const std::size_t begin = back_over(text, end, false);
      push(begin, end);
      end = back_over(text, begin, true);
    }
    if (end > 0) push(0, end);
  } else {
    check_separator(separator);
    const std::string sep = reversed(text_of(separator));
    const std::string turned = reversed(text);
    for (std::size_t done = 0; limit != 0; --limit) {
      const std::size_t at = find_text(turned, sep, done, turned.size());
      if (at == kNone) break;
      push(text.size() - at, end);
      done = at + sep.size();
      end = text.size() - done;
    }
    push(0, end);
  }
  reverse(parts);
  return parts;
}

Values split_lines(Heap& heap, const Value& s, bool keep_ends) {
  const std::string_view text = text_of(s);
  heap.charge_bytes(4 * text.size());
  Values lines;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t at = i;
    const char32_t c = decode(text, i);
    if (!is_line_end(c)) continue;
    if (c == '\r' && i < text.size() && text[i] == '\n') ++i;
    heap.charge();
    lines.push_back(slice_bytes(heap, s, begin, keep_ends ? i : at));
    begin = i;
  }
  if (begin < text.size()) lines.push_back(slice_bytes(heap, s, begin, text.size()));
  return lines;
}

Value pad(Heap& heap, const Value& s, std::size_t left, std::size_t right, std::string_view fill, Origin origin) {
  if (left + right == 0) return s;
  Builder out(heap);
  out.add_repeated(fill, left, origin);
  out.add(s);
  out.add_repeated(fill, right, origin);
  return out.take(s.markup());
}

std::size_t center_left(std::size_t total, std::size_t width) { return total / 2 + (total & width & 1U); }

}  // namespace hz::text::jinja
