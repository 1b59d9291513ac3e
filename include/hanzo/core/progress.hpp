// SPDX-License-Identifier: Apache-2.0
// Progress and stop: what long work takes from its caller.
#pragma once
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string_view>

namespace hz {

struct Progress {
  // done and total in `unit`s (bytes, tensors, steps); total 0 when unknown. Called from the working thread.
  std::function<void(std::string_view stage, std::uint64_t done, std::uint64_t total)> report;
  std::stop_token stop;

  void operator()(std::string_view stage, std::uint64_t done, std::uint64_t total) const {
    if (report) report(stage, done, total);
  }
  // Throws Error(cancelled) once a stop was asked for.
  void check(std::string_view stage) const;
};

}  // namespace hz
