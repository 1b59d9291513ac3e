// SPDX-License-Identifier: Apache-2.0
// ChatSession: a conversation with a model: its messages, and answers that join them.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hanzo/engine/generator.hpp"

namespace hz {

// Each turn renders the whole conversation through the chat template; what the cache has of it is not evaluated again.
// Lives no longer than its Generator; one thread at a time.
class ChatSession {
 public:
  using OnPiece = std::function<void(const Piece&)>;

  explicit ChatSession(Generator& generator) : generator_(&generator) {}

  const std::vector<ChatMessage>& messages() const { return messages_; }
  // The first message, if its role is system. An empty text removes it.
  std::string_view system() const;
  void set_system(std::string text);
  // Forgets all messages but the system one.
  void reset();

  // Adds a user message and answers it; both stay in the conversation, an interrupted answer as far as it came. When
  // nothing was answered, or an error is thrown, the conversation is as before. Returns the finished generation.
  Generation ask(std::string text, const GenerateOptions& options = {}, const OnPiece& on_piece = {});
  // Another answer in place of the last one: the same seed draws from another stream each time. Throws usage when
  // there is no answer.
  Generation regenerate(const GenerateOptions& options = {}, const OnPiece& on_piece = {});
  // Goes on with the last answer, e.g. one that ended by max_tokens or was loaded. Throws usage when there is none.
  Generation resume(const GenerateOptions& options = {}, const OnPiece& on_piece = {});

  // {"format": "hanzo-chat", "version": 1, "messages": [{"role", "content"}, …]}. from_json also takes an object that only
  // has messages, or the array alone; throws bad_file naming what is wrong. The session is then the conversation.
  std::string json() const;
  void from_json(std::string_view text, const std::string& source = "conversation");
  void save(const std::filesystem::path& file) const;  // atomically
  void load(const std::filesystem::path& file);

  // State files hold the conversation, too. Saving throws usage before the first answer.
  void save_state(const std::filesystem::path& file, const Progress& progress = {}) const;
  void load_state(const std::filesystem::path& file, const Progress& progress = {});

 private:
  Generation run(Generation generation, const OnPiece& on_piece);
  Generation answer(GenerateOptions options, const OnPiece& on_piece);
  bool has_answer() const { return !messages_.empty() && messages_.back().role == "assistant"; }

  Generator* generator_;
  std::vector<ChatMessage> messages_;
  std::optional<StreamState> stream_;  // of the last answer
  std::uint64_t again_ = 0;            // how often the last answer was drawn anew
};

}  // namespace hz
