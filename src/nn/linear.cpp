// SPDX-License-Identifier: Apache-2.0
#include "hanzo/nn/linear.hpp"

namespace hz::nn {

std::vector<Tensor> apply(std::initializer_list<const Linear*> layers, const Activation& x, Activations mode) {
  std::vector<Tensor> y;
  std::vector<LinearJob> jobs;
  y.reserve(layers.size());
  for (const Linear* layer : layers) {
    if (layer->in() != x.x().cols())
      throw Error(ErrorKind::usage, "[linear] weight " + (layer->weight.defined() ? layer->weight.name() : std::string("(dense)")) + " needs x with " +
                                        std::to_string(layer->in()) + " columns, got " + std::to_string(x.x().cols()));
    y.push_back(Tensor::empty({x.x().rows(), layer->out()}, DType::f32, x.x().device()));
    LinearJob job{.y = &y.back()};
    const bool integer = layer->weight.defined() && mode == Activations::int8 && !quant::info(layer->weight.wtype()).floating;
    if (layer->weight.defined()) job.w = &layer->weight;
    else job.dense = &layer->dense;
    if (integer) job.q = &x.q();
    else job.x = &x.x();
    jobs.push_back(job);
  }
  backend_of(x.x()).linear(jobs);
  std::size_t i = 0;
  for (const Linear* layer : layers) {
    if (layer->bias.defined()) y[i] = add_row(y[i], layer->bias);
    ++i;
  }
  return y;
}

}  // namespace hz::nn
