// SPDX-License-Identifier: Apache-2.0
// Generator: one stream of text from a model. Belongs to one thread; single-stream generation is a batch of one.
#pragma once
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "hanzo/engine/sampling.hpp"
#include "hanzo/model/model.hpp"
#include "hanzo/text/chat_template.hpp"
#include "hanzo/text/tokenizer.hpp"

namespace hz {

struct GenerateOptions {
  std::int64_t max_tokens = -1;  // -1: until the turn or the context ends; 0: evaluate the prompt only
  // The most used knobs; one that is set wins over the same field of `sampling`.
  std::optional<float> temperature = {};  // <= 0: greedy
  std::optional<std::int32_t> top_k = {};
  std::optional<float> top_p = {}, min_p = {};
  std::optional<std::uint64_t> seed = {};
  SamplingOptions sampling = {};
  std::stop_token stop = {};  // ends the generation with FinishReason::interrupted
};

enum class FinishReason { none, turn_end, length, interrupted };
std::string_view name_of(FinishReason reason);

// What one step gives: a token and the characters that it completes.
struct Piece {
  std::int32_t id = 0;
  std::string text;
};

struct GenerationStats {
  std::int64_t prompt_tokens = 0, generated_tokens = 0;
  double prompt_seconds = 0, decode_seconds = 0;
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

  // One more token; false at the end. The last piece may carry an empty id's rest of text.
  bool next();
  const Piece& piece() const { return piece_; }
  FinishReason finish_reason() const { return reason_; }
  const GenerationStats& stats() const { return stats_; }
  std::uint64_t seed() const { return sampler_.seed(); }
  const std::vector<std::int32_t>& ids() const { return ids_; }  // generated so far

 private:
  friend class Generator;
  Generation(Generator& generator, std::vector<std::int32_t> prompt, GenerateOptions options);
  bool finish(FinishReason reason);
  bool at_limit() const;

  Generator* generator_;
  GenerateOptions options_;
  std::vector<std::int32_t> prompt_, ids_, history_;  // history: prompt and answer
  Sampler sampler_;
  SamplerState sampler_state_;
  std::shared_ptr<void> decoder_;  // text::StreamDecoder, or null without a tokenizer
  Tensor logits_;
  Piece piece_;
  FinishReason reason_ = FinishReason::none;
  bool started_ = false, done_ = false;
  GenerationStats stats_;
};

using ChatMessage = text::ChatMessage;

struct GeneratorOptions {
  std::int64_t ubatch = 512;  // prompt tokens evaluated at a time; changes speed and memory, never a bit
  std::string pre = {};       // pre-tokenizer's name, in place of the file's
};

class Generator {
 public:
  // A model whose tokenizer is not built can still run on ids; text calls then throw what was wrong with it.
  explicit Generator(Model model, GeneratorOptions options = {});

  const Model& model() const { return model_; }
  // Throws the error that building the tokenizer gave.
  const text::Tokenizer& tokenizer() const;
  bool has_tokenizer() const { return tokenizer_ != nullptr; }

  // Answers a conversation through the model's own chat template.
  Generation chat(const std::vector<ChatMessage>& messages, GenerateOptions options = {});
  // Continues a text as it is (with BOS where the model has one).
  Generation complete(std::string_view text, GenerateOptions options = {});
  Generation generate(std::vector<std::int32_t> ids, GenerateOptions options = {});

  // The ids that chat() and complete() would evaluate.
  std::vector<std::int32_t> chat_ids(const std::vector<ChatMessage>& messages) const;
  std::vector<std::int32_t> complete_ids(std::string_view text) const;

 private:
  friend class Generation;
  // Evaluates ids in chunks of ubatch; logits of the last row.
  Tensor evaluate(std::span<const std::int32_t> ids, const std::stop_token& stop);

  Model model_;
  GeneratorOptions options_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::shared_ptr<const TokenTable> tokens_;
  std::optional<Error> tokenizer_error_;
  model::KvSequence kv_;
};


}  // namespace hz
