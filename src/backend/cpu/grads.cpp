// SPDX-License-Identifier: Apache-2.0
// The way back, row by row.
#include <cstring>
#include <vector>

#include "src/backend/cpu/cpu.hpp"

namespace hz::cpu {
namespace {

constexpr std::int64_t kColumns = 64;  // of one piece of work on columns: rows are summed in order, whatever the threads

float* row(const Tensor& t, std::int64_t i) { return t.data<float>() + i * t.cols(); }
float* row_if(Tensor* t, std::int64_t i) { return t != nullptr ? row(*t, i) : nullptr; }

}  // namespace

void CpuBackend::for_columns(std::int64_t cols, std::int64_t work, FunctionRef<void(std::int64_t, std::int64_t)> body) const {
  for_rows((cols + kColumns - 1) / kColumns, work, [&](std::int64_t i) { body(i * kColumns, std::min(kColumns, cols - i * kColumns)); });
}

void CpuBackend::unary_grad(Unary kind, const Tensor& x, const Tensor& dy, Tensor& dx) {
  for_rows(x.rows(), x.numel() * 8, [&](std::int64_t i) { kernels_.unary_grad(kind, row(x, i), row(dy, i), x.cols(), row(dx, i)); });
}
void CpuBackend::softcap_grad(const Tensor& y, float cap, const Tensor& dy, Tensor& dx) {
  for_rows(y.rows(), y.numel(), [&](std::int64_t i) { kernels_.softcap_grad(row(y, i), cap, row(dy, i), y.cols(), row(dx, i)); });
}
void CpuBackend::glu_grad(Unary kind, const Tensor& gate, const Tensor& up, const Tensor& dy, Tensor* dgate, Tensor* dup) {
  for_rows(gate.rows(), gate.numel() * 8, [&](std::int64_t i) {
    kernels_.glu_grad(kind, row(gate, i), row(up, i), row(dy, i), gate.cols(), row_if(dgate, i), row_if(dup, i));
  });
}
void CpuBackend::softmax_grad(const Tensor& y, const Tensor& dy, Tensor& dx) {
  for_rows(y.rows(), y.numel(), [&](std::int64_t i) { kernels_.softmax_grad(row(y, i), row(dy, i), y.cols(), row(dx, i)); });
}

void CpuBackend::norm_grad(const NormArgs& norm, const Tensor& x, const Tensor& dy, Tensor* dx, Tensor* dw, Tensor* db) {
  const bool rms = norm.kind == NormKind::rms;
  const float* w = norm.w && norm.w->defined() ? norm.w->data<float>() : nullptr;
  const auto rows = static_cast<std::size_t>(x.rows());
  std::vector<float> mean(rows), r(rows);
  for_rows(x.rows(), 2 * x.numel(), [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    kernels_.norm_stats(rms, row(x, i), x.cols(), norm.eps, &mean[at], &r[at]);
    if (dx != nullptr) kernels_.norm_grad(rms, row(x, i), w, row(dy, i), x.cols(), mean[at], r[at], row(*dx, i));
  });
  if (dw == nullptr && db == nullptr) return;
  for_columns(x.cols(), x.numel(), [&](std::int64_t at, std::int64_t n) {
    float *w_out = dw ? dw->data<float>() + at : nullptr, *b_out = db ? db->data<float>() + at : nullptr;
    if (w_out != nullptr) std::memset(w_out, 0, static_cast<std::size_t>(n) * sizeof(float));
    if (b_out != nullptr) std::memset(b_out, 0, static_cast<std::size_t>(n) * sizeof(float));
    for (std::int64_t i = 0; i < x.rows(); ++i)
      kernels_.norm_weight_grad(row(x, i) + at, row(dy, i) + at, n, mean[static_cast<std::size_t>(i)], r[static_cast<std::size_t>(i)],
                                w_out, b_out);
  });
}

void CpuBackend::rope_grad(Rope kind, const Tensor& dy, std::span<const std::int32_t> positions, const Tensor& table, int heads,
                           Tensor& dx) {
  const int head_dim = static_cast<int>(dy.cols()) / heads;
  const int rot = static_cast<int>(table.size(1)) * 2;
  for_rows(dy.rows(), dy.numel(), [&](std::int64_t i) {
    const float* cs = table.data<float>() + positions[static_cast<std::size_t>(i)] * static_cast<std::int64_t>(rot);
    for (int h = 0; h < heads; ++h)
      kernels_.rope_grad(kind == Rope::adjacent, row(dy, i) + h * head_dim, cs, head_dim, rot, row(dx, i) + h * head_dim);
  });
}

void CpuBackend::column_sum(const Tensor& a, Tensor& out) {
  for_columns(a.cols(), a.numel(), [&](std::int64_t at, std::int64_t n) {
    float* sum = out.data<float>() + at;
    std::memset(sum, 0, static_cast<std::size_t>(n) * sizeof(float));
    for (std::int64_t i = 0; i < a.rows(); ++i) kernels_.add(sum, row(a, i) + at, n, sum);
  });
}
void CpuBackend::row_dot(const Tensor& a, const Tensor& b, Tensor& out) {
  for_rows(a.rows(), a.numel(), [&](std::int64_t i) { out.data<float>()[i] = kernels_.dot_rows(row(a, i), row(b, i), a.cols()); });
}

// dw [out, in] = dy^T x, split over rows of dw.
void CpuBackend::weight_grad(const Tensor& dy, const Tensor& x, Tensor& dw) {
  constexpr std::int64_t kTokens = 256, kWidth = 512;
  const std::int64_t tile = kernels_.lanes == 16 ? 14 : 12;  // rows of dw that fill the registers once or twice
  const std::int64_t out = dy.cols(), in = x.cols(), tokens = x.rows();
  if (tokens == 0) {
    std::memset(dw.raw(), 0, dw.nbytes());
    return;
  }
  const std::int64_t row_parts = (out + tile - 1) / tile, parts = (in + kWidth - 1) / kWidth;
  for_rows(row_parts * parts, out * in * tokens, [&](std::int64_t n) {
    const std::int64_t i = n / parts * tile, j = n % parts * kWidth;
    for (std::int64_t t = 0; t < tokens; t += kTokens)
      kernels_.grad_tile(row(dy, t) + i, out, row(x, t) + j, in, std::min(kTokens, tokens - t), std::min(tile, out - i),
                         std::min(kWidth, in - j), row(dw, i) + j, in, t > 0);
  });
}

}  // namespace hz::cpu
