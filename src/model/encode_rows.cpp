// SPDX-License-Identifier: Apache-2.0
// Rows of one tensor, decoded, encoded and measured by all threads in slabs of bounded size.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "hanzo/core/parallel.hpp"
#include "hanzo/model/quantize_file.hpp"
#include "hanzo/quant/format/decode.h"
#include "hanzo/quant/visit.hpp"

namespace hz::model {
namespace {

constexpr std::int64_t kSlabWeights = std::int64_t{1} << 21;  // 8 MiB of floats

// What one row adds; summed in the order of the rows, so that the summary is the same for any thread count.
struct RowError {
  double squares = 0, norm = 0;
  bool finite = true;
};

// x: the row; y: room for what `bytes` decode to.
RowError measure(WType type, std::span<const float> x, const std::byte* bytes, std::span<float> y) {
  RowError e;
  quant::visit(type, [&]<class W>(quant::tag<W>) {
    for (std::size_t i = 0; i < x.size(); i += W::kElems, bytes += sizeof(typename W::Block)) {
      typename W::Block b;
      std::memcpy(&b, bytes, sizeof b);
      e.finite = e.finite && W::finite(b);
      quant::decode_block<W>(b, y.data() + i);
    }
  });
  constexpr std::size_t kChains = 4;  // as one addition waits for the last
  double squares[kChains] = {}, norm[kChains] = {};
  for (std::size_t i = 0; i < x.size(); i += kChains)
    for (std::size_t k = 0; k < std::min(kChains, x.size() - i); ++k) {
      const double v = double(x[i + k]), d = v - double(y[i + k]);
      squares[k] += d * d;
      norm[k] += v * v;
    }
  for (std::size_t k = 0; k < kChains; ++k) {
    e.squares += squares[k];
    e.norm += norm[k];
  }
  return e;
}

}  // namespace

double EncodeError::relative() const { return norm > 0 ? std::sqrt(squares / norm) : 0; }

EncodeError encode_rows(const QTensor& w, const EncodeJob& job, const io::ByteSink& sink, const Progress& progress) {
  const StopScope scope(progress.stop);  // a row of a thorough search takes long
  const quant::FormatInfo& format = quant::info(job.type);
  if (format.encoder == nullptr) throw Error(ErrorKind::unsupported, "no encoder for " + std::string(format.name) + " is built", job.name);
  const std::int64_t rows = w.rows(), cols = w.cols();
  const auto given = static_cast<std::int64_t>(job.importance.size());
  const std::int64_t per_expert = given <= cols || rows == 0 ? rows + 1 : rows / (given / cols);
  const std::size_t bytes = quant::row_bytes(job.type, cols);
  const std::int64_t slab = std::clamp<std::int64_t>(kSlabWeights / cols, 1, std::max<std::int64_t>(rows, 1));
  std::vector<std::byte> out(bytes * static_cast<std::size_t>(slab));
  std::vector<RowError> errors(static_cast<std::size_t>(slab));
  EncodeError total;
  for (std::int64_t begin = 0; begin < rows; begin += slab) {
    progress.check("quantizing");
    const std::int64_t n = std::min(slab, rows - begin);
    parallel_for(job.threads, n, 1, [&](std::int64_t from, std::int64_t to) {
      const IeeeMode mode;
      std::vector<float> x(static_cast<std::size_t>(cols)), y(static_cast<std::size_t>(cols));
      for (std::int64_t i = from; i < to; ++i) {
        std::byte* at = out.data() + bytes * static_cast<std::size_t>(i);
        w.decode_row(begin + i, x.data());
        const float* importance = given == 0 ? nullptr : job.importance.data() + (begin + i) / per_expert * cols;
        format.encoder(x.data(), cols, {importance, job.search}, at);
        errors[static_cast<std::size_t>(i)] = measure(job.type, x, at, y);
      }
    });
    for (std::int64_t i = 0; i < n; ++i) {
      const RowError& e = errors[static_cast<std::size_t>(i)];
      if (!e.finite)
        throw Error(ErrorKind::bad_file,
                    "row " + std::to_string(begin + i) + " holds a NaN, an infinity or a weight too large for " + std::string(format.name),
                    job.name, "the source is damaged: convert or download it again");
      total.squares += e.squares;
      total.norm += e.norm;
    }
    sink(std::span(out).first(bytes * static_cast<std::size_t>(n)));
  }
  return total;
}

}  // namespace hz::model
