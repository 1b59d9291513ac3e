// SPDX-License-Identifier: Apache-2.0
// Model: loading, and the batch that the decoder sees.
#include "hanzo/model/model.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>

#include "hanzo/autograd/tape.hpp"
#include "hanzo/core/parallel.hpp"
#include "hanzo/model/adapter.hpp"
#include "hanzo/model/rope_table.hpp"
#include "src/model/decoder.hpp"
#include "src/model/isq.hpp"
#include "src/model/metadata_hash.hpp"
#include "src/model/weight_places.hpp"

namespace hz {

struct Model::Body {
  io::Gguf file;
  LoadOptions options;
  std::shared_ptr<Backend> backend;
  model::Decoder decoder;
  std::int64_t context = 0;
  model::MemoryPlan plan;
  bool can_train = false;
  std::vector<std::string> adapters;
  struct Hash {
    std::once_flag once;
    std::string hex;
  };
  std::shared_ptr<Hash> hash = std::make_shared<Hash>();  // of the file: shared by all models over it
};

// A batch, and the rows of its head.
struct Model::Work {
  std::shared_ptr<model::Decoder::Batch> batch = std::make_shared<model::Decoder::Batch>();
  std::vector<nn::AdapterRows> head_rows;
  nn::Pass head() const { return batch->pass.all_adapters ? batch->pass : nn::Pass(batch->pass.mode, head_rows); }
};

namespace {

const model::Arch& arch_of(const io::Gguf& file) {
  const auto name = file.metadata().require<std::string>("general.architecture");
  const model::Arch* arch = model::find_arch(name);
  if (arch == nullptr)
    throw Error(ErrorKind::unsupported, "architecture '" + name + "' is not built", file.files()[0].string(),
                "built: " + std::string(model::arch_names()));
  return *arch;
}

// Rows of 512 tokens of the widest stages, four bytes each, and one row of logits.
std::uint64_t work_bytes(const model::HParams& h) {
  const std::int64_t widest =
      6 * h.hidden + 3 * h.ff + 3 * h.expert_ff * h.experts_used + static_cast<std::int64_t>(h.heads) * h.head_dim * 2;
  return static_cast<std::uint64_t>(512 * widest + h.vocab) * sizeof(float);
}

// Bytes that panels of codebook weights take beyond the weights' own: what they may, and what they will.
struct Expansion {
  std::uint64_t limit = 0, most = 0;
};
Expansion expansion_of(const io::Gguf& file, const LoadOptions& options) {
  if (!(options.expand >= 0))
    throw Error(ErrorKind::usage, "[load] expand is a share of the weights' bytes, not " + std::to_string(options.expand), "", "0 or more");
  std::uint64_t weights = 0, all = 0;
  for (const io::GgufTensor& t : file.tensors()) {
    if (!t.is_weight()) continue;
    weights += t.nbytes;
    all += model::expansion(t.type, t.nbytes);
  }
  const double limit = options.expand * static_cast<double>(weights);
  if (all == 0 || limit >= static_cast<double>(all)) return {UINT64_MAX, all};
  return {static_cast<std::uint64_t>(limit), static_cast<std::uint64_t>(limit)};
}

model::MemoryPlan plan_of(const io::Gguf& file, const model::Decoder& d, const LoadOptions& options, std::int64_t context) {
  model::MemoryPlan p;
  p.context = context;
  // Panels take the place of mapped pages, but stand beside bytes that were read: those are the truth, and come from nowhere else.
  if (options.pack) p.weights += file.total_bytes() + (options.backend ? 0 : expansion_of(file, options).most);
  if (options.read_mode == io::ReadMode::read) p.weights += file.total_bytes();
  p.work = work_bytes(d.hparams);
  const bool two_tables = d.hparams.window > 0;
  p.position = d.pages->bytes / kKvPage + static_cast<std::uint64_t>(d.hparams.rope_dim) * sizeof(float) * (two_tables ? 2 : 1);
  return p;
}

std::vector<nn::AdapterUse> every_adapter(std::size_t count) {
  std::vector<nn::AdapterUse> use;
  for (std::size_t i = 0; i < count; ++i) use.push_back({static_cast<int>(i), 1.0f});
  return use;
}

void check_kv(const Backend& backend, const Capabilities& can, const LoadOptions& options, const model::HParams& h) {
  if (can.kv.empty())
    throw Error(ErrorKind::unsupported, "the " + std::string(backend.name()) + " backend cannot run a model: it has no KV cache", "",
                "use the device cpu");
  if (std::find(can.kv.begin(), can.kv.end(), options.kv) == can.kv.end())
    throw Error(ErrorKind::unsupported, "the " + std::string(backend.name()) + " backend has no KV cache of this kind", "",
                "choose another one with --kv, or the device cpu");
  if (options.kv == KvKind::q8_0 && (h.head_dim % 32 != 0 || h.value_dim % 32 != 0))
    throw Error(ErrorKind::unsupported,
                "a Q8_0 KV cache needs head sizes that 32 divides, this model has " + std::to_string(h.head_dim) + " and " +
                    std::to_string(h.value_dim),
                "", "use --kv f16");
}

}  // namespace

Model Model::load(const std::filesystem::path& path, LoadOptions options) {
  const IeeeMode mode;  // tables and decoded vectors are part of the contract too
  if (!options.isq.empty()) {
    const model::QuantizedForLoad quantized(path, options);
    options.isq.clear();
    return load(quantized.file(), std::move(options));
  }
  const StopScope scope(options.progress.stop);
  const int threads = options.threads > 0 ? options.threads : default_threads();
  auto body = std::make_shared<Body>();
  body->file = io::Gguf::open(path, options.read_mode, options.progress);
  body->backend = options.backend;
  if (!body->backend) {
    const std::uint64_t expand = expansion_of(body->file, options).limit;
    body->backend =
        make_backend(options.device, {.threads = options.threads, .isa = options.isa, .pack = options.pack, .expand_bytes = expand});
  }
  const Capabilities can = body->backend->capabilities();
  body->can_train = can.gradients;
  model::Decoder& d = body->decoder;
  d.arch = &arch_of(body->file);
  d.hparams = model::read_hparams(*d.arch, body->file.metadata());
  const model::HParams& h = d.hparams;
  d.weights = model::bind_weights(*d.arch, d.hparams, body->file);
  check_kv(*body->backend, can, options, h);
  d.activations = options.activations;
  d.device = body->backend->device();
  d.pages = std::make_shared<model::PageLayout>(
      *body->backend, std::vector<KvLayout>(static_cast<std::size_t>(h.layers), {options.kv, h.kv_heads, h.head_dim, h.value_dim}));
  body->context = options.context > 0 ? options.context : std::min<std::int64_t>(h.context, 4096);
  body->plan = plan_of(body->file, d, options, body->context);
  model::check_memory(body->plan, options.memory_limit > 0 ? options.memory_limit : can.free_memory);
  model::check_finite(body->file, threads, options.progress);
  if (d.arch->attention.rope != Rope::none) {
    const auto divisors =
        d.weights.rope_divisors.defined() ? std::span<const float>(d.weights.rope_divisors.span<float>()) : std::span<const float>();
    d.rope = model::rope_table(body->context, h.rope_dim, h.rope_base, h.rope_scaling.factor, divisors, threads);
    d.window_rope = h.window > 0
                        ? model::rope_table(body->context, h.rope_dim, h.window_rope_base, h.window_rope_scaling.factor, divisors, threads)
                        : d.rope;
  }
  if (!body->backend->on_host()) {
    model::move_vectors(d.weights, d.device);
    if (d.rope.defined()) d.rope = d.rope.to(d.device);
    if (d.window_rope.defined()) d.window_rope = d.window_rope.to(d.device);
  }
  body->options = std::move(options);
  Model m;
  m.body_ = std::move(body);
  const std::vector<AdapterFile> adapters = m.options().adapters;
  for (const AdapterFile& file : adapters) m = m.with_adapter(Adapter::load(file.path, m, m.options().force_adapters), file.strength);
  return m;
}

const model::HParams& Model::hparams() const { return body_->decoder.hparams; }
const model::Arch& Model::arch() const { return *body_->decoder.arch; }
const io::Gguf& Model::file() const { return body_->file; }
const LoadOptions& Model::options() const { return body_->options; }
Backend& Model::backend() const { return *body_->backend; }
std::int64_t Model::context() const { return body_->context; }
const model::MemoryPlan& Model::memory_plan() const { return body_->plan; }
model::KvSequence Model::new_sequence() const { return model::KvSequence(body_->decoder.pages); }

std::size_t Model::kv_bytes(std::int64_t positions) const {
  return static_cast<std::size_t>((positions + kKvPage - 1) / kKvPage) * body_->decoder.pages->bytes;
}

Model::Work Model::prepare(std::span<const SequenceChunk> chunks, LogitRows rows) const {
  Work work;
  model::Decoder::Batch& batch = *work.batch;
  const Tape* tape = Tape::active();
  std::int64_t tokens = 0;
  for (const SequenceChunk& c : chunks) {
    tokens += static_cast<std::int64_t>(c.ids.size());
    if (c.adapters != nullptr) batch.pass.all_adapters = false;
  }
  if (tokens == 0) throw Error(ErrorKind::usage, "[forward] no tokens");
  if (tape != nullptr && !body_->can_train)
    throw Error(ErrorKind::unsupported, "the " + std::string(body_->backend->name()) + " backend has no gradients", "",
                "train on the device cpu");
  batch.ids = Tensor::empty({tokens}, DType::i32);
  batch.pass.mode = body_->options.activations;
  batch.owner = body_;
  std::int64_t row = 0;
  for (const SequenceChunk& c : chunks) {
    const auto n = static_cast<std::int64_t>(c.ids.size());
    if (n == 0) continue;
    const std::int64_t at = c.kv->length();
    if (at + n > body_->context)
      throw Error(ErrorKind::usage,
                  "[forward] " + std::to_string(at + n) + " positions do not fit the context of " + std::to_string(body_->context));
    if (tape != nullptr && at > 0 && c.kv->tape_serial() == tape->serial())
      throw Error(ErrorKind::usage,
                  "[forward] the sequence has positions of this tape already: their keys and values would get no gradient", "",
                  "give a document to the tape in one call");
    c.kv->reserve(n);
    std::copy(c.ids.begin(), c.ids.end(), batch.ids.data<std::int32_t>() + row);
    for (std::int64_t i = 0; i < n; ++i) batch.positions.push_back(static_cast<std::int32_t>(at + i));
    batch.segments.push_back({row, n, at, 0, c.kv->pages()});
    if (tape != nullptr) {
      const auto pin = c.kv->pin();
      batch.segments.back().pages = pin->bases.data();
      batch.segments.back().pin = pin;
      c.kv->set_tape_serial(tape->serial());
    }
    const auto heads = static_cast<std::int64_t>(batch.logit_rows.size());
    if (rows == LogitRows::last) batch.logit_rows.push_back(static_cast<std::int32_t>(row + n - 1));
    for (std::int64_t i = 0; rows == LogitRows::all && i < n; ++i) batch.logit_rows.push_back(static_cast<std::int32_t>(row + i));
    if (!batch.pass.all_adapters) {
      batch.adapter_uses.push_back(c.adapters != nullptr ? *c.adapters : every_adapter(body_->adapters.size()));
      batch.adapter_rows.push_back({row, n, {}});
      work.head_rows.push_back({heads, static_cast<std::int64_t>(batch.logit_rows.size()) - heads, {}});
    }
    row += n;
  }
  for (std::size_t i = 0; i < batch.adapter_rows.size(); ++i) batch.adapter_rows[i].use = work.head_rows[i].use = batch.adapter_uses[i];
  batch.pass.rows = batch.adapter_rows;
  return work;
}

Tensor Model::run(Work& work, std::span<const SequenceChunk> chunks, bool logits) const {
  const model::Decoder& decoder = body_->decoder;
  Tensor y = decoder.hidden(work.batch);
  if (y.defined() && logits) y = decoder.logits(y, work.head());
  if (y.defined() && !body_->backend->all_finite(y)) {
    const model::Decoder::Batch& batch = *work.batch;
    {
      const NoGrad off;
      auto probe = std::make_shared<model::Decoder::Batch>(batch);  // once more, to say where it began
      probe->probe = true;
      decoder.hidden(probe);
    }
    std::size_t row = 0;
    while (row + 1 < batch.logit_rows.size() && body_->backend->all_finite(y.row(static_cast<std::int64_t>(row)))) ++row;
    throw Error(ErrorKind::numeric,
                "NaN or infinite logits at position " + std::to_string(batch.positions[static_cast<std::size_t>(batch.logit_rows[row])]),
                body_->file.files()[0].string());
  }
  for (const SequenceChunk& c : chunks) c.kv->advance(static_cast<std::int64_t>(c.ids.size()));
  return y.defined() && Tape::active() == nullptr && logits ? y.to({}) : y;
}

Tensor Model::forward(std::span<const SequenceChunk> chunks, LogitRows rows, std::stop_token stop) const {
  const IeeeMode mode;
  const StopScope scope(std::move(stop));
  Work work = prepare(chunks, rows);
  return run(work, chunks, true);
}

Tensor Model::hidden(std::span<const SequenceChunk> chunks, LogitRows rows, std::stop_token stop) const {
  const IeeeMode mode;
  const StopScope scope(std::move(stop));
  Work work = prepare(chunks, rows);
  return run(work, chunks, false);
}

Tensor Model::forward(std::span<const std::int32_t> ids) const {
  model::KvSequence kv = new_sequence();
  const SequenceChunk chunk{&kv, ids};
  return forward({&chunk, 1}, LogitRows::all);
}

Tensor Model::hidden(std::span<const std::int32_t> ids) const {
  model::KvSequence kv = new_sequence();
  const SequenceChunk chunk{&kv, ids};
  return hidden({&chunk, 1}, LogitRows::all);
}

Tensor Model::logits(const Tensor& hidden) const {
  const IeeeMode mode;
  return body_->decoder.logits(hidden, body_->options.activations);
}

Model Model::with_adapter(const Adapter& adapter, float strength) const {
  auto body = std::make_shared<Body>(*body_);
  const int slot = static_cast<int>(body->adapters.size());
  std::map<std::string, nn::Linear*, std::less<>> linears;
  model::for_each_linear(body->decoder.weights, [&](const std::string& name, nn::Linear& l) { linears[name] = &l; });
  for (const Adapter::Target& t : adapter.targets()) {
    const auto it = linears.find(t.module);
    if (it == linears.end()) throw Error(ErrorKind::usage, "[with_adapter] the model has no layer " + t.module);
    nn::Linear& l = *it->second;
    if (t.lora.a.tensor().cols() != l.in() || t.lora.b.tensor().rows() != l.out())
      throw Error(ErrorKind::usage, "[with_adapter] " + t.module + " is " + to_string({l.out(), l.in()}) + ", the adapter is for " +
                                        to_string({t.lora.b.tensor().rows(), t.lora.a.tensor().cols()}));
    l.adapters.push_back(t.lora);
    l.adapters.back().slot = slot;
    l.adapters.back().scale = t.lora.scale * strength;
  }
  body->adapters.push_back(adapter.name());
  Model m;
  m.body_ = std::move(body);
  return m;
}

Model Model::without_adapters() const {
  auto body = std::make_shared<Body>(*body_);
  model::for_each_linear(body->decoder.weights, [](const std::string&, nn::Linear& l) { l.adapters.clear(); });
  body->adapters.clear();
  Model m;
  m.body_ = std::move(body);
  return m;
}

Model Model::with_weights(const FloatWeights& weights) const {
  Model m = without_adapters();
  auto body = std::make_shared<Body>(*m.body_);
  model::place(body->decoder.weights, weights);
  m.body_ = std::move(body);
  return m;
}

const std::vector<std::string>& Model::adapters() const { return body_->adapters; }
std::string Model::adapters_sha256() const {
  if (body_->adapters.empty()) return {};
  io::Sha256 hash;
  model::for_each_linear(weights(), [&](const std::string& name, const nn::Linear& l) {
    for (const nn::LoraAdapter& a : l.adapters) {
      model::hash_text(hash, name);
      model::hash_number(hash, static_cast<std::uint64_t>(a.slot));
      model::hash_number(hash, std::bit_cast<std::uint32_t>(a.scale));
      for (const Var* v : {&a.a, &a.b, &a.magnitude})
        if (v->defined()) hash.update(std::as_bytes(v->tensor().span<float>()));
    }
  });
  return hash.hex();
}

std::uint64_t Model::weights_version() const { return model::version_of(body_->decoder.weights); }

const model::Weights& Model::weights() const { return body_->decoder.weights; }

const std::string& Model::base_sha256() const {
  Body::Hash& hash = *body_->hash;
  std::call_once(hash.once, [&] { hash.hex = model::tensors_sha256(body_->file); });
  return hash.hex;
}

}  // namespace hz
