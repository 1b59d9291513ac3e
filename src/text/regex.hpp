// SPDX-License-Identifier: Apache-2.0
// Regex: a PCRE2 pattern over valid UTF-8, with bounded work and no recursion.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace hz::text::detail {

// Rewrites the classes whose meaning differs between PCRE2 and the engines that tokenizers are written for:
// \s and \S become Unicode White_Space, \w and \W alphabetic characters, marks, decimal digits and connectors; nested
// and intersected classes are spelt out. Error(unsupported) naming what it cannot rewrite.
std::string portable_pattern(std::string_view pattern);

// Immutable; shared by threads.
class Regex {
 public:
  // Throws Error(unsupported) naming the pattern, the place and the reason.
  explicit Regex(std::string_view pattern);
  Regex(Regex&&) noexcept;
  ~Regex();

  const std::string& pattern() const { return pattern_; }

  // The scratch memory of one thread.
  class Matcher {
   public:
    explicit Matcher(const Regex& regex);
    Matcher(Matcher&&) noexcept;
    ~Matcher();
    // The first match in subject[from...] as [begin, end). Look-behind sees subject from its start. Throws
    // Error(failed) when the pattern needs more work than the limit.
    std::optional<std::pair<std::size_t, std::size_t>> search(std::string_view subject, std::size_t from);

   private:
    struct Body;
    std::unique_ptr<Body> body_;
  };

 private:
  friend class Matcher;
  struct Code;
  std::string pattern_;
  std::unique_ptr<const Code> code_;
};

}  // namespace hz::text::detail
