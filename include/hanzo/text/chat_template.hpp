// SPDX-License-Identifier: Apache-2.0
// ChatTemplate: a model's chat template (Jinja, as Hugging Face transformers runs it) and what it renders.
#pragma once
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hz::text {

// Bounds of one render. Exceeding any is an Error(failed) that says which.
struct TemplateLimits {
  std::uint64_t steps = 1'000'000;                 // about one per expression, loop round, or 64 bytes of text handled
  std::uint64_t steps_per_message = 4000;          // more of them for long conversations
  std::size_t live_bytes = std::size_t{32} << 20;  // values alive at one time
  std::size_t output_bytes = std::size_t{16} << 20;
};

// What a template is rendered with. The JSON values are borrowed: they must outlive the call.
struct ChatInput {
  const nlohmann::ordered_json* messages = nullptr;   // array of objects; null: the variable does not exist
  const nlohmann::ordered_json* tools = nullptr;      // null: None
  const nlohmann::ordered_json* documents = nullptr;  // null: None
  bool add_generation_prompt = true;                  // end with the header of the answer to come

  // Further variables, an object each. `variables` come from the model or its operator (bos_token, eos_token ...): their
  // text counts as the template's own. `kwargs` come from a request (enable_thinking ...): their text is data.
  const nlohmann::ordered_json* variables = nullptr;
  const nlohmann::ordered_json* kwargs = nullptr;

  std::optional<std::tm> now = {};  // what strftime_now shows (year to second); absent: the system's local time
  TemplateLimits limits = {};
};

struct ChatMessage {
  std::string role, content;
};

// Bytes [begin, end) of the text, all of one origin. Pieces are in order and cover the text without gaps.
struct TextPiece {
  std::size_t begin = 0, end = 0;
  // True for the template's own literals and trusted variables, false for what came out of messages, tools, documents,
  // kwargs, whatever filters and string methods it went through. Message roles that are plain identifiers count as the
  // template's. Only pieces that are true may yield special tokens: see segments_of.
  bool from_template = false;
  bool generated = false;              // inside a {% generation %} block
  std::optional<std::size_t> message;  // index of the message that it holds or was written for
};

struct RenderedChat {
  std::string text;
  std::vector<TextPiece> pieces;
};

struct Segment;  // tokenizer.hpp
// The text as a tokenizer takes it: neighbouring pieces of one trust joined. Views into `chat.text`.
std::vector<Segment> segments_of(const RenderedChat& chat);

// Bytes [begin, end) that the assistant wrote: from where generation would begin to the end of its end-of-turn text.
struct AssistantTurn {
  std::size_t begin = 0, end = 0;
  std::size_t message = 0;  // index of the message
  bool closed = false;      // ends with one of the end-of-turn texts
};

class ChatTemplate {
 public:
  // Parses. `source` is UTF-8; `name` is what messages call it ("tokenizer.chat_template"). Throws Error(bad_file)
  // naming the line for bad syntax or nesting beyond 100.
  static ChatTemplate parse(std::string_view source, std::string name = "chat template");

  ChatTemplate(const ChatTemplate&) noexcept;
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(const ChatTemplate&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // Renders. Throws Error whose `where` names the template and the line: kind failed for an error of the template
  // (raise_exception: its own message, or a limit), unsupported for what is not built, usage for input that is
  // no valid UTF-8 or nests too deep. Nothing falls back to another template. Safe to call from several threads.
  RenderedChat render(const ChatInput& input) const;
  RenderedChat render(std::span<const ChatMessage> messages, const ChatInput& rest = {}) const;

  // The assistant's turns in a conversation that `input` rendered as `rendered`, in order and without overlap: what
  // training learns. `turn_ends`: texts of the tokens that end a turn ("<|im_end|>"); each turn includes the first that
  // follows it. Templates with {% generation %} blocks say themselves what belongs to a turn; for others it is derived
  // from the pieces: content of assistant messages and the template text around it, without the generation prompt.
  std::vector<AssistantTurn> assistant_turns(const RenderedChat& rendered, const ChatInput& input,
                                             std::span<const std::string> turn_ends) const;

  const std::string& name() const;
  // True when the template mentions the variable ("tools", "enable_thinking").
  bool mentions(const std::string& variable) const;
  bool has_generation_blocks() const;

 private:
  struct State;
  explicit ChatTemplate(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

}  // namespace hz::text
