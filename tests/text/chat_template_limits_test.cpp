// SPDX-License-Identifier: Apache-2.0
// Hostile templates: every one ends soon, with an error that names its line.
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>

#include "hanzo/core/error.hpp"
#include "hanzo/text/chat_template.hpp"
#include "tests/catch.hpp"
#include "tests/sanitized.hpp"

using hz::Error;
using hz::ErrorKind;
using hz::text::ChatInput;
using hz::text::ChatTemplate;

namespace {

std::string times(const std::string& text, int n) {
  std::string r;
  for (int i = 0; i < n; ++i) r += text;
  return r;
}

// A failing template costs less than 0.1 s of processor time on a current machine. Under sanitizers one took
// 4.2 s of a slow one: their builds check that the steps end it, not how long each takes.
constexpr double kMaxSeconds = 0.4;

double processor_seconds() {
  std::timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// The error of rendering `source`; its `where` must name the line.
std::string failure(const std::string& source, ErrorKind kind = ErrorKind::failed, const ChatInput& input = {}) {
  const double start = processor_seconds();
  std::string what;
  try {
    ChatTemplate::parse(source, "hostile").render(input);
    FAIL("no error from " << source.substr(0, 200));
  } catch (const Error& e) {
    CHECK(e.kind() == kind);
    CHECK(e.where().rfind("hostile, line ", 0) == 0);
    what = e.what();
  }
  if (!hz::test::kSanitized) CHECK(processor_seconds() - start < kMaxSeconds);
  return what;
}

void fails_with(const std::string& source, const std::string& part, ErrorKind kind = ErrorKind::failed) {
  const std::string what = failure(source, kind);
  INFO(source.substr(0, 200) << " -> " << what);
  CHECK(what.find(part) != std::string::npos);
}

// A loop of 10^10 rounds of `body`, after `before`.
std::string loop(const std::string& body, const std::string& before = {}) {
  return before + "{% for a in range(100000) %}{% for b in range(100000) %}" + body + "{% endfor %}{% endfor %}";
}

}  // namespace

TEST_CASE("endless work of any kind runs out of steps") {
  const char* bodies[] = {"",
                          "{% set q = [1, 2, 3] %}",
                          "{% set q = {'a': b} %}",
                          "{% set q = big | upper %}",
                          "{% set q = big | tojson %}",
                          "{% set q = big.split('a') %}",
                          "{% set q = big | replace('a', 'b') %}",
                          "{% set q = big[::-1] %}",
                          "{% set q = 'b' in big %}",
                          "{% set q = (big ~ 'c') == (big ~ 'd') %}",
                          "{% set q = {big: 1} %}",
                          "{% set q = [big] | string %}",
                          "{% set q = big | e %}",
                          "{% set q = big | urlencode %}",
                          "{% set q = list | sort %}",
                          "{% set q = list | map('string') | list %}",
                          "{% set q = list | unique | list %}",
                          "{% set q = list | join %}",
                          "{% set q = list == list2 %}",
                          "{% set q = list[1:] %}",
                          "{% set q = 3 ** 9000 %}",
                          "{% set q = (3 ** 9000) // (7 ** 1000) %}",
                          "{% set q = (3 ** 9000) | string %}",
                          "{% set q = '9999999999' | int %}",
                          "{% set q = '%1000d' % 1 %}",
                          "{{ mac(1) }}"};
  const std::string before =
      "{% macro mac(x) %}{{ x }}{% endmacro %}{% set big = '<a\\n\u00e9' * 20000 %}"
      "{% set list = [3, 1, 2] * 5000 %}{% set list2 = [3, 1, 2] * 5000 %}";
  for (const char* body : bodies) fails_with(loop(body, before), "steps");
}

TEST_CASE("no value grows beyond the limit on live bytes") {
  const char* sources[] = {
      "{{ 'x' * 4000000000 }}",
      "{{ [0] * 1000000000 }}",
      "{{ range(90000) | join('x' * 90000) }}",
      "{{ 'a' | center(10 ** 12) }}",
      "{{ 'a'.zfill(10 ** 12) }}",
      "{{ '\\t'.expandtabs(10 ** 12) }}",
      "{{ 'a\nb' | indent(10 ** 12) }}",
      "{{ '%*d' % (10 ** 12, 1) }}",
      "{{ '%.1000000000d' % 1 }}",
      "{{ '{:1000000000000}'.format(1) }}",
      "{{ [1] | tojson(indent=10 ** 12) }}",
      "{{ [1] | batch(1000000000, 0) | list }}",
      "{{ [1] | slice(1000000000, 0) | list }}",
      "{% set ns = namespace(l=[1]) %}{% for i in range(64) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
  };
  for (const char* source : sources) fails_with(source, "live values");
}

TEST_CASE("a string that doubles for ever ends at one limit or the other") {
  failure("{% set ns = namespace(s='a') %}{% for i in range(64) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}");
}

TEST_CASE("output has a limit of its own") {
  ChatInput input;
  input.limits.output_bytes = 1000;
  CHECK(failure("{% for i in range(2000) %}x{% endfor %}", ErrorKind::failed, input).find("1000 bytes") != std::string::npos);
  CHECK(ChatTemplate::parse("{% for i in range(1000) %}x{% endfor %}").render(input).text.size() == 1000);
}

TEST_CASE("integers are bounded") {
  fails_with("{{ 2 ** 100000 }}", "bits");
  fails_with("{{ 10 ** 100000000 }}", "bits");
  CHECK(ChatTemplate::parse("{{ -9223372036854775808 // -1 }} {{ 7 % -3 }}").render(ChatInput{}).text == "9223372036854775808 -2");
}

TEST_CASE("nesting in the source is bounded") {
  for (const std::string& source :
       {"{{ " + times("(", 15000) + "1" + times(")", 15000) + " }}", "{{ " + times("[", 15000) + times("]", 15000) + " }}",
        "{{ " + times("-", 40000) + "1 }}", "{{ " + times("not ", 40000) + "1 }}",
        "{{ " + times("{1:", 5000) + "1" + times("}", 5000) + " }}", "{{ " + times("1 if 1 else ", 5000) + "1 }}",
        "{{ 1" + times(" if 1", 5000) + " }}", "{{ x" + times("[x", 5000) + times("]", 5000) + " }}",
        "{{ " + times("f(", 5000) + times(")", 5000) + " }}", times("{% if 1 %}", 5000) + times("{% endif %}", 5000),
        times("{% set x %}", 5000) + times("{% endset %}", 5000),
        "{% for " + times("(", 5000) + "a" + times(")", 5000) + " in [] %}{% endfor %}"}) {
    fails_with(source, "nests deeper", ErrorKind::bad_file);
  }
}

TEST_CASE("long chains do not nest") {
  CHECK(ChatTemplate::parse("{{ 'a'" + times(" ~ 'a'", 12000) + " }}").render(ChatInput{}).text == times("a", 12001));
  CHECK(ChatTemplate::parse("{{ 1" + times(" + 1", 12000) + " }}").render(ChatInput{}).text == "12001");
  CHECK(ChatTemplate::parse("{{ ' a '" + times(" | trim", 12000) + " }}").render(ChatInput{}).text == "a");
  CHECK(ChatTemplate::parse("{{ 0" + times(" or 0", 12000) + " }}").render(ChatInput{}).text == "0");
  CHECK(ChatTemplate::parse("{% if 0 %}" + times("{% elif 0 %}", 5000) + "{% else %}x{% endif %}").render(ChatInput{}).text == "x");
}

TEST_CASE("recursion when running is bounded") {
  fails_with("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "deeper");
  fails_with("{% macro m() %}{{ " + times("[", 90) + "m()" + times("]", 90) + " }}{% endmacro %}{{ m() }}", "deeper");
  fails_with("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", "deeper");
  fails_with("{% macro m() %}{{ caller() }}{% endmacro %}{% macro r() %}{% call m() %}{{ r() }}{% endcall %}{% endmacro %}{{ r() }}",
             "deeper");
}

TEST_CASE("values that nest deeply or contain themselves are freed and refused") {
  const std::string deep = "{% set ns = namespace(v=()) %}{% for i in range(30000) %}{% set ns.v = (ns.v,) %}{% endfor %}";
  CHECK(ChatTemplate::parse(deep + "done").render(ChatInput{}).text == "done");
  for (const char* use : {"{{ ns.v }}", "{{ ns.v | tojson }}", "{{ {ns.v: 1} }}", "{{ [ns.v, ns.v] | sort }}"})
    fails_with(deep + use, "deeper");
  const std::string twice = "{% set ns = namespace(v=[1]) %}{% for i in range(100) %}{% set ns.v = [ns.v, ns.v] %}{% endfor %}";
  fails_with(twice + "{{ ns.v }}", "steps");
  fails_with("{% set ns = namespace() %}{% set ns.me = [ns] %}{{ ns }}", "deeper");
  const char* cycles[] = {
      "{% set ns = namespace() %}{% set ns.me = {'a': [ns]} %}ok",
      "{% set ns = namespace() %}{% for i in [1, 2] %}{% macro f() %}{{ ns }}{% endmacro %}{% set ns.f = f %}{% endfor %}ok",
      "{% for i in [1, 2] %}{% if loop.changed(loop) %}{% endif %}{% endfor %}ok"};
  for (const char* source : cycles) CHECK(ChatTemplate::parse(source).render(ChatInput{}).text == "ok");
}

TEST_CASE("nothing of the host can be reached") {
  fails_with("{{ ''.__class__.__mro__[1].__subclasses__() }}", "unsafe");
  fails_with("{{ messages.append(1) }}", "undefined");
  fails_with("{{ [].append(1) }}", "unsafe");
  fails_with("{{ {}.update({}) }}", "unsafe");
  fails_with("{% include '/etc/passwd' %}", "another template", ErrorKind::unsupported);
  fails_with("{% import 'x' as x %}", "another template", ErrorKind::unsupported);
  CHECK(ChatTemplate::parse("[{{ '' | attr('__class__') }}]").render(ChatInput{}).text == "[]");
}

TEST_CASE("input that cannot be text is refused") {
  using Json = nlohmann::ordered_json;
  const Json messages = Json::array({{{"role", "user"}, {"content", "\xff\xfe"}}});
  ChatInput input;
  input.messages = &messages;
  CHECK_THROWS_AS(ChatTemplate::parse("{{ messages[0].content }}").render(input), Error);
  Json deep = 1;
  for (int i = 0; i < 1000; ++i) deep = Json::array({deep});
  input.messages = &deep;
  CHECK_THROWS_AS(ChatTemplate::parse("{{ messages }}").render(input), Error);
  CHECK_THROWS_AS(ChatTemplate::parse("a\xff"), Error);
  CHECK_THROWS_AS(ChatTemplate::parse("{{ '\\ud800' }}"), Error);
}
