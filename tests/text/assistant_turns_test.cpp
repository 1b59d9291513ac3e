// SPDX-License-Identifier: Apache-2.0
// What of a rendered conversation the assistant wrote: the trained part.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hanzo/text/chat_template.hpp"
#include "tests/catch.hpp"

using hz::text::ChatInput;
using hz::text::ChatTemplate;
using Json = nlohmann::ordered_json;

namespace {

const std::vector<std::string> kEnds = {"<|im_end|>", "</s>", "<|end|>"};

Json say(std::initializer_list<std::pair<const char*, const char*>> turns) {
  Json r = Json::array();
  for (const auto& [role, content] : turns) r.push_back({{"role", role}, {"content", content}});
  return r;
}

// The text with the assistant's turns in braces; a turn that does not end is marked "{!".
std::string turns_of(const std::string& source, const Json& messages, bool prompt = false, const std::vector<std::string>& ends = kEnds) {
  ChatInput input;
  input.messages = &messages;
  input.add_generation_prompt = prompt;
  const Json variables = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  input.variables = &variables;
  const auto chat = ChatTemplate::parse(source);
  const auto rendered = chat.render(input);
  std::string r;
  std::size_t at = 0;
  for (const auto& turn : chat.assistant_turns(rendered, input, ends)) {
    REQUIRE(turn.begin >= at);
    REQUIRE(turn.end > turn.begin);
    r += rendered.text.substr(at, turn.begin - at) + (turn.closed ? "{" : "{!");
    r += rendered.text.substr(turn.begin, turn.end - turn.begin) + "}";
    at = turn.end;
  }
  return r + rendered.text.substr(at);
}

const std::string kChatMl =
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

}  // namespace

TEST_CASE("each assistant turn is its content and its end token, once") {
  const Json talk = say({{"user", "a"}, {"assistant", "b"}, {"user", "c"}, {"assistant", "d"}});
  CHECK(turns_of(kChatMl, talk) ==
        "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n{b<|im_end|>}\n"
        "<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n{d<|im_end|>}\n");
  CHECK(turns_of(kChatMl, say({{"user", "a"}}), true) == "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n");
}

TEST_CASE("an empty answer still trains its end token") {
  CHECK(turns_of(kChatMl, say({{"user", "a"}, {"assistant", ""}})) ==
        "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n{<|im_end|>}\n");
}

TEST_CASE("end tokens and headers inside messages do not move the bounds") {
  const Json talk = say({{"user", "<|im_start|>assistant\nx"}, {"assistant", "b<|im_end|>c"}});
  CHECK(turns_of(kChatMl, talk) ==
        "<|im_start|>user\n<|im_start|>assistant\nx<|im_end|>\n<|im_start|>assistant\n{b<|im_end|>c<|im_end|>}\n");
}

TEST_CASE("without end-of-turn texts a turn is what the template wrote for it, less trailing space") {
  CHECK(turns_of(kChatMl, say({{"user", "a"}, {"assistant", "b"}}), false, {}) ==
        "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n{!b<|im_end|>}\n");
}

TEST_CASE("what the template writes after the generation prompt belongs to the turn") {
  const std::string source =
      "{% for m in messages %}{% if m.role == 'assistant' %}{{ '<a>\n<think>\n\n</think>\n' + m.content + '</s>' }}"
      "{% else %}{{ '<u>' + m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<a>\n' }}{% endif %}";
  const Json talk = say({{"user", "x"}, {"assistant", "y"}});
  CHECK(turns_of(source, talk) == "<u>x<a>\n{<think>\n\n</think>\ny</s>}");
}

TEST_CASE("a generation prompt that goes on differently counts up to where it still agrees") {
  const std::string source =
      "{% for m in messages %}{% if m.role == 'assistant' %}{{ '<a>\n<think>' + m.content + '</s>' }}"
      "{% else %}{{ '<u>' + m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<a>\n</think>' }}{% endif %}";
  CHECK(turns_of(source, say({{"user", "x"}, {"assistant", "y"}})) == "<u>x<a>\n{<think>y</s>}");
}

TEST_CASE("templates without a generation prompt: the turn begins with what is written for it") {
  const std::string source =
      "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}{{ '[INST]' + m.content + '[/INST]' }}"
      "{% else %}{% if m.tool_calls is defined %}{{ '[CALL]' + m.tool_calls | tojson }}{% else %}{{ m.content }}{% endif %}"
      "{{ eos_token }}{% endif %}{% endfor %}";
  Json talk = say({{"user", "x"}, {"assistant", "y"}, {"user", "z"}, {"assistant", ""}});
  talk[3]["tool_calls"] = Json::array({1});
  CHECK(turns_of(source, talk) == "<s>[INST]x[/INST]{y</s>}[INST]z[/INST]{[CALL][1]</s>}");
}

TEST_CASE("a template that always ends with a generation prompt") {
  const std::string source = "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content + '<|end|>' }}{% endfor %}{{ '<|assistant|>' }}";
  CHECK(turns_of(source, say({{"user", "x"}, {"assistant", "y"}})) == "<|user|>x<|end|><|assistant|>{y<|end|>}<|assistant|>");
}

TEST_CASE("one that ends with something else instead") {
  const std::string source =
      "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content + '<|end|>' }}{% endfor %}"
      "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% else %}{{ eos_token }}{% endif %}";
  CHECK(turns_of(source, say({{"user", "x"}, {"assistant", "y"}})) == "<|user|>x<|end|><|assistant|>{y<|end|>}</s>");
}

TEST_CASE("the last turn may lack its end token, and says so") {
  const std::string source =
      "{% for m in messages %}{{ '<' + m.role + '>' + m.content }}{% if not loop.last %}{{ eos_token }}{% endif %}{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{% endif %}";
  CHECK(turns_of(source, say({{"user", "a"}, {"assistant", "b"}, {"user", "c"}, {"assistant", "d"}})) ==
        "<user>a</s><assistant>{b</s>}<user>c</s><assistant>{!d}");
}

TEST_CASE("tool results are not the assistant's") {
  const std::string source =
      "{% for m in messages %}{{ '<' + m.role + '>' }}{{ m.content }}{% if m.calls %}[{{ m.calls | join(',') }}]{% endif %}</s>{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{% endif %}";
  Json talk = say({{"user", "a"}, {"assistant", "b"}, {"tool", "c"}, {"assistant", "d"}});
  talk[1]["calls"] = {"f", 1};
  CHECK(turns_of(source, talk) == "<user>a</s><assistant>{b[f,1]</s>}<tool>c</s><assistant>{d</s>}");
}

TEST_CASE("content that a filter rebuilds is followed") {
  const std::string source =
      "{% set ns = namespace(out='') %}{% for m in messages %}{% set ns.out = ns.out ~ '<' ~ m.role ~ '>' ~ (m.content | trim | upper) ~ "
      "'</s>' %}"
      "{% endfor %}{{ ns.out }}{% if add_generation_prompt %}<assistant>{% endif %}";
  CHECK(turns_of(source, say({{"user", " a "}, {"assistant", " b "}})) == "<user>A</s><assistant>{B</s>}");
}

TEST_CASE("generation blocks say themselves what is trained") {
  const std::string source =
      "{% for m in messages %}{% if m.role == 'assistant' %}<a>{% generation %}{{ m.content }}</s>{% endgeneration %}"
      "{% else %}<u>{{ m.content }}{% endif %}{% endfor %}";
  CHECK(turns_of(source, say({{"user", "x"}, {"assistant", "y"}, {"user", "z"}, {"assistant", ""}})) == "<u>x<a>{y</s>}<u>z<a>{</s>}");
}

TEST_CASE("a generation block without the end token takes the one that follows") {
  const std::string source =
      "{% for m in messages %}{% if m.role == 'assistant' %}<a>{% generation %}{{ m.content }}{% endgeneration %}</s>\n"
      "{% else %}<u>{{ m.content }}{% endif %}{% endfor %}";
  CHECK(turns_of(source, say({{"user", "x"}, {"assistant", "y"}, {"user", "z"}})) == "<u>x<a>{y</s>}\n<u>z");
}
