// SPDX-License-Identifier: Apache-2.0
// format(value, spec): Python's format specification mini-language.
#include <algorithm>
#include <cmath>
#include <optional>

#include "src/text/jinja/bind.hpp"
#include "src/text/jinja/compare.hpp"
#include "src/text/jinja/format.hpp"
#include "src/text/jinja/print.hpp"
#include "src/text/jinja/unicode.hpp"

namespace hz::text::jinja {

namespace {

constexpr std::int64_t kMaxPrecision = 10000;

struct Spec {
  std::string fill = " ";
  char align = 0;  // < > = ^
  char sign = '-';
  bool signed_ = false;  // a sign was given
  bool alternate = false, zero = false;
  char group = 0;  // , or _
  std::int64_t width = 0;
  std::int64_t precision = -1;
  char type = 0;
};

bool is_align(char c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

std::int64_t digits(std::string_view s, std::size_t& at) {
  std::int64_t n = 0;
  for (; at < s.size() && s[at] >= '0' && s[at] <= '9'; ++at) n = std::min<std::int64_t>(n * 10 + (s[at] - '0'), 1LL << 40);
  return n;
}

Spec parse(std::string_view s) {
  Spec spec;
  std::size_t at = 0;
  if (!s.empty()) {
    std::size_t after = 0;
    decode(s, after);
    if (after < s.size() && is_align(s[after])) {
      spec.fill = std::string(s.substr(0, after));
      spec.align = s[after];
      at = after + 1;
    } else if (is_align(s[0])) {
      spec.align = s[0];
      at = 1;
    }
  }
  if (at < s.size() && (s[at] == '+' || s[at] == '-' || s[at] == ' ')) {
    spec.sign = s[at++];
    spec.signed_ = true;
  }
  if (at < s.size() && s[at] == '#') {
    spec.alternate = true;
    ++at;
  }
  if (at < s.size() && s[at] == '0') {
    spec.zero = true;
    if (spec.align == 0) {
      spec.fill = "0";
      spec.align = '=';
    }
    ++at;
  }
  spec.width = digits(s, at);
  if (at < s.size() && (s[at] == ',' || s[at] == '_')) spec.group = s[at++];
  if (at < s.size() && s[at] == '.') {
    const std::size_t from = ++at;
    spec.precision = digits(s, at);
    if (at == from) throw Fault{"Format specifier missing precision"};
  }
  if (at < s.size()) spec.type = s[at++];
  if (at != s.size()) throw Fault{"Invalid format specifier"};
  return spec;
}

// Separators between groups of digits in the whole part.
std::string grouped(const std::string& body, char separator, std::size_t size) {
  const std::size_t whole = std::min(body.find_first_not_of("0123456789abcdefABCDEF"), body.size());
  std::string r;
  for (std::size_t i = 0; i < whole; ++i) {
    if (i != 0 && (whole - i) % size == 0) r.push_back(separator);
    r.push_back(body[i]);
  }
  return r + body.substr(whole);
}

class Formatter {
 public:
  Formatter(Interp& in, Builder& out, const Spec& spec, Origin here) : in_(in), out_(out), spec_(spec), here_(here) {}

  void string(const Value& v) {
    if (spec_.type != 0 && spec_.type != 's') bad_type("str");
    if (spec_.group != 0) throw Fault{std::string("Cannot specify '") + spec_.group + "' with 's'."};
    if (spec_.sign != '-' || spec_.signed_) throw Fault{"Sign not allowed in string format specifier"};
    if (spec_.alternate) throw Fault{"Alternate form (#) not allowed in string format specifier"};
    if (spec_.align == '=' && !spec_.zero) throw Fault{"'=' alignment not allowed in string format specifier"};
    std::size_t codes = v.str().length;
    std::size_t bytes = text_of(v).size();
    if (spec_.precision >= 0 && static_cast<std::uint64_t>(spec_.precision) < codes) {
      codes = static_cast<std::size_t>(spec_.precision);
      bytes = v.str().offset(codes);
    }
    const char align = spec_.align == 0 || spec_.align == '=' ? '<' : spec_.align;
    const auto [left, right] = padding(codes, align);
    out_.add_repeated(spec_.fill, left, here_);
    out_.add(v, 0, bytes);
    out_.add_repeated(spec_.fill, right, here_);
  }

  void integer(const Value& v) {
    unsigned base = 10;
    std::string prefix;
    switch (spec_.type) {
      case 0:
      case 'd':
      case 'n': break;
      case 'b':
        base = 2;
        prefix = "0b";
        break;
      case 'o':
        base = 8;
        prefix = "0o";
        break;
      case 'x':
        base = 16;
        prefix = "0x";
        break;
      case 'X':
        base = 16;
        prefix = "0X";
        break;
      case 'c': return string(character(v));
      default: return real(v);
    }
    if (spec_.precision >= 0) throw Fault{"Precision not allowed in integer format specifier"};
    std::string body = digits_of(in_, v, base);
    if (spec_.type == 'X') upper(body);
    if (spec_.group != 0) body = grouped(body, spec_.group, base == 10 ? 3 : 4);
    number(v, is_negative(v), spec_.alternate ? prefix : "", body);
  }

  void real(const Value& v) {
    if (spec_.precision > kMaxPrecision) throw Fault{"precision too big"};
    double x = real_of(v);
    const bool negative = std::signbit(x) && !std::isnan(x);
    x = std::fabs(x);
    const char type = spec_.type;
    const int precision = static_cast<int>(spec_.precision);
    std::string body;
    switch (type) {
      case 0: body = general(x); break;
      case '%': body = format_real(x * 100, 'f', precision < 0 ? 6 : precision, spec_.alternate) + "%"; break;
      case 'n': body = format_real(x, 'g', precision < 0 ? 6 : precision, spec_.alternate); break;
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        body = format_real(x, static_cast<char>(type | 0x20), precision < 0 ? 6 : precision, spec_.alternate);
        if (type < 'a') upper(body);
        break;
      default: bad_type(type_name(v.kind()));
    }
    if (spec_.group != 0) body = grouped(body, spec_.group, 3);
    number(v, negative, "", body);
  }

 private:
  [[noreturn]] void bad_type(std::string_view type) {
    throw Fault{std::string("Unknown format code '") + spec_.type + "' for object of type '" + std::string(type) + "'"};
  }

  static void upper(std::string& s) {
    for (char& c : s) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  }

  // No type letter: like g, but with a digit after the point.
  std::string general(double x) {
    if (spec_.precision < 0) return real_text(x);
    std::string s = format_real(x, 'g', static_cast<int>(spec_.precision), spec_.alternate);
    if (s.find_first_not_of("0123456789") == std::string::npos) s += ".0";
    return s;
  }

  Value character(const Value& v) {
    const std::int64_t code = clamp_int(v);
    if (code < 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) throw Fault{"%c arg not in range(0x110000)"};
    spec_.type = 0;
    return make_string(in_.heap(), encode(static_cast<char32_t>(code)), v.origin());
  }

  std::pair<std::size_t, std::size_t> padding(std::size_t size, char align) {
    const std::size_t width = want_count(in_, "format", spec_.width);
    if (width != 0) in_.heap().check(width, spec_.fill.size());
    const std::size_t total = width > size ? width - size : 0;
    if (align == '<') return {0, total};
    if (align == '^') return {total / 2, total - total / 2};
    return {total, 0};
  }

  void number(const Value& v, bool negative, const std::string& prefix, std::string body) {
    const std::string sign = negative ? "-" : spec_.sign == '-' ? "" : std::string(1, spec_.sign);
    const char align = spec_.align == 0 ? '>' : spec_.align;
    const std::size_t head = sign.size() + prefix.size();
    if (align == '=' && spec_.fill == "0" && spec_.group != 0) body = zero_groups(body, head);
    const auto [left, right] = padding(head + body.size(), align);
    if (align != '=') out_.add_repeated(spec_.fill, left, here_);
    out_.add(sign, v.origin());
    out_.add(prefix, v.origin());
    if (align == '=') out_.add_repeated(spec_.fill, left, here_);
    out_.add(body, v.origin());
    out_.add_repeated(spec_.fill, right, here_);
  }

  // Zero padding with separators continues the groups: 0,001,234.
  std::string zero_groups(std::string body, std::size_t head) {
    const std::size_t width = want_count(in_, "format", spec_.width);
    const std::size_t size = spec_.group == ',' || spec_.type == 0 || spec_.type == 'd' ? 3 : 4;
    std::string r = std::move(body);
    std::size_t run = std::min(r.find_first_not_of("0123456789abcdefABCDEF"), r.size());
    if (spec_.type == 0 || spec_.type > 'Z') run = std::min(r.find_first_not_of(size == 3 ? "0123456789" : "0123456789abcdef"), r.size());
    std::string front;
    for (std::size_t have = head + r.size(); have < width; ++have) {
      if (run % size == 0 && run != 0) {
        front.push_back(spec_.group);
        if (++have >= width) {
          front.push_back('0');
          break;
        }
      }
      front.push_back('0');
      ++run;
    }
    std::reverse(front.begin(), front.end());
    return front + r;
  }

  Interp& in_;
  Builder& out_;
  Spec spec_;
  Origin here_;
};

}  // namespace

void format_value(Interp& in, Builder& out, const Value& value, std::string_view spec, Origin here) {
  if (spec.empty()) {
    print_str(in.heap(), out, value);
    return;
  }
  if (value.is_undefined()) throw Fault{"unsupported format string passed to Undefined.__format__"};
  if (!value.is_str() && !value.is_number()) {
    throw Fault{"unsupported format string passed to " + std::string(type_name(value.kind())) + ".__format__"};
  }
  Formatter f(in, out, parse(spec), here);
  if (value.is_str()) f.string(value);
  else if (value.is(Kind::real)) f.real(value);
  else f.integer(value);
}

}  // namespace hz::text::jinja
