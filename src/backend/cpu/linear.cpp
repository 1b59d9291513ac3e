// SPDX-License-Identifier: Apache-2.0
// linear and expert_linear: jobs become products of weight rows with activation rows.
#include "src/backend/cpu/cpu.hpp"
#include "src/backend/cpu/product.hpp"

namespace hz::cpu {
namespace {

constexpr std::int64_t kSerialMacs = 20000;  // below it, waking threads costs more than it gives

WType dense_type(DType t) {
  switch (t) {
    case DType::f32: return WType::f32;
    case DType::f16: return WType::f16;
    case DType::bf16: return WType::bf16;
    default: throw Error(ErrorKind::usage, "[linear] a weight of " + std::string(name_of(t)));
  }
}

ActRow act_row(const QAct& q, std::int64_t t) {
  const std::int64_t n = q.cols();
  return {q.codes.data<std::int8_t>() + t * n, q.scales.data<float>() + t * (n / 32), q.sums.data<std::int32_t>() + t * (n / 16)};
}

// Rows of x and y of one product; `rows` of x for each row of y.
Product product(const CpuKernels& set, const WeightRows& w, const Tensor* x, const QAct* q, std::span<const std::int32_t> x_rows,
                std::span<const std::int32_t> y_rows, const Tensor& y) {
  std::vector<float*> to;
  for (const std::int32_t r : y_rows) to.push_back(y.data<float>() + r * y.cols());
  if (q != nullptr) {
    std::vector<ActRow> acts;
    for (const std::int32_t r : x_rows) acts.push_back(act_row(*q, r));
    return {set, w, std::move(acts), std::move(to)};
  }
  std::vector<const float*> floats;
  for (const std::int32_t r : x_rows) floats.push_back(x->data<float>() + r * x->cols());
  return {set, w, std::move(floats), std::move(to)};
}

}  // namespace

WeightRows CpuBackend::weight_rows(const QTensor* w, const Tensor* dense) const {
  if (dense != nullptr) {
    const Tensor& d = *dense;
    return {kernels_.format(static_cast<std::uint32_t>(dense_type(d.dtype()))), d.raw(),
            static_cast<std::size_t>(d.cols()) * size_of(d.dtype()), d.rows(), d.cols()};
  }
  WeightRows rows{kernels_.format(static_cast<std::uint32_t>(w->wtype())), w->bytes().data(), w->row_bytes(), w->rows(), w->cols()};
  if (pack_) rows.panels = panels_of(*w, *rows.kernels, threads_, budget_);
  return rows;
}

void CpuBackend::linear(std::span<const LinearJob> jobs) {
  const IeeeMode mode;
  std::vector<Product> products;
  std::vector<std::int32_t> rows;
  std::int64_t macs = 0;
  for (const LinearJob& job : jobs) {
    const WeightRows w = weight_rows(job.w, job.dense);
    if (job.y->rows() == 0 || w.rows == 0) continue;
    while (static_cast<std::int64_t>(rows.size()) < job.y->rows()) rows.push_back(static_cast<std::int32_t>(rows.size()));
    const auto all = std::span(rows).first(static_cast<std::size_t>(job.y->rows()));
    products.push_back(product(kernels_, w, job.x, job.q, all, all, *job.y));
    macs += w.rows * w.cols * job.y->rows();
  }
  run_products(products, macs < kSerialMacs ? 1 : threads_);
}

void CpuBackend::expert_linear(const ExpertJob& job) {
  const IeeeMode mode;
  const FormatKernels& f = *kernels_.format(static_cast<std::uint32_t>(job.w->wtype()));
  const std::int64_t count = job.w->shape()[0], out = job.w->shape()[1];
  // Panels must not straddle experts.
  const Panels* panels = pack_ && out % 16 == 0 ? panels_of(*job.w, f, threads_, budget_) : nullptr;
  std::vector<std::vector<std::int32_t>> x_rows(static_cast<std::size_t>(count)), y_rows(x_rows);
  for (std::size_t i = 0; i < job.experts.size(); ++i) {
    x_rows[static_cast<std::size_t>(job.experts[i])].push_back(job.x_rows[i]);
    y_rows[static_cast<std::size_t>(job.experts[i])].push_back(static_cast<std::int32_t>(i));
  }
  std::vector<Product> products;
  for (std::int64_t e = 0; e < count; ++e) {
    const auto at = static_cast<std::size_t>(e);
    if (x_rows[at].empty()) continue;
    const WeightRows w{&f, job.w->row(e * out), job.w->row_bytes(), out, job.w->cols(), panels, e * (out / 16)};
    products.push_back(product(kernels_, w, job.x, job.q, x_rows[at], y_rows[at], *job.y));
  }
  run_products(products, threads_);
}

}  // namespace hz::cpu
