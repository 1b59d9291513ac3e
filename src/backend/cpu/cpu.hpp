// SPDX-License-Identifier: Apache-2.0
// The CPU backend: rows of work handed to the kernels of one instruction set, over the thread pool.
#pragma once
#include <vector>

#include "hanzo/core/parallel.hpp"
#include "src/backend/cpu/product.hpp"
#include "src/backend/host.hpp"

namespace hz::cpu {

class CpuBackend final : public HostBackend {
 public:
  explicit CpuBackend(const BackendOptions& options);
  std::string_view name() const override { return "cpu"; }
  std::string description() const override;

  void embed(const QTensor& table, const Tensor& ids, Tensor& out) override;
  void add(const Tensor& a, const Tensor& b, Tensor& out) override;
  void add_row(const Tensor& a, const Tensor& row, Tensor& out) override;
  void mul(const Tensor& a, const Tensor& b, Tensor& out) override;
  void mul_row(const Tensor& a, const Tensor& row, Tensor& out) override;
  void scale(const Tensor& a, float s, Tensor& out) override;
  void axpy(float s, const Tensor& x, Tensor& y) override;
  void weighted_sum(const Tensor& rows, const Tensor& weights, Tensor& y) override;
  void unary(Unary kind, const Tensor& a, Tensor& out) override;
  void softcap(const Tensor& a, float cap, Tensor& out) override;
  void glu(Unary kind, const Tensor& gate, const Tensor& up, Tensor& out) override;
  void rms_norm(const Tensor& x, const Tensor& w, float eps, Tensor& out) override;
  void layer_norm(const Tensor& x, const Tensor& w, const Tensor& b, float eps, Tensor& out) override;
  void softmax(const Tensor& x, Tensor& out) override;
  void quantize(const Tensor& x, QAct& out) override;
  bool all_finite(const Tensor& x) override;
  BackendPeaks measure_peaks() const override;
  void rope(Rope kind, const Tensor& x, std::span<const std::int32_t> positions, const Tensor& table, int heads, Tensor& out) override;

  void add_norm_quantize(const Tensor& a, const Tensor* b, const NormArgs& norm, Tensor* sum, Tensor* y, QAct* q) override;
  void glu_quantize(Unary kind, const Tensor& gate, const Tensor& up, Tensor* y, QAct* q) override;
  void linear(std::span<const LinearJob> jobs) override;
  void expert_linear(const ExpertJob& job) override;

  std::size_t kv_layer_bytes(const KvLayout& layout) const override;
  void kv_write(const KvBatch& kv, const Tensor& k, const Tensor& v) override;
  void attention(const AttentionArgs& args, const Tensor& q, int heads, Tensor& out) override { attend(args, q, heads, out, nullptr); }
  void attention_quantize(const AttentionArgs& args, const Tensor& q, int heads, Tensor& out, QAct& quantized) override {
    attend(args, q, heads, out, &quantized);
  }

  void unary_grad(Unary kind, const Tensor& x, const Tensor& dy, Tensor& dx) override;
  void softcap_grad(const Tensor& y, float cap, const Tensor& dy, Tensor& dx) override;
  void glu_grad(Unary kind, const Tensor& gate, const Tensor& up, const Tensor& dy, Tensor* dgate, Tensor* dup) override;
  void softmax_grad(const Tensor& y, const Tensor& dy, Tensor& dx) override;
  void norm_grad(const NormArgs& norm, const Tensor& x, const Tensor& dy, Tensor* dx, Tensor* dw, Tensor* db) override;
  void rope_grad(Rope kind, const Tensor& dy, std::span<const std::int32_t> positions, const Tensor& table, int heads, Tensor& dx) override;
  void attention_grad(const AttentionArgs& args, const Tensor& q, int heads, const Tensor& out, const Tensor& dout,
                      const AttentionGrads& grads) override;
  void column_sum(const Tensor& a, Tensor& out) override;
  void row_dot(const Tensor& a, const Tensor& b, Tensor& out) override;
  void linear_input_grad(std::span<const InputGradJob> jobs, Tensor& dx) override;
  void expert_input_grad(const ExpertGradJob& job, Tensor& dx) override;
  void weight_grad(const Tensor& dy, const Tensor& x, Tensor& dw) override;

 private:
  // body(row) for every row, in parallel when `work` (elements in all) is worth the pool.
  void for_rows(std::int64_t rows, std::int64_t work, FunctionRef<void(std::int64_t)> body) const;

  // body(first column, columns) for pieces of a row.
  void for_columns(std::int64_t cols, std::int64_t work, FunctionRef<void(std::int64_t, std::int64_t)> body) const;
  // Exactly one of w, dense.
  WeightRows weight_rows(const QTensor* w, const Tensor* dense) const;

  // quantized may be null.
  void attend(const AttentionArgs& args, const Tensor& q, int heads, Tensor& out, QAct* quantized);
  void quantize_row(const float* x, std::int64_t n, QAct& out, std::int64_t row, std::int64_t column = 0) const;

  const CpuKernels& kernels_;
  int threads_;
  bool pack_;
  std::shared_ptr<PanelBudget> budget_;  // of expanded panels
};

}  // namespace hz::cpu
