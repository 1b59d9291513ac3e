// SPDX-License-Identifier: Apache-2.0
// Merging: W + s B A (DoRA: magnitude / norm times that), rounded to the base's type.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "hanzo/core/parallel.hpp"
#include "hanzo/io/gguf_writer.hpp"
#include "hanzo/nn/var_map.hpp"
#include "hanzo/train/adapter_tools.hpp"

namespace hz::train {
namespace {

// The merged weights in float, row by row.
Tensor merged(const QTensor& base, const nn::LoraAdapter& l, int threads) {
  const Tensor w = base.decode();
  const std::int64_t in = w.cols(), rank = l.rank();
  const Tensor norms = l.magnitude.defined() ? nn::row_norms(base, {}, l.a, l.b, l.scale) : Tensor();
  parallel_for(threads, w.rows(), 16, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> change(static_cast<std::size_t>(in));
    for (std::int64_t i = begin; i < end; ++i) {
      std::fill(change.begin(), change.end(), 0.0);
      for (std::int64_t r = 0; r < rank; ++r) {
        const double b = static_cast<double>(l.b.tensor().data<float>()[i * rank + r]);
        const float* a = l.a.tensor().data<float>() + r * in;
        for (std::int64_t k = 0; k < in; ++k) change[static_cast<std::size_t>(k)] += b * static_cast<double>(a[k]);
      }
      const double gain = norms.defined() && norms.data<float>()[i] != 0
                              ? static_cast<double>(l.magnitude.tensor().data<float>()[i]) / static_cast<double>(norms.data<float>()[i])
                              : 1.0;
      float* row = w.data<float>() + i * in;
      for (std::int64_t k = 0; k < in; ++k)
        row[k] =
            static_cast<float>(gain * (static_cast<double>(row[k]) + static_cast<double>(l.scale) * change[static_cast<std::size_t>(k)]));
    }
  });
  return w;
}

struct Sums {
  double base = 0, change = 0, lost = 0;  // squares
  double survival() const { return change > 0 ? std::max(0.0, 1 - lost / change) : 1.0; }
};
Sums compare(const QTensor& base, const Tensor& wanted, const QTensor& got) {
  Sums s;
  std::vector<float> w(static_cast<std::size_t>(base.cols())), g(w);
  for (std::int64_t i = 0; i < base.rows(); ++i) {
    base.decode_row(i, w.data());
    got.decode_row(i, g.data());
    const float* want = wanted.data<float>() + i * base.cols();
    for (std::size_t k = 0; k < w.size(); ++k) {
      const double b = static_cast<double>(w[k]), change = static_cast<double>(want[k]) - b, left = static_cast<double>(g[k]) - b;
      s.base += b * b;
      s.change += change * change;
      s.lost += (left - change) * (left - change);
    }
  }
  return s;
}

}  // namespace

MergeReport merge_adapter(const Model& model, const Adapter& adapter, const std::filesystem::path& out, const MergeOptions& options) {
  const io::Gguf& file = model.file();
  const int threads = model.options().threads > 0 ? model.options().threads : default_threads();
  std::map<std::string, QTensor> fresh;
  MergeReport report;
  Sums all;
  std::uint64_t done = 0;
  for (const Adapter::Target& t : adapter.targets()) {
    options.progress.check("merging");
    const QTensor base = file.tensor(t.module + ".weight");
    const Tensor wanted = merged(base, t.lora, threads);
    QTensor got = quantize(wanted, base.wtype());
    const Sums s = compare(base, wanted, got);
    all.change += s.change;
    all.lost += s.lost;
    report.tensors.push_back(
        {t.module + ".weight", std::string(name_of(base.wtype())), s.base > 0 ? std::sqrt(s.change / s.base) : 0.0, s.survival()});
    fresh.emplace(t.module + ".weight", std::move(got));
    options.progress("merging", ++done, adapter.targets().size());
  }
  report.survival = all.survival();
  if (report.survival < options.least_survival && !options.force)
    throw Error(ErrorKind::failed,
                fmt::format("only {:.1f} % of what the adapter changes would survive the rounding to the base's types, {:.1f} % are wanted",
                            100 * report.survival, 100 * options.least_survival),
                out.string(), "serve base and adapter side by side (hz-run --lora), merge into a float base, or --force");
  io::GgufWriter writer(file.metadata());
  for (const io::GgufTensor& t : file.tensors()) {
    const auto found = fresh.find(t.name);
    writer.add(t.name, t.shape, static_cast<std::uint32_t>(t.type), found != fresh.end() ? found->second.bytes() : file.bytes(t.name));
  }
  writer.write(out, options.progress);
  return report;
}

}  // namespace hz::train
