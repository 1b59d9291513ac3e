// SPDX-License-Identifier: Apache-2.0
#include "hanzo/engine/importance.hpp"

#include <algorithm>
#include <vector>

#include "hanzo/core/parallel.hpp"
#include "hanzo/nn/observe.hpp"

namespace hz {
namespace {

// Sums of squares in double, rows ascending, each column by one thread.
class Collector final : public nn::Observer {
 public:
  explicit Collector(int threads) : threads_(threads) {}

  void see(const std::string& weight, const Tensor& x) override {
    Sums& s = sums_of(weight, 1, x.cols());
    s.counts[0] += static_cast<double>(x.rows());
    parallel_for(threads_, x.cols(), 256, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = 0; r < x.rows(); ++r) add(x.data<float>() + r * x.cols(), begin, end, s.squares.data());
    });
  }
  void see_experts(const std::string& weight, std::int64_t count, const Tensor& x, std::span<const std::int32_t> x_rows,
                   std::span<const std::int32_t> experts) override {
    Sums& s = sums_of(weight, count, x.cols());
    for (const std::int32_t e : experts) s.counts[static_cast<std::size_t>(e)] += 1;
    parallel_for(threads_, x.cols(), 256, [&](std::int64_t begin, std::int64_t end) {
      for (std::size_t i = 0; i < x_rows.size(); ++i)
        add(x.data<float>() + x_rows[i] * x.cols(), begin, end, s.squares.data() + experts[i] * x.cols());
    });
  }
  model::Importance result() const {
    model::Importance m;
    for (const auto& [name, s] : sums_) {
      model::ImportanceEntry e;
      e.experts = static_cast<std::int64_t>(s.counts.size());
      e.cols = static_cast<std::int64_t>(s.squares.size()) / e.experts;
      for (const double v : s.squares) e.sums.push_back(static_cast<float>(v));
      for (const double v : s.counts) e.counts.push_back(static_cast<float>(v));
      m.entries().emplace(name, std::move(e));
    }
    return m;
  }

 private:
  struct Sums {
    std::vector<double> squares, counts;
  };
  static void add(const float* x, std::int64_t begin, std::int64_t end, double* squares) {
    for (std::int64_t c = begin; c < end; ++c) squares[c] += double(x[c]) * double(x[c]);
  }
  Sums& sums_of(const std::string& weight, std::int64_t experts, std::int64_t cols) {
    Sums& s = sums_[weight];
    if (s.counts.empty()) {
      s.counts.assign(static_cast<std::size_t>(experts), 0.0);
      s.squares.assign(static_cast<std::size_t>(experts * cols), 0.0);
    }
    return s;
  }
  int threads_;
  std::map<std::string, Sums, std::less<>> sums_;
};

}  // namespace

model::Importance collect_importance(const Model& model, std::span<const std::int32_t> ids, const ImportanceOptions& o) {
  const auto window = static_cast<std::size_t>(std::max<std::int64_t>(o.window, 1));
  std::size_t count = ids.size() / window;
  if (o.most_windows >= 0) count = std::min(count, static_cast<std::size_t>(o.most_windows));
  if (count == 0)
    throw Error(ErrorKind::usage, "the text has " + std::to_string(ids.size()) + " tokens, one window needs " + std::to_string(o.window),
                "", "give a longer text or a smaller window");
  Collector collector(model.options().threads > 0 ? model.options().threads : default_threads());
  {
    const nn::ObserveScope scope(collector);
    for (std::size_t i = 0; i < count; ++i) {
      o.progress.check("collecting importance");
      const auto part = ids.subspan(i * window, window);
      std::vector<std::int32_t> w(part.begin(), part.end());
      if (o.bos >= 0) w[0] = o.bos;
      auto kv = model.new_sequence();
      const SequenceChunk chunk{&kv, w};
      model.forward({&chunk, 1}, LogitRows::all, o.progress.stop);
      o.progress("collecting importance", i + 1, count);
    }
  }
  model::Importance m = collector.result();
  m.chunk_count = static_cast<std::uint32_t>(count);
  m.chunk_size = static_cast<std::uint32_t>(window);
  return m;
}

}  // namespace hz
