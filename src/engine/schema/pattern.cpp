// SPDX-License-Identifier: Apache-2.0
// A recursive descent over the regular expression; each character becomes what a JSON string writes for it.
#include "src/engine/schema/pattern.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "hanzo/core/error.hpp"
#include "hanzo/text/utf8.hpp"

namespace hz::engine {
namespace {

constexpr int kMostNesting = 100;
constexpr std::size_t kMostBytes = 64 * 1024;
constexpr std::int64_t kEndless = -1;

const CodePointSet& digit_set() {
  static const CodePointSet s{{'0', '9'}};
  return s;
}
const CodePointSet& word_set() {
  static const CodePointSet s{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  return s;
}
const CodePointSet& space_set() {
  static const CodePointSet s{{0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
                              {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
  return s;
}
const CodePointSet& line_set() {
  static const CodePointSet s{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
  return s;
}

class Parser {
 public:
  Parser(JsonRules& json, std::string_view text, const std::string& where) : json_(json), tree_(json.tree()), text_(text), where_(where) {}

  Pattern run() {
    if (text_.size() > kMostBytes) fail(ErrorKind::usage, "is longer than 64 KiB");
    // An anchor holds for its alternative: in ^a|b$ something may follow a, and precede b.
    std::vector<Pattern> ways;
    do ways.push_back(anchored());
    while (take('|'));
    if (!at_end()) fail(ErrorKind::usage, peek() == ')' ? "has ')' without '('" : "cannot be read");
    return either(std::move(ways));
  }

 private:
  [[noreturn]] void fail(ErrorKind kind, const std::string& what) const {
    throw Error(kind, "the pattern '" + std::string(text_) + "' " + what + " (at character " + std::to_string(pos_ + 1) + ")", where_);
  }
  bool at_end() const { return pos_ >= text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[pos_]; }
  bool take(char c) {
    if (peek() != c || at_end()) return false;
    ++pos_;
    return true;
  }
  bool take(std::string_view s) {
    if (text_.substr(pos_, s.size()) != s) return false;
    pos_ += s.size();
    return true;
  }

  // Lengths saturate far above any limit of a grammar.
  static std::int64_t plus(std::int64_t a, std::int64_t b) {
    return a == kEndless || b == kEndless ? kEndless : std::min<std::int64_t>(a + b, 1'000'000'000);
  }
  static std::int64_t times(std::int64_t a, std::int64_t n) {
    return a == 0 || n == 0 ? 0 : a == kEndless || n == kEndless ? kEndless : std::min<std::int64_t>(a, 1'000'000'000 / n + 1) * n;
  }

  Pattern either(std::vector<Pattern> ways) {
    std::vector<ExprId> contents;
    Pattern all = ways[0];
    for (const Pattern& w : ways) {
      contents.push_back(w.content);
      all.least = std::min(all.least, w.least);
      all.most = all.most == kEndless || w.most == kEndless ? kEndless : std::max(all.most, w.most);
    }
    all.content = tree_.choice(std::move(contents));
    return all;
  }

  Pattern anchored() {
    const Pattern anything{tree_.repeat(json_.any_char(), 0, kUnlimited), 0, kEndless};
    const bool from_start = take('^');
    Pattern p = sequence(0);
    const bool to_end = take('$');
    if (to_end && !at_end() && peek() != '|') fail(ErrorKind::unsupported, "has an anchor in the middle, which is not built");
    std::vector<ExprId> parts{p.content};
    if (!from_start) parts.insert(parts.begin(), anything.content);
    if (!to_end) parts.push_back(anything.content);
    p.content = tree_.sequence(std::move(parts));
    if (!from_start || !to_end) p.most = kEndless;
    return p;
  }

  Pattern choice(int depth) {
    if (depth > kMostNesting) fail(ErrorKind::usage, "nests groups more than " + std::to_string(kMostNesting) + " deep");
    std::vector<Pattern> ways;
    do ways.push_back(sequence(depth));
    while (take('|'));
    return either(std::move(ways));
  }

  Pattern sequence(int depth) {
    Pattern all{-1, 0, 0};
    std::vector<ExprId> parts;
    while (!at_end() && peek() != '|' && peek() != ')' && peek() != '$') {
      Pattern p = atom(depth);
      p = quantified(p);
      parts.push_back(p.content);
      all.least = plus(all.least, p.least);
      all.most = plus(all.most, p.most);
    }
    all.content = parts.empty() ? tree_.literal("") : tree_.sequence(std::move(parts));
    return all;
  }

  Pattern one_of(const CodePointSet& set) {
    if (set.empty()) fail(ErrorKind::usage, "has a class that matches nothing");
    return {json_.encoded(set), 1, 1};
  }

  Pattern atom(int depth) {
    const char c = peek();
    switch (c) {
      case '(': return group(depth);
      case '[': return one_of(char_class());
      case '.': ++pos_; return one_of(line_set().complement());
      case '^': fail(ErrorKind::unsupported, "has an anchor in the middle, which is not built");
      case '*': case '+': case '?': fail(ErrorKind::usage, "repeats nothing");
      case '{': case '}': case ']': ++pos_; return one_of({{static_cast<char32_t>(c), static_cast<char32_t>(c)}});
      default: return one_of(character(false));
    }
  }

  Pattern group(int depth) {
    ++pos_;
    if (take("?:")) {
    } else if (text_.substr(pos_, 2) == "?<" && text_.substr(pos_, 3) != "?<=" && text_.substr(pos_, 3) != "?<!") {
      const std::size_t end = text_.find('>', pos_);
      if (end == text_.npos) fail(ErrorKind::usage, "has a group name without '>'");
      pos_ = end + 1;
    } else if (peek() == '?') {
      fail(ErrorKind::unsupported, "has a look-around or inline flag, which is not built");
    }
    const Pattern inner = choice(depth + 1);
    if (peek() == '$') fail(ErrorKind::unsupported, "has an anchor in the middle, which is not built");
    if (!take(')')) fail(ErrorKind::usage, "has '(' without ')'");
    return inner;
  }

  // {m}, {m,} or {m,n} at pos_; anything else in braces is text, as browsers have it.
  bool bounds(std::int32_t& min, std::int32_t& max) {
    std::size_t i = pos_ + 1;
    const auto number = [&](std::int32_t& out) {
      const std::size_t begin = i;
      std::int64_t n = 0;
      for (; i < text_.size() && text_[i] >= '0' && text_[i] <= '9'; ++i)
        n = std::min<std::int64_t>(n * 10 + (text_[i] - '0'), std::int64_t{kMostRepeats} + 1);
      out = static_cast<std::int32_t>(n);
      return i > begin;
    };
    if (!number(min)) return false;
    max = min;
    if (i < text_.size() && text_[i] == ',') {
      ++i;
      if (!number(max)) max = kUnlimited;
    }
    if (i >= text_.size() || text_[i] != '}') return false;
    pos_ = i + 1;
    if (min > kMostRepeats || max > kMostRepeats) fail(ErrorKind::usage, "repeats more than " + std::to_string(kMostRepeats) + " times");
    if (max != kUnlimited && max < min) fail(ErrorKind::usage, "has bounds in the wrong order");
    return true;
  }

  Pattern quantified(Pattern p) {
    std::int32_t min = 0, max = 0;
    if (take('*')) max = kUnlimited;
    else if (take('+')) min = 1, max = kUnlimited;
    else if (take('?')) max = 1;
    else if (peek() != '{' || !bounds(min, max)) return p;
    take('?');  // lazy: the same texts match
    std::int32_t again = 0;
    if (peek() == '*' || peek() == '+' || peek() == '?' || (peek() == '{' && bounds(again, again)))
      fail(ErrorKind::usage, "repeats a repetition");
    return {tree_.repeat(p.content, min, max), times(p.least, min), times(p.most, max)};
  }

  char32_t hex(int digits) {
    char32_t v = 0;
    for (int i = 0; i < digits; ++i, ++pos_) {
      const char c = peek();
      const int d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
      if (d < 0) fail(ErrorKind::usage, "has an escape that needs " + std::to_string(digits) + " hexadecimal digits");
      v = v * 16 + static_cast<char32_t>(d);
    }
    return v;
  }
  CodePointSet unicode_escape() {
    char32_t v = 0;
    if (take('{')) {
      while (!take('}')) {
        v = v * 16 + hex(1);
        if (v > 0x10FFFF) fail(ErrorKind::usage, "names no Unicode character");
      }
    } else {
      v = hex(4);
      if (v >= 0xD800 && v < 0xDC00 && take("\\u")) v = 0x10000 + ((v - 0xD800) << 10) + (hex(4) - 0xDC00);
    }
    const CodePointSet s{{v, v}};
    if (s.empty()) fail(ErrorKind::usage, "names no Unicode character");
    return s;
  }

  // One character, or the set that an escape stands for.
  CodePointSet character(bool in_class) {
    const auto single = [](char32_t c) { return CodePointSet{{c, c}}; };
    if (peek() != '\\') {
      const text::Utf8Char c = text::decode_utf8(text_, pos_);
      if (!c.valid) fail(ErrorKind::usage, "is not valid UTF-8");
      pos_ += c.length;
      return single(c.cp);
    }
    ++pos_;
    if (at_end()) fail(ErrorKind::usage, "ends with a backslash");
    const char c = text_[pos_++];
    switch (c) {
      case 'd': return digit_set();
      case 'D': return digit_set().complement();
      case 'w': return word_set();
      case 'W': return word_set().complement();
      case 's': return space_set();
      case 'S': return space_set().complement();
      case 'n': return single('\n');
      case 'r': return single('\r');
      case 't': return single('\t');
      case 'f': return single('\f');
      case 'v': return single('\v');
      case 'x': return single(hex(2));
      case 'u': return unicode_escape();
      case 'c':
        if (const char l = peek(); (l >= 'a' && l <= 'z') || (l >= 'A' && l <= 'Z')) return ++pos_, single(static_cast<char32_t>(l & 31));
        fail(ErrorKind::usage, "has \\c without a letter");
      case '0':
        if (peek() < '0' || peek() > '9') return single(0);
        break;
      case 'b':
        if (in_class) return single('\b');
        break;
      default:
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) {
          --pos_;
          const text::Utf8Char other = text::decode_utf8(text_, pos_);
          if (!other.valid) fail(ErrorKind::usage, "is not valid UTF-8");
          pos_ += other.length;
          return single(other.cp);
        }
    }
    fail(ErrorKind::unsupported, "has \\" + std::string(1, c) + ", which is not built");
  }

  CodePointSet char_class() {
    ++pos_;
    const bool negated = take('^');
    std::vector<CodePointSet::Range> ranges;
    const auto add = [&](const CodePointSet& s) { ranges.insert(ranges.end(), s.ranges().begin(), s.ranges().end()); };
    const auto is_single = [](const CodePointSet& s) { return s.ranges().size() == 1 && s.ranges()[0].lo == s.ranges()[0].hi; };
    while (!take(']')) {
      if (at_end()) fail(ErrorKind::usage, "has '[' without ']'");
      const CodePointSet lo = character(true);
      if (peek() != '-' || pos_ + 1 >= text_.size() || text_[pos_ + 1] == ']') {
        add(lo);
        continue;
      }
      ++pos_;
      const CodePointSet hi = character(true);
      if (!is_single(lo) || !is_single(hi)) {  // [\w-.]: the hyphen is one of the characters
        add(lo), add(hi), add({{'-', '-'}});
      } else {
        if (hi.ranges()[0].lo < lo.ranges()[0].lo) fail(ErrorKind::usage, "has a range that runs backwards");
        ranges.push_back({lo.ranges()[0].lo, hi.ranges()[0].hi});
      }
    }
    const CodePointSet set = CodePointSet::of(std::move(ranges));
    return negated ? set.complement() : set;
  }

  JsonRules& json_;
  GrammarTree& tree_;
  std::string_view text_;
  const std::string& where_;
  std::size_t pos_ = 0;
};

}  // namespace

Pattern parse_pattern(JsonRules& json, std::string_view regex, const std::string& where) { return Parser(json, regex, where).run(); }

}  // namespace hz::engine
