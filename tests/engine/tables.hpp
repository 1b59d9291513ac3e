// SPDX-License-Identifier: Apache-2.0
// Small vocabularies for the engine's tests.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hanzo/engine/token_table.hpp"

namespace hz::test {

inline std::shared_ptr<const TokenTable> table_of(const std::vector<std::string>& pieces, const std::vector<std::int32_t>& ends) {
  const std::vector<std::string_view> views(pieces.begin(), pieces.end());
  return std::make_shared<const TokenTable>(views, ends);
}

// Id 0 ends a turn (a second end is 1), 2 is a control token without text, then the 256 bytes from 3, then `more`.
inline std::shared_ptr<const TokenTable> byte_table(const std::vector<std::string>& more = {}) {
  std::vector<std::string> pieces{"", "", ""};
  for (int b = 0; b < 256; ++b) pieces.emplace_back(1, static_cast<char>(b));
  pieces.insert(pieces.end(), more.begin(), more.end());
  return table_of(pieces, {0, 1});
}

}  // namespace hz::test
