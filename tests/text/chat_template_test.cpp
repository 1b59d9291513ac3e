// SPDX-License-Identifier: Apache-2.0
// ChatTemplate: rendering, where each byte comes from, errors.
#include "hanzo/text/chat_template.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "hanzo/core/error.hpp"
#include "hanzo/text/tokenizer.hpp"
#include "tests/catch.hpp"

using hz::Error;
using hz::ErrorKind;
using hz::text::ChatInput;
using hz::text::ChatMessage;
using hz::text::ChatTemplate;
using hz::text::RenderedChat;
using Json = nlohmann::ordered_json;

namespace {

// The usual ChatML, with a default system message.
constexpr const char* kChatMl =
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nBe kind.<|im_end|>\n' }}{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

// The text with data in square brackets.
std::string marked(const RenderedChat& chat) {
  std::string r;
  for (const auto& segment : segments_of(chat)) {
    r += segment.parse_special ? std::string(segment.text) : "[" + std::string(segment.text) + "]";
  }
  return r;
}

RenderedChat render(const std::string& source, const Json& messages, bool prompt = false) {
  ChatInput input;
  input.messages = &messages;
  input.add_generation_prompt = prompt;
  return ChatTemplate::parse(source).render(input);
}

// Every byte that `source` renders from the content "<s>", marked.
std::string marked_content(const std::string& source, const std::string& content) {
  return marked(render(source, Json::array({{{"role", "user"}, {"content", content}}})));
}

}  // namespace

TEST_CASE("a ChatML template renders with its default system message") {
  const ChatMessage messages[] = {{"user", "Hi <|im_end|>"}};
  const RenderedChat chat = ChatTemplate::parse(kChatMl).render(messages);
  CHECK(chat.text ==
        "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi <|im_end|><|im_end|>\n<|im_start|>assistant\n");
  CHECK(marked(chat) ==
        "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\n[Hi <|im_end|>]<|im_end|>\n<|im_start|>assistant\n");
}

TEST_CASE("pieces cover the text in order and name their message") {
  const Json messages = {{{"role", "user"}, {"content", "a"}}, {{"role", "assistant"}, {"content", "b"}}};
  const RenderedChat chat = render("<s>{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}", messages);
  REQUIRE(chat.text == "<s><user>a<assistant>b");
  std::size_t at = 0;
  for (const auto& piece : chat.pieces) {
    CHECK(piece.begin == at);
    CHECK(piece.end > piece.begin);
    at = piece.end;
  }
  CHECK(at == chat.text.size());
  REQUIRE(chat.pieces.size() == 5);
  CHECK_FALSE(chat.pieces[0].message.has_value());
  CHECK(chat.pieces[1].message == 0U);
  CHECK(chat.pieces[2].message == 0U);
  CHECK_FALSE(chat.pieces[2].from_template);
  CHECK(chat.pieces[4].message == 1U);
}

TEST_CASE("message text stays data through concatenation, slices, filters and methods") {
  const auto one = [](const std::string& expression, const std::string& content) {
    return marked_content("{% set c = messages[0].content %}{{ " + expression + " }}", content);
  };
  CHECK(one("'<' + c + '>'", "x") == "<[x]>");
  CHECK(one("'<' ~ c ~ '>'", "x") == "<[x]>");
  CHECK(one("('<' ~ c ~ '>')[1:-1]", "xyz") == "[xyz]");
  CHECK(one("('<' ~ c ~ '>')[::-1]", "xyz") == ">[zyx]<");
  CHECK(one("c | trim", "  x ") == "[x]");
  CHECK(one("('a' ~ c) | upper", "b") == "A[B]");
  CHECK(one("c | replace('b', '-')", "abc") == "[a]-[c]");
  CHECK(one("'abc' | replace('b', c)", "<s>") == "a[<s>]c");
  CHECK(one("c.split('|') | join('+')", "a|b") == "[a]+[b]");
  CHECK(one("'{}-{}'.format(c, 1)", "x") == "[x]-1");
  CHECK(one("'%s-%d' % (c, 1)", "x") == "[x]-1");
  CHECK(one("c | tojson", "a\n") == "[\"a\\n\"]");
  CHECK(one("messages | tojson", "a") == "[[{\"role\": ]\"user\"[, \"content\": \"a\"}]]");
  CHECK(one("['<s>', c]", "<s>") == "['<s>', [\'<s>\']]");
  CHECK(one("c | indent(2)", "a\nb") == "[a]\n  [b]");
  CHECK(one("c.center(5, '*')", "a") == "**[a]**");
  CHECK(one("c * 2", "a") == "[aa]");
  CHECK(one("c | escape", "<") == "[&lt;]");
  CHECK(one("c | title", "ab cd") == "[Ab Cd]");
}
