// SPDX-License-Identifier: Apache-2.0
// The way back in double precision.
#include <algorithm>
#include <cstring>

#include "src/backend/reference/parts.hpp"

namespace hz {

using namespace reference;

namespace {

double slope(Unary kind, double x) {
  const double pi = std::numbers::pi;
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  switch (kind) {
    case Unary::silu: return sigmoid(x) * (1 + x * (1 - sigmoid(x)));
    case Unary::gelu_quick: return sigmoid(1.702 * x) * (1 + 1.702 * x * (1 - sigmoid(1.702 * x)));
    case Unary::gelu_tanh: {
      const double u = std::sqrt(2 / pi) * (x + 0.044715 * x * x * x), t = std::tanh(u);
      return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * std::sqrt(2 / pi) * (1 + 3 * 0.044715 * x * x);
    }
    case Unary::gelu_erf: return 0.5 * std::erfc(-x / std::numbers::sqrt2) + x * std::exp(-0.5 * x * x) / std::sqrt(2 * pi);
    case Unary::tanh: return 1 - std::tanh(x) * std::tanh(x);
    case Unary::sigmoid: return sigmoid(x) * (1 - sigmoid(x));
    case Unary::exp: return std::exp(x);
    case Unary::log: return 1 / x;
    case Unary::relu: return x > 0 ? 1 : 0;
    case Unary::relu2: return x > 0 ? 2 * x : 0;
    case Unary::neg: return -1;
  }
  return 0;
}

void put(Tensor& out, const std::vector<double>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) out.data<float>()[i] = static_cast<float>(values[i]);
}

}  // namespace

void ReferenceBackend::unary_grad(Unary kind, const Tensor& x, const Tensor& dy, Tensor& dx) {
  for (std::int64_t i = 0; i < x.numel(); ++i)
    dx.data<float>()[i] = static_cast<float>(dy.data<float>()[i] * slope(kind, x.data<float>()[i]));
}
void ReferenceBackend::softcap_grad(const Tensor& y, float cap, const Tensor& dy, Tensor& dx) {
  for (std::int64_t i = 0; i < y.numel(); ++i) {
    const double t = static_cast<double>(y.data<float>()[i]) / cap;
    dx.data<float>()[i] = static_cast<float>(dy.data<float>()[i] * (1 - t * t));
  }
}
void ReferenceBackend::glu_grad(Unary kind, const Tensor& gate, const Tensor& up, const Tensor& dy, Tensor* dgate, Tensor* dup) {
  for (std::int64_t i = 0; i < gate.numel(); ++i) {
    const double g = gate.data<float>()[i], u = up.data<float>()[i], d = dy.data<float>()[i];
    if (dgate != nullptr) dgate->data<float>()[i] = static_cast<float>(d * u * slope(kind, g));
    if (dup != nullptr) dup->data<float>()[i] = static_cast<float>(d * apply(kind, g));
  }
}
void ReferenceBackend::softmax_grad(const Tensor& y, const Tensor& dy, Tensor& dx) {
  for (std::int64_t i = 0; i < y.rows(); ++i) {
    double s = 0;
    for (std::int64_t j = 0; j < y.cols(); ++j) s += static_cast<double>(row(y, i)[j]) * row(dy, i)[j];
    for (std::int64_t j = 0; j < y.cols(); ++j) row(dx, i)[j] = static_cast<float>(row(y, i)[j] * (row(dy, i)[j] - s));
  }
}

void ReferenceBackend::norm_grad(const NormArgs& norm, const Tensor& x, const Tensor& dy, Tensor* dx, Tensor* dw, Tensor* db) {
  const std::int64_t n = x.cols();
  const auto count = static_cast<double>(n);
  std::vector<double> w_sum(static_cast<std::size_t>(n)), b_sum(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < x.rows(); ++i) {
    double mean = 0, square = 0, g_mean = 0, dot = 0;
    for (std::int64_t j = 0; norm.kind == NormKind::layer && j < n; ++j) mean += row(x, i)[j] / count;
    for (std::int64_t j = 0; j < n; ++j) square += (row(x, i)[j] - mean) * (row(x, i)[j] - mean) / count;
    const double r = 1 / std::sqrt(square + norm.eps);
    const auto g = [&](std::int64_t j) {
      return static_cast<double>(row(dy, i)[j]) * (norm.w && norm.w->defined() ? norm.w->data<float>()[j] : 1.0f);
    };
    const auto xh = [&](std::int64_t j) { return (row(x, i)[j] - mean) * r; };
    for (std::int64_t j = 0; j < n; ++j) {
      if (norm.kind == NormKind::layer) g_mean += g(j) / count;
      dot += g(j) * xh(j) / count;
      w_sum[static_cast<std::size_t>(j)] += row(dy, i)[j] * xh(j);
      b_sum[static_cast<std::size_t>(j)] += row(dy, i)[j];
    }
    for (std::int64_t j = 0; dx != nullptr && j < n; ++j) row(*dx, i)[j] = static_cast<float>(r * (g(j) - g_mean - xh(j) * dot));
  }
  if (dw != nullptr) put(*dw, w_sum);
  if (db != nullptr) put(*db, b_sum);
}

void ReferenceBackend::rope_grad(Rope kind, const Tensor& dy, std::span<const std::int32_t> positions, const Tensor& table, int heads,
                                 Tensor& dx) {
  const std::int64_t dim = dy.cols() / heads, half = table.size(1);
  for (std::int64_t i = 0; i < dy.rows(); ++i)
    for (int head = 0; head < heads; ++head) {
      const float* in = row(dy, i) + head * dim;
      float* to = row(dx, i) + head * dim;
      const float* cs = table.data<float>() + positions[static_cast<std::size_t>(i)] * half * 2;
      for (std::int64_t j = 2 * half; j < dim; ++j) to[j] = in[j];
      for (std::int64_t j = 0; j < half; ++j) {
        const std::int64_t first = kind == Rope::adjacent ? 2 * j : j, second = kind == Rope::adjacent ? 2 * j + 1 : j + half;
        const double a = in[first], b = in[second], c = cs[2 * j], s = cs[2 * j + 1];
        to[first] = static_cast<float>(a * c + b * s);
        to[second] = static_cast<float>(b * c - a * s);
      }
    }
}

void ReferenceBackend::column_sum(const Tensor& a, Tensor& out) {
  std::vector<double> sum(static_cast<std::size_t>(a.cols()));
  for (std::int64_t i = 0; i < a.numel(); ++i) sum[static_cast<std::size_t>(i % a.cols())] += a.data<float>()[i];
  put(out, sum);
}
void ReferenceBackend::row_dot(const Tensor& a, const Tensor& b, Tensor& out) {
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    double s = 0;
    for (std::int64_t j = 0; j < a.cols(); ++j) s += static_cast<double>(row(a, i)[j]) * row(b, i)[j];
    out.data<float>()[i] = static_cast<float>(s);
  }
}

void ReferenceBackend::linear_input_grad(std::span<const InputGradJob> jobs, Tensor& dx) {
  std::vector<double> sum(static_cast<std::size_t>(dx.numel()));
  for (const InputGradJob& job : jobs)
    for (std::int64_t n = 0; n < job.dy->cols(); ++n) {
      const std::vector<float> w = weight_row(job.w, job.dense, n);
      for (std::int64_t t = 0; t < job.dy->rows(); ++t)
        for (std::size_t k = 0; k < w.size(); ++k)
          sum[static_cast<std::size_t>((job.first_row + t) * dx.cols()) + k] += static_cast<double>(row(*job.dy, t)[n]) * w[k];
    }
  put(dx, sum);
}

void ReferenceBackend::expert_input_grad(const ExpertGradJob& job, Tensor& dx) {
  std::vector<double> sum(static_cast<std::size_t>(dx.numel()));
  std::vector<float> w(static_cast<std::size_t>(job.w->cols()));
  const std::int64_t out = job.w->shape()[1];
  for (std::size_t i = 0; i < job.experts.size(); ++i)
    for (std::int64_t n = 0; n < out; ++n) {
      job.w->decode_row(job.experts[i] * out + n, w.data());
      for (std::size_t k = 0; k < w.size(); ++k)
        sum[static_cast<std::size_t>(job.x_rows[i] * dx.cols()) + k] +=
            static_cast<double>(row(*job.dy, static_cast<std::int64_t>(i))[n]) * w[k];
    }
  put(dx, sum);
}

void ReferenceBackend::weight_grad(const Tensor& dy, const Tensor& x, Tensor& dw) {
  for (std::int64_t o = 0; o < dy.cols(); ++o)
    for (std::int64_t k = 0; k < x.cols(); ++k) {
      double s = 0;
      for (std::int64_t t = 0; t < x.rows(); ++t) s += static_cast<double>(row(dy, t)[o]) * row(x, t)[k];
      row(dw, o)[k] = static_cast<float>(s);
    }
}

}  // namespace hz
