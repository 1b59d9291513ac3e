// SPDX-License-Identifier: Apache-2.0
// UTF-8 decoding and repair, against the examples of the Unicode standard.
#include "hanzo/text/utf8.hpp"

#include "tests/catch.hpp"

using namespace hz::text;

TEST_CASE("utf8: every scalar value survives encoding and decoding", "[text]") {
  for (char32_t cp = 0; cp <= 0x10FFFF; cp += cp < 0x3000 ? 1 : 97) {
    if (cp >= 0xD800 && cp <= 0xDFFF) continue;
    std::string s;
    append_utf8(s, cp);
    const Utf8Char c = decode_utf8(s, 0);
    REQUIRE(c.valid);
    REQUIRE(c.cp == cp);
    REQUIRE(c.length == s.size());
  }
}

TEST_CASE("utf8: ill-formed text is repaired by maximal subparts", "[text]") {
  const std::string r(kReplacementUtf8);
  // Tables 3-8 and 3-11 of the Unicode standard.
  CHECK(repair_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41") == r + r + r + r + r + r + r + r + "A");
  CHECK(repair_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41") == r + r + r + r + "A");
  CHECK(repair_utf8("\xED\xA0\x80") == r + r + r);   // a surrogate
  CHECK(repair_utf8("\xF4\x90\x80\x80") == r + r + r + r);  // above U+10FFFF
  CHECK(repair_utf8("a\xFF\xFE z") == "a" + r + r + " z");
  CHECK(repair_utf8("caf\xC3\xA9") == "caf\xC3\xA9");
  CHECK_FALSE(is_valid_utf8("\xE2\x82"));
  CHECK(is_valid_utf8(""));
}

TEST_CASE("utf8: the unfinished tail is what more bytes could complete", "[text]") {
  CHECK(incomplete_utf8_tail("") == 0);
  CHECK(incomplete_utf8_tail("abc") == 0);
  CHECK(incomplete_utf8_tail("a\xC3") == 1);
  CHECK(incomplete_utf8_tail("a\xE2\x82") == 2);
  CHECK(incomplete_utf8_tail("\xF0\x9F\x98") == 3);
  CHECK(incomplete_utf8_tail("\xF0\x9F\x98\x80") == 0);
  CHECK(incomplete_utf8_tail("\xE0\x80") == 0);  // no continuation makes this well-formed
  CHECK(incomplete_utf8_tail("\x80\x80") == 0);
}
