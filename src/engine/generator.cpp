// SPDX-License-Identifier: Apache-2.0
// Generator: what a model, its tokenizer and its template make of a prompt, and the cache of what was evaluated.
#include "hanzo/engine/generator.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "hanzo/core/parallel.hpp"

namespace hz {

Generator::Generator(Model model, GeneratorOptions options)
    : model_(std::move(model)), options_(std::move(options)), kv_(model_.new_sequence()), version_(model_.weights_version()) {
  if (!options_.template_args.empty() && !nlohmann::json::parse(options_.template_args, nullptr, false).is_object())
    throw Error(ErrorKind::usage, "template_args is no JSON object", "Generator");
  try {
    read_tokenizer();
  } catch (const Error& e) {
    tokenizer_error_ = e;
    tokenizer_ = nullptr;
  }
  try {
    read_template();
  } catch (const Error& e) {
    template_error_ = e;
  }
}

void Generator::read_tokenizer() {
  tokenizer_ = options_.tokenizer ? options_.tokenizer : text::Tokenizer::from_gguf(model_.file().metadata(), options_.pre);
  if (tokenizer_->size() != model_.hparams().vocab)
    throw Error(ErrorKind::bad_file,
                "the tokenizer has " + std::to_string(tokenizer_->size()) + " tokens, the embedding " +
                    std::to_string(model_.hparams().vocab) + " rows",
                model_.file().files()[0].string());
  tokens_ = TokenTable::from(*tokenizer_);
}

void Generator::read_template() {
  if (options_.chat_template != nullptr) {
    template_ = options_.chat_template;
    return;
  }
  const io::Metadata& meta = model_.file().metadata();
  const auto source = meta.get<std::string>("tokenizer.chat_template");
  if (!source)
    throw Error(ErrorKind::unsupported, "the model has no chat template", meta.source(),
                "give one with --template, or continue the prompt as it is (--raw)");
  template_ = std::make_shared<const text::ChatTemplate>(text::ChatTemplate::parse(*source, "tokenizer.chat_template"));
}

const text::Tokenizer& Generator::tokenizer() const {
  if (tokenizer_ == nullptr) throw Error(*tokenizer_error_);
  return *tokenizer_;
}
const text::ChatTemplate& Generator::chat_template() const {
  if (template_ == nullptr) throw Error(*template_error_);
  return *template_;
}

// With what the model puts in front of a text, but nothing behind it: the answer goes on there.
std::vector<std::int32_t> Generator::prompt_ids(std::span<const text::Segment> segments) const {
  std::vector<std::int32_t> ids = tokenizer().encode_segments(segments, true);
  if (tokenizer().add_eos() && tokenizer().eos() && !ids.empty() && ids.back() == *tokenizer().eos()) ids.pop_back();
  return ids;
}

std::vector<std::int32_t> Generator::complete_ids(std::string_view text) const {
  const text::Segment segment{text, true};
  return prompt_ids({&segment, 1});
}

std::vector<std::int32_t> Generator::chat_ids(const std::vector<ChatMessage>& messages) const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ChatMessage& m : messages) list.push_back({{"role", m.role}, {"content", m.content}});
  text::ChatInput input;
  input.messages = &list;
  return chat_ids(input);
}

std::vector<std::int32_t> Generator::chat_ids(const text::ChatInput& given) const {
  nlohmann::ordered_json variables = nlohmann::ordered_json::object(), kwargs = nlohmann::ordered_json::object();
  const auto token = [&](const char* name, std::optional<text::TokenId> id) {
    if (id) variables[name] = tokenizer().text(*id);
  };
  token("bos_token", tokenizer().bos());
  token("eos_token", tokenizer().eos());
  token("unk_token", tokenizer().unk());
  token("pad_token", tokenizer().pad());
  if (!options_.template_args.empty()) kwargs = nlohmann::ordered_json::parse(options_.template_args);
  if (given.kwargs != nullptr) kwargs.update(*given.kwargs);
  text::ChatInput input = given;
  if (input.variables == nullptr) input.variables = &variables;
  input.kwargs = &kwargs;
  const text::RenderedChat chat = chat_template().render(input);
  std::vector<std::int32_t> ids = prompt_ids(text::segments_of(chat));
  const auto bos = tokenizer().bos();  // once, when the template writes it too
  if (bos && ids.size() > 1 && ids[0] == *bos && ids[1] == *bos) ids.erase(ids.begin());
  return ids;
}

Tensor Generator::forward(std::span<const std::int32_t> ids, LogitRows rows, const std::stop_token& stop) {
  const SequenceChunk chunk{&kv_, ids};
  Tensor logits = model_.forward({&chunk, 1}, rows, stop);
  cached_.insert(cached_.end(), ids.begin(), ids.end());
  return logits;
}

Tensor Generator::evaluate(std::span<const std::int32_t> ids, const std::stop_token& stop, std::int64_t& reused) {
  if (ids.empty()) throw Error(ErrorKind::usage, "the prompt is empty and the model has no token to begin with", "", "give a prompt");
  if (const std::uint64_t now = model_.weights_version(); now != version_) {  // trained since
    cached_.clear();
    version_ = now;
  }
  const auto common = static_cast<std::size_t>(std::mismatch(ids.begin(), ids.end(), cached_.begin(), cached_.end()).first - ids.begin());
  std::size_t at = std::min(common, ids.size() - 1);  // the last one is evaluated, for its logits
  kv_.truncate(static_cast<std::int64_t>(at));
  cached_.resize(at);
  reused = static_cast<std::int64_t>(at);
  const auto step = static_cast<std::size_t>(std::max<std::int64_t>(1, options_.ubatch));
  for (; ids.size() - at > step; at += step) {
    if (stop.stop_requested()) throw Error(ErrorKind::cancelled, "stopped while evaluating the prompt");
    forward(ids.subspan(at, step), LogitRows::none, stop);
  }
  if (stop.stop_requested()) throw Error(ErrorKind::cancelled, "stopped while evaluating the prompt");
  return forward(ids.subspan(at), LogitRows::last, stop);
}

GrammarState Generator::grammar_state(const std::shared_ptr<const Grammar>& grammar) {
  if (grammar != grammar_ || !grammar_begin_) {
    grammar_begin_.emplace(grammar, tokens_);
    grammar_ = grammar;
  }
  return *grammar_begin_;
}

void Generator::check_fits(std::size_t tokens) const {
  if (static_cast<std::int64_t>(tokens) > model_.context())
    throw Error(ErrorKind::usage,
                "the prompt has " + std::to_string(tokens) + " tokens, the context holds " + std::to_string(model_.context()), "",
                "shorten the prompt or give a larger context (-c)");
}

Generation Generator::complete(std::string_view text, GenerateOptions options) {
  const StopScope scope(options.stop);  // a prompt may be a book
  return generate(complete_ids(text), std::move(options));
}
Generation Generator::chat(const std::vector<ChatMessage>& messages, GenerateOptions options) {
  const StopScope scope(options.stop);
  return generate(chat_ids(messages), std::move(options));
}

Generation Generator::generate(std::vector<std::int32_t> ids, GenerateOptions options) {
  check_fits(ids.size());
  return {*this, std::move(ids), std::move(options)};
}

Generation Generator::resume(const StreamState& state, GenerateOptions options) {
  check_fits(state.ids.size());
  if (state.answer_begin > state.ids.size())
    throw Error(ErrorKind::usage, "the answer begins behind the end of the stream", "Generator::resume");
  return {*this, state.ids, std::move(options), &state};
}

void Generator::save_state(const std::filesystem::path& file, const StreamState& state, const Progress& progress) const {
  auto common = std::mismatch(state.ids.begin(), state.ids.end(), cached_.begin(), cached_.end()).first - state.ids.begin();
  if (model_.weights_version() != version_) common = 0;
  model::KvSequence kv = kv_;
  kv.truncate(common);
  write_state(file, model_, kv, state, progress);
}

StreamState Generator::load_state(const std::filesystem::path& file, const Progress& progress) {
  LoadedState loaded = read_state(file, model_, progress);
  ++turn_;  // a running generation has lost its cache
  cached_.assign(loaded.state.ids.begin(), loaded.state.ids.begin() + loaded.kv.length());
  kv_ = std::move(loaded.kv);
  version_ = model_.weights_version();
  return std::move(loaded.state);
}

}  // namespace hz
