// SPDX-License-Identifier: Apache-2.0
#include "hanzo/engine/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "hanzo/io/gguf.hpp"
#include "hanzo/io/gguf_writer.hpp"
#include "hanzo/io/sha256.hpp"
#include "src/engine/log_sum.hpp"

namespace hz {
namespace {

std::size_t windows_of(std::span<const std::int32_t> ids, const EvaluateOptions& o) {
  if (o.window < 4) throw Error(ErrorKind::usage, "a window of " + std::to_string(o.window) + " tokens is too small", "", "use at least 4");
  const auto count = ids.size() / static_cast<std::size_t>(o.window);
  if (count == 0)
    throw Error(ErrorKind::usage, "the text has " + std::to_string(ids.size()) + " tokens, one window needs " + std::to_string(o.window),
                "", "give a longer text or a smaller -c");
  return count;
}

// Calls row(position, logits) for each scored position of the window, ascending.
void each_scored(const Model& model, std::span<const std::int32_t> window, const EvaluateOptions& o,
                 const std::function<void(std::size_t, std::span<const float>)>& row) {
  auto kv = model.new_sequence();
  const std::size_t first = window.size() / 2;
  const auto step = static_cast<std::size_t>(std::max<std::int64_t>(1, o.ubatch));
  for (std::size_t at = 0; at < window.size();) {
    const std::size_t end = std::min(window.size(), at < first ? std::min(first, at + step) : at + step);
    const SequenceChunk chunk{&kv, window.subspan(at, end - at)};
    const Tensor logits = model.forward({&chunk, 1}, at < first ? LogitRows::none : LogitRows::all, o.progress.stop);
    for (std::size_t i = at; at >= first && i < std::min(end, window.size() - 1); ++i)
      row(i, logits.span<float>().subspan((i - at) * static_cast<std::size_t>(logits.cols()), static_cast<std::size_t>(logits.cols())));
    at = end;
  }
}

std::vector<std::int32_t> window_at(std::span<const std::int32_t> ids, std::size_t index, const EvaluateOptions& o) {
  const auto part = ids.subspan(index * static_cast<std::size_t>(o.window), static_cast<std::size_t>(o.window));
  std::vector<std::int32_t> w(part.begin(), part.end());
  if (o.bos >= 0) w[0] = o.bos;
  return w;
}

}  // namespace

Perplexity perplexity(const Model& model, std::span<const std::int32_t> ids, const EvaluateOptions& o) {
  Perplexity p;
  double sum = 0, squares = 0;
  const std::size_t count = windows_of(ids, o);
  for (std::size_t i = 0; i < count; ++i) {
    o.progress.check("measuring perplexity");
    const auto w = window_at(ids, i, o);
    each_scored(model, w, o, [&](std::size_t at, std::span<const float> logits) {
      const double nll = log_sum(logits) - logits[static_cast<std::size_t>(w[at + 1])];
      sum += nll;
      squares += nll * nll;
      ++p.scored;
    });
    o.progress("measuring perplexity", i + 1, count);
  }
  const auto n = static_cast<double>(p.scored);
  const double mean = sum / n, variance = std::max(0.0, squares / n - mean * mean);
  p.value = std::exp(mean);
  p.uncertainty = p.value * std::sqrt(variance / std::max(1.0, n - 1));
  p.windows = static_cast<std::int64_t>(count);
  return p;
}

namespace {

// Adds the comparison of one row of logits with the base's.
struct Comparison {
  double kl = 0, kl_max = 0;
  std::int64_t same = 0, scored = 0;
  void add(std::span<const float> p, std::span<const float> q) {
    const double zp = log_sum(p), zq = log_sum(q);
    double one = 0;
    for (std::size_t j = 0; j < p.size(); ++j) one += std::exp(p[j] - zp) * ((p[j] - zp) - (q[j] - zq));
    if (one < 0) one = 0;  // by rounding
    kl += one;
    kl_max = std::max(kl_max, one);
    same += std::max_element(p.begin(), p.end()) - p.begin() == std::max_element(q.begin(), q.end()) - q.begin();
    ++scored;
  }
  Agreement result() const {
    const auto n = static_cast<double>(scored);
    return {kl / n, kl_max, static_cast<double>(same) / n, scored};
  }
};

// What a file of base logits must agree on with the text it is used for.
std::string text_hash(std::span<const std::int32_t> ids, const EvaluateOptions& o) {
  io::Sha256 sha;
  sha.update(std::as_bytes(ids.first(windows_of(ids, o) * static_cast<std::size_t>(o.window))));
  return sha.update(std::to_string(o.window) + " " + std::to_string(o.bos)).hex();
}

constexpr const char *kKind = "hanzo.logits", *kLogits = "logits";

}  // namespace

void save_base_logits(const Model& base, std::span<const std::int32_t> ids, const std::filesystem::path& file, const EvaluateOptions& o) {
  const std::size_t count = windows_of(ids, o);
  const std::int64_t rows = static_cast<std::int64_t>(count) * (o.window - 1 - o.window / 2);
  io::Metadata meta;
  meta.set("general.type", {std::string(kKind)});
  meta.set("hanzo.text_sha256", {text_hash(ids, o)});
  meta.set("hanzo.model", {base.file().files()[0].filename().string()});
  io::GgufWriter writer(std::move(meta));
  writer.add(kLogits, {rows, base.hparams().vocab}, static_cast<std::uint32_t>(WType::f32), [&](const io::ByteSink& sink) {
    for (std::size_t i = 0; i < count; ++i) {
      o.progress.check("saving base logits");
      each_scored(base, window_at(ids, i, o), o, [&](std::size_t, std::span<const float> logits) { sink(std::as_bytes(logits)); });
      o.progress("saving base logits", i + 1, count);
    }
  });
  writer.write(file);
}

Agreement agreement_with(const std::filesystem::path& base, const Model& other, std::span<const std::int32_t> ids,
                         const EvaluateOptions& o) {
  const io::Gguf file = io::Gguf::open(base);
  const auto refuse = [&](const std::string& what) {
    return Error(ErrorKind::bad_file, what, base.string(), "save the base anew with the same text, window and vocabulary");
  };
  if (file.metadata().get_or<std::string>("general.type", "") != kKind) throw refuse("this file holds no base logits");
  if (file.metadata().require<std::string>("hanzo.text_sha256") != text_hash(ids, o))
    throw refuse("the base logits are of another text or window");
  const Tensor saved = file.dense(kLogits);
  if (saved.cols() != other.hparams().vocab)
    throw refuse("the base logits have a vocabulary of " + std::to_string(saved.cols()) + ", the model " +
                 std::to_string(other.hparams().vocab));
  Comparison c;
  const std::size_t count = windows_of(ids, o);
  for (std::size_t i = 0; i < count; ++i) {
    o.progress.check("comparing");
    each_scored(other, window_at(ids, i, o), o, [&](std::size_t, std::span<const float> q) {
      if (c.scored >= saved.rows()) throw refuse("the base logits have too few rows");
      const Tensor row = saved.row(c.scored);
      const auto p = row.span<const float>();
      if (!std::all_of(p.begin(), p.end(), [](float x) { return std::isfinite(x); }))
        throw refuse("row " + std::to_string(c.scored) + " of the base logits has a value that is not finite");
      c.add(p, q);
    });
    o.progress("comparing", i + 1, count);
  }
  return c.result();
}

Agreement agreement(const Model& base, const Model& other, std::span<const std::int32_t> ids, const EvaluateOptions& o) {
  Comparison c;
  const std::size_t count = windows_of(ids, o);
  for (std::size_t i = 0; i < count; ++i) {
    o.progress.check("comparing");
    const auto w = window_at(ids, i, o);
    std::vector<std::vector<float>> rows;
    each_scored(base, w, o, [&](std::size_t, std::span<const float> logits) { rows.emplace_back(logits.begin(), logits.end()); });
    std::size_t next = 0;
    each_scored(other, w, o, [&](std::size_t, std::span<const float> q) { c.add(rows[next++], q); });
    o.progress("comparing", i + 1, count);
  }
  return c.result();
}

}  // namespace hz
