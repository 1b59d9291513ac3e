// SPDX-License-Identifier: Apache-2.0
// Linear: the product with the base, then adapters, then the bias.
#include "hanzo/nn/linear.hpp"

#include "hanzo/nn/observe.hpp"
#include "src/nn/linear_grad.hpp"

namespace hz::nn {
namespace {

bool reads_codes(const Linear& layer, Activations mode) {
  return layer.weight.defined() && mode == Activations::int8 && !quant::info(layer.weight.wtype()).floating;
}

const LoraAdapter* find_slot(const Linear& layer, int slot) {
  for (const LoraAdapter& a : layer.adapters)
    if (a.slot == slot) return &a;
  return nullptr;
}

// The adapters that one layer's rows go through, in order.
void add_uses(const Linear& layer, std::size_t index, const Activation& x, const Pass& pass, std::vector<LoraUse>& uses) {
  if (layer.adapters.empty()) return;
  if (pass.all_adapters) {
    for (const LoraAdapter& a : layer.adapters) uses.push_back({index, &a, a.scale, 0, x.rows()});
    return;
  }
  for (const AdapterRows& r : pass.rows)
    for (const AdapterUse& u : r.use)
      if (const LoraAdapter* a = find_slot(layer, u.slot); a != nullptr && r.count > 0)
        uses.push_back({index, a, a->scale * u.strength, r.begin, r.count});
}

void check(const Linear& layer, const Activation& x) {
  if (layer.in() != x.cols())
    throw Error(ErrorKind::usage, "[linear] weight " + (layer.weight.defined() ? layer.weight.name() : std::string("(dense)")) +
                                      " needs x with " + std::to_string(layer.in()) + " columns, got " + std::to_string(x.cols()));
}

}  // namespace

const Tensor& Activation::x() const {
  if (!x_.defined()) throw Error(ErrorKind::usage, "[linear] the float rows of an activation were not asked for");
  return x_;
}

Wanted wanted_by(std::initializer_list<const Linear*> layers, Activations mode) {
  Wanted w{current_observer() != nullptr, false};
  for (const Linear* layer : layers) {
    (reads_codes(*layer, mode) ? w.codes : w.floats) = true;
    if (!layer->adapters.empty()) w.floats = true;
  }
  return w;
}

std::vector<Tensor> apply(std::initializer_list<const Linear*> layers, const Activation& x, const Pass& pass) {
  std::vector<Tensor> y;
  std::vector<LinearJob> jobs;
  std::vector<LoraUse> uses;
  y.reserve(layers.size());
  for (const Linear* layer : layers) {
    check(*layer, x);
    add_uses(*layer, y.size(), x, pass, uses);
    y.push_back(Tensor::empty({x.rows(), layer->out()}, DType::f32, x.device()));
    LinearJob job{.y = &y.back()};
    if (layer->weight.defined()) job.w = &layer->weight;
    else job.dense = &layer->dense;
    if (reads_codes(*layer, pass.mode)) job.q = &x.q();
    else job.x = &x.x();
    jobs.push_back(job);
  }
  if (Observer* observer = current_observer())
    for (const Linear* layer : layers)
      if (layer->weight.defined()) observer->see(layer->weight.name(), x.x());
  Backend& backend = backend_of(y[0]);
  backend.linear(jobs);
  if (!uses.empty()) run_adapters(uses, layers, x, y);
  Tape* tape = Tape::active();
  if (tape != nullptr) record_linear(*tape, layers, x, uses, y);
  std::size_t i = 0;
  for (const Linear* layer : layers) {
    if (layer->bias.defined()) y[i] = add_row(y[i], layer->bias);
    ++i;
  }
  return y;
}

}  // namespace hz::nn
