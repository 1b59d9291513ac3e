// SPDX-License-Identifier: Apache-2.0
// StreamDecoder: whole characters only, and the same text as decoding at once.
#include "hanzo/text/stream_decoder.hpp"

#include <random>

#include "hanzo/core/error.hpp"
#include "hanzo/text/utf8.hpp"
#include "tests/catch.hpp"
#include "tests/text/synthetic.hpp"

using namespace hz;
using text::StreamDecoder;

TEST_CASE("stream decoder: a character that several tokens share comes out whole", "[text]") {
  const auto t = test::small_bpe_tokenizer();
  const std::string hieroglyph = "\xF0\x93\x80\x80";  // U+13000, four byte tokens here
  const auto ids = t->encode(hieroglyph);
  REQUIRE(ids.size() == 4);
  StreamDecoder d(t);
  for (int i = 0; i < 3; ++i) {
    CHECK(d.push(ids[static_cast<std::size_t>(i)]).empty());
    CHECK(d.pending() == static_cast<std::size_t>(i) + 1);
  }
  CHECK(d.push(ids[3]) == hieroglyph);
  CHECK(d.flush().empty());
}

TEST_CASE("stream decoder: an unfinished character becomes U+FFFD at the end only", "[text]") {
  const auto t = test::small_bpe_tokenizer();
  const auto ids = t->encode("x\xE2\x82");
  StreamDecoder d(t);
  std::string out;
  for (const auto id : ids) out += d.push(id);
  CHECK(out == "x");
  CHECK(d.flush() == text::kReplacementUtf8);
  CHECK(d.flush().empty());
  CHECK(d.push(t->encode("y")[0]) == "y");
}

TEST_CASE("stream decoder: joined pieces equal the repaired whole for any ids", "[text]") {
  const auto t = test::small_bpe_tokenizer();
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<text::TokenId> ids(1 + random() % 40);
    for (auto& id : ids) id = static_cast<text::TokenId>(random() % static_cast<unsigned>(t->size()));
    const text::DecodeOptions options{.special = round % 2 == 0, .keep_prefix_space = true};
    StreamDecoder d(t, options);
    std::string out;
    for (const auto id : ids) {
      const std::string piece = d.push(id);
      REQUIRE(text::is_valid_utf8(piece));
      out += piece;
    }
    out += d.flush();
    REQUIRE(out == text::repair_utf8(t->decode(ids, options)));
  }
}

TEST_CASE("stream decoder: an id outside the vocabulary is refused", "[text]") {
  StreamDecoder d(test::small_bpe_tokenizer());
  CHECK_THROWS_AS(d.push(-1), Error);
  CHECK_THROWS_AS(d.push(100000), Error);
}
