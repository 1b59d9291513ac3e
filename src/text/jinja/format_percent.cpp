// SPDX-License-Identifier: Apache-2.0
// The % operator on strings.
#include <algorithm>
#include <cmath>

#include "src/text/jinja/bind.hpp"
#include "src/text/jinja/compare.hpp"
#include "src/text/jinja/escape.hpp"
#include "src/text/jinja/format.hpp"
#include "src/text/jinja/print.hpp"
#include "src/text/jinja/unicode.hpp"

namespace hz::text::jinja {

namespace {

constexpr std::int64_t kMaxPrecision = 10000;

struct Directive {
  bool left = false, plus = false, space = false, zero = false, alternate = false;
  std::int64_t width = 0;
  std::int64_t precision = -1;
  char32_t type = 0;
};

class Percent {
 public:
  Percent(Interp& in, const Value& text, const Value& args) : in_(in), text_(text), s_(text_of(text)), args_(args), out_(in.heap()) {
    tuple_ = args.is(Kind::tuple);
  }

  Value run() {
    std::size_t plain = 0;
    while (true) {
      const std::size_t at = s_.find('%', at_);
      if (at == std::string_view::npos) break;
      out_.add(text_, plain, at);
      at_ = at + 1;
      origin_ = origin_at(text_, at);
      directive();
      plain = at_;
      in_.heap().charge();
    }
    out_.add(text_, plain, s_.size());
    const std::size_t given = tuple_ ? args_.as<List>().items.size() : 1;
    const bool mapping = args_.is(Kind::dict) || args_.is(Kind::list) || args_.is(Kind::range) || args_.is_undefined();
    if (!mapping && used_ < given) throw Fault{"not all arguments converted during string formatting"};
    return out_.take(text_.markup());
  }

 private:
  Value next_argument() {
    if (tuple_) {
      const Values& items = args_.as<List>().items;
      if (used_ < items.size()) return items[used_++];
    } else if (used_ == 0) {
      ++used_;
      return args_;
    }
    throw Fault{"not enough arguments for format string"};
  }

  Value named_argument() {
    const std::size_t begin = ++at_;
    for (int depth = 1; at_ < s_.size(); ++at_) {
      if (s_[at_] == '(') ++depth;
      else if (s_[at_] == ')' && --depth == 0) break;
    }
    if (at_ >= s_.size()) throw Fault{"incomplete format key"};
    const std::string key(s_.substr(begin, at_++ - begin));
    if (!args_.is(Kind::dict)) throw Fault{"format requires a mapping"};
    const Value* v = args_.as<Dict>().find(key);
    if (v == nullptr) throw Fault{"'" + key + "'"};
    return *v;
  }

  std::int64_t number() {
    if (at_ < s_.size() && s_[at_] == '*') {
      ++at_;
      return want_int("%", next_argument());
    }
    std::int64_t n = 0;
    for (; at_ < s_.size() && s_[at_] >= '0' && s_[at_] <= '9'; ++at_) n = std::min<std::int64_t>(n * 10 + (s_[at_] - '0'), 1LL << 40);
    return n;
  }

  void directive() {
    Value value;
    if (at_ < s_.size() && s_[at_] == '(') value = named_argument();
    Directive d;
    for (; at_ < s_.size(); ++at_) {
      const char c = s_[at_];
      if (c == '-') d.left = true;
      else if (c == '+') d.plus = true;
      else if (c == ' ') d.space = true;
      else if (c == '0') d.zero = true;
      else if (c == '#') d.alternate = true;
      else break;
    }
    d.width = number();
    if (d.width < 0) {
      d.left = true;
      d.width = d.width < -(1LL << 40) ? 1LL << 40 : -d.width;
    }
    if (at_ < s_.size() && s_[at_] == '.') {
      ++at_;
      d.precision = std::max<std::int64_t>(number(), 0);
    }
    while (at_ < s_.size() && (s_[at_] == 'h' || s_[at_] == 'l' || s_[at_] == 'L')) ++at_;
    if (at_ >= s_.size()) throw Fault{"incomplete format"};
    d.type = decode(s_, at_);
    if (d.type == '%') return out_.add('%', origin_);
    if (value.is_missing()) value = next_argument();
    convert(d, value);
  }

  void convert(const Directive& d, const Value& value) {
    switch (d.type) {
      case 's': return padded(d, to_str(in_.heap(), value));
      case 'r':
      case 'a': return padded(d, representation(value, d.type == 'a'));
      case 'c': return padded(d, character(value));
      case 'd':
      case 'i':
      case 'u': return integer(d, value, 10);
      case 'o': return integer(d, value, 8);
      case 'x':
      case 'X': return integer(d, value, 16);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G': return real(d, value);
      default: throw Fault{"unsupported format character '" + encode(d.type) + "'"};
    }
  }

  Value representation(const Value& value, bool ascii) {
    if (ascii) throw Fault{"ascii() conversions are not supported", ErrorKind::unsupported};
    Builder b(in_.heap());
    print_repr(in_.heap(), b, value);
    return b.take();
  }

  Value character(const Value& value) {
    if (value.is_str() && value.str().length == 1) return value;
    if (!value.is_int()) throw Fault{"%c requires int or char"};
    const std::int64_t code = clamp_int(value);
    if (code < 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) throw Fault{"%c arg not in range(0x110000)"};
    return make_string(in_.heap(), encode(static_cast<char32_t>(code)), value.origin());
  }

  // Text, cut to the precision and padded with spaces.
  void padded(const Directive& d, Value v) {
    if (text_.markup()) v = escape(in_.heap(), v);
    std::size_t codes = v.str().length;
    std::size_t bytes = text_of(v).size();
    if (d.precision >= 0 && static_cast<std::uint64_t>(d.precision) < codes) {
      codes = static_cast<std::size_t>(d.precision);
      bytes = v.str().offset(codes);
    }
    const std::size_t fill = gap(d, codes);
    if (!d.left) out_.add_repeated(" ", fill, origin_);
    out_.add(v, 0, bytes);
    if (d.left) out_.add_repeated(" ", fill, origin_);
  }

  std::size_t gap(const Directive& d, std::size_t size) {
    const std::size_t width = want_count(in_, "%", d.width);
    return width > size ? width - size : 0;
  }

  void signed_number(const Directive& d, bool negative, const std::string& prefix, const std::string& body, Origin origin, bool zeros) {
    const std::string sign = negative ? "-" : d.plus ? "+" : d.space ? " " : "";
    const std::size_t fill = gap(d, sign.size() + prefix.size() + body.size());
    if (!d.left && !zeros) out_.add_repeated(" ", fill, origin_);
    out_.add(sign, origin);
    out_.add(prefix, origin);
    if (!d.left && zeros) out_.add_repeated("0", fill, origin);
    out_.add(body, origin);
    if (d.left) out_.add_repeated(" ", fill, origin_);
  }

  void integer(const Directive& d, const Value& value, unsigned base) {
    if (value.is_undefined()) throw_undefined(value);
    const std::string letter = encode(d.type);
    Value v = value;
    if (value.is(Kind::real) && base == 10) {
      if (!std::isfinite(value.real())) throw Fault{"cannot convert float infinity or NaN to integer"};
      v = make_int(in_.heap(), BigInt::from_double(value.real()));
    }
    if (!v.is_int()) {
      throw Fault{"%" + letter + " format: " + (base == 10 ? "a real number" : "an integer") + " is required, not " +
                  std::string(type_name(value.kind()))};
    }
    std::string digits = digits_of(in_, v, base);
    if (d.precision > 0) {
      in_.heap().check(static_cast<std::uint64_t>(d.precision), 1);
      const auto precision = static_cast<std::size_t>(d.precision);
      if (digits.size() < precision) digits.insert(0, precision - digits.size(), '0');
    }
    std::string prefix = !d.alternate || base == 10 ? "" : base == 8 ? "0o" : "0x";
    if (d.type == 'X') {
      for (std::string* part : {&digits, &prefix})
        std::transform(part->begin(), part->end(), part->begin(),
                       [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    }
    signed_number(d, is_negative(v), prefix, digits, value.origin(), d.zero);
  }

  void real(const Directive& d, const Value& value) {
    if (value.is_undefined()) throw_undefined(value);
    if (!value.is_number()) throw Fault{"must be real number, not " + std::string(type_name(value.kind()))};
    if (d.precision > kMaxPrecision) throw Fault{"precision too large"};
    const double v = real_of(value);
    const char type = static_cast<char>(d.type | 0x20U);
    std::string body = format_real(std::fabs(v), type, d.precision < 0 ? 6 : static_cast<int>(d.precision), d.alternate);
    if (d.type < 'a') {
      for (char& c : body) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    }
    signed_number(d, std::signbit(v) && !std::isnan(v), "", body, value.origin(), d.zero);
  }

  Interp& in_;
  const Value& text_;
  std::string_view s_;
  const Value& args_;
  Builder out_;
  Origin origin_;  // of the current directive
  std::size_t at_ = 0, used_ = 0;
  bool tuple_ = false;
};

}  // namespace

Value format_percent(Interp& in, const Value& text, const Value& args) { return Percent(in, text, args).run(); }

std::string digits_of(Interp& in, const Value& integer, unsigned base) {
  const BigInt v = big_of(integer);
  in.heap().charge(v.bits() * v.bits() / 4096);
  return (v.negative() ? -v : v).to_string(base);
}

bool is_negative(const Value& number) {
  if (number.is(Kind::real)) return std::signbit(number.real());
  return number.is(Kind::big) ? number.as<Big>().v.negative() : number.integer() < 0;
}

}  // namespace hz::text::jinja
