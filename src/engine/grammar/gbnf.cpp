// SPDX-License-Identifier: Apache-2.0
// GBNF: the grammar notation of llama.cpp, read and written.
#include <algorithm>
#include <optional>

#include "hanzo/core/error.hpp"
#include "hanzo/text/utf8.hpp"
#include "src/engine/grammar/tree.hpp"

namespace hz::engine {
namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 20;
constexpr int kMostNesting = 200;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  GrammarTree run(std::string_view root) {
    if (text_.size() > kMostBytes) throw Error(ErrorKind::usage, "the grammar is longer than 4 MiB", "grammar");
    skip_space(true);
    while (!at_end()) rule();
    if (!tree_.has_rule(root))
      fail("there is no rule '" + std::string(root) + "'", "the whole output has to match it: name the outermost rule so");
    tree_.root = tree_.rule(root);
    return std::move(tree_);
  }

 private:
  bool at_end() const { return pos_ >= text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[pos_]; }
  bool starts(std::string_view s) const { return text_.substr(pos_, s.size()) == s; }

  std::string where() {
    for (; counted_ < std::min(pos_, text_.size()); ++counted_)
      if (text_[counted_] == '\n') ++line_, line_start_ = counted_ + 1;
    return "grammar, line " + std::to_string(line_) + ", column " + std::to_string(counted_ - line_start_ + 1);
  }
  [[noreturn]] void fail(const std::string& what, const std::string& hint = {}) { throw Error(ErrorKind::usage, what, where(), hint); }
  [[noreturn]] void fail_here(const std::string& wanted) {
    if (at_end()) fail("expected " + wanted + ", the grammar ends here");
    const text::Utf8Char c = text::decode_utf8(text_, pos_);
    std::string found = c.valid && c.cp >= 0x20 ? "'" + std::string(text_.substr(pos_, c.length)) + "'"
                        : peek() == '\n'        ? "the end of the line"
                                                : "a byte that is no text";
    fail("expected " + wanted + ", found " + found);
  }

  // Spaces, tabs, comments; newlines too where the rule goes on.
  void skip_space(bool newlines) {
    while (!at_end()) {
      const char c = peek();
      if (c == '#') {
        while (!at_end() && peek() != '\n' && peek() != '\r') ++pos_;
      } else if (c == ' ' || c == '\t' || (newlines && (c == '\n' || c == '\r'))) {
        ++pos_;
      } else {
        return;
      }
    }
  }

  static bool is_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; }
  std::string_view name() {
    const std::size_t begin = pos_;
    while (!at_end() && is_name(peek())) ++pos_;
    if (pos_ == begin) fail_here("a rule's name");
    return text_.substr(begin, pos_ - begin);
  }

  void rule() {
    const std::string place = where();
    const std::string_view rule_name = name();
    skip_space(false);
    if (!starts("::=")) fail_here("'::=' after '" + std::string(rule_name) + "'");
    const RuleId id = tree_.rule(rule_name, place);
    if (tree_.rule_at(id).body >= 0) throw Error(ErrorKind::usage, "rule '" + std::string(rule_name) + "' is defined twice", place);
    pos_ += 3;
    skip_space(true);
    if (at_end() || next_is_rule())
      throw Error(ErrorKind::usage, "rule '" + std::string(rule_name) + "' has no body", place, "write \"\" for the empty text");
    const ExprId body = choice(false, 0);
    tree_.define(id, body, place);
    if (!at_end() && !at_next_rule_ && peek() != '\n' && peek() != '\r') fail_here("the end of the rule");
    at_next_rule_ = false;
    skip_space(true);
  }

  // A name followed by '::=': what comes is the next rule.
  bool next_is_rule() {
    const std::size_t begin = pos_;
    while (!at_end() && is_name(peek())) ++pos_;
    const bool named = pos_ > begin;
    skip_space(false);
    const bool result = named && starts("::=");
    pos_ = begin;
    return result;
  }

  ExprId choice(bool nested, int depth) {
    if (depth > kMostNesting)
      fail("parentheses are nested more than " + std::to_string(kMostNesting) + " deep", "name the inner parts as rules");
    std::vector<ExprId> parts{sequence(nested, depth)};
    while (peek() == '|') {
      ++pos_;
      skip_space(true);
      if (!nested && (at_end() || next_is_rule())) {  // "a |" at the end: an empty last alternative
        parts.push_back(tree_.literal(""));
        at_next_rule_ = true;
        break;
      }
      parts.push_back(sequence(nested, depth));
    }
    return tree_.choice(std::move(parts));
  }

  ExprId sequence(bool nested, int depth) {
    std::vector<ExprId> parts;
    for (;;) {
      const char c = peek();
      ExprId part = -1;
      if (c == '"') part = literal();
      else if (c == '[') part = tree_.chars(char_class());
      else if (c == '.') ++pos_, part = tree_.chars(CodePointSet::any());
      else if (c == '(') part = group(depth);
      else if (is_name(c)) part = reference();
      else if (c == '<' || c == '!')
        throw Error(ErrorKind::unsupported, "terminals that are tokens (<name>, <[id]>, !<name>) are not built", where(),
                    "write the text in quotes");
      else break;
      skip_space(nested);
      while (!at_end() && (peek() == '*' || peek() == '+' || peek() == '?' || peek() == '{')) {
        part = repeated(part);
        skip_space(nested);
      }
      parts.push_back(part);
    }
    return parts.empty() ? tree_.literal("") : tree_.sequence(std::move(parts));
  }

  ExprId group(int depth) {
    ++pos_;
    skip_space(true);
    const ExprId inner = choice(true, depth + 1);
    if (peek() != ')') fail_here("')'");
    ++pos_;
    return inner;
  }

  ExprId reference() {
    const std::string place = where();
    return tree_.reference(tree_.rule(name(), place));
  }

  ExprId repeated(ExprId part) {
    const char c = text_[pos_++];
    if (c == '*') return tree_.repeat(part, 0, kUnlimited);
    if (c == '+') return tree_.repeat(part, 1, kUnlimited);
    if (c == '?') return tree_.repeat(part, 0, 1);
    skip_space(true);
    std::int32_t min = 0, max = kUnlimited;
    const bool has_min = peek() >= '0' && peek() <= '9';
    if (has_min) min = number();
    skip_space(true);
    if (peek() == ',') {
      ++pos_;
      skip_space(true);
      if (peek() >= '0' && peek() <= '9') max = number();
      else if (!has_min) fail_here("a number of repetitions");
      skip_space(true);
    } else if (has_min) {
      max = min;
    } else {
      fail_here("a number of repetitions");
    }
    if (peek() != '}') fail_here("'}'");
    ++pos_;
    if (max != kUnlimited && max < min) fail("{" + std::to_string(min) + "," + std::to_string(max) + "}: the most is less than the least");
    return tree_.repeat(part, min, max);
  }

  std::int32_t number() {
    std::int64_t n = 0;
    while (peek() >= '0' && peek() <= '9') {
      n = n * 10 + (peek() - '0');
      if (n > kMostRepeats) fail("more than " + std::to_string(kMostRepeats) + " repetitions");
      ++pos_;
    }
    return static_cast<std::int32_t>(n);
  }

  // One character of a literal or class, escapes resolved.
  char32_t character() {
    if (peek() != '\\') {
      const text::Utf8Char c = text::decode_utf8(text_, pos_);
      if (!c.valid) fail("the grammar is not valid UTF-8 here");
      pos_ += c.length;
      return c.cp;
    }
    ++pos_;
    if (at_end()) fail_here("an escaped character");
    const char c = text_[pos_++];
    switch (c) {
      case 'n': return '\n';
      case 'r': return '\r';
      case 't': return '\t';
      case 'x': return hex(2);
      case 'u': return hex(4);
      case 'U': return hex(8);
      case '\\': case '"': case '[': case ']': case '-': case '^': case '/': case '\'': return static_cast<char32_t>(c);
      default:
        --pos_;
        fail("unknown escape '\\" + std::string(1, c >= 0x20 && c < 0x7F ? c : '?') + "'",
             "known are \\n \\r \\t \\\\ \\\" \\[ \\] \\- \\^ \\/ \\' \\xHH \\uHHHH \\UHHHHHHHH");
    }
  }
  char32_t hex(int digits) {
    char32_t value = 0;
    for (int i = 0; i < digits; ++i) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
      if (digit < 0) fail_here(std::to_string(digits) + " hexadecimal digits");
      value = value * 16 + static_cast<char32_t>(digit);
      ++pos_;
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) fail("the escape names no Unicode character");
    return value;
  }

  ExprId literal() {
    ++pos_;
    std::string text;
    while (peek() != '"') {
      if (at_end() || peek() == '\n') fail_here("'\"' to end the literal");
      text::append_utf8(text, character());
    }
    ++pos_;
    return tree_.literal(text);
  }

  CodePointSet char_class() {
    ++pos_;
    const bool negated = peek() == '^';
    if (negated) ++pos_;
    std::vector<CodePointSet::Range> ranges;
    while (peek() != ']') {
      if (at_end() || peek() == '\n') fail_here("']' to end the set of characters");
      const char32_t lo = character();
      char32_t hi = lo;
      if (peek() == '-' && pos_ + 1 < text_.size() && text_[pos_ + 1] != ']') {
        ++pos_;
        hi = character();
        if (hi < lo) fail("the range runs backwards");
      }
      ranges.push_back({lo, hi});
    }
    CodePointSet set = CodePointSet::of(std::move(ranges));
    if (negated) set = set.complement();
    if (set.empty()) fail("the set of characters is empty: nothing can match");
    ++pos_;
    return set;
  }

  std::string_view text_;
  std::size_t pos_ = 0;
  std::size_t counted_ = 0, line_ = 1, line_start_ = 0;  // lines up to counted_, which follows pos_
  bool at_next_rule_ = false;  // the last choice ended there, beyond the end of its line
  GrammarTree tree_;
};

// Writing.

void put_char(std::string& out, char32_t c, std::string_view escaped) {
  if (c == '\n') out += "\\n";
  else if (c == '\r') out += "\\r";
  else if (c == '\t') out += "\\t";
  else if (c < 0x20 || c == 0x7F || (c >= 0x80 && c < 0xA0)) {
    constexpr char kHex[] = "0123456789ABCDEF";
    out += {'\\', 'x', kHex[c >> 4], kHex[c & 15]};
  } else {
    if (c < 0x80 && escaped.find(static_cast<char>(c)) != escaped.npos) out += '\\';
    text::append_utf8(out, c);
  }
}

std::string in_class(const std::vector<CodePointSet::Range>& ranges) {
  std::string out;
  for (const auto& r : ranges) {
    put_char(out, r.lo, "\\]-^[");
    if (r.hi == r.lo) continue;
    if (r.hi > r.lo + 1) out += '-';
    put_char(out, r.hi, "\\]-^[");
  }
  return out;
}

// context: 0 a whole body, 1 inside a sequence, 2 under a repetition.
void write(const GrammarTree& tree, ExprId id, int context, std::string& out) {
  const Expr& e = tree.expr(id);
  const auto parts = [&](const char* between, int inner) {
    for (std::size_t i = 0; i < e.parts.size(); ++i) {
      if (i > 0) out += between;
      write(tree, e.parts[i], inner, out);
    }
  };
  switch (e.kind) {
    case Expr::Kind::literal:
      out += '"';
      for (std::size_t i = 0; i < e.text.size();) {
        const text::Utf8Char c = text::decode_utf8(e.text, i);
        put_char(out, c.cp, "\\\"");
        i += c.length;
      }
      out += '"';
      return;
    case Expr::Kind::chars: {
      const CodePointSet rest = e.set.complement();
      if (rest.empty()) out += '.';
      else if (e.set.ranges().back().hi == 0x10FFFF) out += "[^" + in_class(rest.ranges()) + "]";
      else out += "[" + in_class(e.set.ranges()) + "]";
      return;
    }
    case Expr::Kind::rule: out += tree.rule_at(e.rule).name; return;
    case Expr::Kind::sequence:
      if (context > 1) out += '(';
      parts(" ", 1);
      if (context > 1) out += ')';
      return;
    case Expr::Kind::choice:
      if (context > 0) out += '(';
      parts(" | ", 1);
      if (context > 0) out += ')';
      return;
    case Expr::Kind::repeat:
      if (context > 1) out += '(';
      parts("", 2);
      if (e.min == 0 && e.max == kUnlimited) out += '*';
      else if (e.min == 1 && e.max == kUnlimited) out += '+';
      else if (e.min == 0 && e.max == 1) out += '?';
      else if (e.max == kUnlimited) out += "{" + std::to_string(e.min) + ",}";
      else if (e.max == e.min) out += "{" + std::to_string(e.min) + "}";
      else out += "{" + std::to_string(e.min) + "," + std::to_string(e.max) + "}";
      if (context > 1) out += ')';
      return;
  }
}

}  // namespace

GrammarTree parse_gbnf(std::string_view text, std::string_view root) { return Parser(text).run(root); }

std::string to_gbnf(const GrammarTree& tree) {
  std::string out;
  for (std::size_t r = 0; r < tree.rule_count(); ++r) {
    const Rule& rule = tree.rule_at(static_cast<RuleId>(r));
    if (rule.body < 0) continue;
    out += rule.name + " ::= ";
    write(tree, rule.body, 0, out);
    out += '\n';
  }
  return out;
}

}  // namespace hz::engine
