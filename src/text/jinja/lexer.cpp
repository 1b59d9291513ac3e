// SPDX-License-Identifier: Apache-2.0
#include "src/text/jinja/lexer.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "src/text/jinja/unescape.hpp"
#include "src/text/jinja/unicode.hpp"

namespace hz::text::jinja {

namespace {

using Type = Token::Type;
using View = std::string_view;

bool digit(char c) { return c >= '0' && c <= '9'; }

// "\r\n" and "\r" become "\n"; one newline at the end is dropped.
std::string normalize(View source) {
  std::string r;
  r.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      r.push_back(source[i]);
      continue;
    }
    r.push_back('\n');
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (!r.empty() && r.back() == '\n') r.pop_back();
  return r;
}

std::size_t skip_space(View s, std::size_t at) {
  while (at < s.size()) {
    std::size_t next = at;
    if (!is_space(decode(s, next))) break;
    at = next;
  }
  return at;
}

View strip_right(View s) {
  std::size_t end = s.size();
  while (end > 0) {
    std::size_t at = end;
    step_back(s, at);
    std::size_t next = at;
    if (!is_space(decode(s, next))) break;
    end = at;
  }
  return s.substr(0, end);
}

class Lexer {
 public:
  explicit Lexer(View source) : text_(normalize(source)), s_(text_) {}

  std::vector<Token> run() {
    while (at_ < s_.size()) root();
    tokens_.push_back({Type::end, line_, ""});
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw SyntaxFault{what, line_}; }

  // Moves to `to`, counting lines; also notes whether a line begins there.
  void advance(std::size_t to) {
    line_ += static_cast<std::uint32_t>(
        std::count(s_.begin() + static_cast<std::ptrdiff_t>(at_), s_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
    if (to > at_) line_starts_ = s_[to - 1] == '\n';
    at_ = to;
  }
  bool at(View what) const { return s_.compare(at_, what.size(), what) == 0; }
  bool has(std::size_t pos, View what) const { return pos <= s_.size() && s_.compare(pos, what.size(), what) == 0; }

  void push(Type type, std::string text = {}) { tokens_.push_back({type, line_, std::move(text)}); }

  // Text before a tag, trimmed as the tag's sign and lstrip_blocks say.
  void data(View text, char sign, bool variable) {
    if (sign == '-') {
      text = strip_right(text);
    } else if (sign != '+' && !variable) {
      const std::size_t newline = text.rfind('\n');
      const std::size_t from = newline == View::npos ? 0 : newline + 1;
      if ((from > 0 || line_starts_) && skip_space(text, from) == text.size()) text = text.substr(0, from);
    }
    if (!text.empty()) push(Type::data, std::string(text));
  }

  char sign_at(std::size_t pos) const { return pos < s_.size() && (s_[pos] == '-' || s_[pos] == '+') ? s_[pos] : '\0'; }

  // If the tag at `pos` is {% raw %}: the position after it, else npos.
  std::size_t raw_tag(std::size_t pos, View word) const {
    std::size_t p = skip_space(s_, pos + 2 + (sign_at(pos + 2) != 0 ? 1 : 0));
    if (!has(p, word)) return View::npos;
    return skip_space(s_, p + word.size());
  }

  void root() {
    std::size_t tag = at_;
    for (;; ++tag) {
      tag = s_.find('{', tag);
      if (tag == View::npos || tag + 1 >= s_.size()) {
        push(Type::data, std::string(s_.substr(at_)));
        advance(s_.size());
        return;
      }
      if (s_[tag + 1] == '%' || s_[tag + 1] == '{' || s_[tag + 1] == '#') break;
    }
    const char kind = s_[tag + 1];
    const char sign = sign_at(tag + 2);
    data(s_.substr(at_, tag - at_), sign, kind == '{');
    const std::size_t inside = tag + 2 + (sign != 0 ? 1 : 0);
    advance(tag);
    if (kind == '#') return comment(inside);
    if (kind == '%' && raw(tag)) return;
    push(kind == '{' ? Type::variable_begin : Type::block_begin);
    advance(inside);
    expression(kind == '{');
  }

  void comment(std::size_t inside) {
    const std::size_t close = s_.find("#}", inside);
    if (close == View::npos && inside == s_.size()) return advance(inside);  // as jinja: nothing follows, nothing is missed
    if (close == View::npos) fail("Missing end of comment tag");
    const char sign = close > inside ? s_[close - 1] : '\0';
    finish_tag(close + 2, sign == '-' ? '-' : sign == '+' ? '+' : '\0');
  }

  // After the closing mark of a block or comment: "-" strips space, "+" keeps it, else one newline goes.
  void finish_tag(std::size_t end, char sign) {
    if (sign == '-') end = skip_space(s_, end);
    else if (sign != '+' && end < s_.size() && s_[end] == '\n') ++end;
    advance(end);
  }

  bool raw(std::size_t tag) {
    const std::size_t p = raw_tag(tag, "raw");
    if (p == View::npos) return false;
    if (has(p, "-%}")) advance(skip_space(s_, p + 3));
    else if (has(p, "%}")) advance(p + 2);
    else return false;
    for (std::size_t close = at_; (close = s_.find("{%", close)) != View::npos; ++close) {
      const std::size_t q = raw_tag(close, "endraw");
      if (q == View::npos) continue;
      const char sign = sign_at(q);
      const std::size_t mark = q + (sign != 0 ? 1 : 0);
      if (!has(mark, "%}")) continue;
      data(s_.substr(at_, close - at_), sign_at(close + 2), false);
      finish_tag(mark + 2, sign);
      return true;
    }
    if (at_ != s_.size()) fail("Missing end of raw directive");
    return true;
  }

  void expression(bool variable) {
    open_.clear();
    while (at_ < s_.size()) {
      if (open_.empty() && close_tag(variable)) return;
      token();
    }
  }

  bool close_tag(bool variable) {
    const char sign = sign_at(at_);
    const std::size_t mark = at_ + (sign != 0 ? 1 : 0);
    if (variable) {
      if (sign == '+' || !has(mark, "}}")) return false;
      push(Type::variable_end);
      advance(sign == '-' ? skip_space(s_, mark + 2) : mark + 2);
      return true;
    }
    if (!has(mark, "%}")) return false;
    push(Type::block_end);
    finish_tag(mark + 2, sign);
    return true;
  }

  void token() {
    const std::size_t space = skip_space(s_, at_);
    if (space != at_) return advance(space);
    const char c = s_[at_];
    if (digit(c) && number()) return;
    if (c == '\'' || c == '"') return string(c);
    std::size_t next = at_;
    if (is_word(decode(s_, next))) return name();
    operation();
  }

  // Digits of `base` with single underscores between; the position after them.
  std::size_t digits(std::size_t p, View set) const {
    const auto in = [&](std::size_t q) { return q < s_.size() && set.find(s_[q]) != View::npos; };
    while (in(p) || (p < s_.size() && s_[p] == '_' && in(p + 1))) ++p;
    return p;
  }

  void push_number(Type type, std::size_t end) {
    std::string digits(s_.substr(at_, end - at_));
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    push(type, std::move(digits));
    advance(end);
  }

  bool number() {
    constexpr View kDecimal = "0123456789";
    const bool after_dot = at_ > 0 && s_[at_ - 1] == '.';
    std::size_t end = digits(at_, kDecimal);
    if (!after_dot) {
      bool real = false;
      std::size_t p = end;
      if (p + 1 < s_.size() && s_[p] == '.' && digit(s_[p + 1])) {
        p = digits(p + 1, kDecimal);
        real = true;
      }
      if (p < s_.size() && (s_[p] | 0x20) == 'e') {
        std::size_t e = p + 1;
        if (e < s_.size() && (s_[e] == '+' || s_[e] == '-')) ++e;
        if (e < s_.size() && digit(s_[e])) {
          p = digits(e, kDecimal);
          real = true;
        }
      }
      if (real) {
        push_number(Type::real, p);
        return true;
      }
    }
    if (s_[at_] == '0') {
      const char x = at_ + 1 < s_.size() ? static_cast<char>(s_[at_ + 1] | 0x20) : '\0';
      const View set = x == 'x' ? "0123456789abcdefABCDEF" : x == 'o' ? "01234567" : x == 'b' ? "01" : "";
      const std::size_t prefixed = set.empty() ? 0 : digits(at_ + 2, set);
      end = prefixed > at_ + 2 ? prefixed : digits(at_, "0");
    }
    push_number(Type::integer, end);
    return true;
  }

  void string(char quote) {
    std::size_t p = at_ + 1;
    while (p < s_.size() && s_[p] != quote) p += s_[p] == '\\' ? 2 : 1;
    if (p >= s_.size()) fail("a string that begins here is not closed");
    push(Type::string, unescape(s_.substr(at_ + 1, p - at_ - 1), line_));
    advance(p + 1);
  }

  void name() {
    std::size_t p = at_;
    std::size_t next = p;
    bool first = true;
    while (p < s_.size()) {
      const char32_t c = decode(s_, next);
      if (!is_word(c)) break;
      if (first && !is_word_start(c)) fail("Invalid character in identifier");
      first = false;
      p = next;
    }
    push(Type::name, std::string(s_.substr(at_, p - at_)));
    advance(p);
  }

  void operation() {
    constexpr std::array<View, 26> kOperators = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "~", "[", "]",
                                                 "(",  ")",  "{",  "}",  "%",  "<",  ">", "=", ".", ":", "|", ",", ";"};
    for (const View op : kOperators) {
      if (!at(op)) continue;
      balance(op[0]);
      push(Type::op, std::string(op));
      advance(at_ + op.size());
      return;
    }
    std::size_t next = at_;
    decode(s_, next);
    fail("unexpected char '" + std::string(s_.substr(at_, next - at_)) + "'");
  }

  void balance(char c) {
    if (c == '(') open_.push_back(')');
    else if (c == '[') open_.push_back(']');
    else if (c == '{') open_.push_back('}');
    if (c != ')' && c != ']' && c != '}') return;
    if (open_.empty()) fail(std::string("unexpected '") + c + "'");
    const char expected = open_.back();
    open_.pop_back();
    if (expected != c) fail(std::string("unexpected '") + c + "', expected '" + expected + "'");
  }

  std::string text_;
  View s_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  bool line_starts_ = true;
  std::string open_;  // the closing brackets that are due
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) { return Lexer(source).run(); }

std::string describe(const Token& token) {
  switch (token.type) {
    case Type::data: return "template text";
    case Type::variable_begin: return "'{{'";
    case Type::variable_end: return "end of print statement";
    case Type::block_begin: return "'{%'";
    case Type::block_end: return "end of statement block";
    case Type::string: return "a string";
    case Type::end: return "end of template";
    default: return "'" + token.text + "'";
  }
}

}  // namespace hz::text::jinja
