// SPDX-License-Identifier: Apache-2.0
// Ops that work row by row.
#include "src/backend/cpu/cpu.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

namespace hz::cpu {
namespace {

constexpr std::int64_t kSerialWork = 16384;  // elements below which waking threads costs more than it gives

float* row(const Tensor& t, std::int64_t i) { return t.data<float>() + i * t.cols(); }

}  // namespace

void CpuBackend::for_rows(std::int64_t rows, std::int64_t work, FunctionRef<void(std::int64_t)> body) const {
  const IeeeMode mode;
  if (work < kSerialWork || threads_ == 1) {
    for (std::int64_t i = 0; i < rows; ++i) body(i);
    return;
  }
  const std::int64_t grain = std::max<std::int64_t>(1, rows / (4 * threads_));
  parallel_for(threads_, rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) body(i);
  });
}

void CpuBackend::embed(const QTensor& table, const Tensor& ids, Tensor& out) {
  const auto id = ids.span<std::int32_t>();
  for_rows(out.rows(), out.numel(), [&](std::int64_t i) { table.decode_row(id[static_cast<std::size_t>(i)], row(out, i)); });
}

void CpuBackend::add(const Tensor& a, const Tensor& b, Tensor& out) {
  for_rows(a.rows(), a.numel(), [&](std::int64_t i) { kernels_.add(row(a, i), row(b, i), a.cols(), row(out, i)); });
}
void CpuBackend::add_row(const Tensor& a, const Tensor& b, Tensor& out) {
  for_rows(a.rows(), a.numel(), [&](std::int64_t i) { kernels_.add(row(a, i), b.data<float>(), a.cols(), row(out, i)); });
}
void CpuBackend::mul(const Tensor& a, const Tensor& b, Tensor& out) {
  for_rows(a.rows(), a.numel(), [&](std::int64_t i) { kernels_.mul(row(a, i), row(b, i), a.cols(), row(out, i)); });
}
void CpuBackend::mul_row(const Tensor& a, const Tensor& b, Tensor& out) {
  for_rows(a.rows(), a.numel(), [&](std::int64_t i) { kernels_.mul(row(a, i), b.data<float>(), a.cols(), row(out, i)); });
}
void CpuBackend::scale(const Tensor& a, float s, Tensor& out) {
  for_rows(a.rows(), a.numel(), [&](std::int64_t i) { kernels_.scale(row(a, i), s, a.cols(), row(out, i)); });
}
void CpuBackend::axpy(float s, const Tensor& x, Tensor& y) {
  for_rows(x.rows(), x.numel(), [&](std::int64_t i) { kernels_.axpy(s, row(x, i), x.cols(), row(y, i)); });
}
void CpuBackend::weighted_sum(const Tensor& rows, const Tensor& weights, Tensor& y) {
  const std::int64_t used = weights.cols();
  for_rows(y.rows(), rows.numel(), [&](std::int64_t t) {
    std::fill_n(row(y, t), y.cols(), 0.0f);
    for (std::int64_t i = 0; i < used; ++i) kernels_.axpy(row(weights, t)[i], row(rows, t * used + i), y.cols(), row(y, t));
  });
}
void CpuBackend::unary(Unary kind, const Tensor& a, Tensor& out) {
  for_rows(a.rows(), a.numel() * 8, [&](std::int64_t i) { kernels_.unary(kind, row(a, i), a.cols(), row(out, i)); });
}
void CpuBackend::softcap(const Tensor& a, float cap, Tensor& out) {
  for_rows(a.rows(), a.numel() * 8, [&](std::int64_t i) { kernels_.softcap(row(a, i), cap, a.cols(), row(out, i)); });
}
void CpuBackend::glu(Unary kind, const Tensor& gate, const Tensor& up, Tensor& out) {
  for_rows(gate.rows(), gate.numel() * 8, [&](std::int64_t i) { kernels_.glu(kind, row(gate, i), row(up, i), gate.cols(), row(out, i)); });
}
void CpuBackend::rms_norm(const Tensor& x, const Tensor& w, float eps, Tensor& out) {
  const float* weight = w.defined() ? w.data<float>() : nullptr;
  for_rows(x.rows(), x.numel(), [&](std::int64_t i) { kernels_.rms_norm(row(x, i), weight, x.cols(), eps, row(out, i)); });
}
void CpuBackend::layer_norm(const Tensor& x, const Tensor& w, const Tensor& b, float eps, Tensor& out) {
  const float* weight = w.defined() ? w.data<float>() : nullptr;
  const float* bias = b.defined() ? b.data<float>() : nullptr;
  for_rows(x.rows(), x.numel(), [&](std::int64_t i) { kernels_.layer_norm(row(x, i), weight, bias, x.cols(), eps, row(out, i)); });
}
void CpuBackend::softmax(const Tensor& x, Tensor& out) {
  for_rows(x.rows(), x.numel() * 8, [&](std::int64_t i) {
    const float sum = kernels_.exp_sum(row(x, i), kernels_.row_max(row(x, i), x.cols()), x.cols(), row(out, i));
    float* y = row(out, i);
    for (std::int64_t j = 0; j < x.cols(); ++j) y[j] = y[j] / sum;
  });
}

// `n` elements of a row from `column` on, a multiple of 32.
void CpuBackend::quantize_row(const float* x, std::int64_t n, QAct& out, std::int64_t i, std::int64_t column) const {
  const std::int64_t at = i * out.cols() + column;
  kernels_.quantize(x, n, out.codes.data<std::int8_t>() + at, out.scales.data<float>() + at / 32, out.sums.data<std::int32_t>() + at / 16);
}

void CpuBackend::quantize(const Tensor& x, QAct& out) {
  for_rows(x.rows(), x.numel(), [&](std::int64_t i) { quantize_row(row(x, i), x.cols(), out, i); });
}

void CpuBackend::add_norm_quantize(const Tensor& a, const Tensor* b, const NormArgs& norm, Tensor* sum, Tensor* y, QAct* q) {
  const std::int64_t n = a.cols();
  const float* w = norm.w && norm.w->defined() ? norm.w->data<float>() : nullptr;
  const float* bias = norm.b && norm.b->defined() ? norm.b->data<float>() : nullptr;
  for_rows(a.rows(), 3 * a.numel(), [&](std::int64_t i) {
    const float* x = row(a, i);
    if (b != nullptr) {
      kernels_.add(x, row(*b, i), n, row(*sum, i));
      x = row(*sum, i);
    }
    thread_local std::vector<float> own;
    own.resize(static_cast<std::size_t>(n));
    float* out = y != nullptr ? row(*y, i) : own.data();
    if (norm.kind == NormKind::rms) kernels_.rms_norm(x, w, n, norm.eps, out);
    else kernels_.layer_norm(x, w, bias, n, norm.eps, out);
    if (q != nullptr) quantize_row(out, n, *q, i);
  });
}

void CpuBackend::glu_quantize(Unary kind, const Tensor& gate, const Tensor& up, Tensor* y, QAct* q) {
  const std::int64_t n = gate.cols();
  for_rows(gate.rows(), 8 * gate.numel(), [&](std::int64_t i) {
    thread_local std::vector<float> own;
    own.resize(static_cast<std::size_t>(n));
    float* out = y != nullptr ? row(*y, i) : own.data();
    kernels_.glu(kind, row(gate, i), row(up, i), n, out);
    if (q != nullptr) quantize_row(out, n, *q, i);
  });
}

BackendPeaks CpuBackend::measure_peaks() const {
  using Clock = std::chrono::steady_clock;
  const auto best = [](double (*burst)()) {  // of bursts in 40 ms
    double most = 0;
    for (const auto end = Clock::now() + std::chrono::milliseconds(40); Clock::now() < end;) {
      const auto begin = Clock::now();
      const double macs = burst();
      most = std::max(most, macs / std::chrono::duration<double>(Clock::now() - begin).count());
    }
    return most;
  };
  return {best(kernels_.fma_peak), best(kernels_.dot_peak)};
}

bool CpuBackend::all_finite(const Tensor& x) {
  std::atomic<bool> ok{true};
  for_rows(x.rows(), x.numel(), [&](std::int64_t i) {
    if (!kernels_.finite(row(x, i), x.cols())) ok.store(false, std::memory_order_relaxed);
  });
  return ok;
}

void CpuBackend::rope(Rope kind, const Tensor& x, std::span<const std::int32_t> positions, const Tensor& table, int heads, Tensor& out) {
  const int head_dim = static_cast<int>(x.cols()) / heads;
  const int rot = static_cast<int>(table.size(1)) * 2;
  for_rows(x.rows(), x.numel(), [&](std::int64_t i) {
    const float* cs = table.data<float>() + positions[static_cast<std::size_t>(i)] * static_cast<std::int64_t>(rot);
    for (int h = 0; h < heads; ++h)
      kernels_.rope(kind == Rope::adjacent, row(x, i) + h * head_dim, cs, head_dim, rot, row(out, i) + h * head_dim);
  });
}

}  // namespace hz::cpu
