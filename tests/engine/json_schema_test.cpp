// SPDX-License-Identifier: Apache-2.0
// JSON Schema: texts that are valid under a schema are taken, texts that are not are refused.
#include <string>
#include <vector>

#include "hanzo/core/error.hpp"
#include "hanzo/engine/grammar.hpp"
#include "tests/catch.hpp"
#include "tests/engine/tables.hpp"

using namespace hz;

namespace {

bool takes(const GrammarState& start, const std::string& text) {
  GrammarState s = start;
  return s.accept_text(text) && s.is_complete();
}

void check(const std::string& schema, const std::vector<std::string>& valid, const std::vector<std::string>& invalid) {
  static const auto table = test::byte_table();
  INFO(schema);
  const GrammarState s(Grammar::from_json_schema(schema), table);
  for (const std::string& text : valid) {
    INFO("valid: " << text);
    CHECK(takes(s, text));
  }
  for (const std::string& text : invalid) {
    INFO("invalid: " << text);
    CHECK_FALSE(takes(s, text));
  }
}

}  // namespace

TEST_CASE("schema: types", "[engine]") {
  check(R"({"type":"string"})", {R"("")", R"("a b")", R"("é日😀")", R"("\n\"\\\/\u00e9\ud83d\ude00")"},
        {"a", R"("a)", "\"\n\"", R"("\x")", R"("\ud83d")", R"("\ude00")", R"("\ud83dx")", R"("a" )", "1"});
  check(R"({"type":"integer"})", {"0", "-1", "9007199254740993"}, {"-0", "01", "1.0", "1e3", "", "-", "12345678901234567"});
  check(R"({"type":"number"})", {"0", "-0.5", "12.25", "1e10", "1E-5", "-3.0e+07"}, {".5", "1.", "01", "1e999", "NaN", "+1"});
  check(R"({"type":"boolean"})", {"true", "false"}, {"null", "True", "tru"});
  check(R"({"type":"null"})", {"null"}, {"0", ""});
  check(R"({"type":["string","null"]})", {"null", R"("x")"}, {"1", "true"});
  check(R"({"type":["integer","number"]})", {"1", "1.5"}, {"null"});
  check("true", {"1", "{}", R"([1,"a",{"b":null}])", R"({"a": [true, false]})"}, {"", "x", "[1,]", R"({"a"})", R"({a:1})"});
  check("{}", {"1", R"({ "a": 1 })", "[\n  1,\n  2\n]"}, {"[1 2]", "[1,,2]"});
}

TEST_CASE("schema: whitespace is what models write, and bounded", "[engine]") {
  check(R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"array","items":{"type":"integer"}}},"required":["a","b"]})",
        {R"({"a":1,"b":[]})", R"({"a": 1, "b": [1, 2]})", "{\n  \"a\": 1,\n  \"b\": [\n    1,\n    2\n  ]\n}", R"({ "a": 1, "b": [ 1 ] })",
         "{\n\t\"a\": 1,\n\t\"b\": []\n}"},
        {R"( {"a":1,"b":[]})", R"({"a":  1,"b":[]})", R"({"a" :1,"b":[]})", "{\n\n\"a\":1,\"b\":[]}", R"({"b":[],"a":1})", R"({"a":1})",
         R"({"a":1,"b":[],"c":1})", "{\"a\":1,\n" + std::string(41, ' ') + "\"b\":[]}"});
}

TEST_CASE("schema: strings by length, pattern and format", "[engine]") {
  check(R"({"type":"string","minLength":2,"maxLength":3})", {R"("ab")", R"("日本語")", R"("a\n")", R"("\ud83d\ude00x")"},
        {R"("a")", R"("abcd")", R"("")"});
  check(R"({"type":"string","minLength":12,"maxLength":14})", {R"("abcdefghijkl")", R"("abcdefghijklm\n")"},
        {R"("abcdefghijk")", R"("abcdefghijklmno")"});
  check(R"({"type":"string","maxLength":0})", {R"("")"}, {R"("a")"});
  check(R"({"type":"string","minLength":1})", {R"("a")", R"("abc")"}, {R"("")"});
  check(R"({"type":"string","pattern":"^[a-c]+x?$"})", {R"("a")", R"("abcx")"}, {R"("")", R"("x")", R"("axx")"});
  check(R"({"type":"string","pattern":"b+"})", {R"("b")", R"("abbc")", R"("\nb")"}, {R"("ac")", R"("")"});
  check(R"({"type":"string","pattern":"^a|b$"})", {R"("axyz")", R"("xyzb")"}, {R"("xay")"});
  check(R"({"type":"string","pattern":"^(?:a|(b)(?<n>c)){2}$"})", {R"("aa")", R"("bca")"}, {R"("a")", R"("bb")"});
  check(R"({"type":"string","pattern":"^\\d{3}-\\w\\s\\S$"})", {R"("123-_ x")", R"("000-a\t!")"}, {R"("12-a x")", R"("123-a  ")"});
  check(R"({"type":"string","pattern":"^[\\w.-]+@[^@\\s]+$"})", {R"("a.b-c@d")"}, {R"("@d")", R"("a@b@c")", R"("a@ b")"});
  check(R"({"type":"string","pattern":"^\"\\\\.$"})", {R"("\"\\x")"}, {R"("\"x")"});
  check(R"({"type":"string","pattern":"^\\u00e9\\x41\\u{1F600}\\ud83d\\ude00\\/$"})", {R"("éA😀😀/")"}, {R"("éA😀/")"});
  check(R"({"type":"string","pattern":"^[\\x00-\\x20]$"})", {R"("\u0001")", R"("\t")", R"(" ")"}, {R"("\u0021")", R"("a")"});
  check(R"({"type":"string","pattern":"^a*?b{2,3}c{1,}d{0}$"})", {R"("bbc")", R"("aabbbcc")"}, {R"("bc")", R"("bbcd")"});
  check(R"({"type":"string","pattern":"^$"})", {R"("")"}, {R"("a")"});
  check(R"({"type":"string","pattern":""})", {R"("")", R"("abc")"}, {"1"});
  check(R"({"type":"string","pattern":"^[a-z]{2,4}$","minLength":1,"maxLength":10})", {R"("ab")"}, {R"("a")"});
  check(R"({"type":"string","format":"date"})", {R"("2024-02-29")", R"("2023-12-31")", R"("2000-02-29")"},
        {R"("2023-02-29")", R"("1900-02-29")", R"("2023-04-31")", R"("2023-13-01")", R"("23-01-01")"});
  check(R"({"type":"string","format":"time"})", {R"("23:59:59Z")", R"("00:00:00.123+02:00")"}, {R"("24:00:00Z")", R"("12:00:00")"});
  check(R"({"type":"string","format":"date-time"})", {R"("2024-05-06T07:08:09Z")"}, {R"("2024-05-06 07:08:09Z")", R"("2024-05-06")"});
  check(R"({"type":"string","format":"uuid"})", {R"("123e4567-e89b-12d3-a456-426614174000")"}, {R"("123e4567e89b12d3a456426614174000")"});
  check(R"({"type":"string","format":"ipv4"})", {R"("255.0.10.199")"}, {R"("256.0.0.1")", R"("1.2.3")", R"("01.2.3.4")"});
  check(R"({"type":"string","format":"ipv6"})", {R"("::1")", R"("2001:db8::8a2e:370:7334")", R"("1:2:3:4:5:6:7:8")"},
        {R"("1:2:3")", R"("1::2::3")", R"("12345::")"});
  check(R"({"type":"string","format":"email"})", {R"("a.b+c@d-e.org")"}, {R"("a@b")", R"("a..b@c.d")", R"("@c.d")"});
  check(R"({"type":"string","format":"uri"})", {R"("https://a.b/c%20d?e=f#g")"}, {R"("a.b/c")", R"("https://a b")"});
  check(R"({"type":"string","format":"hostname"})", {R"("a-b.example")"}, {R"("-a")", R"("a..b")"});
  check(R"({"type":"string","format":"duration"})", {R"("P1Y2M3DT4H5M6S")", R"("PT30S")", R"("P2W")"}, {R"("P")", R"("PT")", R"("1D")"});
}

TEST_CASE("schema: numbers by bounds", "[engine]") {
  check(R"({"type":"integer","minimum":18,"maximum":120})", {"18", "99", "120"}, {"17", "121", "1", "12e1", "018"});
  check(R"({"type":"integer","exclusiveMinimum":0})", {"1", "1000"}, {"0", "-1"});
  check(R"({"type":"integer","exclusiveMaximum":-5})", {"-6", "-100"}, {"-5", "0"});
  check(R"({"type":"integer","minimum":-1.5,"maximum":2.5})", {"-1", "0", "2"}, {"-2", "3"});
  check(R"({"type":"number","minimum":0,"exclusiveMaximum":1})", {"0", "0.999", "0.0"}, {"1", "1.0", "-0.1"});
  check(R"({"type":"number","multipleOf":0.01,"minimum":0})", {"1.25", "3", "0.1"}, {"1.255"});
  check(R"({"type":"number","multipleOf":1,"maximum":5})", {"5", "-7"}, {"1.5", "6"});
  check(R"({"minimum":3,"maximum":4})", {"3", "3.5"}, {"2", "\"a\""});
}

TEST_CASE("schema: enum and const", "[engine]") {
  check(R"({"enum":["a","b\n",1,1.5,null,true,[1,"x"],{"k":{"l":[]}}]})",
        {R"("a")", R"("b\n")", "1", "1.5", "null", "true", R"([1,"x"])", R"([1, "x"])", R"({"k":{"l":[]}})", R"({"k": {"l": []}})"},
        {R"("c")", "2", "[1]", "{}"});
  check(R"({"type":"string","enum":["a",1,"bb"],"maxLength":1})", {R"("a")"}, {"1", R"("bb")"});
  check(R"({"const":{"a":1}})", {R"({"a":1})", R"({"a": 1})"}, {"{}", R"({"a":2})"});
  check(R"({"type":"integer","enum":[1,2.0,2.5,"x"],"minimum":2})", {"2.0"}, {"1", "2.5"});
  check(R"({"const":"x","enum":["x","y"]})", {R"("x")"}, {R"("y")"});
}

TEST_CASE("schema: arrays", "[engine]") {
  check(R"({"type":"array"})", {"[]", "[1,[2],{}]"}, {"[", "{}"});
  check(R"({"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":3})", {"[1]", "[1, 2, 3]"}, {"[]", "[1,2,3,4]", "[\"a\"]"});
  check(R"({"type":"array","items":{"type":"boolean"},"minItems":12,"maxItems":12})",
        {"[true,true,true,true,true,true,true,true,true,true,true,true]"}, {"[true]"});
  check(R"({"type":"array","maxItems":0})", {"[]"}, {"[1]"});
  check(R"({"type":"array","items":false})", {"[]"}, {"[1]"});
  check(R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":false,"minItems":2})", {R"([1,"a"])"},
        {"[1]", R"([1,"a",2])", R"(["a",1])"});
  check(R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":{"type":"null"}})",
        {"[]", "[1]", R"([1,"a"])", R"([1,"a",null,null])"}, {R"([1,null])", R"([1,"a",1])"});
  check(R"({"type":"array","prefixItems":[{"type":"integer"},false]})", {"[]", "[1]"}, {"[1,2]"});
  check(R"({"type":"array","items":[{"type":"integer"}],"additionalItems":{"type":"string"},"maxItems":2})", {"[]", R"([1,"a"])"},
        {R"(["a"])", R"([1,"a","b"])"});
  check(R"({"items":{"type":"integer"}})", {"[1]"}, {"1", "[true]"});
}

TEST_CASE("schema: objects", "[engine]") {
  check(R"({"type":"object"})", {"{}", R"({"a":{"b":[1]}})"}, {"[]", R"({"a":})"});
  const std::string abc =
      R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"},"c":{"type":"integer"}},"required":)";
  check(abc + "[]}", {"{}", R"({"a":1})", R"({"b":1})", R"({"c":1})", R"({"a":1,"c":2})", R"({"a":1,"b":2,"c":3})"},
        {R"({"b":1,"a":1})", R"({"a":1,})", R"({,"a":1})", R"({"a":1,"a":1})", R"({"d":1})"});
  check(abc + R"(["b"]})", {R"({"b":1})", R"({"a":1,"b":1})", R"({"b":1,"c":1})"}, {"{}", R"({"a":1})", R"({"a":1,"c":1})"});
  check(abc + R"(["c"]})", {R"({"c":1})", R"({"a":1,"c":1})", R"({"b":1,"c":1})"}, {R"({"a":1,"b":1})"});
  check(abc + R"(["a"],"additionalProperties":{"type":"string"}})",
        {R"({"a":1})", R"({"a":1,"x":"y"})", R"({"a":1,"c":2,"ab":"y","":"z"})"},
        {R"({"a":1,"x":1})", R"({"a":1,"b":"y"})", R"({"x":"y","a":1})"});
  check(R"({"type":"object","additionalProperties":{"type":"integer"}})", {"{}", R"({"x":1, "y":2})"}, {R"({"x":"a"})"});
  check(R"({"type":"object","additionalProperties":false})", {"{}"}, {R"({"x":1})"});
  check(R"({"type":"object","properties":{"a":{"type":"integer"},"bad":false}})", {"{}", R"({"a":1})"}, {R"({"bad":1})"});
  check(R"({"type":"object","properties":{"name":{"type":"string"},"names":{"type":"string"}},"additionalProperties":true})",
        {R"({"name":"x"})", R"({"nam":1})", R"({"name":"x","namesake":1})", R"({"na":1,"n":2})"},
        {R"({"name":1})", R"({"names":2})", R"({"na":1,"name":"x"})", R"({"n\u0061me":1})"});
  check(R"({"type":"object","required":["k"]})", {R"({"k":1})", R"({"k":[],"l":2})"}, {"{}", R"({"l":1})"});
  check(R"({"type":"object","properties":{"a":{}},"required":["a","b"]})", {R"({"a":1,"b":"x"})"}, {R"({"a":1})"});
  check(R"({"type":"object","properties":{"a\"\n/é":{"type":"null"}},"required":["a\"\n/é"]})", {R"({"a\"\n/é":null})"}, {"{}"});
  check(R"({"type":"object","additionalProperties":{"type":"integer"},"minProperties":1,"maxProperties":2})",
        {R"({"x":1})", R"({"x":1,"y":2})"}, {"{}", R"({"x":1,"y":2,"z":3})"});
  check(R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"minProperties":1})", {R"({"b":1})", R"({"a":1})"},
        {"{}"});
}

TEST_CASE("schema: anyOf, oneOf, allOf", "[engine]") {
  check(R"({"anyOf":[{"type":"integer"},{"type":"string"}]})", {"1", R"("a")"}, {"null"});
  check(
      R"({"type":"object","properties":{"t":{"type":"string"}},"required":["t"],"oneOf":[{"properties":{"t":{"const":"a"},"x":{"type":"integer"}},"required":["x"]},{"properties":{"t":{"const":"b"}}}]})",
      {R"({"t":"a","x":1})", R"({"t":"b"})"}, {R"({"t":"a"})", R"({"t":"c"})", R"({"t":"b","x":1})"});
  check(R"({"anyOf":[{"type":"string"},{"type":"integer"}],"type":"integer"})", {"1"}, {R"("a")"});
  check(
      R"({"allOf":[{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]})",
      {R"({"a":1,"b":"x"})"}, {R"({"a":1})", R"({"b":"x"})"});
  check(R"({"allOf":[{"type":"integer","minimum":3},{"maximum":5},{"minimum":4}]})", {"4", "5"}, {"3", "6"});
  check(R"({"allOf":[{"type":["integer","string"]},{"type":["number","null"]}]})", {"1"}, {"1.5", "null", R"("a")"});
  check(R"({"allOf":[{"enum":[1,2,3]},{"enum":[2,3,4]}],"maximum":2})", {"2"}, {"3", "1"});
  check(R"({"allOf":[{"anyOf":[{"minimum":5},{"maximum":-5}]},{"anyOf":[{"minimum":6},{"maximum":-6}]}],"type":"integer"})", {"6", "-6"},
        {"5", "-5", "0"});
  check(
      R"({"allOf":[{"properties":{"a":{"minimum":3}},"type":"object"},{"properties":{"a":{"type":"integer","maximum":5}},"required":["a"]}]})",
      {R"({"a":4})"}, {R"({"a":6})", R"({"a":2})", "{}"});
  check(
      R"({"allOf":[{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false},{"properties":{"b":{"type":"string"}}}]})",
      {"{}", R"({"a":1})"}, {R"({"b":"x"})"});
  check(R"({"allOf":[{"type":"array","prefixItems":[{"type":"string"}]},{"items":{"type":["string","number"],"minimum":3}}]})",
        {"[]", R"(["a",4])"}, {"[4]", R"(["a",2])", R"(["a",null])"});
  check(
      R"({"allOf":[{"type":"array","prefixItems":[{"minimum":3},{}],"items":false},{"prefixItems":[{"type":"integer"}],"items":{"type":"null"}}]})",
      {"[3]", "[4,null]"}, {"[2]", "[4,1]", "[4,null,null]"});
  check(
      R"({"properties":{"a":{"type":"integer"}},"required":["a"],"allOf":[{"properties":{"b":{"type":"string"}}}],"additionalProperties":{"type":"integer"}})",
      {R"({"a":1,"c":2})"}, {R"({"a":1,"b":2})", R"({"a":1,"b":"x"})"});
  check(R"({"anyOf":[{"type":"null"},{"type":"string","allOf":[{"type":"integer","enum":["a"]}]}]})", {"null"}, {R"("a")"});
  check(R"({"allOf":[{"items":{"minimum":1}},{"items":{"type":"integer","maximum":2}}],"type":"array"})", {"[1,2]"}, {"[3]", "[1.5]"});
}

TEST_CASE("schema: references, also to itself", "[engine]") {
  check(R"({"$ref":"#/$defs/p","$defs":{"p":{"type":"integer"}}})", {"1"}, {"null"});
  check(R"({"$ref":"#/definitions/a~1b~0c%25","definitions":{"a/b~c%":{"type":"null"}}})", {"null"}, {"1"});
  check(
      R"({"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},"required":["v","next"]})",
      {R"({"v":1,"next":null})", R"({"v":1,"next":{"v":2,"next":{"v":3,"next":null}}})"}, {R"({"v":1})", R"({"v":1,"next":{"v":2}})"});
  check(R"({"$ref":"#/$defs/tree","$defs":{"tree":{"type":"array","items":{"$ref":"#/$defs/tree"}}}})", {"[]", "[[],[[]]]"},
        {"[1]", "[[]"});
  check(R"({"$ref":"#/$defs/n","minimum":5,"$defs":{"n":{"type":"integer","maximum":6}}})", {"5", "6"}, {"4", "7"});
  check(
      R"({"allOf":[{"$ref":"#/$defs/base"}],"properties":{"b":{"type":"null"}},"$defs":{"base":{"type":"object","properties":{"a":{"type":"null"}},"required":["a"]}}})",
      {R"({"a":null})", R"({"a":null,"b":null})"}, {"{}", R"({"b":null})"});
  check(R"({"anyOf":[{"type":"integer"},{"type":"array","items":{"$ref":"#/anyOf/0"}}]})", {"1", "[1,2]"}, {"[[1]]"});
}

TEST_CASE("schema: any JSON is an object or an array", "[engine]") {
  const GrammarState s(Grammar::any_json(), test::byte_table());
  for (const char* text : {"{}", "[]", R"({"a": [1, {"b": null}], "c": "d"})"}) CHECK(takes(s, text));
  for (const char* text : {"1", "\"a\"", "null", "{]", "[1"}) CHECK_FALSE(takes(s, text));
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += "[";
  for (int i = 0; i < 10'000; ++i) deep += "]";
  CHECK(takes(s, deep));
}

TEST_CASE("schema: a finished object is final: nothing but the end of the turn may follow", "[engine]") {
  GrammarState s(Grammar::from_json_schema(R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]})"),
                 test::byte_table());
  CHECK(s.accept_text(R"({"a":1)"));
  CHECK_FALSE(s.is_complete());
  CHECK(s.accept_text("}"));
  CHECK(s.is_final());
  std::vector<std::uint64_t> bits(5);
  s.mask(bits);
  CHECK(bits == std::vector<std::uint64_t>{3, 0, 0, 0, 0});
}
