// SPDX-License-Identifier: Apache-2.0
// Rows: each format's fields, and what is wrong with the rest.
#include "src/train/row.hpp"

#include "hanzo/io/jsonl.hpp"
#include "tests/catch.hpp"

using namespace hz;
using namespace hz::train;

namespace {

Row read(const std::string& text) {
  const Json json = io::parse_json(text);
  return read_row(json, format_of(json));
}
bool refused(const std::string& text, const std::string& part) {
  try {
    read(text);
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::bad_file && std::string(e.what()).find(part) != std::string::npos) return true;
    WARN("got: " << e.what());
    return false;
  }
  WARN("accepted: " << text);
  return false;
}

}  // namespace

TEST_CASE("formats are known by their keys and by name", "[train][data]") {
  CHECK(format_of(Json::parse(R"({"messages": []})")) == DataFormat::messages);
  CHECK(format_of(Json::parse(R"({"conversations": []})")) == DataFormat::sharegpt);
  CHECK(format_of(Json::parse(R"({"instruction": "", "output": ""})")) == DataFormat::alpaca);
  CHECK(format_of(Json::parse(R"({"prompt": "", "completion": ""})")) == DataFormat::prompt_completion);
  CHECK(format_of(Json::parse(R"({"input_ids": []})")) == DataFormat::tokens);
  CHECK(format_of(Json::parse(R"({"text": ""})")) == DataFormat::text);
  CHECK(data_format("prompt-completion") == DataFormat::prompt_completion);
  CHECK_THROWS_AS(data_format("alpacca"), Error);
  CHECK(refused(R"({"txt": "a"})", "keys: txt"));
  CHECK(refused("42", "a number, not an object"));
  CHECK(refused("[]", "an array, not an object"));
}

TEST_CASE("alpaca and sharegpt become conversations", "[train][data]") {
  const Row a = read(R"({"instruction": "Add.", "input": "1 2", "output": "3"})");
  CHECK(a.messages.dump() == R"([{"role":"user","content":"Add.\n\n1 2"},{"role":"assistant","content":"3"}])");
  CHECK(read(R"({"instruction": "Say.", "input": "", "output": "x"})").messages[0]["content"] == "Say.");
  const Row s = read(
      R"({"conversations": [{"from": "system", "value": "s"}, {"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}, {"from": "observation", "value": "t"}]})");
  CHECK(s.messages[0]["role"] == "system");
  CHECK(s.messages[2]["role"] == "assistant");
  CHECK(s.messages[3]["role"] == "tool");
  CHECK(refused(R"({"conversations": [{"from": "alien", "value": "q"}]})", "alien"));
  CHECK(refused(R"({"conversations": [{"from": "gpt"}]})", "conversations[0]"));
}

TEST_CASE("messages: parts are joined, arguments opened, weights obeyed", "[train][data]") {
  const Row r = read(R"({"messages": [
    {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    {"role": "assistant", "content": null, "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{\"x\": 1}"}}]},
    {"role": "assistant", "content": "no", "weight": 0},
    {"role": "assistant", "content": "yes", "train": true}],
    "tools": "[{\"name\": \"f\"}]"})");
  CHECK(r.messages[0]["content"] == "ab");
  CHECK(r.messages[1]["tool_calls"][0]["function"]["arguments"]["x"] == 1);
  CHECK(r.messages[1]["content"].is_null());
  CHECK(r.learned == std::vector<bool>{true, true, false, true});
  CHECK(r.tools.size() == 1);
}

TEST_CASE("messages that cannot be meant are named by their place", "[train][data]") {
  CHECK(refused(R"({"messages": []})", "empty"));
  CHECK(refused(R"({"messages": {}})", "no array"));
  CHECK(refused(R"({"messages": [{"content": "a"}]})", "messages[0] has no role"));
  CHECK(refused(R"({"messages": [{"role": "user", "content": 1.5}]})", "messages[0].content is a number"));
  CHECK(refused(R"({"messages": [{"role": "user", "content": null}]})", "messages[0] has no content"));
  CHECK(refused(R"({"messages": [{"role": "user", "content": "q"}, {"role": "assitant", "content": "a"}]})", "did you mean assistant?"));
  CHECK(refused(R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})", "no text"));
  CHECK(refused(R"({"messages": [{"role": "user", "content": [{"type": 1, "text": "a"}]}]})", "no text"));
  CHECK(refused(R"({"messages": [{"role": "assistant", "content": "", "tool_calls": [{"id": 1}]}]})", "without a name"));
  CHECK(refused(R"({"messages": [{"role": "assistant", "content": "", "weight": 2}]})", "weight"));
  CHECK(refused(R"({"messages": [{"role": "user", "content": "q"}], "tools": 3})", "tools"));
}

TEST_CASE("prompt and completion are strings or conversations, of one kind", "[train][data]") {
  const Row r = read(
      R"({"prompt": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "old"}, {"role": "user", "content": "r"}], "completion": [{"role": "assistant", "content": "new"}]})");
  CHECK(r.form == Row::Form::chat);
  CHECK(r.learned == std::vector<bool>{false, false, false, true});
  CHECK(refused(R"({"prompt": "q", "completion": []})", "one kind"));
  CHECK(refused(R"({"prompt": "q"})", "no \"completion\""));
  CHECK(refused(R"({"text": 5})", "a number, not a string"));
  CHECK(refused(R"({"text": null})", "null"));
}

TEST_CASE("token rows: labels are as many as ids", "[train][data]") {
  CHECK(read(R"({"input_ids": [1, 2], "labels": [-100, 2]})").labels == std::vector<std::int32_t>{-100, 2});
  CHECK(read(R"({"input_ids": [1, 2]})").labels == std::vector<std::int32_t>{1, 2});
  CHECK(refused(R"({"input_ids": [1], "labels": []})", "0 entries"));
  CHECK(refused(R"({"input_ids": []})", "empty"));
  CHECK(refused(R"({"input_ids": [1.5]})", "else than token ids"));
  CHECK(refused(R"({"input_ids": [99999999999]})", "else than token ids"));
}
