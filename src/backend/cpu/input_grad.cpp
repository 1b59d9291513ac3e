// SPDX-License-Identifier: Apache-2.0
// dX = dY * W: panels of W decoded to floats once and used by all tokens; W never exists whole. Work is split over
// columns of dX and blocks of tokens: every element is one chain of fma in a fixed order, whatever the threads.
#include <algorithm>
#include <cstring>
#include <vector>

#include "src/backend/cpu/cpu.hpp"
#include "src/backend/cpu/product.hpp"

namespace hz::cpu {
namespace {

constexpr std::int64_t kRows = 128;        // rows of W decoded at a time
constexpr std::int64_t kNarrow = 64, kWide = 256;  // columns of one work item where blocks allow
constexpr std::int64_t kTokenBlock = 1024; // tokens of one work item

// One weight on the way back: where rows of dy go. Rows of one product go to different rows of dx.
struct GradProduct {
  WeightRows w;
  const float* dy;
  std::int64_t dy_stride;
  std::vector<std::int32_t> from, to;  // rows of dy and of dx
};

struct GradScratch {
  std::vector<float> decoded;  // [column blocks][kRows][block]
  std::vector<float> turned;   // a panel as the formats decode it: [columns][16 rows]
  std::vector<float> packed;   // dy turned: [kRows][16 tokens]
  std::vector<float> out;
};
GradScratch& scratch() {
  thread_local GradScratch s;
  return s;
}

class InputGrad {
 public:
  InputGrad(const CpuKernels& kernels, std::vector<GradProduct> products, Tensor& dx, int threads)
      : kernels_(kernels), products_(std::move(products)), dx_(dx) {
    tile_ = kernels.lanes == 16 ? 14 : 12;  // tokens that fill the registers once or twice (kernels/cpu/grad_tile.hpp)
    block_ = 2 * std::max(kernels.lanes, 8);
    std::int64_t whole = 32, chosen = 0;  // columns that no format's block straddles
    for (const GradProduct& p : products_) whole = std::max<std::int64_t>(whole, p.w.kernels->block);
    // The width that ends soonest on these threads; among equals the widest, which packs dy least often.
    std::int64_t best = INT64_MAX;
    for (std::int64_t w = std::max(kNarrow, whole); w <= std::max(kWide, whole); w += whole) {
      width_ = w;
      const std::int64_t span = (items() + threads - 1) / threads * std::min(w, dx_.cols());
      if (span <= best) {
        best = span;
        chosen = w;
      }
    }
    width_ = chosen;
  }
  std::int64_t columns() const { return (dx_.cols() + width_ - 1) / width_; }
  std::int64_t blocks() const { return (dx_.rows() + kTokenBlock - 1) / kTokenBlock; }
  std::int64_t items() const { return columns() * blocks(); }
  void run(std::int64_t item) const;

 private:
  void decode(const WeightRows& w, std::int64_t row, std::int64_t count, std::int64_t col, std::int64_t n, GradScratch& s) const;
  void turn(const GradProduct& p, std::size_t t, std::int64_t tile, std::int64_t row, std::int64_t count, GradScratch& s) const;
  void product(const GradProduct& p, std::int64_t begin, std::int64_t end, std::int64_t col, std::int64_t n, GradScratch& s) const;

  const CpuKernels& kernels_;
  std::vector<GradProduct> products_;
  Tensor& dx_;
  std::int64_t width_ = 0, tile_, block_;
};

// Rows [row, row + count) and columns [col, col + n) of W in blocks of columns: a tile reads one block from end to end.
void InputGrad::decode(const WeightRows& w, std::int64_t row, std::int64_t count, std::int64_t col, std::int64_t n, GradScratch& s) const {
  s.decoded.resize(static_cast<std::size_t>(kRows * (width_ + block_)));
  s.turned.resize(static_cast<std::size_t>(16 * width_));
  const auto place = [&](std::int64_t c, std::int64_t r) { return s.decoded.data() + (c / block_ * kRows + r) * block_; };
  for (std::int64_t r = 0; w.panels == nullptr && r < count; ++r) {
    w.kernels->decode_row(w.data + static_cast<std::size_t>(row + r) * w.stride, col, col + n, s.turned.data());
    for (std::int64_t c = 0; c < n; c += block_)
      std::memcpy(place(c, r), s.turned.data() + c, static_cast<std::size_t>(std::min(block_, n - c)) * sizeof(float));
  }
  for (std::int64_t r = 0; w.panels != nullptr && r < count; r += 16) {
    w.kernels->expand_float_packed(w.panels->at(w.first_panel + (row + r) / 16), col, col + n, s.turned.data());
    for (std::int64_t c = 0; c < n; c += block_)
      kernels_.transpose(s.turned.data() + 16 * c, 16, std::min(block_, n - c), std::min<std::int64_t>(16, count - r), place(c, r), block_);
  }
}

// Columns [row, row + count) of `tile` rows of dy, from entry t on, turned into s.packed.
void InputGrad::turn(const GradProduct& p, std::size_t t, std::int64_t tile, std::int64_t row, std::int64_t count, GradScratch& s) const {
  const std::int32_t* from = p.from.data() + t;
  const auto at = [&](std::int64_t i) { return p.dy + from[i] * p.dy_stride + row; };
  for (std::int64_t i = 0, run = 1; i < tile; i += run, run = 1) {
    while (i + run < tile && from[i + run] == from[i] + run) ++run;  // neighbours in dy
    kernels_.transpose(at(i), p.dy_stride, run, count, s.packed.data() + i, 16);
  }
}

void InputGrad::product(const GradProduct& p, std::int64_t begin, std::int64_t end, std::int64_t col, std::int64_t n,
                        GradScratch& s) const {
  // Rows of this token block; `to` ascends.
  const auto lo = std::lower_bound(p.to.begin(), p.to.end(), begin), hi = std::lower_bound(lo, p.to.end(), end);
  const auto first = static_cast<std::size_t>(lo - p.to.begin()), last = static_cast<std::size_t>(hi - p.to.begin());
  if (first == last) return;
  const std::int64_t stride = dx_.cols();
  s.packed.resize(static_cast<std::size_t>(kRows * 16));
  s.out.resize(static_cast<std::size_t>(tile_ * n));
  for (std::int64_t row = 0; row < p.w.rows; row += kRows) {
    const std::int64_t count = std::min(kRows, p.w.rows - row);
    decode(p.w, row, count, col, n, s);
    for (std::size_t t = first; t < last; t += static_cast<std::size_t>(tile_)) {
      const auto tile = std::min(tile_, static_cast<std::int64_t>(last - t));
      turn(p, t, tile, row, count, s);
      const auto multiply = [&](float* out, std::int64_t ldo) {
        for (std::int64_t c = 0; c < n; c += block_)
          kernels_.grad_tile(s.packed.data(), 16, s.decoded.data() + c * kRows, block_, count, tile, std::min(block_, n - c), out + c, ldo,
                             true);
      };
      const std::int64_t at = p.to[t];
      if (p.to[t + static_cast<std::size_t>(tile) - 1] == at + tile - 1) {  // neighbours in dx
        multiply(dx_.data<float>() + at * stride + col, stride);
        continue;
      }
      const auto target = [&](std::int64_t i) { return dx_.data<float>() + p.to[t + static_cast<std::size_t>(i)] * stride + col; };
      for (std::int64_t i = 0; i < tile; ++i) std::memcpy(s.out.data() + i * n, target(i), static_cast<std::size_t>(n) * sizeof(float));
      multiply(s.out.data(), n);
      for (std::int64_t i = 0; i < tile; ++i) std::memcpy(target(i), s.out.data() + i * n, static_cast<std::size_t>(n) * sizeof(float));
    }
  }
}

void InputGrad::run(std::int64_t item) const {
  const std::int64_t col = item % columns() * width_, n = std::min(width_, dx_.cols() - col);
  const std::int64_t begin = item / columns() * kTokenBlock, end = std::min(dx_.rows(), begin + kTokenBlock);
  for (std::int64_t t = begin; t < end; ++t)
    std::memset(dx_.data<float>() + t * dx_.cols() + col, 0, static_cast<std::size_t>(n) * sizeof(float));
  for (const GradProduct& p : products_) product(p, begin, end, col, n, scratch());
}

std::vector<std::int32_t> counting(std::int64_t first, std::int64_t n) {
  std::vector<std::int32_t> v;
  for (std::int64_t i = 0; i < n; ++i) v.push_back(static_cast<std::int32_t>(first + i));
  return v;
}

}  // namespace

void CpuBackend::linear_input_grad(std::span<const InputGradJob> jobs, Tensor& dx) {
  const IeeeMode mode;
  std::vector<GradProduct> products;
  for (const InputGradJob& job : jobs)
    products.push_back({weight_rows(job.w, job.dense), job.dy->data<float>(), job.dy->cols(), counting(0, job.dy->rows()),
                        counting(job.first_row, job.dy->rows())});
  const InputGrad work(kernels_, std::move(products), dx, threads_);
  parallel_for(threads_, work.items(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) work.run(i);
  });
}

void CpuBackend::expert_input_grad(const ExpertGradJob& job, Tensor& dx) {
  const IeeeMode mode;
  const std::int64_t count = job.w->shape()[0], out = job.w->shape()[1];
  std::vector<GradProduct> products;
  for (std::int64_t e = 0; e < count; ++e) {
    const FormatKernels& f = *kernels_.format(static_cast<std::uint32_t>(job.w->wtype()));
    const Panels* panels = pack_ && out % 16 == 0 ? panels_of(*job.w, f, threads_, budget_) : nullptr;
    GradProduct p{{&f, job.w->row(e * out), job.w->row_bytes(), out, job.w->cols(), panels, e * (out / 16)},
                  job.dy->data<float>(),
                  job.dy->cols(),
                  {},
                  {}};
    for (std::size_t i = 0; i < job.experts.size(); ++i)
      if (job.experts[i] == e) {
        p.from.push_back(static_cast<std::int32_t>(i));
        p.to.push_back(job.x_rows[i]);
      }
    if (!p.from.empty()) products.push_back(std::move(p));
  }
  const InputGrad work(kernels_, std::move(products), dx, threads_);
  parallel_for(threads_, work.items(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) work.run(i);
  });
}

}  // namespace hz::cpu
