// SPDX-License-Identifier: Apache-2.0
// Full fine-tuning: weights become variables, and a file again.
#include "hanzo/model/float_weights.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "hanzo/io/gguf_writer.hpp"
#include "src/model/weight_places.hpp"

namespace hz {
namespace {

DType float_type(const std::string& name, const QTensor& w) {
  switch (w.wtype()) {
    case WType::f32: return DType::f32;
    case WType::f16: return DType::f16;
    case WType::bf16: return DType::bf16;
    default:
      throw Error(ErrorKind::unsupported, name + " is " + std::string(name_of(w.wtype())) + ", and quantized weights cannot be trained", "",
                  "train an adapter over it (--method lora), or the weights of a float file: hz-quantize --requantize MODEL.gguf "
                  "FLOAT.gguf F16");
  }
}

Tensor copy_of(const std::string& name, const QTensor& w) {
  Tensor t = Tensor::empty(w.shape(), float_type(name, w));
  std::memcpy(t.raw(), w.bytes().data(), t.nbytes());
  return t;
}

}  // namespace

FloatWeights FloatWeights::of(const Model& model) {
  model::Weights weights = model.weights();  // handles
  if (std::any_of(weights.layers.begin(), weights.layers.end(), [](const auto& l) { return l.router.defined(); }))
    throw Error(ErrorKind::unsupported, "full fine-tuning of a mixture of experts is not built", model.file().files()[0].string(),
                "train an adapter over it");
  FloatWeights f;
  const auto add = [&](const std::string& name, const Tensor& copy) {
    f.parameters_.emplace_back(copy.on(model.backend().device()), name);
  };
  model::for_each_matrix(weights, [&](const std::string& name, QTensor& w, Tensor& dense) {
    add(name, w.defined() ? copy_of(name, w) : dense.clone());
  });
  model::for_each_vector(weights, [&](const std::string& name, Tensor& v) { add(name, v.clone()); });
  return f;
}

const Var* FloatWeights::find(const std::string& name) const {
  const auto at = std::find_if(parameters_.begin(), parameters_.end(), [&](const Var& v) { return v.name() == name; });
  return at == parameters_.end() ? nullptr : &*at;
}

void FloatWeights::save(const Model& base, const std::filesystem::path& file, const Progress& progress) const {
  std::map<std::string_view, const Var*> fresh;
  for (const Var& v : parameters_) fresh.emplace(v.name(), &v);
  const io::Gguf& from = base.file();
  io::GgufWriter writer(from.metadata());
  for (const io::GgufTensor& t : from.tensors()) {
    const auto found = fresh.find(t.name);
    if (found == fresh.end()) writer.add(t.name, t.shape, static_cast<std::uint32_t>(t.type), from.bytes(t.name));
    else writer.add(t.name, found->second->tensor().reshape(t.shape));
  }
  writer.write(file, progress);
}

namespace nn {
FloatWeights train_weights(Model& model) {
  FloatWeights weights = FloatWeights::of(model);
  model = model.with_weights(weights);
  return weights;
}
}  // namespace nn

}  // namespace hz
