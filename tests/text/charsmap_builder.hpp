// SPDX-License-Identifier: Apache-2.0
// Builds compiled character maps for tests.
#pragma once
#include <map>
#include <string>

namespace hz::test {

// The blob of `tokenizer.ggml.precompiled_charsmap` for these replacements; a few dozen rules at most.
std::string charsmap(const std::map<std::string, std::string>& rules);

}  // namespace hz::test
