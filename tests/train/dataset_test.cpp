// SPDX-License-Identifier: Apache-2.0
// Datasets: which tokens are learned, and what is said about rows that are not whole.
#include "hanzo/train/dataset.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/temp_dir.hpp"
#include "tests/train/text_side.hpp"

using namespace hz;
using namespace hz::test;
using namespace hz::train;

namespace {

// The text of the first example with what is learned in braces.
std::string marked(const Example& e, const text::Tokenizer& t) {
  std::string s;
  for (const Stretch& x : stretches(e, t)) s += x.trained ? "{" + x.text + "}" : x.text;
  return s;
}

struct Files {
  TempDir dir;
  Dataset load(const std::string& bytes, const DataOptions& options = {}, const TextSide& side = small_text_side(),
               const char* name = "d.jsonl") const {
    put_text(dir.path() / name, bytes);
    return load_dataset(dir.path() / name, side, options);
  }
  std::string first(const std::string& bytes, const DataOptions& options = {}, const TextSide& side = small_text_side()) const {
    return marked(load(bytes, options, side).examples.at(0), *side.tokenizer);
  }
  std::string error(const std::string& bytes, const DataOptions& options = {}, const TextSide& side = small_text_side()) const {
    try {
      load(bytes, options, side);
    } catch (const Error& e) {
      return std::string(e.what()) + " in " + e.where();
    }
    return "accepted";
  }
};
bool says(const std::string& message, const std::string& part) {
  if (message.find(part) != std::string::npos) return true;
  WARN("got: " << message);
  return false;
}

const std::string kTalk =
    R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "hello"}, {"role": "user", "content": "b"}, {"role": "assistant", "content": "world"}]})";

}  // namespace

TEST_CASE_METHOD(Files, "every assistant turn and its end token is learned exactly once", "[train][data]") {
  CHECK(first(kTalk) ==
        "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n{hello<|im_end|>}\n<|im_start|>user\nb<|im_end|>\n<|im_start|>assistant\n{"
        "world<|im_end|>}\n");
  const Dataset d = load(kTalk);
  const Example& e = d.examples[0];
  std::int64_t ends = 0;
  for (std::size_t i = 0; i < e.ids.size(); ++i) ends += e.ids[i] == 1 && e.labels[i] == 1;
  CHECK(ends == 2);
  CHECK(d.report.trained_tokens == e.trained());
  CHECK(d.format == DataFormat::messages);
}

TEST_CASE_METHOD(Files, "special tokens in a message are text, never control tokens", "[train][data]") {
  const Dataset d = load(R"({"messages": [{"role": "user", "content": "x<|im_end|>"}, {"role": "assistant", "content": "y"}]})");
  CHECK(std::count(d.examples[0].ids.begin(), d.examples[0].ids.end(), 1) == 2);
}

TEST_CASE_METHOD(Files, "an answer of weight 0, and answers given in the prompt, are not learned", "[train][data]") {
  CHECK(says(first(R"({"messages": [{"role": "assistant", "content": "a", "weight": 0}, {"role": "assistant", "content": "b"}]})"),
             "assistant\na<|im_end|>\n<|im_start|>assistant\n{b<|im_end|>}"));
  CHECK(says(first(R"({"prompt": [{"role": "assistant", "content": "a"}], "completion": [{"role": "assistant", "content": "b"}]})"),
             "assistant\na<|im_end|>\n<|im_start|>assistant\n{b<|im_end|>}"));
}

TEST_CASE_METHOD(Files, "text is learned whole and ends with EOS, which pad may share", "[train][data]") {
  CHECK(first(R"({"text": "hello world"})") == "hello{ world<|im_end|>}");  // of the first token nothing predicts
  const Example e = load(R"({"text": "hello"})").examples[0];
  CHECK(e.ids.back() == 1);
  CHECK(e.labels.back() == 1);
  CHECK(e.labels.front() == kIgnore);
  CHECK(std::count(e.ids.begin(), e.ids.end(), 1) == 1);
  CHECK(first(R"({"text": "hi<|im_end|>"})") == "h{i<|im_end|>}");  // it has one already
}

TEST_CASE_METHOD(Files, "prompt and completion are tokenized jointly: a token over the border belongs to the completion", "[train][data]") {
  CHECK(first(R"({"prompt": "x", "completion": "hello"})") == "x{hello<|im_end|>}");
  CHECK(first(R"({"prompt": "x hel", "completion": "lo"})") == "x {hello<|im_end|>}");
  CHECK(first(R"({"prompt": "x hello", "completion": " world"})") == "x hello{ world<|im_end|>}");
  CHECK(first(R"({"prompt": "x", "completion": "y"})", {.train_on_prompt = true}) == "x{y<|im_end|>}");
  CHECK(says(first(kTalk, {.train_on_prompt = true}), "<|im_start|>{user\na<|im_end|>\n"));
}

TEST_CASE_METHOD(Files, "there is one BOS, also when the template writes it too", "[train][data]") {
  const std::string twice = std::string("{{ bos_token }}") + kChatMl;
  for (const char* chat : {kChatMl, twice.c_str()}) {
    const Dataset d = load(kTalk, {}, small_text_side(chat, true));
    CHECK(std::count(d.examples[0].ids.begin(), d.examples[0].ids.end(), 2) == 1);
    CHECK(d.examples[0].ids[0] == 2);
  }
  CHECK(load(R"({"text": "hello"})", {}, small_text_side(kChatMl, true)).examples[0].ids[0] == 2);
}

TEST_CASE_METHOD(Files, "a template that leaves the last answer open still teaches where to stop", "[train][data]") {
  const char* open =
      "{% for m in messages %}{{ '<' + m.role + '>' + m.content }}{% if not loop.last %}{{ eos_token }}{% endif %}{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{% endif %}";
  CHECK(first(kTalk, {}, small_text_side(open)) ==
        "<user>a<|im_end|><assistant>{hello<|im_end|>}<user>b<|im_end|><assistant>{world<|im_end|>}");
}

TEST_CASE_METHOD(Files, "alpaca rows go through the chat template, or have headings without one", "[train][data]") {
  const std::string row = R"({"instruction": "Add.", "input": "1 2", "output": "3"})";
  CHECK(says(first(row), "<|im_start|>user\nAdd.\n\n1 2<|im_end|>\n<|im_start|>assistant\n{3<|im_end|>}"));
  CHECK(says(first(row, {}, small_text_side(nullptr)), "### Instruction:\nAdd.\n\n### Input:\n1 2\n\n### Response:\n{3<|im_end|>}"));
  CHECK(says(error(kTalk, {}, small_text_side(nullptr)), "no chat template"));
}

TEST_CASE_METHOD(Files, "token rows are taken as they are, within the vocabulary", "[train][data]") {
  const Dataset d = load(R"({"input_ids": [5, 6, 7], "labels": [5, -100, 7]})");
  CHECK(d.examples[0].labels == std::vector<std::int32_t>{kIgnore, kIgnore, 7});
  CHECK(says(error(R"({"input_ids": [5, 100000]})"), "vocabulary"));
  CHECK(says(error(R"({"input_ids": [5, 6], "labels": [5, 7]})"), "neither -100 nor"));
}

TEST_CASE_METHOD(Files, "rows that are bad, cut, or lose what they teach are counted by line; strict refuses each", "[train][data]") {
  const std::string good = R"({"prompt": "ab", "completion": "cd"})", cut = R"({"prompt": "ab", "completion": "cdefghijkl"})",
                    lost = R"({"prompt": "abcdefghijkl", "completion": "m"})";
  const Dataset d = load(good + "\n{\n\n" + cut + "\n" + lost + "\n", {.max_tokens = 6});
  CHECK(d.report.rows == 4);
  CHECK(d.examples.size() == 2);
  REQUIRE(d.report.bad.count == 1);
  CHECK(d.report.bad.listed[0].line == 2);
  REQUIRE(d.report.truncated.count == 1);
  CHECK(d.report.truncated.listed[0].line == 4);
  REQUIRE(d.report.untrained.count == 1);
  CHECK(d.report.untrained.listed[0].line == 5);
  CHECK(d.examples[1].ids.size() == 6);
  CHECK(d.examples[1].line == 4);
  CHECK(says(error(good + "\n{", {.strict = true}), "d.jsonl, line 2"));
  CHECK(says(error(good + "\n" + cut, {.max_tokens = 6, .strict = true}), "d.jsonl, line 2"));
  CHECK(says(error(good + "\n" + lost, {.max_tokens = 6, .strict = true}), "beyond the first 6"));
}

TEST_CASE_METHOD(Files, "a file from which nothing can be learned is an error with the reason", "[train][data]") {
  CHECK(says(error(""), "no rows"));
  CHECK(says(error("{\n[\n"), "none of 2 rows"));
  CHECK(says(error(R"({"messages": [{"role": "user", "content": "a"}]})"), "no answer to learn"));
  CHECK(says(error(R"({"text": "a", "n": 1e999})"), "line 1"));
}

TEST_CASE_METHOD(Files, "one huge line is passed over within the limit and the next is read", "[train][data]") {
  const Dataset d = load("{\"text\": \"" + std::string(100'000, 'a') + "\"}\n{\"text\": \"hello\"}\n", {.max_row_bytes = 1000});
  CHECK(d.examples.size() == 1);
  REQUIRE(d.report.bad.count == 1);
  CHECK(says(d.report.bad.listed[0].what, "longer than 1000 bytes"));
}

TEST_CASE_METHOD(Files, "a JSON array has rows too; a plain text is cut into pieces", "[train][data]") {
  CHECK(load("[{\"text\": \"hello\"},\n{\"text\": \"world\"}]").examples.size() == 2);
  const Dataset d = load("hello world\n\nhello world\n", {.max_tokens = 4}, small_text_side(), "d.txt");
  std::string all;
  for (const Example& e : d.examples)
    for (const auto id : e.ids) all += small_bpe_tokenizer()->piece(id);
  CHECK(all == "hello world\n\nhello world<|im_end|>");
  CHECK(d.format == DataFormat::plain);
  try {
    load("hello world\n\nhel\xfflo\n", {}, small_text_side(), "d.txt");
    FAIL_CHECK("accepted");
  } catch (const Error& e) {
    CHECK(says(std::string(e.what()) + e.where(), "not UTF-8d.txt, line 3"));
  }
  CHECK_THROWS_AS(TextSide::from_gguf(small_text(), "no-such-rule"), Error);  // the pre-tokenizer of --pre is obeyed
}

TEST_CASE_METHOD(Files, "rows are the same tokens whatever the day", "[train][data]") {
  const char* dated = "{{ strftime_now('%Y') }}{% for m in messages %}{{ m.role + m.content + '<|im_end|>' }}{% endfor %}";
  CHECK(says(first(kTalk, {}, small_text_side(dated)), "2024"));
}
