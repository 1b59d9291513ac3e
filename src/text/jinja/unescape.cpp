// SPDX-License-Identifier: Apache-2.0
#include "src/text/jinja/unescape.hpp"

#include <fmt/format.h>

#include "src/text/jinja/lexer.hpp"
#include "src/text/jinja/unicode.hpp"

namespace hz::text::jinja {

namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

class Unescaper {
 public:
  Unescaper(std::string_view body, std::uint32_t line) : s_(body), line_(line) {}

  std::string run() {
    while (at_ < s_.size()) {
      if (s_[at_] != '\\') out_.push_back(s_[at_++]);
      else escape();
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw SyntaxFault{what, line_}; }

  void code(char32_t c) {
    if (c > 0x10ffff) fail("illegal Unicode character in a string");
    if (c >= 0xd800 && c < 0xe000) fail("a lone surrogate in a string cannot be written as UTF-8");
    encode(c, out_);
  }

  void hex(std::size_t digits, char letter) {
    char32_t c = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const int v = at_ + i < s_.size() ? hex_value(s_[at_ + i]) : -1;
      if (v < 0) fail(fmt::format("truncated \\{} escape", letter));
      c = c << 4U | static_cast<char32_t>(v);
      if (c > 0x10ffff) fail("illegal Unicode character in a string");
    }
    at_ += digits;
    code(c);
  }

  void octal() {
    char32_t c = 0;
    for (int i = 0; i < 3 && at_ < s_.size() && s_[at_] >= '0' && s_[at_] <= '7'; ++i) {
      c = c << 3U | static_cast<char32_t>(s_[at_++] - '0');
    }
    code(c);
  }

  void escape() {
    if (at_ + 1 >= s_.size()) fail("\\ at end of string");
    const char c = s_[at_ + 1];
    at_ += 2;
    switch (c) {
      case '\n': return;
      case '\\':
      case '\'':
      case '"': out_.push_back(c); return;
      case 'a': out_.push_back('\a'); return;
      case 'b': out_.push_back('\b'); return;
      case 'f': out_.push_back('\f'); return;
      case 'n': out_.push_back('\n'); return;
      case 'r': out_.push_back('\r'); return;
      case 't': out_.push_back('\t'); return;
      case 'v': out_.push_back('\v'); return;
      case 'x': return hex(2, c);
      case 'u': return hex(4, c);
      case 'U': return hex(8, c);
      case 'N': throw SyntaxFault{"\\N{name} escapes are not supported", line_, ErrorKind::unsupported, "write the character itself"};
      default: break;
    }
    if (c >= '0' && c <= '7') {
      --at_;
      return octal();
    }
    // Not an escape: both characters stay. A non-ASCII one follows whole.
    out_.push_back('\\');
    out_.push_back(c);
  }

  std::string_view s_;
  std::uint32_t line_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string unescape(std::string_view body, std::uint32_t line) { return Unescaper(body, line).run(); }

}  // namespace hz::text::jinja
