// SPDX-License-Identifier: Apache-2.0
// Sandbox: runs one check on hostile input in a child process under limits, and says how it ended.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace hz::conformance {

struct Limits {
  int seconds = 5;
  std::uint64_t address_space = std::uint64_t{1} << 30;  // bytes; under sanitizers, of resident memory beyond the start
};

struct Outcome {
  enum class Kind { ok, refused, died } kind = Kind::died;
  std::string what, where;       // of the hz::Error when refused; how it died otherwise
  std::uint64_t grown_rss = 0;   // bytes by which the child's peak memory exceeded what it started with
  std::string text() const;      // "ok", "error: WHAT (WHERE)", "killed by signal 11"
};

// False when built with a sanitizer: memory figures mean nothing then.
bool memory_limits_apply();
// `check` returns for accepted input and throws hz::Error for refused input; anything else is a death.
Outcome run_limited(const std::function<void()>& check, const Limits& limits = {});

}  // namespace hz::conformance
