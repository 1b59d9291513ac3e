// SPDX-License-Identifier: Apache-2.0
// Normalisation: forms agree with utf8proc as a whole, origins are kept, hostile marks take no quadratic time.
#include "src/text/normalize.hpp"

#include <utf8proc.h>

#include <cstdlib>
#include <random>

#include "hanzo/text/utf8.hpp"
#include "tests/catch.hpp"
#include "tests/text/synthetic.hpp"

using namespace hz::text;
using namespace hz::text::detail;

namespace {

std::string ours(const std::string& text, Form form) {
  AlignedText out(true);
  normalize(text, form, out);
  return out.text();
}

std::string theirs(const std::string& text, Form form) {
  utf8proc_uint8_t* out = nullptr;
  const auto options =
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | (form == Form::nfc || form == Form::nfkc ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
                                     (form == Form::nfkc || form == Form::nfkd ? UTF8PROC_COMPAT : 0));
  const auto n =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()), &out, options);
  REQUIRE(n >= 0);
  std::string s(reinterpret_cast<char*>(out), static_cast<std::size_t>(n));
  std::free(out);
  return s;
}

}  // namespace

TEST_CASE("normalize: cluster by cluster gives what the whole text gives", "[text]") {
  const char32_t picks[] = {'a',   'e',    ' ',     0xC5,    0x301,  0x302,  0x323,  0x327,  0x345,  0x344,  0xF73,  0xF71,
                            0xF72, 0x1100, 0x1161,  0x11A8,  0xAC00, 0x212B, 0x1E9B, 0xFB01, 0x3071, 0x309A, 0xFF76, 0xFF9E,
                            0x9BE, 0x9C7,  0x1F600, 0x1D15E, 0xFA10, 0x3131, 0x314F, 0x2126, 0xBC6,  0xBBE};
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    std::string s;
    for (unsigned n = 1 + random() % 8; n > 0; --n) append_utf8(s, picks[random() % std::size(picks)]);
    for (const Form form : {Form::nfc, Form::nfd, Form::nfkc, Form::nfkd}) REQUIRE(ours(s, form) == theirs(s, form));
  }
}

TEST_CASE("normalize: ill-formed bytes are kept", "[text]") {
  CHECK(ours("e\xCC\x81\xFF" "e\xCC", Form::nfc) == "\u00e9\xFF" "e\xCC");
}

TEST_CASE("normalize: a base with a hundred thousand marks takes no quadratic time", "[text]") {
  for (const char* pair : {"\u0301\u0323", "\u0f73"}) {
    std::string s = "a";
    for (int i = 0; i < 100'000; ++i) s += pair;
    std::string normal;
    CHECK(hz::test::cpu_seconds([&] { normal = ours(s, Form::nfc); }) < 2);
    CHECK(normal.size() > 100'000);
  }
}

TEST_CASE("normalize: steps in a row keep the origin of each byte", "[text]") {
  using Kind = NormStep::Kind;
  const NormChain chain({{.kind = Kind::form, .form = Form::nfc},
                         {.kind = Kind::lowercase},
                         {.kind = Kind::replace, .from = " ", .to = "__"},
                         {.kind = Kind::prepend, .to = "^"}});
  const std::string text = "E\u0301 B";
  const auto out = chain.apply({.text = text}, true);
  REQUIRE(out);
  CHECK(out->text() == "^\u00e9__b");
  CHECK(out->span(0, 1, 0) == Span{0, 0});
  CHECK(out->span(1, 3, 0) == Span{0, 3});
  CHECK(out->span(3, 5, 0) == Span{3, 4});
  CHECK(out->span(5, 6, 10) == Span{14, 15});
  CHECK_FALSE(NormChain({{.kind = Kind::form}}).apply({.text = "plain"}, true));
}
