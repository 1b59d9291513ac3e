// SPDX-License-Identifier: Apache-2.0
// Adapters of the reference losses: LoRA, DoRA, quantized bases, several at once.
#include "hanzo/autograd/tape.hpp"
#include "hanzo/nn/linear.hpp"
#include "tests/conformance/loss.hpp"

namespace hz::conformance {
namespace {

constexpr double kGradients = 1e-5;

nn::LoraAdapter adapter_of(const LossCase& c, float scale) {
  nn::LoraAdapter a;
  a.a = Var(tensor_of(c.at("A")));
  a.b = Var(tensor_of(c.at("B")));
  a.scale = scale;
  if (c.contains("m")) a.magnitude = Var(tensor_of(c.at("m")));
  return a;
}

std::vector<std::byte> bytes_of(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

// The base: W0 as it is, or the rows of a format's bytes.
nn::Linear linear_of(const LossCase& c) {
  nn::Linear l;
  if (c.contains("W0")) {
    l.dense = tensor_of(c.at("W0"));
  } else {
    std::vector<std::byte> all;
    for (const auto& row : c.at("W_bytes_hex")) {
      const auto bytes = bytes_of(row.get<std::string>());
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    auto storage = allocate_host(all.size());
    std::copy(all.begin(), all.end(), storage->data);
    l.weight = QTensor("base", shape_of(c.at("W_deq")), *quant::from_name(c.at("quant").get<std::string>()), storage, 0);
  }
  if (c.contains("bias")) l.bias = tensor_of(c.at("bias"));
  return l;
}

// y for rows of the identity: the transposed weight that the layer with its adapters amounts to.
void check_soup(const LossCase& c, LossCheck& check) {
  nn::Linear l = linear_of(c);
  const auto& lambdas = c.at("lambdas");
  std::vector<nn::AdapterUse> use;
  for (std::size_t i = 0; i < lambdas.size(); ++i) {
    l.adapters.push_back(adapter_of(c.at("adapters")[i], c.at("scale").get<float>()));
    l.adapters.back().slot = static_cast<int>(i);
    use.push_back({static_cast<int>(i), lambdas[i].get<float>()});
  }
  Tensor identity = Tensor::zeros({l.in(), l.in()});
  for (std::int64_t i = 0; i < l.in(); ++i) identity.data<float>()[i * l.in() + i] = 1;
  const nn::AdapterRows rows{0, l.in(), use};
  const Tensor y = nn::apply(l, nn::Activation(identity), nn::Pass(nn::Activations::f32, {&rows, 1}));
  check.near("W_soup", y.transpose(0, 1).clone().span<float>(), c.at("W_soup"));
}

}  // namespace

void check_lora(const LossCase& c, LossCheck& check) {
  if (c.at("kind") == "lora_soup") return check_soup(c, check);
  nn::Linear l = linear_of(c);
  l.adapters.push_back(adapter_of(c, c.at("scale").get<float>()));
  const nn::LoraAdapter& a = l.adapters[0];
  const Var x(tensor_of(c.at("x")));
  Tape tape;
  const Tensor y = nn::apply(l, nn::Activation(x.tensor()), nn::Activations::f32);
  check.near("y", y.span<float>(), c.at("y"));
  if (!c.contains("upstream")) return;
  const Tensor up = tensor_of(c.at("upstream"));
  const GradStore g = tape.backward({&y, 1}, {&up, 1});
  check.near("dx", g[x].span<float>(), c.at("dx"), kGradients);
  if (c.contains("dm")) check.near("dm", g[a.magnitude].span<float>(), c.at("dm"), kGradients);
  if (!c.value("norm_detached", true)) return;  // the norm is a constant here: dA and dB are those of the detached cases
  check.near("dA", g[a.a].span<float>(), c.at("dA"), kGradients);
  check.near("dB", g[a.b].span<float>(), c.at("dB"), kGradients);
}

}  // namespace hz::conformance
