// SPDX-License-Identifier: Apache-2.0
// Model: weights, hyper-parameters, a device, and the one forward pass. Immutable, shared by threads.
#pragma once
#include <filesystem>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "hanzo/core/progress.hpp"
#include "hanzo/io/gguf.hpp"
#include "hanzo/model/hparams.hpp"
#include "hanzo/model/kv_cache.hpp"
#include "hanzo/model/memory_plan.hpp"
#include "hanzo/model/weights.hpp"
#include "hanzo/nn/linear.hpp"

namespace hz {

// An adapter to load with a model (see Adapter::load), and how strong it is.
struct AdapterFile {
  std::filesystem::path path;
  float strength = 1;
};

struct LoadOptions {
  std::string device = "cpu";
  std::shared_ptr<Backend> backend = {};  // in place of `device`: a backend that the program made or brought itself
  int threads = 0;                 // 0: default_threads()
  std::string isa = {};            // cpu: force an instruction set
  bool pack = true;                // cpu: packed panels of the weights
  // cpu: weights of codebook formats (IQ1, IQ2, IQ3) are packed as well, though their panels are 1.2 to 2.1 times as large as
  // their bytes, while this takes no more than so many times the bytes of all weights beyond them; 0: none, 2: all. A backend
  // of one's own has a limit of its own.
  double expand = 0.1;
  KvKind kv = KvKind::f16;
  nn::Activations activations = nn::Activations::int8;
  std::int64_t context = 0;        // positions that rope tables cover; 0: the smaller of the model's and 4096
  io::ReadMode read_mode = io::ReadMode::map;  // read: the file's bytes stay in memory, beside the panels if there are any
  std::vector<AdapterFile> adapters = {};
  bool force_adapters = false;     // also those that were made for another base
  std::uint64_t memory_limit = 0;  // bytes that the model may take; 0: what the backend says is free
  // Quantize while loading: a recipe's name (model/recipe.hpp), empty for none. The weights are those that quantize_file
  // writes, bit for bit; they go through a file, so that memory never holds more than the result.
  std::string isq = {};
  std::filesystem::path isq_save = {};  // where that file stays; empty: a temporary one, gone when loaded
  std::filesystem::path isq_importance = {};  // an importance matrix for it, or empty
  Progress progress = {};
};

// Rows of logits that a forward pass computes.
enum class LogitRows { all, last, none };

// New tokens of one sequence.
struct SequenceChunk {
  model::KvSequence* kv = nullptr;
  std::span<const std::int32_t> ids;
  // The adapters of these rows, ascending by slot; null: every adapter of the model, as strong as it was attached.
  const std::vector<nn::AdapterUse>* adapters = nullptr;
};

class Adapter;
class FloatWeights;

class Model {
 public:
  // file: a GGUF file, or with options.isq also a Hugging Face folder (model/convert.hpp).
  // Throws Error(bad_file | unsupported | out_of_memory | io); out_of_memory before anything large is allocated.
  static Model load(const std::filesystem::path& file, LoadOptions options = {});

  const model::HParams& hparams() const;
  const model::Arch& arch() const;
  const io::Gguf& file() const;
  const LoadOptions& options() const;
  Backend& backend() const;
  std::int64_t context() const;  // positions a sequence may have

  model::KvSequence new_sequence() const;
  // Evaluates new tokens of any number of sequences in one batch, in one pass; their keys and values join the
  // sequences. Returns F32 [rows, vocab]: all rows in order, or the last of each chunk, or an undefined tensor; in the
  // host's memory but under a tape.
  // Throws usage for ids outside the vocabulary or a full context, numeric naming layer and position, cancelled
  // (within milliseconds of the request) when `stop` was asked for; the sequences are then as before.
  Tensor forward(std::span<const SequenceChunk> chunks, LogitRows rows = LogitRows::last, std::stop_token stop = {}) const;

  // A document in a sequence of its own: logits [ids, vocab]. What training and evaluation call.
  Tensor forward(std::span<const std::int32_t> ids) const;
  // As forward, but the final norm's output [rows, hidden]; logits() goes on from there, for losses that never hold the
  // logits of all rows at once.
  Tensor hidden(std::span<const SequenceChunk> chunks, LogitRows rows = LogitRows::all, std::stop_token stop = {}) const;
  Tensor hidden(std::span<const std::int32_t> ids) const;
  Tensor logits(const Tensor& hidden) const;

  // A model of the same weights with one more adapter, in the slot adapters().size(). Nothing is copied but handles; this
  // model stays as it is. Throws usage when the adapter is of other shapes.
  Model with_adapter(const Adapter& adapter, float strength = 1.0f) const;
  // The same without any adapter.
  Model without_adapters() const;
  // The same architecture over other values of its weights, which are shared; without adapters. Throws usage naming what is
  // missing or of another shape.
  Model with_weights(const FloatWeights& weights) const;
  const std::vector<std::string>& adapters() const;  // their names, by slot
  // A hash of all adapters, their factors and scales as they are now; empty without any.
  std::string adapters_sha256() const;
  // Another number whenever a trained value (of an adapter, or with_weights) was changed in place: keys and values from
  // before are of another model then.
  std::uint64_t weights_version() const;
  // The weights, with adapters attached.
  const model::Weights& weights() const;
  // SHA-256 of all tensors of the file in the order of their names: for each its name, a zero byte, the type number (u32),
  // the rank (u32), the dimensions, outermost first (u64), little-endian, and the bytes. Computed once.
  const std::string& base_sha256() const;

  // Taken with context() positions.
  const model::MemoryPlan& memory_plan() const;
  // Bytes of KV cache for `positions` of one sequence.
  std::size_t kv_bytes(std::int64_t positions) const;

 private:
  struct Body;
  struct Work;
  Work prepare(std::span<const SequenceChunk> chunks, LogitRows rows) const;
  Tensor run(Work& work, std::span<const SequenceChunk> chunks, bool logits) const;
  std::shared_ptr<const Body> body_;
};

}  // namespace hz
