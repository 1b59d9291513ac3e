// SPDX-License-Identifier: Apache-2.0
// str.format: replacement fields.
#include <algorithm>

#include "src/text/jinja/bind.hpp"
#include "src/text/jinja/escape.hpp"
#include "src/text/jinja/format.hpp"
#include "src/text/jinja/print.hpp"

namespace hz::text::jinja {

namespace {

bool all_digits(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::int64_t small_number(std::string_view digits) {
  std::int64_t n = 0;
  for (const char c : digits) n = std::min<std::int64_t>(n * 10 + (c - '0'), 1LL << 40);
  return n;
}

class Braces {
 public:
  Braces(Interp& in, const Value& text, const Args& args) : in_(in), text_(text), args_(args) {}

  Value run() {
    Builder out(in_.heap());
    expand(out, 0, text_of(text_).size(), 2);
    return out.take(text_.markup());
  }

 private:
  // Bytes [at, end) of the text with their fields replaced. `levels`: how deep fields may nest.
  void expand(Builder& out, std::size_t at, std::size_t end, int levels) {
    if (levels < 0) throw Fault{"Max string recursion exceeded"};
    const std::string_view s = text_of(text_);
    std::size_t plain = at;
    while (at < end) {
      const char c = s[at];
      if (c != '{' && c != '}') {
        ++at;
        continue;
      }
      out.add(text_, plain, at);
      if (at + 1 < end && s[at + 1] == c) {
        out.add(c, origin_at(text_, at));
        at += 2;
      } else if (c == '}') {
        throw Fault{"Single '}' encountered in format string"};
      } else {
        at = field(out, at + 1, end, levels);
      }
      plain = at;
    }
    out.add(text_, plain, end);
  }

  // The field that begins at `at`; returns the position after its brace.
  std::size_t field(Builder& out, std::size_t at, std::size_t end, int levels) {
    in_.heap().charge();
    const std::string_view s = text_of(text_);
    std::size_t close = at;
    for (int depth = 1; close < end; ++close) {
      if (s[close] == '{') ++depth;
      else if (s[close] == '}' && --depth == 0) break;
    }
    if (close >= end) throw Fault{"expected '}' before end of string"};
    std::size_t stop = at;  // end of the name
    for (bool bracket = false; stop < close; ++stop) {
      if (s[stop] == '[') bracket = true;
      else if (s[stop] == ']') bracket = false;
      else if (!bracket && (s[stop] == '!' || s[stop] == ':')) break;
    }
    Value value = lookup(s.substr(at, stop - at));
    if (stop < close && s[stop] == '!') {
      if (stop + 1 >= close) throw Fault{"end of string while looking for conversion specifier"};
      value = converted(value, s[stop + 1]);
      stop += 2;
      if (stop < close && s[stop] != ':') throw Fault{"expected ':' after conversion specifier"};
    }
    Builder spec(in_.heap());
    if (stop < close) expand(spec, stop + 1, close, levels - 1);
    Builder piece(in_.heap());
    format_value(in_, piece, value, spec.text(), origin_at(text_, at == 0 ? 0 : at - 1));
    const Value done = piece.take(value.markup());
    out.add(text_.markup() ? escape(in_.heap(), done) : done);
    return close + 1;
  }

  Value converted(const Value& value, char how) {
    if (how == 's') return to_str(in_.heap(), value);
    if (how != 'r') throw Fault{std::string("Unknown conversion specifier '") + how + "'"};
    Builder b(in_.heap());
    print_repr(in_.heap(), b, value);
    return b.take();
  }

  Value lookup(std::string_view name) {
    const std::size_t end = std::min(name.find_first_of(".["), name.size());
    if (end == 0 && !name.empty()) throw Fault{"''"};  // as in Python, only a wholly empty name is numbered
    Value value = first(name.substr(0, end));
    for (std::size_t at = end; at < name.size();) {
      in_.heap().charge();
      if (name[at] == '.') {
        const std::size_t stop = std::min(name.find_first_of(".[", at + 1), name.size());
        const std::string part(name.substr(at + 1, stop - at - 1));
        if (part.empty()) throw Fault{"Empty attribute in format string"};
        value = in_.attribute(value, resolve_attribute(part), in_.text(part));
        at = stop;
        continue;
      }
      const std::size_t close = name[at] == '[' ? name.find(']', at) : std::string_view::npos;
      if (close == std::string_view::npos) throw Fault{"Missing ']' in format string"};
      const std::string_view part = name.substr(at + 1, close - at - 1);
      value = in_.item(value, all_digits(part) ? Value::integer(small_number(part)) : in_.text(std::string(part)));
      at = close + 1;
    }
    return value;
  }

  Value first(std::string_view name) {
    const bool numbered = name.empty() || all_digits(name);
    if (!numbered) {
      for (const auto& [key, value] : args_.named) {
        if (key == name) return value;
      }
      throw Fault{"'" + std::string(name) + "'"};
    }
    if (name.empty() ? manual_ : automatic_ > 0) {
      throw Fault{"cannot mix automatic field numbering and manual field specification"};
    }
    manual_ = manual_ || !name.empty();
    const std::size_t index = name.empty() ? automatic_++ : static_cast<std::size_t>(small_number(name));
    if (index >= args_.positional.size())
      throw Fault{"Replacement index " + std::to_string(index) + " out of range for positional args tuple"};
    return args_.positional[index];
  }

  Interp& in_;
  const Value& text_;
  const Args& args_;
  std::size_t automatic_ = 0;
  bool manual_ = false;
};

}  // namespace

Value format_braces(Interp& in, const Value& text, const Args& args) { return Braces(in, text, args).run(); }

}  // namespace hz::text::jinja
