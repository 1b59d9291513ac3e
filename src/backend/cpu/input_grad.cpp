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
constexpr std::int64_t kWidth = 128;       // columns of one work item where blocks allow
constexpr std::int64_t kTokenTile = 14;    // columns of dy side by side in its packed form
constexpr std::int64_t kTokenBlock = 1024; // tokens of one work item

// One weight on the way back: where rows of dy go. Rows of one product go to different rows of dx.
struct GradProduct {
  WeightRows w;
  const float* dy;
  std::int64_t dy_stride;
  std::vector<std::int32_t> from, to;  // rows of dy and of dx
};

struct GradScratch {
  std::vector<float> decoded, turned, packed, out;
};
GradScratch& scratch() {
  thread_local GradScratch s;
  return s;
}

class InputGrad {
 public:
  InputGrad(const CpuKernels& kernels, std::vector<GradProduct> products, Tensor& dx) : kernels_(kernels), products_(std::move(products)), dx_(dx) {
    width_ = kWidth;
    for (const GradProduct& p : products_) width_ = std::max<std::int64_t>(width_, std::max<std::int64_t>(p.w.kernels->block, 1));
  }
  std::int64_t columns() const { return (dx_.cols() + width_ - 1) / width_; }
  std::int64_t blocks() const { return (dx_.rows() + kTokenBlock - 1) / kTokenBlock; }
  std::int64_t items() const { return columns() * blocks(); }
  void run(std::int64_t item) const;

 private:
  void decode(const WeightRows& w, std::int64_t row, std::int64_t count, std::int64_t col, std::int64_t n, GradScratch& s) const;
  void product(const GradProduct& p, std::int64_t begin, std::int64_t end, std::int64_t col, std::int64_t n, GradScratch& s) const;

  const CpuKernels& kernels_;
  std::vector<GradProduct> products_;
  Tensor& dx_;
  std::int64_t width_;
};

// Rows [row, row + count) and columns [col, col + n) of W as s.decoded [count][n].
void InputGrad::decode(const WeightRows& w, std::int64_t row, std::int64_t count, std::int64_t col, std::int64_t n, GradScratch& s) const {
  s.decoded.resize(static_cast<std::size_t>(kRows * width_));
  if (w.panels == nullptr) {
    for (std::int64_t r = 0; r < count; ++r) w.kernels->decode_row(w.data + static_cast<std::size_t>(row + r) * w.stride, col, col + n, s.decoded.data() + r * n);
    return;
  }
  s.turned.resize(static_cast<std::size_t>(16 * width_));
  for (std::int64_t r = 0; r < count; r += 16) {
    w.kernels->expand_float_packed(w.panels->at(w.first_panel + (row + r) / 16), col, col + n, s.turned.data());
    kernels_.transpose(s.turned.data(), 16, n, std::min<std::int64_t>(16, count - r), s.decoded.data() + r * n, n);
  }
}

void InputGrad::product(const GradProduct& p, std::int64_t begin, std::int64_t end, std::int64_t col, std::int64_t n, GradScratch& s) const {
  // Rows of this token block; `to` ascends.
  const auto lo = std::lower_bound(p.to.begin(), p.to.end(), begin), hi = std::lower_bound(lo, p.to.end(), end);
  const auto first = static_cast<std::size_t>(lo - p.to.begin()), last = static_cast<std::size_t>(hi - p.to.begin());
  if (first == last) return;
  const std::int64_t stride = dx_.cols();
  s.packed.resize(static_cast<std::size_t>(kRows * 16));
  s.out.resize(static_cast<std::size_t>(kTokenTile * n));
  for (std::int64_t row = 0; row < p.w.rows; row += kRows) {
    const std::int64_t count = std::min(kRows, p.w.rows - row);
    decode(p.w, row, count, col, n, s);
    for (std::size_t t = first; t < last; t += kTokenTile) {
      const auto tile = static_cast<std::int64_t>(std::min<std::size_t>(kTokenTile, last - t));
      for (std::int64_t i = 0; i < tile; ++i) {  // dy turned: [count][16 tokens]
        const float* from = p.dy + p.from[t + static_cast<std::size_t>(i)] * p.dy_stride + row;
        for (std::int64_t r = 0; r < count; ++r) s.packed[static_cast<std::size_t>(16 * r + i)] = from[r];
      }
      const std::int64_t at = p.to[t];
      if (p.to[t + static_cast<std::size_t>(tile) - 1] == at + tile - 1) {  // neighbours in dx
        kernels_.grad_tile(s.packed.data(), 16, s.decoded.data(), n, count, tile, n, dx_.data<float>() + at * stride + col, stride, true);
        continue;
      }
      for (std::int64_t i = 0; i < tile; ++i)
        std::memcpy(s.out.data() + i * n, dx_.data<float>() + p.to[t + static_cast<std::size_t>(i)] * stride + col, static_cast<std::size_t>(n) * sizeof(float));
      kernels_.grad_tile(s.packed.data(), 16, s.decoded.data(), n, count, tile, n, s.out.data(), n, true);
      for (std::int64_t i = 0; i < tile; ++i)
        std::memcpy(dx_.data<float>() + p.to[t + static_cast<std::size_t>(i)] * stride + col, s.out.data() + i * n, static_cast<std::size_t>(n) * sizeof(float));
    }
  }
}

void InputGrad::run(std::int64_t item) const {
  const std::int64_t col = item % columns() * width_, n = std::min(width_, dx_.cols() - col);
  const std::int64_t begin = item / columns() * kTokenBlock, end = std::min(dx_.rows(), begin + kTokenBlock);
  for (std::int64_t t = begin; t < end; ++t) std::memset(dx_.data<float>() + t * dx_.cols() + col, 0, static_cast<std::size_t>(n) * sizeof(float));
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
    products.push_back({weight_rows(job.w, job.dense), job.dy->data<float>(), job.dy->cols(), counting(0, job.dy->rows()), counting(job.first_row, job.dy->rows())});
  const InputGrad work(kernels_, std::move(products), dx);
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
    const Panels* panels = pack_ && out % 16 == 0 ? panels_of(*job.w, f, threads_) : nullptr;
    GradProduct p{{&f, job.w->row(e * out), job.w->row_bytes(), out, job.w->cols(), panels, e * (out / 16)}, job.dy->data<float>(), job.dy->cols(), {}, {}};
    for (std::size_t i = 0; i < job.experts.size(); ++i)
      if (job.experts[i] == e) {
        p.from.push_back(static_cast<std::int32_t>(i));
        p.to.push_back(job.x_rows[i]);
      }
    if (!p.from.empty()) products.push_back(std::move(p));
  }
  const InputGrad work(kernels_, std::move(products), dx);
  parallel_for(threads_, work.items(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) work.run(i);
  });
}

}  // namespace hz::cpu
