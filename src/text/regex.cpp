// SPDX-License-Identifier: Apache-2.0
// Regex over PCRE2: JIT first, the interpreter (whose memory is on the heap) where JIT's stack does not do.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "src/text/regex.hpp"

#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>

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
    {'w', "\\p{L}\\p{M}\\p{Nd}\\p{Pc}"},
    {'h', "0-9A-Fa-f"},
};

}  // namespace

std::string portable_pattern(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char next = pattern[++i];
      const char lower = static_cast<char>(next | 0x20);
      const auto* known = std::find_if(std::begin(kClasses), std::end(kClasses), [&](auto& k) { return k.letter == lower; });
      const bool negated = next != lower;
      if (known != std::end(kClasses) && !(negated && in_class)) {
        out += in_class ? std::string(known->members) : fmt::format("[{}{}]", negated ? "^" : "", known->members);
      } else {
        out += c;
        out += next;
      }
      continue;
    }
    if (in_class && c == '&' && pattern.substr(i, 2) == "&&")
      throw Error(ErrorKind::unsupported, fmt::format("the pattern '{}' intersects classes (&&)", pattern));
    if (c == '[') {
      if (in_class && i + 1 < pattern.size() && pattern[i + 1] != ':')
        throw Error(ErrorKind::unsupported, fmt::format("the pattern '{}' has a class inside a class", pattern));
      in_class = true;
      out += c;
      // A ']' directly after the opening (or its '^') is a member.
      std::size_t j = i + 1;
      if (j < pattern.size() && pattern[j] == '^') out += pattern[j], ++j;
      if (j < pattern.size() && pattern[j] == ']') out += "\\]", ++j;
      i = j - 1;
      continue;
    }
    if (c == ']') in_class = false;
    out += c;
  }
  return out;
}

struct Regex::Code {
  pcre2_code* code = nullptr;
  bool jit = false;
  ~Code() { pcre2_code_free(code); }
};

Regex::Regex(std::string_view pattern) : pattern_(portable_pattern(pattern)) {
  auto code = std::make_unique<Code>();
  int error = 0;
  PCRE2_SIZE at = 0;
  code->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern_.data()), pattern_.size(),
                             PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &at, nullptr);
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
