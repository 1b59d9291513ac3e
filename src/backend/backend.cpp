// SPDX-License-Identifier: Apache-2.0
// Backend: what an op says where it is not built, and the table of backends.
#include "hanzo/backend/backend.hpp"

#include "src/backend/backend_table.hpp"

namespace hz {

void Backend::missing(std::string_view op) const {
  throw Error(ErrorKind::unsupported, "[" + std::string(op) + "] is not built for the " + std::string(name()) + " backend", "",
              "use the device cpu, which has all ops");
}

std::shared_ptr<Storage> Backend::allocate(std::size_t) { missing("allocate"); }
void Backend::copy(const Storage&, std::size_t, Storage&, std::size_t, std::size_t) { missing("copy"); }
void Backend::clear(Storage&, std::size_t, std::size_t) { missing("clear"); }
void Backend::embed(const QTensor&, const Tensor&, Tensor&) { missing("embed"); }
void Backend::add(const Tensor&, const Tensor&, Tensor&) { missing("add"); }
void Backend::add_row(const Tensor&, const Tensor&, Tensor&) { missing("add_row"); }
void Backend::mul(const Tensor&, const Tensor&, Tensor&) { missing("mul"); }
void Backend::mul_row(const Tensor&, const Tensor&, Tensor&) { missing("mul_row"); }
void Backend::scale(const Tensor&, float, Tensor&) { missing("scale"); }
void Backend::axpy(float, const Tensor&, Tensor&) { missing("axpy"); }
void Backend::weighted_sum(const Tensor&, const Tensor&, Tensor&) { missing("weighted_sum"); }
void Backend::unary(Unary, const Tensor&, Tensor&) { missing("unary"); }
void Backend::softcap(const Tensor&, float, Tensor&) { missing("softcap"); }
void Backend::glu(Unary, const Tensor&, const Tensor&, Tensor&) { missing("glu"); }
void Backend::rms_norm(const Tensor&, const Tensor&, float, Tensor&) { missing("rms_norm"); }
void Backend::layer_norm(const Tensor&, const Tensor&, const Tensor&, float, Tensor&) { missing("layer_norm"); }
void Backend::softmax(const Tensor&, Tensor&) { missing("softmax"); }
void Backend::quantize(const Tensor&, QAct&) { missing("quantize"); }
void Backend::linear(std::span<const LinearJob>) { missing("linear"); }
void Backend::expert_linear(const ExpertJob&) { missing("expert_linear"); }
void Backend::rope(Rope, const Tensor&, std::span<const std::int32_t>, const Tensor&, int, Tensor&) { missing("rope"); }
std::size_t Backend::kv_layer_bytes(const KvLayout&) const { missing("kv_layer_bytes"); }
void Backend::kv_write(const KvBatch&, const Tensor&, const Tensor&) { missing("kv_write"); }
void Backend::attention(const AttentionArgs&, const Tensor&, int, Tensor&) { missing("attention"); }
void Backend::unary_grad(Unary, const Tensor&, const Tensor&, Tensor&) { missing("unary_grad"); }
void Backend::softcap_grad(const Tensor&, float, const Tensor&, Tensor&) { missing("softcap_grad"); }
void Backend::glu_grad(Unary, const Tensor&, const Tensor&, const Tensor&, Tensor*, Tensor*) { missing("glu_grad"); }
void Backend::softmax_grad(const Tensor&, const Tensor&, Tensor&) { missing("softmax_grad"); }
void Backend::norm_grad(const NormArgs&, const Tensor&, const Tensor&, Tensor*, Tensor*, Tensor*) { missing("norm_grad"); }
void Backend::rope_grad(Rope, const Tensor&, std::span<const std::int32_t>, const Tensor&, int, Tensor&) { missing("rope_grad"); }
void Backend::attention_grad(const AttentionArgs&, const Tensor&, int, const Tensor&, const Tensor&, const AttentionGrads&) {
  missing("attention_grad");
}
void Backend::column_sum(const Tensor&, Tensor&) { missing("column_sum"); }
void Backend::row_dot(const Tensor&, const Tensor&, Tensor&) { missing("row_dot"); }
void Backend::linear_input_grad(std::span<const InputGradJob>, Tensor&) { missing("linear_input_grad"); }
void Backend::expert_input_grad(const ExpertGradJob&, Tensor&) { missing("expert_input_grad"); }
void Backend::weight_grad(const Tensor&, const Tensor&, Tensor&) { missing("weight_grad"); }
bool Backend::all_finite(const Tensor&) { missing("all_finite"); }

void Backend::add_norm_quantize(const Tensor& a, const Tensor* b, const NormArgs& norm, Tensor* sum, Tensor* y, QAct* q) {
  if (b != nullptr) add(a, *b, *sum);
  const Tensor& x = b != nullptr ? *sum : a;
  Tensor own = y != nullptr ? Tensor() : Tensor::empty(x.shape(), DType::f32, x.device());
  Tensor& out = y != nullptr ? *y : own;
  const Tensor none;
  if (norm.kind == NormKind::rms) rms_norm(x, norm.w ? *norm.w : none, norm.eps, out);
  else layer_norm(x, norm.w ? *norm.w : none, norm.b ? *norm.b : none, norm.eps, out);
  if (q != nullptr) quantize(out, *q);
}

void Backend::glu_quantize(Unary kind, const Tensor& gate, const Tensor& up, Tensor* y, QAct* q) {
  Tensor own = y != nullptr ? Tensor() : Tensor::empty(gate.shape(), DType::f32, gate.device());
  Tensor& out = y != nullptr ? *y : own;
  glu(kind, gate, up, out);
  if (q != nullptr) quantize(out, *q);
}

void Backend::attention_quantize(const AttentionArgs& args, const Tensor& q, int heads, Tensor& out, QAct& quantized) {
  attention(args, q, heads, out);
  quantize(out, quantized);
}

Backend& backend_of(const Tensor& t) {
  if (t.device().backend() != nullptr) return *t.device().backend();
  static const std::shared_ptr<Backend> fallback = make_backend("cpu");
  return *fallback;
}

std::shared_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options) {
  std::string known;
  for (const BackendEntry& b : kBackends) {
    if (b.name == name) return b.make(options);
    known += (known.empty() ? "" : ", ") + std::string(b.name);
  }
  throw Error(ErrorKind::usage, "no device named '" + std::string(name) + "'", "", "devices of this build: " + known);
}

std::vector<BackendInfo> list_backends() {
  std::vector<BackendInfo> list;
  for (const BackendEntry& b : kBackends) list.push_back({std::string(b.name), b.make({})->description()});
  return list;
}

}  // namespace hz
