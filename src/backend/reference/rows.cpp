// SPDX-License-Identifier: Apache-2.0
// Row ops and products of the reference backend.
#include "src/backend/reference/parts.hpp"

namespace hz {

using namespace reference;

namespace {

template <class F>
void each(const Tensor& shape, Tensor& out, F f) {
  for (std::int64_t i = 0; i < shape.numel(); ++i) out.data<float>()[i] = static_cast<float>(f(i));
}

}  // namespace

void ReferenceBackend::embed(const QTensor& table, const Tensor& ids, Tensor& out) {
  for (std::int64_t i = 0; i < out.rows(); ++i) table.decode_row(ids.data<std::int32_t>()[i], row(out, i));
}
void ReferenceBackend::add(const Tensor& a, const Tensor& b, Tensor& out) {
  each(a, out, [&](std::int64_t i) { return static_cast<double>(a.data<float>()[i]) + b.data<float>()[i]; });
}
void ReferenceBackend::add_row(const Tensor& a, const Tensor& r, Tensor& out) {
  each(a, out, [&](std::int64_t i) { return static_cast<double>(a.data<float>()[i]) + r.data<float>()[i % a.cols()]; });
}
void ReferenceBackend::mul(const Tensor& a, const Tensor& b, Tensor& out) {
  each(a, out, [&](std::int64_t i) { return static_cast<double>(a.data<float>()[i]) * b.data<float>()[i]; });
}
void ReferenceBackend::mul_row(const Tensor& a, const Tensor& r, Tensor& out) {
  each(a, out, [&](std::int64_t i) { return static_cast<double>(a.data<float>()[i]) * r.data<float>()[i % a.cols()]; });
}
void ReferenceBackend::scale(const Tensor& a, float s, Tensor& out) {
  each(a, out, [&](std::int64_t i) { return static_cast<double>(a.data<float>()[i]) * s; });
}
void ReferenceBackend::axpy(float s, const Tensor& x, Tensor& y) {
  each(x, y, [&](std::int64_t i) { return static_cast<double>(s) * x.data<float>()[i] + y.data<float>()[i]; });
}
void ReferenceBackend::weighted_sum(const Tensor& rows, const Tensor& weights, Tensor& y) {
  const std::int64_t used = weights.cols();
  each(y, y, [&](std::int64_t at) {
    const std::int64_t t = at / y.cols(), j = at % y.cols();
    double sum = 0;
    for (std::int64_t i = 0; i < used; ++i) sum += static_cast<double>(row(weights, t)[i]) * row(rows, t * used + i)[j];
    return sum;
  });
}
void ReferenceBackend::unary(Unary kind, const Tensor& a, Tensor& out) {
  each(a, out, [&](std::int64_t i) { return apply(kind, a.data<float>()[i]); });
}
void ReferenceBackend::softcap(const Tensor& a, float cap, Tensor& out) {
  each(a, out, [&](std::int64_t i) { return cap * std::tanh(static_cast<double>(a.data<float>()[i]) / cap); });
}
void ReferenceBackend::glu(Unary kind, const Tensor& gate, const Tensor& up, Tensor& out) {
  each(gate, out, [&](std::int64_t i) { return apply(kind, gate.data<float>()[i]) * up.data<float>()[i]; });
}

void ReferenceBackend::rms_norm(const Tensor& x, const Tensor& w, float eps, Tensor& out) {
  for (std::int64_t i = 0; i < x.rows(); ++i) {
    double s = 0;
    for (std::int64_t j = 0; j < x.cols(); ++j) s += static_cast<double>(row(x, i)[j]) * row(x, i)[j];
    const double r = 1 / std::sqrt(s / static_cast<double>(x.cols()) + eps);
    for (std::int64_t j = 0; j < x.cols(); ++j)
      row(out, i)[j] = static_cast<float>(row(x, i)[j] * r * (w.defined() ? w.data<float>()[j] : 1.0f));
  }
}

void ReferenceBackend::layer_norm(const Tensor& x, const Tensor& w, const Tensor& b, float eps, Tensor& out) {
  for (std::int64_t i = 0; i < x.rows(); ++i) {
    double mean = 0, s = 0;
    for (std::int64_t j = 0; j < x.cols(); ++j) mean += row(x, i)[j];
    mean /= static_cast<double>(x.cols());
    for (std::int64_t j = 0; j < x.cols(); ++j) s += (row(x, i)[j] - mean) * (row(x, i)[j] - mean);
    const double r = 1 / std::sqrt(s / static_cast<double>(x.cols()) + eps);
    for (std::int64_t j = 0; j < x.cols(); ++j)
      row(out, i)[j] = static_cast<float>((row(x, i)[j] - mean) * r * (w.defined() ? w.data<float>()[j] : 1.0f) +
                                          (b.defined() ? b.data<float>()[j] : 0.0f));
  }
}

void ReferenceBackend::softmax(const Tensor& x, Tensor& out) {
  for (std::int64_t i = 0; i < x.rows(); ++i) {
    double top = -INFINITY, s = 0;
    for (std::int64_t j = 0; j < x.cols(); ++j) top = std::max<double>(top, row(x, i)[j]);
    for (std::int64_t j = 0; j < x.cols(); ++j) s += std::exp(row(x, i)[j] - top);
    for (std::int64_t j = 0; j < x.cols(); ++j) row(out, i)[j] = static_cast<float>(std::exp(row(x, i)[j] - top) / s);
  }
}

void ReferenceBackend::quantize(const Tensor& x, QAct& out) {
  const std::int64_t groups = x.cols() / 32;
  for (std::int64_t g = 0; g < x.rows() * groups; ++g)
    out.scales.data<float>()[g] =
        quantize_group(x.data<float>() + 32 * g, out.codes.data<std::int8_t>() + 32 * g, out.sums.data<std::int32_t>() + 2 * g);
}

bool ReferenceBackend::all_finite(const Tensor& x) {
  for (std::int64_t i = 0; i < x.numel(); ++i)
    if (!std::isfinite(x.data<float>()[i])) return false;
  return true;
}

void ReferenceBackend::rope(Rope kind, const Tensor& x, std::span<const std::int32_t> positions, const Tensor& table, int heads,
                            Tensor& out) {
  const std::int64_t dim = x.cols() / heads, half = table.size(1);
  for (std::int64_t i = 0; i < x.rows(); ++i)
    for (int head = 0; head < heads; ++head) {
      const float* in = row(x, i) + head * dim;
      float* to = row(out, i) + head * dim;
      const float* cs = table.data<float>() + positions[static_cast<std::size_t>(i)] * half * 2;
      for (std::int64_t j = 2 * half; j < dim; ++j) to[j] = in[j];
      for (std::int64_t j = 0; j < half; ++j) {
        const std::int64_t first = kind == Rope::adjacent ? 2 * j : j, second = kind == Rope::adjacent ? 2 * j + 1 : j + half;
        const double a = in[first], b = in[second], c = cs[2 * j], s = cs[2 * j + 1];
        to[first] = static_cast<float>(a * c - b * s);
        to[second] = static_cast<float>(a * s + b * c);
      }
    }
}

void ReferenceBackend::linear(std::span<const LinearJob> jobs) {
  for (const LinearJob& job : jobs) {
    const Tensor x = job.q != nullptr ? job.q->decode() : *job.x;
    for (std::int64_t n = 0; n < job.y->cols(); ++n) {
      const std::vector<float> w = weight_row(job.w, job.dense, n);
      for (std::int64_t t = 0; t < x.rows(); ++t) {
        double s = 0;
        for (std::size_t k = 0; k < w.size(); ++k) s += static_cast<double>(w[k]) * row(x, t)[k];
        row(*job.y, t)[n] = static_cast<float>(s);
      }
    }
  }
}

void ReferenceBackend::expert_linear(const ExpertJob& job) {
  const Tensor x = job.q != nullptr ? job.q->decode() : *job.x;
  std::vector<float> w(static_cast<std::size_t>(job.w->cols()));
  const std::int64_t out = job.w->shape()[1];
  for (std::size_t i = 0; i < job.experts.size(); ++i)
    for (std::int64_t n = 0; n < out; ++n) {
      job.w->decode_row(job.experts[i] * out + n, w.data());
      double s = 0;
      for (std::size_t k = 0; k < w.size(); ++k) s += static_cast<double>(w[k]) * row(x, job.x_rows[i])[k];
      row(*job.y, static_cast<std::int64_t>(i))[n] = static_cast<float>(s);
    }
}

}  // namespace hz
