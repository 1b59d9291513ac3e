// SPDX-License-Identifier: Apache-2.0
// UTF-8 decoding and repair.
#include "hanzo/text/utf8.hpp"

namespace hz::text {
namespace {

struct Lead {
  unsigned length;              // bytes of the whole character; 0: no character begins with this byte
  unsigned char second_min, second_max;  // the range of the second byte, which excludes overlongs and surrogates
};

Lead lead_of(unsigned char b) {
  if (b < 0x80) return {1, 0, 0};
  if (b < 0xC2) return {0, 0, 0};
  if (b < 0xE0) return {2, 0x80, 0xBF};
  if (b == 0xE0) return {3, 0xA0, 0xBF};
  if (b == 0xED) return {3, 0x80, 0x9F};
  if (b < 0xF0) return {3, 0x80, 0xBF};
  if (b == 0xF0) return {4, 0x90, 0xBF};
  if (b < 0xF4) return {4, 0x80, 0xBF};
  if (b == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

}  // namespace

Utf8Char decode_utf8(std::string_view text, std::size_t pos) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(pos);
  if (first < 0x80) return {first, 1, true, false};
  const Lead lead = lead_of(first);
  if (lead.length == 0) return {};
  char32_t cp = first & (0x7FU >> lead.length);
  for (unsigned i = 1; i < lead.length; ++i) {
    if (pos + i >= text.size()) return {kReplacement, i, false, true};
    const unsigned char b = byte(pos + i);
    const unsigned char low = i == 1 ? lead.second_min : 0x80;
    const unsigned char high = i == 1 ? lead.second_max : 0xBF;
    if (b < low || b > high) return {kReplacement, i, false, false};
    cp = (cp << 6) | (b & 0x3FU);
  }
  return {cp, lead.length, true, false};
}

void append_utf8(std::string& out, char32_t cp) {
  const auto put = [&](char32_t b) { out.push_back(static_cast<char>(static_cast<unsigned char>(b))); };
  if (cp < 0x80) {
    put(cp);
  } else if (cp < 0x800) {
    put(0xC0 | (cp >> 6));
    put(0x80 | (cp & 0x3F));
  } else if (cp < 0x10000) {
    put(0xE0 | (cp >> 12));
    put(0x80 | ((cp >> 6) & 0x3F));
    put(0x80 | (cp & 0x3F));
  } else {
    put(0xF0 | (cp >> 18));
    put(0x80 | ((cp >> 12) & 0x3F));
    put(0x80 | ((cp >> 6) & 0x3F));
    put(0x80 | (cp & 0x3F));
  }
}

std::size_t first_invalid_utf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      ++i;
      continue;
    }
    const Utf8Char c = decode_utf8(text, i);
    if (!c.valid) return i;
    i += c.length;
  }
  return text.size();
}

std::string repair_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Char c = decode_utf8(text, i);
    out.append(c.valid ? text.substr(i, c.length) : kReplacementUtf8);
    i += c.length;
  }
  return out;
}

std::size_t incomplete_utf8_tail(std::string_view text) {
  const std::size_t reach = text.size() < 3 ? text.size() : 3;
  for (std::size_t back = reach; back > 0; --back) {
    const std::size_t pos = text.size() - back;
    const Utf8Char c = decode_utf8(text, pos);
    if (c.truncated && c.length == back) return back;
  }
  return 0;
}

}  // namespace hz::text
