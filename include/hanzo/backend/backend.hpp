// SPDX-License-Identifier: Apache-2.0
// Backend: where ops are computed. A small abstract class; an op that a backend lacks is an error naming both.
// Shapes are checked by the ops; a backend may rely on them. Outputs are allocated by the caller.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hanzo/backend/kv.hpp"
#include "hanzo/quant/qact.hpp"
#include "hanzo/quant/qtensor.hpp"

namespace hz {

struct BackendOptions {
  int threads = 0;        // 0: default_threads()
  std::string isa = {};   // cpu: force an instruction set (HANZO_ISA for the tools); empty: the best there is
  bool pack = true;       // cpu: keep packed panels of the weights instead of the mapped bytes
  // cpu: with pack, weights of codebook formats (IQ1, IQ2, IQ3) get panels too, which are 1.2 to 2.1 times as large as their
  // bytes, while they take no more than so many bytes beyond them together; UINT64_MAX: all of them.
  std::uint64_t expand_bytes = 0;
};

// y [tokens, out] = x [tokens, in] * w^T. Exactly one of w, dense; x in the form that the rule for w wants:
// q for int8 products with a quantized weight, x for everything else.
struct LinearJob {
  const QTensor* w = nullptr;
  const Tensor* dense = nullptr;  // F32, F16 or BF16 [out, in]
  const Tensor* x = nullptr;      // F32 [tokens, in]
  const QAct* q = nullptr;
  Tensor* y = nullptr;            // F32 [tokens, out]
};

// Rows of several experts: row i of x goes through expert ids[i] into row i of y.
struct ExpertJob {
  const QTensor* w = nullptr;  // [experts, out, in]
  const Tensor* x = nullptr;
  const QAct* q = nullptr;
  std::span<const std::int32_t> x_rows;   // row of x (or q) for each output row
  std::span<const std::int32_t> experts;  // expert of each output row
  Tensor* y = nullptr;                    // F32 [rows, out]
};

struct AttentionArgs {
  KvBatch kv;
  float scale = 1.0f;
  float softcap = 0.0f;             // 0: none
  std::int64_t window = 0;          // visible iff 0 <= q - k < window; 0: no window
  bool causal = true;               // false: every position of the segment sees all of it
  const Tensor* sinks = nullptr;    // F32 [heads]
  const Tensor* slopes = nullptr;   // F32 [heads], ALiBi
  // The rows that kv_write stored for the segments: where a tape sends the gradients of K and V. Attention itself reads pages.
  const Tensor* k = nullptr;
  const Tensor* v = nullptr;
  // F32 [tokens, heads, 2]: the largest score of each query and its sum of e^(score - largest). Written by attention where
  // it is not null, read by attention_grad.
  Tensor* stats = nullptr;
};

// A norm of the last axis; w and b may be undefined.
enum class NormKind : int { rms, layer };
struct NormArgs {
  NormKind kind = NormKind::rms;
  const Tensor* w = nullptr;
  const Tensor* b = nullptr;
  float eps = 0;
};

// The way back through linear: row i of dy [rows, out] times w (dense or quantized, [out, in]) goes to row first_row + i.
struct InputGradJob {
  const QTensor* w = nullptr;
  const Tensor* dense = nullptr;
  const Tensor* dy = nullptr;
  std::int64_t first_row = 0;
};
// The way back through expert_linear: row i of dy [rows, out] times expert experts[i] of w goes to row x_rows[i].
struct ExpertGradJob {
  const QTensor* w = nullptr;
  const Tensor* dy = nullptr;
  std::span<const std::int32_t> x_rows;
  std::span<const std::int32_t> experts;
};
// Gradients of attention; null ones are not wanted. dk, dv: the rows that kv_write stored for the segments.
struct AttentionGrads {
  Tensor* dq = nullptr;      // F32 [tokens, heads * head_dim]
  Tensor* dk = nullptr;      // F32 [tokens, kv heads * head_dim]
  Tensor* dv = nullptr;      // F32 [tokens, kv heads * value_dim]
  Tensor* dsinks = nullptr;  // F32 [heads]
};

struct BackendPeaks {
  double fma = 0, int8_dot = 0;
};

// What a backend can do, asked before work begins.
struct Capabilities {
  std::vector<KvKind> kv = {};    // element types of the KV cache; none: it cannot run a model
  bool gradients = false;         // it has the ops that backward calls
  std::uint64_t free_memory = 0;  // bytes that may still be allocated, as far as is known; UINT64_MAX when it is not
};

// Tensors that ops get are in the backend's memory; token ids, positions and other spans are the host's.
class Backend : public DeviceMemory {
 public:
  virtual std::string_view name() const = 0;
  // One line for people: instruction set, threads.
  virtual std::string description() const = 0;
  virtual Capabilities capabilities() const { return {}; }
  Device device() { return Device(this, this); }

  // memory (core/device.hpp); copy and clear keep the order of the ops around them
  bool on_host() const override { return false; }
  std::shared_ptr<Storage> allocate(std::size_t bytes) override;
  void copy(const Storage& from, std::size_t from_offset, Storage& to, std::size_t to_offset, std::size_t bytes) override;
  void clear(Storage& to, std::size_t offset, std::size_t bytes) override;

  // data
  virtual void embed(const QTensor& table, const Tensor& ids, Tensor& out);  // ids I32, in host memory
  virtual void add(const Tensor& a, const Tensor& b, Tensor& out);
  virtual void add_row(const Tensor& a, const Tensor& row, Tensor& out);  // row [cols] to each row of a
  virtual void mul(const Tensor& a, const Tensor& b, Tensor& out);
  virtual void mul_row(const Tensor& a, const Tensor& row, Tensor& out);
  virtual void scale(const Tensor& a, float s, Tensor& out);
  virtual void axpy(float s, const Tensor& x, Tensor& y);  // y = fma(s, x, y)
  // y[t] = the sum over i of weights[t, i] * rows[t * used + i], by fma from +0, i ascending; rows [tokens * used, cols],
  // weights [tokens, used], y [tokens, cols]
  virtual void weighted_sum(const Tensor& rows, const Tensor& weights, Tensor& y);
  virtual void unary(Unary kind, const Tensor& a, Tensor& out);
  virtual void softcap(const Tensor& a, float cap, Tensor& out);
  virtual void glu(Unary kind, const Tensor& gate, const Tensor& up, Tensor& out);
  // norms over the last axis; w and b may be undefined
  virtual void rms_norm(const Tensor& x, const Tensor& w, float eps, Tensor& out);
  virtual void layer_norm(const Tensor& x, const Tensor& w, const Tensor& b, float eps, Tensor& out);
  virtual void softmax(const Tensor& x, Tensor& out);
  virtual void quantize(const Tensor& x, QAct& out);
  // fused stages; each equals its parts bit for bit, and is them where a backend has nothing better. Outputs that are
  // null are not wanted.
  // sum = a + b; y = norm(sum); q = quantize(y). b may be null: then a itself is normed and sum is not written.
  virtual void add_norm_quantize(const Tensor& a, const Tensor* b, const NormArgs& norm, Tensor* sum, Tensor* y, QAct* q);
  // y = f(gate) * up; q = quantize(y)
  virtual void glu_quantize(Unary kind, const Tensor& gate, const Tensor& up, Tensor* y, QAct* q);
  // products
  virtual void linear(std::span<const LinearJob> jobs);
  virtual void expert_linear(const ExpertJob& job);
  // attention: q, out [tokens, heads * dim]; k, v [tokens, kv heads * dim]
  // rope: x, out [tokens, heads, head_dim]; table F32 [positions, rot / 2, 2] (cos, sin)
  virtual void rope(Rope kind, const Tensor& x, std::span<const std::int32_t> positions, const Tensor& table, int heads, Tensor& out);
  virtual std::size_t kv_layer_bytes(const KvLayout& layout) const;
  virtual void kv_write(const KvBatch& kv, const Tensor& k, const Tensor& v);
  virtual void attention(const AttentionArgs& args, const Tensor& q, int heads, Tensor& out);
  // out = attention; quantized = quantize(out)
  virtual void attention_quantize(const AttentionArgs& args, const Tensor& q, int heads, Tensor& out, QAct& quantized);
  // gradients: dy is that of the op's output; results are overwritten, null ones are not wanted
  virtual void unary_grad(Unary kind, const Tensor& x, const Tensor& dy, Tensor& dx);
  virtual void softcap_grad(const Tensor& y, float cap, const Tensor& dy, Tensor& dx);  // y: what softcap gave
  virtual void glu_grad(Unary kind, const Tensor& gate, const Tensor& up, const Tensor& dy, Tensor* dgate, Tensor* dup);
  virtual void softmax_grad(const Tensor& y, const Tensor& dy, Tensor& dx);             // y: what softmax gave
  virtual void norm_grad(const NormArgs& norm, const Tensor& x, const Tensor& dy, Tensor* dx, Tensor* dw, Tensor* db);
  virtual void rope_grad(Rope kind, const Tensor& dy, std::span<const std::int32_t> positions, const Tensor& table, int heads, Tensor& dx);
  // out: what attention gave. K, V as the pages hold them (straight-through for the cache kind's rounding).
  virtual void attention_grad(const AttentionArgs& args, const Tensor& q, int heads, const Tensor& out, const Tensor& dout,
                              const AttentionGrads& grads);
  virtual void column_sum(const Tensor& a, Tensor& out);                    // out [n] = sum over the rows of a, ascending
  virtual void row_dot(const Tensor& a, const Tensor& b, Tensor& out);      // out [rows] = the dot of each pair of rows
  // dx [tokens, in] = the sum over jobs of dy * w: for each element one chain of fma from +0, jobs in order, rows of w ascending
  virtual void linear_input_grad(std::span<const InputGradJob> jobs, Tensor& dx);
  virtual void expert_input_grad(const ExpertGradJob& job, Tensor& dx);
  // dw [out, in] = dy^T [out, tokens] * x [tokens, in], tokens ascending
  virtual void weight_grad(const Tensor& dy, const Tensor& x, Tensor& dw);
  // Multiply-adds per second of one thread in registers, measured for some milliseconds; zeros where a backend cannot say.
  virtual BackendPeaks measure_peaks() const { return {}; }
  // true when every element is finite
  virtual bool all_finite(const Tensor& x);

 protected:
  // The error of an op that this backend does not have.
  [[noreturn]] void missing(std::string_view op) const;
};

// The backend an op on `t` runs on: the tensor's own, or, for one without a device, a CPU backend of the process with the
// default options.
Backend& backend_of(const Tensor& t);

// Makes a backend by name ("cpu", "reference", ...). Throws usage naming the known ones.
std::shared_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options = {});
struct BackendInfo {
  std::string name;
  std::string description;
};
// The backends of this build, for --list-devices.
std::vector<BackendInfo> list_backends();

}  // namespace hz
