// SPDX-License-Identifier: Apache-2.0
// Generator: prompt in chunks, then token by token.
#include "hanzo/engine/generator.hpp"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "hanzo/text/stream_decoder.hpp"

namespace hz {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

SamplingOptions sampling_of(const GenerateOptions& o) {
  SamplingOptions s = o.sampling;
  if (o.temperature) s.temperature = *o.temperature;
  if (o.top_k) s.top_k = *o.top_k;
  if (o.top_p) s.top_p = *o.top_p;
  if (o.min_p) s.min_p = *o.min_p;
  if (o.seed) s.seed = *o.seed;
  return s;
}

}  // namespace

std::string_view name_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::turn_end: return "stop";
    case FinishReason::length: return "length";
    case FinishReason::interrupted: return "interrupted";
    case FinishReason::none: break;
  }
  return "none";
}

Generator::Generator(Model model, GeneratorOptions options) : model_(std::move(model)), options_(std::move(options)), kv_(model_.new_sequence()) {
  try {
    tokenizer_ = text::Tokenizer::from_gguf(model_.file().metadata(), options_.pre);
    if (tokenizer_->size() != model_.hparams().vocab)
      throw Error(ErrorKind::bad_file, "the tokenizer has " + std::to_string(tokenizer_->size()) + " tokens, the embedding " + std::to_string(model_.hparams().vocab) + " rows",
                  model_.file().files()[0].string());
    tokens_ = TokenTable::from(*tokenizer_);
  } catch (const Error& e) {
    tokenizer_error_ = e;
    tokenizer_ = nullptr;
  }
}

const text::Tokenizer& Generator::tokenizer() const {
  if (tokenizer_ == nullptr) throw *tokenizer_error_;
  return *tokenizer_;
}

std::vector<std::int32_t> Generator::complete_ids(std::string_view text) const { return tokenizer().encode(text, {.add_special = true, .parse_special = true}); }

// Special tokens are looked for only in what the template itself wrote.
std::vector<std::int32_t> Generator::chat_ids(const std::vector<ChatMessage>& messages) const {
  const io::Metadata& meta = model_.file().metadata();
  const auto source = meta.get<std::string>("tokenizer.chat_template");
  if (!source)
    throw Error(ErrorKind::unsupported, "the model has no chat template", meta.source(), "use --raw to continue the prompt as it is");
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();
  const auto token = [&](const char* name, std::optional<text::TokenId> id) {
    if (id) variables[name] = tokenizer().text(*id);
  };
  token("bos_token", tokenizer().bos());
  token("eos_token", tokenizer().eos());
  token("unk_token", tokenizer().unk());
  token("pad_token", tokenizer().pad());
  const auto rendered = text::ChatTemplate::parse(*source, "tokenizer.chat_template").render(messages, {.variables = &variables});
  std::vector<text::Segment> segments;
  for (const text::TextPiece& p : rendered.pieces)
    segments.push_back({std::string_view(rendered.text).substr(p.begin, p.end - p.begin), p.from_template});
  std::vector<std::int32_t> ids = tokenizer().encode_segments(segments, true);
  const auto bos = tokenizer().bos();  // once, when the template writes it too
  if (bos && ids.size() > 1 && ids[0] == *bos && ids[1] == *bos) ids.erase(ids.begin());
  return ids;
}

Tensor Generator::evaluate(std::span<const std::int32_t> ids, const std::stop_token& stop) {
  const auto step = static_cast<std::size_t>(std::max<std::int64_t>(1, options_.ubatch));
  for (std::size_t at = 0; at < ids.size(); at += step) {
    if (stop.stop_requested()) throw Error(ErrorKind::cancelled, "stopped while evaluating the prompt");
    const bool last = at + step >= ids.size();
    const SequenceChunk chunk{&kv_, ids.subspan(at, std::min(step, ids.size() - at))};
    Tensor logits = model_.forward({&chunk, 1}, last ? LogitRows::last : LogitRows::none, stop);
    if (last) return logits;
  }
  throw Error(ErrorKind::usage, "the prompt is empty and the model has no token to begin with", "", "give a prompt");
}

Generation Generator::complete(std::string_view text, GenerateOptions options) { return generate(complete_ids(text), std::move(options)); }
Generation Generator::chat(const std::vector<ChatMessage>& messages, GenerateOptions options) { return generate(chat_ids(messages), std::move(options)); }

Generation Generator::generate(std::vector<std::int32_t> ids, GenerateOptions options) {
  const auto n = static_cast<std::int64_t>(ids.size());
  if (n > model_.context())
    throw Error(ErrorKind::usage, "the prompt has " + std::to_string(n) + " tokens, the context holds " + std::to_string(model_.context()), "",
                "shorten the prompt or give a larger context (-c)");
  kv_.truncate(0);
  return {*this, std::move(ids), std::move(options)};
}

Generation::Generation(Generator& generator, std::vector<std::int32_t> prompt, GenerateOptions options)
    : generator_(&generator), options_(std::move(options)), prompt_(std::move(prompt)), history_(prompt_),
      sampler_(sampling_of(options_), static_cast<std::int32_t>(generator.model_.hparams().vocab), generator.tokens_), sampler_state_(sampler_.initial_state()) {
  if (generator.tokenizer_ != nullptr) decoder_ = std::make_shared<text::StreamDecoder>(generator.tokenizer_);
  stats_.prompt_tokens = static_cast<std::int64_t>(prompt_.size());
}

bool Generation::finish(FinishReason reason) {
  reason_ = reason;
  done_ = true;
  piece_ = {-1, decoder_ ? static_cast<text::StreamDecoder*>(decoder_.get())->flush() : std::string()};
  return !piece_.text.empty();
}

// The tokens that were asked for are there, or the context is full (prompt and answer together).
bool Generation::at_limit() const {
  const auto generated = static_cast<std::int64_t>(ids_.size());
  return (options_.max_tokens >= 0 && generated >= options_.max_tokens) ||
         static_cast<std::int64_t>(prompt_.size()) + generated >= generator_->model_.context();
}

bool Generation::next() {
  if (done_) return false;
  const double begin = now();
  if (!started_) {
    started_ = true;
    try {
      logits_ = generator_->evaluate(prompt_, options_.stop);
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::cancelled) throw;
      return finish(FinishReason::interrupted);
    }
    stats_.prompt_seconds = now() - begin;
  } else {
    if (at_limit()) return finish(FinishReason::length);
    const SequenceChunk chunk{&generator_->kv_, {&ids_.back(), 1}};
    logits_ = generator_->model_.forward({&chunk, 1}, LogitRows::last);
    stats_.decode_seconds += now() - begin;
  }
  if (options_.stop.stop_requested()) return finish(FinishReason::interrupted);
  if (at_limit()) return finish(FinishReason::length);
  const std::int32_t id = sampler_.sample(logits_.span<const float>(), generator_->kv_.length(), history_, sampler_state_).id;
  if (generator_->tokenizer_ && generator_->tokenizer_->is_end_of_turn(id)) return finish(FinishReason::turn_end);
  ids_.push_back(id);
  history_.push_back(id);
  ++stats_.generated_tokens;
  piece_ = {id, decoder_ ? static_cast<text::StreamDecoder*>(decoder_.get())->push(id) : std::string()};
  return true;
}

}  // namespace hz
