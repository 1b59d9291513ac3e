// SPDX-License-Identifier: Apache-2.0
// Every place of a model's weights under its tensor's name, for those who read or replace them all.
#pragma once
#include <functional>
#include <string>

#include "hanzo/model/float_weights.hpp"
#include "hanzo/model/weights.hpp"

namespace hz::model {

// The embedding, the layers' weights in the order of the forward pass, the head where it is not the embedding: each place
// as quantized blocks or a dense tensor, one of which is defined. Experts are not visited.
void for_each_matrix(Weights& weights, const std::function<void(const std::string&, QTensor&, Tensor&)>& f);
// Norms and biases, where defined.
void for_each_vector(Weights& weights, const std::function<void(const std::string&, Tensor&)>& f);
// Puts all values in place of what `weights` holds. Throws usage naming the first that is missing or of another shape.
void place(Weights& weights, const FloatWeights& values);

// The number of changes in place of dense values and adapters, all together.
std::uint64_t version_of(const Weights& weights);

}  // namespace hz::model
