// SPDX-License-Identifier: Apache-2.0
// Another program, run to its end: a peer that --ab measures.
#pragma once
#include <stop_token>
#include <string>
#include <vector>

namespace hz::tools {

struct Output {
  std::string out, err;
};

// Runs words[0] with the rest as arguments, without a shell, stdin empty; what it wrote. It is a process group of its own: on
// a stop it and whatever it started get SIGTERM, a second later SIGKILL. Throws Error(failed) when it cannot be run, does
// not end with 0 or writes more than 64 MiB, cancelled on a stop.
Output run_program(const std::vector<std::string>& words, const std::stop_token& stop);

}  // namespace hz::tools
