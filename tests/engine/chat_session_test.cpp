// SPDX-License-Identifier: Apache-2.0
// ChatSession: turns, answers drawn again, the conversation as a file.
#include "hanzo/engine/chat_session.hpp"
#include "hanzo/io/atomic_file.hpp"
#include "tests/catch.hpp"
#include "tests/model/tiny_chat.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
using namespace hz::test;

namespace {

struct SessionFixture {
  TempDir dir;
  Model model = load();
  GenerateOptions options{.max_tokens = 12, .temperature = 1, .seed = 5, .sampling = {.ignore_eos = true}};
  Model load() const {
    write_tiny_chat(dir.path() / "m.gguf");
    return Model::load(dir.path() / "m.gguf");
  }
};

std::string refused(ChatSession& session, const std::string& json) {
  try {
    session.from_json(json, "talk.json");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::bad_file);
    CHECK(e.where() == "talk.json");
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE_METHOD(SessionFixture, "answers are those of the whole conversation, though only its end is evaluated", "[engine]") {
  Generator gen(model);
  ChatSession chat(gen);
  chat.set_system("be brief");
  for (const char* question : {"hello", "who are you?", "hello again"}) {
    std::string streamed;
    const Generation g = chat.ask(question, options, [&](const Piece& p) { streamed += p.text; });
    CHECK(streamed == g.text());
    CHECK(chat.messages().back().role == "assistant");
    CHECK(chat.messages().back().content == g.text());
    CHECK(g.stats().reused_tokens >= (chat.messages().size() > 3 ? 20 : 0));
    Generator fresh(model);
    std::vector<ChatMessage> before(chat.messages().begin(), chat.messages().end() - 1);
    Generation alone = fresh.chat(before, options);
    while (alone.next()) {
    }
    CHECK(alone.ids() == g.ids());
  }
  CHECK(chat.messages().size() == 7);
  chat.reset();
  CHECK(chat.messages().size() == 1);
  CHECK(chat.system() == "be brief");
  chat.set_system("");
  CHECK(chat.messages().empty());
}

TEST_CASE_METHOD(SessionFixture, "an answer drawn again is another one and takes the place of the first", "[engine]") {
  Generator gen(model);
  ChatSession chat(gen);
  CHECK_THROWS_AS(chat.regenerate(options), Error);
  const auto first = chat.ask("hello", options).ids(), second = chat.regenerate(options).ids(), third = chat.regenerate(options).ids();
  CHECK(first != second);
  CHECK(second != third);
  CHECK(chat.messages().size() == 2);
  ChatSession same(gen);
  same.ask("hello", options);
  CHECK(same.regenerate(options).ids() == second);
}

TEST_CASE_METHOD(SessionFixture, "an interrupted answer stays as far as it came; none at all leaves no trace", "[engine]") {
  Generator gen(model);
  ChatSession chat(gen);
  std::stop_source stop;
  GenerateOptions o = options;
  o.stop = stop.get_token();
  int pieces = 0;
  const Generation g = chat.ask("hello", o, [&](const Piece&) {
    if (++pieces == 3) stop.request_stop();
  });
  CHECK(g.finish_reason() == FinishReason::interrupted);
  CHECK(chat.messages().back().content == g.text());
  chat.ask("more", o);
  CHECK(chat.messages().size() == 2);
  chat.regenerate(o);
  CHECK(chat.messages().back().content == g.text());
}

TEST_CASE_METHOD(SessionFixture, "a turn that fails leaves the conversation as it was", "[engine]") {
  Generator gen(model);
  ChatSession chat(gen);
  chat.ask("hello", options);
  CHECK_THROWS_AS(chat.ask(std::string(600, 'x'), options), Error);  // 512 positions
  CHECK_THROWS_AS(chat.ask("bad \xff bytes", options), Error);
  CHECK(chat.messages().size() == 2);
  chat.ask("hello", options);
  CHECK(chat.messages().size() == 4);
}

TEST_CASE_METHOD(SessionFixture, "a conversation is saved and loaded; what is none is refused", "[engine]") {
  Generator gen(model);
  ChatSession chat(gen);
  chat.set_system("sys \"quoted\"\n");
  chat.ask("h\xc3\xa9llo", options);
  chat.save(dir.path() / "talk.json");
  ChatSession other(gen);
  other.load(dir.path() / "talk.json");
  REQUIRE(other.messages().size() == 3);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK((other.messages()[i].role == chat.messages()[i].role && other.messages()[i].content == chat.messages()[i].content));
  CHECK(other.ask("next", options).ids() == chat.ask("next", options).ids());
  CHECK(refused(other, R"([{"role": "user", "content": "hi"}])") == "no error");
  CHECK(other.messages().size() == 1);
  CHECK(refused(other, "{").find("must be JSON") != std::string::npos);
  CHECK(refused(other, R"({"messages": [{"role": "user"}]})").find("message 1 has no text 'content'") != std::string::npos);
  CHECK(refused(other, R"({"messages": [{"role": "", "content": "x"}]})").find("empty role") != std::string::npos);
  CHECK(refused(other, R"({"format": "else", "messages": []})").find("another format") != std::string::npos);
  CHECK(refused(other, R"({"format": "hanzo-chat", "version": 2, "messages": []})").find("version") != std::string::npos);
  CHECK(refused(other, "7").find("messages") != std::string::npos);
  CHECK(other.messages().size() == 1);
  CHECK_THROWS_AS(other.load(dir.path() / "absent.json"), Error);
}

TEST_CASE_METHOD(SessionFixture, "a saved state goes on with the conversation and with the answer", "[engine]") {
  Generator gen(model);
  ChatSession chat(gen);
  CHECK_THROWS_AS(chat.save_state(dir.path() / "s"), Error);
  GenerateOptions longer = options;
  longer.max_tokens = 90;
  chat.ask("hello", longer);
  chat.save_state(dir.path() / "s");
  const Generation want = chat.resume(options);
  const std::string talk = chat.json();
  const auto next = chat.ask("next", options).ids();

  Generator later(model);
  ChatSession resumed(later);
  resumed.load_state(dir.path() / "s");
  const Generation got = resumed.resume(options);
  CHECK(got.ids() == want.ids());
  CHECK(got.stats().reused_tokens == 64);
  CHECK(resumed.json() == talk);
  CHECK(resumed.ask("next", options).ids() == next);
}
