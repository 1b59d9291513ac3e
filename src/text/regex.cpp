// SPDX-License-Identifier: Apache-2.0
// Regex over PCRE2: JIT first, the interpreter (whose memory is on the heap) where JIT's stack does not do.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "src/text/regex.hpp"

#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <vector>

#include "hanzo/core/error.hpp"

namespace hz::text::detail {
namespace {

constexpr std::size_t kJitStackStart = 64 << 10, kJitStackMax = 32 << 20;  // bytes
constexpr std::uint32_t kHeapLimitKiB = 512 << 10;

std::string message_of(int code) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

struct ClassText {
  char letter;
  std::string_view members;  // inside [...]
};
constexpr ClassText kClasses[] = {
    {'s', "\\t-\\r\\x{85}\\p{Z}"},
    {'w', "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"},
    {'h', "0-9A-Fa-f"},
};

// PCRE2 takes a bare script name for the script's extensions, other engines for the script.
constexpr std::string_view kScripts[] = {"Arabic",    "Armenian", "Bengali",  "Bopomofo", "Cyrillic", "Devanagari", "Ethiopic",
                                         "Georgian",  "Greek",    "Gujarati", "Gurmukhi", "Han",      "Hangul",     "Hebrew",
                                         "Hiragana",  "Kannada",  "Katakana", "Khmer",    "Lao",      "Latin",      "Malayalam",
                                         "Mongolian", "Myanmar",  "Sinhala",  "Tamil",    "Telugu",   "Thai",       "Tibetan"};

// Rewrites a pattern from left to right.
class Translator {
 public:
  explicit Translator(std::string_view pattern) : in_(pattern) {}

  std::string run() {
    std::string out;
    while (at_ < in_.size()) {
      if (in_[at_] == '[')
        out += whole_class();
      else if (in_[at_] == '\\')
        out += escape(false);
      else
        out += in_[at_++];
    }
    return out;
  }

 private:
  [[noreturn]] void unsupported(const char* what) const {
    throw Error(ErrorKind::unsupported, fmt::format("the pattern '{}' {}", in_, what));
  }

  // An escape and the character that it belongs to.
  std::string escape(bool in_class) {
    const std::string_view text = in_.substr(at_, 2);
    at_ += text.size();
    if (text.size() < 2) return std::string(text);
    const char lower = static_cast<char>(text[1] | 0x20);
    const bool negated = text[1] != lower;
    if (lower == 'p' && at_ < in_.size() && in_[at_] == '{') {
      const std::string_view name = in_.substr(at_ + 1, in_.find('}', at_) - at_ - 1);
      if (std::find(std::begin(kScripts), std::end(kScripts), name) == std::end(kScripts)) return std::string(text);
      at_ += name.size() + 2;
      return fmt::format("{}{{sc:{}}}", text, name);
    }
    for (const auto& [letter, members] : kClasses) {
      if (letter != lower) continue;
      if (in_class && negated) unsupported("has a negated class like \\S inside a class");
      return in_class ? std::string(members) : fmt::format("[{}{}]", negated ? "^" : "", members);
    }
    return std::string(text);
  }

  // [...] with the nested classes and intersections of Oniguruma: [a[bc]] is [abc], [a&&[^b]] is (?:(?=[^b])[a]).
  std::string whole_class() {
    const std::size_t begin = at_;
    bool negated = false;
    std::vector<std::string> parts;
    std::string members = class_members(negated, parts, 0);
    if (parts.empty()) return fmt::format("[{}{}]", negated ? "^" : "", members);
    if (negated || members.empty()) at_ = begin, unsupported("intersects classes in a way that is not built");
    std::string out = "(?:";
    for (const std::string& p : parts) out += fmt::format("(?={})", p);
    return out + fmt::format("[{}])", members);
  }

  // Reads from '[' to its ']'. parts: what the class is intersected with, as classes.
  std::string class_members(bool& negated, std::vector<std::string>& parts, int depth) {
    if (depth > 8) unsupported("nests classes too deeply");
    ++at_;
    negated = at_ < in_.size() && in_[at_] == '^';
    if (negated) ++at_;
    std::string members;
    if (at_ < in_.size() && in_[at_] == ']') members = "\\]", ++at_;
    bool intersecting = false;
    while (at_ < in_.size() && in_[at_] != ']') {
      if (in_[at_] == '\\') {
        if (intersecting) unsupported("intersects classes in a way that is not built");
        members += escape(true);
      } else if (in_.substr(at_, 2) == "[:") {
        const std::size_t end = in_.find(":]", at_);
        if (end == std::string_view::npos) unsupported("does not end a class like [:alpha:]");
        members += in_.substr(at_, end + 2 - at_);
        at_ = end + 2;
      } else if (in_.substr(at_, 2) == "&&") {
        intersecting = true;
        at_ += 2;
      } else if (in_[at_] == '[') {
        bool inner_negated = false;
        std::vector<std::string> inner_parts;
        const std::string inner = class_members(inner_negated, inner_parts, depth + 1);
        if (!inner_parts.empty() || (inner_negated && !intersecting)) unsupported("nests classes in a way that is not built");
        if (intersecting)
          parts.push_back(fmt::format("[{}{}]", inner_negated ? "^" : "", inner));
        else
          members += inner;
      } else {
        if (intersecting) unsupported("intersects classes in a way that is not built");
        members += in_[at_++];
      }
    }
    if (at_ >= in_.size()) unsupported("does not end a class");
    ++at_;
    return members;
  }

  std::string_view in_;
  std::size_t at_ = 0;
};

}  // namespace

std::string portable_pattern(std::string_view pattern) { return Translator(pattern).run(); }

struct Regex::Code {
  pcre2_code* code = nullptr;
  bool jit = false;
  ~Code() { pcre2_code_free(code); }
};

Regex::Regex(std::string_view pattern) : pattern_(portable_pattern(pattern)) {
  auto code = std::make_unique<Code>();
  int error = 0;
  PCRE2_SIZE at = 0;
  // ^ and $ at lines, as in Oniguruma.
  pcre2_compile_context* context = pcre2_compile_context_create(nullptr);
  if (context) pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  code->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern_.data()), pattern_.size(),
                             PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &at, context);
  pcre2_compile_context_free(context);
  if (!code->code)
    throw Error(ErrorKind::unsupported, fmt::format("the pattern '{}' cannot be compiled: {} at byte {}", pattern_, message_of(error), at));
  code->jit = pcre2_jit_compile(code->code, PCRE2_JIT_COMPLETE) == 0;
  code_ = std::move(code);
}
Regex::Regex(Regex&&) noexcept = default;
Regex::~Regex() = default;

struct Regex::Matcher::Body {
  const Regex* regex;
  pcre2_match_data* data = nullptr;
  pcre2_match_context* context = nullptr;
  pcre2_jit_stack* stack = nullptr;
  std::size_t limited_for = 0;  // bytes of text that the work limit was set for
  ~Body() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
  }
};

Regex::Matcher::Matcher(const Regex& regex) : body_(std::make_unique<Body>()) {
  body_->regex = &regex;
  body_->data = pcre2_match_data_create_from_pattern(regex.code_->code, nullptr);
  body_->context = pcre2_match_context_create(nullptr);
  if (!body_->data || !body_->context) throw Error(ErrorKind::out_of_memory, "no memory to match a pattern");
  pcre2_set_heap_limit(body_->context, kHeapLimitKiB);
}
Regex::Matcher::Matcher(Matcher&&) noexcept = default;
Regex::Matcher::~Matcher() = default;

std::optional<std::pair<std::size_t, std::size_t>> Regex::Matcher::search(std::string_view subject, std::size_t from) {
  Body& b = *body_;
  if (subject.size() > b.limited_for || b.limited_for == 0) {
    b.limited_for = std::max<std::size_t>(subject.size(), 1);
    // Steps of backtracking: the patterns of tokenizers need a few for each byte.
    pcre2_set_match_limit(b.context, static_cast<std::uint32_t>(std::min<std::size_t>(1'000'000 + 64 * subject.size(), UINT32_MAX)));
  }
  const auto run = [&](std::uint32_t options) {
    return pcre2_match(b.regex->code_->code, reinterpret_cast<PCRE2_SPTR>(subject.data()), subject.size(), from,
                       options | PCRE2_NO_UTF_CHECK, b.data, b.context);
  };
  int rc = run(0);
  if (rc == PCRE2_ERROR_JIT_STACKLIMIT && !b.stack) {
    b.stack = pcre2_jit_stack_create(kJitStackStart, kJitStackMax, nullptr);
    if (b.stack) pcre2_jit_stack_assign(b.context, nullptr, b.stack);
    rc = run(0);
  }
  if (rc == PCRE2_ERROR_JIT_STACKLIMIT) rc = run(PCRE2_NO_JIT);
  if (rc == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (rc < 0)
    throw Error(ErrorKind::failed, fmt::format("the pattern '{}' cannot be matched to a text of {} bytes: {}", b.regex->pattern_,
                                               subject.size(), message_of(rc)));
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(b.data);
  return std::pair<std::size_t, std::size_t>{std::min(ends[0], ends[1]), ends[1]};
}

}  // namespace hz::text::detail
