// SPDX-License-Identifier: Apache-2.0
// Generator: one stream of text from a model. Belongs to one thread; single-stream generation is a batch of one.
#pragma once
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "hanzo/engine/grammar.hpp"
#include "hanzo/engine/sampling.hpp"
#include "hanzo/engine/state.hpp"
#include "hanzo/engine/stop.hpp"
#include "hanzo/model/model.hpp"
#include "hanzo/text/chat_template.hpp"
#include "hanzo/text/tokenizer.hpp"

namespace hz {

namespace text {
class StreamDecoder;
}

struct GenerateOptions {
  std::int64_t max_tokens = -1;  // -1: until the turn or the context ends; 0: evaluate the prompt only
  // The most used knobs; one that is set wins over the same field of `sampling`.
  std::optional<float> temperature = {};  // <= 0: greedy
  std::optional<std::int32_t> top_k = {};
  std::optional<float> top_p = {}, min_p = {};
  std::optional<std::uint64_t> seed = {};
  SamplingOptions sampling = {};
  std::stop_token stop = {};  // ends the generation with FinishReason::interrupted
  // The text ends before the first of these strings that appears, wherever tokens are cut. Held back meanwhile: what
  // could still become one. Needs a tokenizer, as a grammar does.
  std::vector<std::string> stop_strings = {};
  // Every token follows the grammar. Once it is complete and nothing can follow, the generation ends, whatever
  // ignore_eos says; max_tokens may cut it before.
  std::shared_ptr<const Grammar> grammar = {};
  // Log-probabilities of each token and of so many of the most likely ones, from the untruncated softmax; none: not
  // computed. 0 to the size of the vocabulary.
  std::optional<std::int32_t> logprobs = {};

  // Throws Error(usage) for what no model makes right: negative logprobs, bad stop strings, sampling numbers.
  void validate() const;
};

// turn_end: a token that ends the turn, or a grammar that is complete. length: max_tokens or the context.
enum class FinishReason { none, turn_end, stop_string, length, interrupted };
std::string_view name_of(FinishReason reason);  // "none", "stop" (both kinds), "length", "interrupted"

// What one step gives: a token and the characters that it completes and no stop string can still claim. The last piece
// may be the rest of the text alone: its id is -1.
struct Piece {
  std::int32_t id = 0;
  std::string text;
};

struct GenerationStats {
  std::int64_t prompt_tokens = 0, reused_tokens = 0, generated_tokens = 0;  // reused: of the prompt, from the KV cache
  double prompt_seconds = 0, decode_seconds = 0;
  double first_token_seconds = 0;  // from the first call of next() until it gave a token
  double grammar_seconds = 0;      // of the decode and prompt time: masks and steps of the grammar
};

class Generator;

// A running generation; iterate once: `for (const Piece& piece : generation)`. Lives no longer than its Generator.
class Generation {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Piece;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(Generation* g) : g_(g) {}
    const Piece& operator*() const { return g_->piece_; }
    const Piece* operator->() const { return &g_->piece_; }
    Iterator& operator++() {
      if (!g_->next()) g_ = nullptr;
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.g_ == b.g_; }

   private:
    Generation* g_;
  };
  Iterator begin() { return Iterator(next() ? this : nullptr); }
  Iterator end() { return Iterator(nullptr); }

  // One more token; false at the end. Errors end the generation. Another generation of the same Generator takes its
  // place: from then on this one throws usage.
  bool next();
  const Piece& piece() const { return piece_; }
  FinishReason finish_reason() const { return reason_; }
  const GenerationStats& stats() const { return stats_; }
  const GenerateOptions& options() const { return options_; }
  std::uint64_t seed() const { return sampler_.seed(); }
  const std::vector<std::int32_t>& ids() const { return ids_; }  // generated so far
  const std::string& text() const { return text_; }              // of all pieces so far
  const std::vector<Logprobs>& token_logprobs() const { return logprobs_; }  // one per id, when asked for
  // The index of the stop string that ended it, or -1.
  int matched_stop() const { return matcher_.matched(); }
  // The whole answer: what a resumed stream had before, then text().
  std::string answer() const { return replayed_ + text_; }
  StreamState state() const;

 private:
  friend class Generator;
  Generation(Generator& generator, std::vector<std::int32_t> prompt, GenerateOptions options, const StreamState* resumed = nullptr);
  void replay(std::size_t answer_begin);
  bool advance();
  bool evaluate();
  std::int32_t choose();
  void take(std::int32_t id);
  void release(std::string text, bool at_end);
  bool finish(FinishReason reason);
  bool at_limit() const;

  Generator* generator_;
  std::uint64_t turn_;  // of the generator's generations, which one this is
  GenerateOptions options_;
  std::vector<std::int32_t> ids_, history_;  // history: prompt and answer
  std::size_t prompt_size_, answer_begin_;
  Sampler sampler_;
  SamplerState sampler_state_;
  std::optional<GrammarState> grammar_;
  std::vector<std::uint64_t> mask_;
  StopMatcher matcher_;
  std::shared_ptr<text::StreamDecoder> decoder_;  // null without a tokenizer
  std::size_t shown_ = 0;                         // bytes that the stopped stream gave out of what is held back
  std::vector<Logprobs> logprobs_;
  std::string text_, replayed_;
  Tensor logits_;
  Piece piece_;
  FinishReason reason_ = FinishReason::none, ending_ = FinishReason::none;
  bool started_ = false, done_ = false;
  GenerationStats stats_;
};

// {"text", "ids", "finish_reason", "seed", "usage": {…}, "timings": {…}, "logprobs": […] when asked for}; the fields are
// listed in docs/hz-run.md.
nlohmann::json to_json(const Generation& generation, const text::Tokenizer* tokenizer);

using ChatMessage = text::ChatMessage;

struct GeneratorOptions {
  std::int64_t ubatch = 512;  // prompt tokens evaluated at a time; changes speed and memory, never a bit
  std::string pre = {};       // pre-tokenizer's name, in place of the file's
  std::shared_ptr<const text::Tokenizer> tokenizer = {};   // in place of the file's
  std::shared_ptr<const text::ChatTemplate> chat_template = {};  // in place of the file's
  std::string template_args = {};  // a JSON object: further variables of the template, e.g. {"enable_thinking": false}
};

// Keys and values of what was evaluated last stay: a prompt that begins with the same ids is evaluated from where it
// differs, which changes no bit of the answer. Where the model was trained in between, all of it is evaluated anew.
class Generator {
 public:
  // A model whose tokenizer or template is not built can still run on ids; calls that need it then throw what was
  // wrong with it. Throws usage when template_args is no JSON object.
  explicit Generator(Model model, GeneratorOptions options = {});

  const Model& model() const { return model_; }
  // Throws the error that building the tokenizer gave.
  const text::Tokenizer& tokenizer() const;
  bool has_tokenizer() const { return tokenizer_ != nullptr; }
  const text::ChatTemplate& chat_template() const;
  bool has_chat_template() const { return template_ != nullptr; }

  // Answers a conversation through the chat template.
  Generation chat(const std::vector<ChatMessage>& messages, GenerateOptions options = {});
  // Continues a text as it is (with BOS where the model has one).
  Generation complete(std::string_view text, GenerateOptions options = {});
  Generation generate(std::vector<std::int32_t> ids, GenerateOptions options = {});
  // Goes on with the answer of a saved stream, with its seed unless another is given: the ids are those of a stream that
  // was never stopped. max_tokens counts from here.
  Generation resume(const StreamState& state, GenerateOptions options = {});

  // The ids that chat() and complete() would evaluate. Only what the template itself writes can become a control token.
  std::vector<std::int32_t> chat_ids(const std::vector<ChatMessage>& messages) const;
  std::vector<std::int32_t> chat_ids(const text::ChatInput& input) const;  // its variables, when null, are the model's
  std::vector<std::int32_t> complete_ids(std::string_view text) const;

  // The stream, with the keys and values that the cache holds of it (see state.hpp for the file).
  void save_state(const std::filesystem::path& file, const StreamState& state, const Progress& progress = {}) const;
  // Fills the cache. Throws bad_file for a file that is broken or of another model, KV kind or adapter set.
  StreamState load_state(const std::filesystem::path& file, const Progress& progress = {});

 private:
  friend class Generation;
  // Evaluates ids in chunks of ubatch, but for what the cache has; logits of the last row.
  Tensor evaluate(std::span<const std::int32_t> ids, const std::stop_token& stop, std::int64_t& reused);
  Tensor forward(std::span<const std::int32_t> ids, LogitRows rows, const std::stop_token& stop);
  GrammarState grammar_state(const std::shared_ptr<const Grammar>& grammar);
  std::vector<std::int32_t> prompt_ids(std::span<const text::Segment> segments) const;
  void check_fits(std::size_t tokens) const;
  void read_tokenizer();
  void read_template();

  Model model_;
  GeneratorOptions options_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::shared_ptr<const TokenTable> tokens_;
  std::shared_ptr<const text::ChatTemplate> template_;
  std::optional<Error> tokenizer_error_, template_error_;
  model::KvSequence kv_;
  std::uint64_t version_ = 0;         // of the weights that made them
  std::vector<std::int32_t> cached_;  // the ids whose keys and values kv_ holds
  std::uint64_t turn_ = 0;
  std::shared_ptr<const Grammar> grammar_;       // of the state below
  std::optional<GrammarState> grammar_begin_;    // copies of it share the masks found so far
};


}  // namespace hz
