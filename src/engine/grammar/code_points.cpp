// SPDX-License-Identifier: Apache-2.0
// CodePointSet and the split of code point ranges into UTF-8 byte ranges.
#include "src/engine/grammar/code_points.hpp"

#include <algorithm>
#include <string>

#include "hanzo/text/utf8.hpp"

namespace hz::engine {
namespace {

constexpr char32_t kLast = 0x10FFFF, kBeforeSurrogates = 0xD7FF, kAfterSurrogates = 0xE000;

void emit(char32_t lo, char32_t hi, std::vector<ByteSequence>& out) {
  std::string a, b;
  text::append_utf8(a, lo);
  text::append_utf8(b, hi);
  ByteSequence s;
  s.length = static_cast<int>(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) s.bytes[i] = {static_cast<std::uint8_t>(a[i]), static_cast<std::uint8_t>(b[i])};
  out.push_back(s);
}

// lo and hi have UTF-8 of one length. Cuts the range until each byte varies by itself.
void split(char32_t lo, char32_t hi, std::vector<ByteSequence>& out) {
  for (int shift = 6; shift <= 18 && hi >= 0x80; shift += 6) {
    const char32_t low_bits = (char32_t{1} << shift) - 1;
    if ((lo & ~low_bits) == (hi & ~low_bits)) break;
    if ((lo & low_bits) != 0) {
      split(lo, lo | low_bits, out);
      return split((lo | low_bits) + 1, hi, out);
    }
    if ((hi & low_bits) != low_bits) {
      split(lo, (hi & ~low_bits) - 1, out);
      return split(hi & ~low_bits, hi, out);
    }
  }
  emit(lo, hi, out);
}

}  // namespace

CodePointSet::CodePointSet(std::initializer_list<Range> ranges) {
  for (const Range& r : ranges) add(r.lo, r.hi);
}

CodePointSet CodePointSet::of(std::vector<Range> ranges) {
  CodePointSet set;
  for (const Range& r : ranges) set.append(r.lo, r.hi);
  set.normalize();
  return set;
}

void CodePointSet::append(char32_t lo, char32_t hi) {
  hi = std::min(hi, kLast);
  if (lo > hi) return;
  if (lo <= kBeforeSurrogates) ranges_.push_back({lo, std::min(hi, kBeforeSurrogates)});
  if (hi >= kAfterSurrogates) ranges_.push_back({std::max(lo, kAfterSurrogates), hi});
}

void CodePointSet::add(char32_t lo, char32_t hi) {
  const bool ascending = ranges_.empty() || lo > ranges_.back().hi + 1;
  append(lo, hi);
  if (!ascending) normalize();
}

void CodePointSet::add(const CodePointSet& other) {
  ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
  normalize();
}

void CodePointSet::normalize() {
  const auto ordered = [](const Range& a, const Range& b) { return a.lo < b.lo; };
  if (!std::is_sorted(ranges_.begin(), ranges_.end(), ordered)) std::sort(ranges_.begin(), ranges_.end(), ordered);
  std::size_t n = 0;
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    if (n > 0 && ranges_[i].lo <= ranges_[n - 1].hi + 1) ranges_[n - 1].hi = std::max(ranges_[n - 1].hi, ranges_[i].hi);
    else ranges_[n++] = ranges_[i];
  }
  ranges_.resize(n);
}

bool CodePointSet::contains(char32_t c) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), c, [](char32_t v, const Range& r) { return v < r.lo; });
  return after != ranges_.begin() && c <= std::prev(after)->hi;
}

CodePointSet CodePointSet::complement() const {
  CodePointSet result;
  char32_t next = 0;
  for (const Range& r : ranges_) {
    if (r.lo > next) result.add(next, r.lo - 1);
    next = r.hi + 1;
  }
  if (next <= kLast) result.add(next, kLast);
  return result;
}

CodePointSet CodePointSet::intersect(const CodePointSet& other) const {
  CodePointSet result;
  for (std::size_t i = 0, j = 0; i < ranges_.size() && j < other.ranges_.size();) {
    const Range &a = ranges_[i], &b = other.ranges_[j];
    result.add(std::max(a.lo, b.lo), std::min(a.hi, b.hi));
    if (a.hi < b.hi) ++i;
    else ++j;
  }
  return result;
}

CodePointSet CodePointSet::without(const CodePointSet& other) const { return intersect(other.complement()); }

std::vector<ByteSequence> utf8_sequences(const CodePointSet& set) {
  std::vector<ByteSequence> out;
  for (const CodePointSet::Range& r : set.ranges()) {
    char32_t lo = r.lo;
    for (const char32_t last : {char32_t{0x7F}, char32_t{0x7FF}, char32_t{0xFFFF}, kLast}) {
      if (lo > last || lo > r.hi) continue;
      split(lo, std::min(last, r.hi), out);
      lo = last + 1;
    }
  }
  return out;
}

}  // namespace hz::engine
