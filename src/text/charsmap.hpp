// SPDX-License-Identifier: Apache-2.0
// Charsmap: SentencePiece's compiled normalisation rules (a double array over UTF-8 and a pool of replacements).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hz::text::detail {

class Charsmap {
 public:
  // blob: u32 size of the array in bytes, the array (u32 little-endian units as in the darts-clone library:
  // https://github.com/s-yata/darts-clone), then the replacements, each ended by a zero byte. Throws
  // Error(bad_file) naming `what` when the sizes do not agree; broken links inside end a look-up.
  Charsmap(std::string_view blob, std::string_view what, const std::string& source);

  struct Match {
    std::size_t length;      // bytes of the text
    std::string_view with;   // what stands for them
  };
  // The longest rule that text[pos...] begins with.
  std::optional<Match> find(std::string_view text, std::size_t pos) const;

 private:
  std::vector<std::uint32_t> units_;
  std::string pool_;
};

}  // namespace hz::text::detail
