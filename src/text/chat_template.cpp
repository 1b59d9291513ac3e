// SPDX-License-Identifier: Apache-2.0
#include "hanzo/text/chat_template.hpp"

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "hanzo/core/error.hpp"
#include "hanzo/text/tokenizer.hpp"
#include "hanzo/text/utf8.hpp"
#include "src/text/jinja/globals.hpp"
#include "src/text/jinja/input.hpp"
#include "src/text/jinja/interp.hpp"
#include "src/text/jinja/parser.hpp"
#include "src/text/jinja/turns.hpp"
#include "src/text/jinja/unicode.hpp"

namespace hz::text {

using Json = nlohmann::ordered_json;

struct ChatTemplate::State {
  jinja::Template tree;
};

namespace {

std::string place(const std::string& name, std::uint32_t line) { return name + ", line " + std::to_string(line); }

std::tm local_now() {
  const std::time_t t = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm tm{};
  localtime_r(&t, &tm);
  return tm;
}

void set_object(jinja::Interp& in, const Json* object, jinja::Origin origin, const char* what) {
  if (object == nullptr || object->is_null()) return;
  if (!object->is_object()) throw jinja::Fault{std::string(what) + " must be an object of variables", ErrorKind::usage};
  for (const auto& [name, value] : object->items()) in.set_global(name, jinja::from_json(in.heap(), value, origin));
}

void set_variables(jinja::Interp& in, const ChatInput& input) {
  using jinja::Origin;
  const Origin data = Origin::data(0);
  jinja::Heap& heap = in.heap();
  set_functions(in);
  const auto optional = [&](const char* name, const Json* json) {
    in.set_global(name, json == nullptr ? jinja::Value::none(data) : jinja::from_json(heap, *json, data));
  };
  if (input.messages != nullptr) in.set_global("messages", jinja::from_messages(heap, *input.messages));
  optional("tools", input.tools);
  optional("documents", input.documents);
  in.set_global("add_generation_prompt", jinja::Value::boolean(input.add_generation_prompt));
  set_object(in, input.variables, Origin::literal(0), "variables");
  set_object(in, input.kwargs, data, "kwargs");
}

RenderedChat to_rendered(const jinja::Value& out) {
  RenderedChat r;
  const jinja::Str& s = out.str();
  r.text = s.text;
  const auto add = [&](std::size_t end, jinja::Origin origin) {
    TextPiece piece;
    piece.begin = r.pieces.empty() ? 0 : r.pieces.back().end;
    piece.end = end;
    piece.from_template = !origin.is_data();
    piece.generated = origin.is_generated();
    if (origin.message() != 0) piece.message = origin.message() - 1;
    if (end != piece.begin) r.pieces.push_back(piece);
  };
  if (s.runs.empty()) add(s.text.size(), out.origin());
  for (const jinja::Run& run : s.runs) add(run.end, run.origin);
  return r;
}

}  // namespace

std::vector<Segment> segments_of(const RenderedChat& chat) {
  std::vector<Segment> segments;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < chat.pieces.size(); ++i) {
    const TextPiece& piece = chat.pieces[i];
    if (i + 1 < chat.pieces.size() && chat.pieces[i + 1].from_template == piece.from_template) continue;
    segments.push_back({std::string_view(chat.text).substr(begin, piece.end - begin), piece.from_template});
    begin = piece.end;
  }
  return segments;
}

ChatTemplate::ChatTemplate(std::shared_ptr<const State> state) : state_(std::move(state)) {}
ChatTemplate::ChatTemplate(const ChatTemplate&) noexcept = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(const ChatTemplate&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

ChatTemplate ChatTemplate::parse(std::string_view source, std::string name) {
  const std::size_t bad = first_invalid_utf8(source);
  if (bad != source.size()) {
    throw Error(ErrorKind::bad_file, "the template is not valid UTF-8 at byte " + std::to_string(bad), std::move(name));
  }
  auto state = std::make_shared<State>();
  state->tree.name = std::move(name);
  try {
    jinja::Parser(state->tree, jinja::tokenize(source)).parse();
  } catch (const jinja::SyntaxFault& f) {
    throw Error(f.kind, f.what, place(state->tree.name, f.line), f.hint);
  }
  return ChatTemplate(std::move(state));
}

RenderedChat ChatTemplate::render(const ChatInput& input) const {
  const jinja::Template& tree = state_->tree;
  const std::uint64_t messages = input.messages == nullptr ? 0 : input.messages->size();
  jinja::Heap heap(input.limits.live_bytes, input.limits.steps + input.limits.steps_per_message * messages);
  jinja::Interp in(tree, heap, input.now ? *input.now : local_now(), input.limits.output_bytes);
  try {
    set_variables(in, input);
    return to_rendered(in.run());
  } catch (const jinja::Fault& f) {
    throw Error(f.kind, f.what, place(tree.name, in.line()), f.hint);
  } catch (const jinja::Raised& r) {
    throw Error(ErrorKind::failed, r.message, place(tree.name, in.line()), "the template refuses this conversation");
  }
}

RenderedChat ChatTemplate::render(std::span<const ChatMessage> messages, const ChatInput& rest) const {
  Json list = Json::array();
  for (const ChatMessage& m : messages) list.push_back({{"role", m.role}, {"content", m.content}});
  ChatInput input = rest;
  input.messages = &list;
  return render(input);
}

std::vector<AssistantTurn> ChatTemplate::assistant_turns(const RenderedChat& rendered, const ChatInput& input,
                                                         std::span<const std::string> turn_ends) const {
  return jinja::find_turns(*this, rendered, input, turn_ends);
}

const std::string& ChatTemplate::name() const { return state_->tree.name; }
bool ChatTemplate::mentions(const std::string& variable) const { return state_->tree.names.find(variable) != nullptr; }
bool ChatTemplate::has_generation_blocks() const { return state_->tree.has_generation; }

}  // namespace hz::text
