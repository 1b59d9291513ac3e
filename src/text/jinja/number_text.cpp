// SPDX-License-Identifier: Apache-2.0
// Reading and writing numbers, independent of the locale.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "src/text/jinja/number.hpp"
#include "src/text/jinja/unicode.hpp"

namespace hz::text::jinja {

namespace {

// Trims Python whitespace, maps other decimal digits to ASCII, drops single underscores between digits.
std::optional<std::string> plain_number(std::string_view text) {
  std::string r;
  bool ended = false;
  char last = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char32_t c = decode(text, i);
    if (is_space(c)) {
      if (!r.empty()) ended = true;
      continue;
    }
    if (ended) return std::nullopt;
    char ascii = 0;
    if (c < 0x80) ascii = static_cast<char>(c);
    else if (is_decimal(c)) ascii = static_cast<char>('0' + digit_value(c));
    else return std::nullopt;
    if (ascii == '_') {
      const bool next_ok = i < text.size() && std::isalnum(static_cast<unsigned char>(text[i])) != 0;
      if (std::isalnum(static_cast<unsigned char>(last)) == 0 || !next_ok) return std::nullopt;
      last = '_';
      continue;
    }
    last = ascii;
    r.push_back(ascii);
  }
  if (r.empty()) return std::nullopt;
  return r;
}

unsigned prefix_base(char c) {
  switch (c | 0x20) {
    case 'x': return 16;
    case 'o': return 8;
    case 'b': return 2;
    default: return 0;
  }
}

std::string chars(double v, std::chars_format format, int precision) {
  // %f of the largest double has 309 digits before the point.
  std::string buffer(static_cast<std::size_t>(precision) + 330, '\0');
  const auto r = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v, format, precision);
  buffer.resize(static_cast<std::size_t>(r.ptr - buffer.data()));
  return buffer;
}

void add_point(std::string& s) {
  const std::size_t e = s.find('e');
  if (s.find('.') == std::string::npos) s.insert(e == std::string::npos ? s.size() : e, ".");
}

}  // namespace

std::string real_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::scientific).ptr;
  std::string_view s(buffer, static_cast<std::size_t>(end - buffer));
  std::string sign;
  if (s.front() == '-') {
    sign = "-";
    s.remove_prefix(1);
  }
  const std::size_t e = s.find('e');
  std::string digits(s.substr(0, e));
  if (digits.size() > 1) digits.erase(1, 1);
  int exponent = 0;
  const char* from = s.data() + e + (s[e + 1] == '+' ? 2 : 1);
  std::from_chars(from, s.data() + s.size(), exponent);
  if (exponent < -4 || exponent >= 16) {
    if (digits.size() > 1) digits.insert(1, ".");
    const int size = std::abs(exponent);
    return sign + digits + (exponent < 0 ? "e-" : "e+") + (size < 10 ? "0" : "") + std::to_string(size);
  }
  if (exponent < 0) return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string int_text(Heap& heap, const Value& integer) {
  if (!integer.is(Kind::big)) return std::to_string(integer.integer());
  const BigInt& v = integer.as<Big>().v;
  heap.charge(v.bits() * v.bits() / 4096);
  return v.to_string();
}

std::string format_real(double v, char type, int precision, bool alternate) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  if (type == 'e' || type == 'f') {
    std::string s = chars(v, type == 'e' ? std::chars_format::scientific : std::chars_format::fixed, precision);
    if (alternate) add_point(s);
    return s;
  }
  precision = std::max(precision, 1);
  if (!alternate) return chars(v, std::chars_format::general, precision);
  std::string s = chars(v, std::chars_format::scientific, precision - 1);
  const std::size_t e = s.find('e');
  int exponent = 0;
  std::from_chars(s.data() + e + (s[e + 1] == '+' ? 2 : 1), s.data() + s.size(), exponent);
  if (exponent >= -4 && exponent < precision) s = chars(v, std::chars_format::fixed, precision - 1 - exponent);
  add_point(s);
  return s;
}

double round_real(double v, std::int64_t digits) {
  if (!std::isfinite(v) || digits > 323) return v;
  if (digits < -308) return std::copysign(0.0, v);
  if (digits >= 0) {
    const std::string s = chars(v, std::chars_format::fixed, static_cast<int>(digits));
    return *parse_real(s);
  }
  // Tens and up: exact decimal digits of the integer part, half to even.
  const std::string s = chars(v, std::chars_format::fixed, 0);
  const double scale = std::pow(10.0, static_cast<double>(-digits));
  const double quotient = v / scale;
  double whole = std::round(quotient);
  if (std::fabs(quotient - whole) == 0.5) whole = 2.0 * std::round(quotient / 2.0);
  return whole * scale;
}

std::optional<BigInt> parse_int(std::string_view text, unsigned base) {
  auto plain = plain_number(text);
  if (!plain) return std::nullopt;
  std::string_view s = *plain;
  bool negative = false;
  if (s.front() == '+' || s.front() == '-') {
    negative = s.front() == '-';
    s.remove_prefix(1);
  }
  const unsigned prefix = s.size() > 2 && s[0] == '0' ? prefix_base(s[1]) : 0;
  if (prefix != 0 && (base == prefix || base == 0)) {
    s.remove_prefix(2);
    base = prefix;
  } else if (base == 0) {
    base = 10;
    if (s.size() > 1 && s[0] == '0' && s.find_first_not_of('0') != std::string_view::npos) return std::nullopt;
  }
  if (s.empty()) return std::nullopt;
  for (const char c : s) {
    const bool letter = std::isalpha(static_cast<unsigned char>(c)) != 0;
    if (!letter && std::isdigit(static_cast<unsigned char>(c)) == 0) return std::nullopt;
    const auto digit = static_cast<unsigned>(letter ? (c | 0x20) - 'a' + 10 : c - '0');
    if (digit >= base) return std::nullopt;
  }
  BigInt v = BigInt::parse(s, base);
  return negative ? -v : v;
}

std::optional<double> parse_real(std::string_view text) {
  const auto plain = plain_number(text);
  if (!plain) return std::nullopt;
  std::string_view s = *plain;
  bool negative = false;
  if (s.front() == '+' || s.front() == '-') {
    negative = s.front() == '-';
    s.remove_prefix(1);
  }
  if (s.empty() || s.front() == '-' || s.front() == '+') return std::nullopt;
  std::string lower(s);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  double v = 0;
  if (lower == "inf" || lower == "infinity") {
    v = std::numeric_limits<double>::infinity();
  } else if (lower == "nan") {
    v = std::numeric_limits<double>::quiet_NaN();
  } else {
    if (lower.find_first_not_of("0123456789.e+-") != std::string::npos) return std::nullopt;
    const auto r = std::from_chars(lower.data(), lower.data() + lower.size(), v);
    if (r.ptr != lower.data() + lower.size()) return std::nullopt;
    if (r.ec == std::errc::result_out_of_range) {
      const std::size_t e = lower.find('e');
      const bool tiny = e != std::string::npos && lower[e + 1] == '-';
      v = tiny ? 0.0 : std::numeric_limits<double>::infinity();
    } else if (r.ec != std::errc{}) {
      return std::nullopt;
    }
  }
  return negative ? -v : v;
}

}  // namespace hz::text::jinja
