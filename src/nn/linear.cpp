// SPDX-License-Identifier: Apache-2.0
#include "hanzo/nn/linear.hpp"

namespace hz::nn {

namespace {

bool reads_codes(const Linear& layer, Activations mode) {
  return layer.weight.defined() && mode == Activations::int8 && !quant::info(layer.weight.wtype()).floating;
}
Tensor like(const Tensor& x) { return Tensor::empty(x.shape(), DType::f32, x.device()); }

}  // namespace

const Tensor& Activation::x() const {
  if (!x_.defined()) throw Error(ErrorKind::usage, "[linear] the float rows of an activation were not asked for");
  return x_;
}

Wanted wanted_by(std::initializer_list<const Linear*> layers, Activations mode) {
  Wanted w{false, false};
  for (const Linear* layer : layers) (reads_codes(*layer, mode) ? w.codes : w.floats) = true;
  return w;
}

Activation norm_stage(Tensor& x, const Tensor* delta, const NormArgs& norm, Wanted wanted) {
  Tensor sum = delta ? like(x) : Tensor(), y = wanted.floats ? like(x) : Tensor();
  QAct q = wanted.codes ? QAct::empty(x.rows(), x.cols(), x.device()) : QAct();
  backend_of(x).add_norm_quantize(x, delta, norm, delta ? &sum : nullptr, wanted.floats ? &y : nullptr, wanted.codes ? &q : nullptr);
  if (delta) x = sum;
  return {std::move(y), std::move(q)};
}

Activation glu_stage(Unary kind, const Tensor& gate, const Tensor& up, Wanted wanted) {
  Tensor y = wanted.floats ? like(gate) : Tensor();
  QAct q = wanted.codes ? QAct::empty(gate.rows(), gate.cols(), gate.device()) : QAct();
  backend_of(gate).glu_quantize(kind, gate, up, wanted.floats ? &y : nullptr, wanted.codes ? &q : nullptr);
  return {std::move(y), std::move(q)};
}

Activation attention_stage(const AttentionArgs& args, const Tensor& q, int heads, Wanted wanted) {
  if (!wanted.codes) return Activation(attention(args, q, heads));
  Tensor y = Tensor::empty({q.rows(), static_cast<std::int64_t>(heads) * args.kv.layout.value_dim}, DType::f32, q.device());
  QAct codes = QAct::empty(y.rows(), y.cols(), y.device());
  backend_of(q).attention_quantize(args, q, heads, y, codes);
  return {std::move(y), std::move(codes)};
}

std::vector<Tensor> apply(std::initializer_list<const Linear*> layers, const Activation& x, Activations mode) {
  std::vector<Tensor> y;
  std::vector<LinearJob> jobs;
  y.reserve(layers.size());
  for (const Linear* layer : layers) {
    if (layer->in() != x.cols())
      throw Error(ErrorKind::usage, "[linear] weight " + (layer->weight.defined() ? layer->weight.name() : std::string("(dense)")) + " needs x with " +
                                        std::to_string(layer->in()) + " columns, got " + std::to_string(x.cols()));
    y.push_back(Tensor::empty({x.rows(), layer->out()}, DType::f32, x.device()));
    LinearJob job{.y = &y.back()};
    if (layer->weight.defined()) job.w = &layer->weight;
    else job.dense = &layer->dense;
    if (reads_codes(*layer, mode)) job.q = &x.q();
    else job.x = &x.x();
    jobs.push_back(job);
  }
  backend_of(y[0]).linear(jobs);
  std::size_t i = 0;
  for (const Linear* layer : layers) {
    if (layer->bias.defined()) y[i] = add_row(y[i], layer->bias);
    ++i;
  }
  return y;
}

}  // namespace hz::nn
