// SPDX-License-Identifier: Apache-2.0
// CodePointSet: a set of Unicode scalar values as ranges, and its ranges as sequences of UTF-8 byte ranges.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

namespace hz::engine {

class CodePointSet {
 public:
  struct Range {
    char32_t lo, hi;  // inclusive
    friend bool operator==(const Range&, const Range&) = default;
  };

  CodePointSet() = default;
  CodePointSet(std::initializer_list<Range> ranges);
  static CodePointSet of(std::vector<Range> ranges);  // in any order
  static CodePointSet any() { return {{0, 0x10FFFF}}; }

  void add(char32_t lo, char32_t hi);  // lo <= hi; surrogates are left out. Cheap in ascending order
  void add(char32_t c) { add(c, c); }
  void add(const CodePointSet& other);
  bool empty() const { return ranges_.empty(); }
  bool contains(char32_t c) const;
  CodePointSet complement() const;
  CodePointSet without(const CodePointSet& other) const;
  CodePointSet intersect(const CodePointSet& other) const;
  const std::vector<Range>& ranges() const { return ranges_; }  // ascending, never adjacent
  friend bool operator==(const CodePointSet&, const CodePointSet&) = default;

 private:
  void append(char32_t lo, char32_t hi);
  void normalize();
  std::vector<Range> ranges_;
};

// One to four byte ranges in a row.
struct ByteSequence {
  struct Range {
    std::uint8_t lo, hi;
  };
  std::array<Range, 4> bytes;
  int length = 0;
};
// The sequences whose union is the UTF-8 of the set.
std::vector<ByteSequence> utf8_sequences(const CodePointSet& set);

}  // namespace hz::engine
