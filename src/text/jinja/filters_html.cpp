// SPDX-License-Identifier: Apache-2.0
// Filters for HTML and URLs.
#include <algorithm>

#include "src/text/jinja/bind.hpp"
#include "src/text/jinja/compare.hpp"
#include "src/text/jinja/escape.hpp"
#include "src/text/jinja/filters.hpp"
#include "src/text/jinja/iterate.hpp"
#include "src/text/jinja/print.hpp"
#include "src/text/jinja/str_ops.hpp"

namespace hz::text::jinja {

namespace {

constexpr std::size_t kNone = std::string_view::npos;

// Percent-encodes everything but unreserved characters and "/"; for queries "/" too, and a space is "+".
Value quote(Interp& in, const Value& v, bool query) {
  constexpr char kHex[] = "0123456789ABCDEF";
  const Value s = to_str(in.heap(), v);
  const std::string_view text = text_of(s);
  Builder out(in.heap());
  for (std::size_t i = 0; i < text.size(); ++i) {
    in.heap().charge_bytes(16);
    const char c = text[i];
    const auto u = static_cast<unsigned char>(c);
    const bool letter = (u | 0x20U) >= 'a' && (u | 0x20U) <= 'z';
    const bool safe = letter || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' || c == '~' || (c == '/' && !query);
    const Origin origin = origin_at(s, i);
    if (safe) out.add(c, origin);
    else if (query && c == ' ') out.add('+', origin);
    else out.add(std::string{'%', kHex[u >> 4U], kHex[u & 15U]}, origin);
  }
  return out.take();
}

// Appends `v` without comments and tags, as markupsafe removes them.
Value without(Interp& in, const Value& v, std::string_view open, std::string_view close) {
  const std::string_view text = text_of(v);
  Builder out(in.heap());
  std::size_t done = 0;
  for (std::size_t from = 0;;) {
    const std::size_t a = find_text(text, open, from, text.size());
    if (a == kNone) break;
    const std::size_t b = find_text(text, close, a, text.size());
    if (b == kNone) break;
    in.heap().charge();
    out.add(v, done, a);
    done = from = b + close.size();
  }
  out.add(v, done, text.size());
  return out.take();
}

struct Entity {
  std::string_view name, text;
};
constexpr Entity kEntities[] = {{"amp", "&"}, {"lt", "<"}, {"gt", ">"}, {"quot", "\""}, {"apos", "'"}, {"nbsp", "\u00a0"}};

// The text an entity body ("lt", "#39", "#x27") stands for; empty when it is none of those we know.
std::string entity_text(std::string_view body) {
  for (const auto& e : kEntities) {
    if (e.name == body) return std::string(e.text);
  }
  if (body.size() < 2 || body[0] != '#' || body.size() > 9) return {};
  const bool hex = body[1] == 'x' || body[1] == 'X';
  const auto v = parse_int(body.substr(hex ? 2 : 1), hex ? 16 : 10);
  const auto code = v ? v->small() : std::nullopt;
  if (!code || *code <= 0 || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000)) return {};
  return encode(static_cast<char32_t>(*code));
}

Value unescape_entities(Interp& in, const Value& v) {
  const std::string_view text = text_of(v);
  Builder out(in.heap());
  std::size_t done = 0;
  for (std::size_t at = 0; (at = text.find('&', at)) != kNone; ++at) {
    const std::size_t end = std::min(text.substr(at, 12).find(';'), text.size() - at);
    const std::string plain = entity_text(text.substr(at + 1, end - 1));
    if (plain.empty() && at + 1 < text.size() && (text[at + 1] == '#' || is_alpha(static_cast<unsigned char>(text[at + 1])))) {
      throw Fault{"striptags knows few HTML entities, and not '" + std::string(text.substr(at, std::min(end + 1, std::size_t{12}))) + "'",
                  ErrorKind::unsupported};
    }
    if (plain.empty()) continue;
    out.add(v, done, at);
    out.add(plain, origin_at(v, at));
    done = at + end + 1;
    at += end;
  }
  out.add(v, done, text.size());
  return out.take();
}

}  // namespace

Value filter_escape(Interp& in, const Value& v, Args& args) {
  bind_none("escape", args);
  return escape(in.heap(), to_str(in.heap(), v));
}

Value filter_forceescape(Interp& in, const Value& v, Args& args) {
  bind_none("forceescape", args);
  return escape(in.heap(), to_str(in.heap(), v), true);
}

Value filter_safe(Interp& in, const Value& v, Args& args) {
  bind_none("safe", args);
  Value r = to_str(in.heap(), v);
  r.set_markup(true);
  return r;
}

Value filter_striptags(Interp& in, const Value& v, Args& args) {
  bind_none("striptags", args);
  Value s = to_str(in.heap(), v);
  s = without(in, s, "<!--", "-->");
  s = without(in, s, "<", ">");
  // Runs of whitespace become one space.
  const Values words = split(in.heap(), s, {}, -1);
  Builder out(in.heap());
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i != 0) out.add(' ', in.here());
    out.add(words[i]);
  }
  return unescape_entities(in, out.take());
}

Value filter_urlencode(Interp& in, const Value& v, Args& args) {
  bind_none("urlencode", args);
  if (v.is_str() || !is_iterable(v)) return quote(in, v, false);
  Builder out(in.heap());
  bool first = true;
  const auto pair = [&](const Value& key, const Value& value) {
    in.heap().charge();
    if (!first) out.add('&', in.here());
    first = false;
    out.add(quote(in, key, true));
    out.add('=', in.here());
    out.add(quote(in, value, true));
  };
  if (v.is(Kind::dict)) {
    for (const auto& e : v.as<Dict>().entries) pair(e.key, e.value);
    return out.take();
  }
  Sequence sequence(in.heap(), v);
  for (Value item; sequence.next(item);) {
    const Values kv = items_of(in.heap(), item);
    if (kv.size() != 2) throw Fault{"urlencode needs pairs of key and value"};
    pair(kv[0], kv[1]);
  }
  return out.take();
}

Value filter_xmlattr(Interp& in, const Value& v, Args& args) {
  const auto [autospace] = bind<1>("xmlattr", args, {"autospace"}, 0);
  if (!v.is(Kind::dict)) throw Fault{"xmlattr needs a mapping"};
  Builder out(in.heap());
  for (const auto& e : v.as<Dict>().entries) {
    if (e.value.is_none() || e.value.is_undefined()) continue;
    const std::string_view key = text_of(want_str("xmlattr", e.key));
    if (key.find_first_of(" \t\n\r\f\v/>=") != kNone) {
      throw Fault{"Invalid character in attribute name: " + repr_text(in.heap(), e.key)};
    }
    if (out.size() != 0 || truth_or(autospace, true)) out.add(' ', in.here());
    out.add(escape(in.heap(), e.key));
    out.add("=\"", in.here());
    out.add(escape(in.heap(), to_str(in.heap(), e.value)));
    out.add('"', in.here());
  }
  return out.take();
}

}  // namespace hz::text::jinja
