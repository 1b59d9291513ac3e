// SPDX-License-Identifier: Apache-2.0
// ChatSession: turns, and the conversation as JSON.
#include "hanzo/engine/chat_session.hpp"

#include <nlohmann/json.hpp>

#include "hanzo/io/atomic_file.hpp"
#include "src/io/input_file.hpp"

namespace hz {
namespace {

using nlohmann::ordered_json;

constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;  // of a conversation's file

// Puts the messages back unless it is told that all went well.
class Undo {
 public:
  explicit Undo(std::vector<ChatMessage>& messages) : messages_(&messages), before_(messages) {}
  ~Undo() {
    if (messages_ != nullptr) messages_->swap(before_);
  }
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;
  void keep() { messages_ = nullptr; }

 private:
  std::vector<ChatMessage>* messages_;
  std::vector<ChatMessage> before_;
};

std::vector<ChatMessage> messages_of(const ordered_json& list, const std::string& source) {
  std::vector<ChatMessage> messages;
  for (const auto& m : list) {
    const std::string which = "message " + std::to_string(messages.size() + 1);
    const auto text = [&](const char* name) {
      if (!m.is_object() || !m.contains(name) || !m[name].is_string())
        throw Error(ErrorKind::bad_file, which + " has no text '" + name + "'", source);
      return m[name].get<std::string>();
    };
    messages.push_back({text("role"), text("content")});
    if (messages.back().role.empty()) throw Error(ErrorKind::bad_file, which + " has an empty role", source);
  }
  return messages;
}

}  // namespace

std::string_view ChatSession::system() const {
  return !messages_.empty() && messages_[0].role == "system" ? std::string_view(messages_[0].content) : std::string_view();
}

void ChatSession::set_system(std::string text) {
  const bool there = !messages_.empty() && messages_[0].role == "system";
  if (text.empty()) {
    if (there) messages_.erase(messages_.begin());
  } else if (there) {
    messages_[0].content = std::move(text);
  } else {
    messages_.insert(messages_.begin(), {"system", std::move(text)});
  }
}

void ChatSession::reset() {
  messages_.resize(!messages_.empty() && messages_[0].role == "system" ? 1 : 0);
  stream_.reset();
  again_ = 0;
}

Generation ChatSession::run(Generation g, const OnPiece& on_piece) {
  while (g.next())
    if (on_piece) on_piece(g.piece());
  stream_ = g.state();
  return g;
}

Generation ChatSession::answer(GenerateOptions options, const OnPiece& on_piece) {
  Generation g = run(generator_->chat(messages_, std::move(options)), on_piece);
  messages_.push_back({"assistant", g.answer()});
  return g;
}

Generation ChatSession::ask(std::string text, const GenerateOptions& options, const OnPiece& on_piece) {
  Undo undo(messages_);
  messages_.push_back({"user", std::move(text)});
  Generation g = answer(options, on_piece);
  if (g.finish_reason() == FinishReason::interrupted && g.ids().empty()) return g;
  undo.keep();
  again_ = 0;
  return g;
}

Generation ChatSession::regenerate(const GenerateOptions& options, const OnPiece& on_piece) {
  if (!has_answer()) throw Error(ErrorKind::usage, "there is no answer to draw again");
  Undo undo(messages_);
  messages_.pop_back();
  GenerateOptions other = options;
  other.sampling.stream += ++again_;
  Generation g = answer(std::move(other), on_piece);
  if (g.finish_reason() != FinishReason::interrupted || !g.ids().empty()) undo.keep();
  return g;
}

Generation ChatSession::resume(const GenerateOptions& options, const OnPiece& on_piece) {
  if (!has_answer() || !stream_) throw Error(ErrorKind::usage, "there is no answer to go on with");
  Generation g = run(generator_->resume(*stream_, options), on_piece);
  messages_.back().content = g.answer();
  return g;
}

std::string ChatSession::json() const {
  ordered_json list = ordered_json::array();
  for (const ChatMessage& m : messages_) list.push_back({{"role", m.role}, {"content", m.content}});
  return ordered_json{{"format", "hanzo-chat"}, {"version", 1}, {"messages", std::move(list)}}.dump(
             1, ' ', false, ordered_json::error_handler_t::replace) +
         "\n";
}

void ChatSession::from_json(std::string_view text, const std::string& source) {
  const ordered_json j = ordered_json::parse(text, nullptr, false);
  if (j.is_discarded()) throw Error(ErrorKind::bad_file, "a conversation must be JSON", source);
  if (j.is_object() && j.contains("format") && j["format"] != "hanzo-chat")
    throw Error(ErrorKind::bad_file, "the JSON is of another format than hanzo-chat", source);
  if (j.is_object() && j.contains("version") && j["version"] != 1)
    throw Error(ErrorKind::bad_file, "the conversation has a version that this build does not read (it reads 1)", source);
  const ordered_json* list = j.is_array() ? &j : j.is_object() && j.contains("messages") ? &j["messages"] : nullptr;
  if (list == nullptr || !list->is_array()) throw Error(ErrorKind::bad_file, "the JSON has no array 'messages'", source);
  messages_ = messages_of(*list, source);
  stream_.reset();
  again_ = 0;
}

void ChatSession::save(const std::filesystem::path& file) const { io::write_file(file, json()); }

void ChatSession::load(const std::filesystem::path& file) {
  from_json(io::InputFile(file).text(kMostBytes), file.string());
}

void ChatSession::save_state(const std::filesystem::path& file, const Progress& progress) const {
  if (!stream_) throw Error(ErrorKind::usage, "there is no answer yet whose state could be saved");
  StreamState state = *stream_;
  state.conversation = json();
  generator_->save_state(file, state, progress);
}

void ChatSession::load_state(const std::filesystem::path& file, const Progress& progress) {
  StreamState state = generator_->load_state(file, progress);
  if (state.conversation.empty())
    throw Error(ErrorKind::usage, "the state holds no conversation", file.string(), "it was saved with --raw: go on with --raw");
  from_json(state.conversation, file.string());
  stream_ = std::move(state);
}

}  // namespace hz
