// SPDX-License-Identifier: Apache-2.0
// Generation: token by token, through grammar, sampler, decoder and stop strings.
#include <chrono>

#include "hanzo/engine/generator.hpp"
#include "hanzo/text/stream_decoder.hpp"
#include "src/engine/generate_options.hpp"

namespace hz {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// A resumed stream draws from the seed it began with.
GenerateOptions seeded(GenerateOptions options, const StreamState* resumed) {
  if (resumed != nullptr && !options.seed && !options.sampling.seed) {
    options.seed = resumed->seed;
    options.sampling.stream = resumed->stream;
  }
  return options;
}

}  // namespace

Generation::Generation(Generator& generator, std::vector<std::int32_t> prompt, GenerateOptions options, const StreamState* resumed)
    : generator_(&generator),
      turn_(++generator.turn_),
      options_(seeded(std::move(options), resumed)),
      history_(std::move(prompt)),
      prompt_size_(history_.size()),
      answer_begin_(resumed != nullptr ? resumed->answer_begin : history_.size()),
      sampler_(engine::sampling_of(options_), static_cast<std::int32_t>(generator.model_.hparams().vocab), generator.tokens_),
      sampler_state_(sampler_.initial_state()),
      matcher_(options_.stop_strings) {
  options_.validate();
  if (options_.grammar != nullptr || !options_.stop_strings.empty()) generator.tokenizer();  // or says what is wrong with it
  if (options_.grammar != nullptr) {
    grammar_ = generator.grammar_state(options_.grammar);
    mask_.resize((static_cast<std::size_t>(sampler_.vocab_size()) + 63) / 64);
  }
  if (generator.tokenizer_ != nullptr) decoder_ = std::make_shared<text::StreamDecoder>(generator.tokenizer_);
  stats_.prompt_tokens = static_cast<std::int64_t>(history_.size());
  if (resumed == nullptr) return;
  if (sampler_.options().mirostat != 0) sampler_state_.mirostat_mu = resumed->mirostat_mu;
  replay(answer_begin_);
}

// Brings grammar, decoder and stop strings to where the answer stands. What they held back was given out when the
// stream was stopped.
void Generation::replay(std::size_t answer_begin) {
  for (std::size_t i = answer_begin; i < history_.size() && !matcher_.stopped(); ++i) {
    if (grammar_ && !grammar_->accept(history_[i]))
      throw Error(
          ErrorKind::usage,
          "the answer so far does not follow the grammar: its token " + std::to_string(i - answer_begin + 1) + " may not come there", "",
          "resume with the grammar that it was begun with");
    if (decoder_) replayed_ += matcher_.feed(decoder_->push(history_[i]));
  }
  shown_ = matcher_.pending();
  if (matcher_.stopped()) ending_ = FinishReason::stop_string;
  else if (grammar_ && grammar_->is_final()) ending_ = FinishReason::turn_end;
}

// The tokens that were asked for are there, or the context is full (prompt and answer together).
bool Generation::at_limit() const {
  return (options_.max_tokens >= 0 && static_cast<std::int64_t>(ids_.size()) >= options_.max_tokens) ||
         static_cast<std::int64_t>(history_.size()) >= generator_->model_.context();
}

// Gives out what no stop string can claim any more.
void Generation::release(std::string text, bool at_end) {
  std::string out = matcher_.feed(text);
  if (at_end) out += matcher_.flush();
  if (shown_ > 0 && !out.empty()) {
    const std::size_t again = std::min(shown_, out.size());
    replayed_ += out.substr(0, again);
    out.erase(0, again);
    shown_ -= again;
  }
  text_ += out;
  piece_.text = std::move(out);
}

bool Generation::finish(FinishReason reason) {
  reason_ = reason;
  done_ = true;
  piece_ = {-1, {}};
  release(decoder_ ? decoder_->flush() : std::string(), true);
  return !piece_.text.empty();
}

// The logits of the next token; false when a stop was asked for.
bool Generation::evaluate() {
  const double begin = now();
  const bool first = !started_;
  started_ = true;
  try {
    logits_ = first ? generator_->evaluate(history_, options_.stop, stats_.reused_tokens)
                    : generator_->forward({&ids_.back(), 1}, LogitRows::last, options_.stop);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::cancelled) throw;
    return false;
  }
  (first ? stats_.prompt_seconds : stats_.decode_seconds) += now() - begin;
  return !options_.stop.stop_requested();
}

std::int32_t Generation::choose() {
  if (grammar_) {
    const double begin = now();
    grammar_->mask(mask_);
    stats_.grammar_seconds += now() - begin;
  }
  return sampler_.sample(logits_.span<const float>(), static_cast<std::int64_t>(history_.size()), history_, sampler_state_, mask_).id;
}

void Generation::take(std::int32_t id) {
  if (grammar_) {
    const double begin = now();
    if (!grammar_->accept(id))
      throw Error(ErrorKind::failed, "token " + std::to_string(id) + " was drawn outside the grammar",
                  "position " + std::to_string(history_.size()));
    if (grammar_->is_final()) ending_ = FinishReason::turn_end;
    stats_.grammar_seconds += now() - begin;
  }
  if (options_.logprobs) logprobs_.push_back(hz::logprobs(logits_.span<const float>(), *options_.logprobs, id));
  ids_.push_back(id);
  history_.push_back(id);
  ++stats_.generated_tokens;
  piece_ = {id, {}};
  release(decoder_ ? decoder_->push(id) : std::string(), false);
  if (matcher_.stopped()) ending_ = FinishReason::stop_string;
}

bool Generation::advance() {
  if (ending_ != FinishReason::none) return finish(ending_);
  if (started_ && at_limit()) return finish(FinishReason::length);
  const double begin = now();
  const bool first = !started_;
  if (!evaluate()) return finish(FinishReason::interrupted);
  if (at_limit()) return finish(FinishReason::length);
  const double chosen_from = now();
  const std::int32_t id = choose();
  if (generator_->tokenizer_ && generator_->tokenizer_->is_end_of_turn(id)) return finish(FinishReason::turn_end);
  take(id);
  if (first) stats_.first_token_seconds = now() - begin;
  else stats_.decode_seconds += now() - chosen_from;
  return true;
}

bool Generation::next() {
  if (done_) return false;
  if (turn_ != generator_->turn_)
    throw Error(ErrorKind::usage, "another generation of this Generator has begun", "Generation::next",
                "use one Generator for each stream");
  done_ = true;  // an error ends it
  const bool more = advance();
  done_ = reason_ != FinishReason::none;
  return more;
}

StreamState Generation::state() const {
  StreamState s;
  s.ids = history_;
  s.answer_begin = answer_begin_;
  s.seed = sampler_.seed();
  s.stream = sampler_.options().stream;
  s.mirostat_mu = sampler_state_.mirostat_mu;
  return s;
}

}  // namespace hz
