// SPDX-License-Identifier: Apache-2.0
// Encoding: the joint text is tokenized once, and labels follow from byte ranges, so that no token at a border of
// prompt and answer differs from what the model meets when it is used.
#include "src/train/encode.hpp"

namespace hz::train {

Encoder::Encoder(const TextSide& text, const DataOptions& options) : text_(text), options_(options) {
  const text::Tokenizer& t = *text.tokenizer;
  for (const text::TokenId id : t.end_of_turn_ids()) turn_ends_.emplace_back(t.text(id));
  const auto variable = [&](const char* name, std::optional<text::TokenId> id) {
    if (id) variables_[name] = std::string(t.text(*id));
  };
  variable("bos_token", t.bos());
  variable("eos_token", t.eos());
  variable("unk_token", t.unk());
  variable("pad_token", t.pad());
}

void Encoder::learn(Example& e, const std::vector<text::Span>& offsets, std::size_t begin, std::size_t end) {
  for (std::size_t i = 0; i < offsets.size(); ++i)
    if (offsets[i].begin < offsets[i].end && offsets[i].end > begin && offsets[i].begin < end) e.labels[i] = e.ids[i];
}

void Encoder::trim_special(text::Encoding& e) const {
  const text::Tokenizer& t = *text_.tokenizer;
  const auto erase = [&](std::size_t i) {
    e.ids.erase(e.ids.begin() + static_cast<std::ptrdiff_t>(i));
    e.offsets.erase(e.offsets.begin() + static_cast<std::ptrdiff_t>(i));
  };
  if (t.bos() && e.ids.size() > 1 && e.ids[0] == *t.bos() && e.ids[1] == *t.bos()) erase(0);
  if (t.eos() && t.add_eos() && !e.ids.empty() && e.ids.back() == *t.eos() && e.offsets.back().begin == e.offsets.back().end)
    erase(e.ids.size() - 1);
}

void Encoder::finish(Example& e) const {
  if (options_.train_on_prompt) e.labels = e.ids;
  if (!e.labels.empty()) e.labels[0] = kIgnore;
}

Example Encoder::encode_text(const std::string& prompt, const std::string& completion) const {
  const text::Tokenizer& t = *text_.tokenizer;
  text::Encoding encoding = t.encode_with_offsets(prompt + completion, {.add_special = true, .parse_special = true});
  trim_special(encoding);
  Example e{std::move(encoding.ids), {}};
  e.labels.assign(e.ids.size(), kIgnore);
  learn(e, encoding.offsets, prompt.size(), prompt.size() + completion.size());
  if (t.eos() && (e.ids.empty() || !t.is_end_of_turn(e.ids.back()) || e.labels.back() == kIgnore)) {  // where to stop is learned too
    e.ids.push_back(*t.eos());
    e.labels.push_back(*t.eos());
  }
  return e;
}

Example Encoder::encode_chat(const Row& row) const {
  if (!text_.chat) {
    if (row.alpaca) return encode_text(row.prompt, row.completion);
    throw Error(ErrorKind::unsupported, "the model has no chat template for conversations", "",
                "give rows of prompt and completion, or of text");
  }
  text::ChatInput input;
  input.messages = &row.messages;
  if (!row.tools.is_null()) input.tools = &row.tools;
  input.variables = &variables_;
  input.add_generation_prompt = false;
  input.now = std::tm{};  // a row is the same tokens every day
  input.now->tm_year = 124;
  input.now->tm_mday = 1;
  const text::RenderedChat chat = text_.chat->render(input);
  text::Encoding encoding = text_.tokenizer->encode_segments_with_offsets(text::segments_of(chat), true);
  trim_special(encoding);
  Example e{std::move(encoding.ids), {}};
  e.labels.assign(e.ids.size(), kIgnore);
  const auto turns = text_.chat->assistant_turns(chat, input, turn_ends_);
  for (const text::AssistantTurn& turn : turns)
    if (turn.message >= row.learned.size() || row.learned[turn.message]) learn(e, encoding.offsets, turn.begin, turn.end);
  // Some templates leave the last answer open; where to stop is learned all the same.
  const auto eos = text_.tokenizer->eos();
  if (!turns.empty() && !turns.back().closed && turns.back().end == chat.text.size() && eos && row.learned[turns.back().message]) {
    e.ids.push_back(*eos);
    e.labels.push_back(*eos);
  }
  return e;
}

Example Encoder::encode_tokens(const Row& row) const {
  const std::int32_t vocab = text_.tokenizer->size();
  for (std::size_t i = 0; i < row.ids.size(); ++i) {
    if (row.ids[i] < 0 || row.ids[i] >= vocab)
      bad_row("input_ids[" + std::to_string(i) + "] is " + std::to_string(row.ids[i]) + ", the vocabulary has " + std::to_string(vocab) +
              " tokens");
    if (row.labels[i] != kIgnore && row.labels[i] != row.ids[i])
      bad_row("labels[" + std::to_string(i) + "] is " + std::to_string(row.labels[i]) + ", neither -100 nor input_ids[" +
              std::to_string(i) + "]");
  }
  return {row.ids, row.labels};
}

Example Encoder::encode(const Row& row) const {
  Example e = row.form == Row::Form::chat     ? encode_chat(row)
              : row.form == Row::Form::tokens ? encode_tokens(row)
                                              : encode_text(row.prompt, row.completion);
  finish(e);
  return e;
}

Example Encoder::encode_plain(const std::string& text) const {
  Example e = encode_text("", text);
  finish(e);
  return e;
}

}  // namespace hz::train
