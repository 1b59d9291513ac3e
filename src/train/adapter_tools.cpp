// SPDX-License-Identifier: Apache-2.0
// Adapters for other engines, and two adapters side by side.
#include "hanzo/train/adapter_tools.hpp"

#include <cmath>
#include <cstring>
#include <map>

#include "hanzo/io/gguf_writer.hpp"

namespace hz::train {
namespace {

// tr(B1^T B2 A2 A1^T): the inner product of B1 A1 and B2 A2, in double.
double inner(const nn::LoraAdapter& p, const nn::LoraAdapter& q) {
  const Tensor &a1 = p.a.tensor(), &a2 = q.a.tensor(), &b1 = p.b.tensor(), &b2 = q.b.tensor();
  const std::int64_t r1 = a1.rows(), r2 = a2.rows();
  std::vector<double> left(static_cast<std::size_t>(r1 * r2)), right(left);
  for (std::int64_t i = 0; i < r1; ++i)
    for (std::int64_t j = 0; j < r2; ++j) {
      double bb = 0, aa = 0;
      for (std::int64_t o = 0; o < b1.rows(); ++o)
        bb += static_cast<double>(b1.data<float>()[o * r1 + i]) * static_cast<double>(b2.data<float>()[o * r2 + j]);
      for (std::int64_t k = 0; k < a1.cols(); ++k)
        aa += static_cast<double>(a1.data<float>()[i * a1.cols() + k]) * static_cast<double>(a2.data<float>()[j * a2.cols() + k]);
      left[static_cast<std::size_t>(i * r2 + j)] = bb;
      right[static_cast<std::size_t>(i * r2 + j)] = aa;
    }
  double sum = 0;
  for (std::size_t i = 0; i < left.size(); ++i) sum += left[i] * right[i];
  return sum * static_cast<double>(p.scale) * static_cast<double>(q.scale);
}

bool equal_bits(const Var& a, const Var& b) {
  if (a.defined() != b.defined()) return false;
  return !a.defined() || (a.shape() == b.shape() && std::memcmp(a.tensor().raw(), b.tensor().raw(), a.tensor().nbytes()) == 0);
}

// The one alpha of a file: of the first layer that has any effect. Readers take 0 for a scale of 1, so it never is 0.
float common_alpha(const Adapter& adapter) {
  for (const Adapter::Target& t : adapter.targets())
    if (t.lora.scale != 0) return t.lora.scale * static_cast<float>(t.lora.rank());
  return static_cast<float>(adapter.targets().front().lora.rank());
}

}  // namespace

void save_gguf_lora(const Adapter& adapter, const Model& model, const std::filesystem::path& file) {
  if (adapter.method() == nn::AdapterMethod::dora)
    throw Error(ErrorKind::unsupported, "a GGUF LoRA cannot hold the magnitudes of DoRA", file.string(),
                "merge it, or export a PEFT folder");
  if (adapter.targets().empty()) throw Error(ErrorKind::usage, "the adapter has no layers");
  const float alpha = common_alpha(adapter);
  io::GgufWriter out;
  auto& m = out.metadata();
  m.set("general.type", {std::string("adapter")});
  m.set("general.architecture", {std::string(model.arch().name)});
  m.set("general.name", {adapter.name()});
  m.set("adapter.type", {std::string("lora")});
  m.set("adapter.lora.alpha", {alpha});
  if (!adapter.base_sha256().empty()) {
    m.set("hanzo_base_sha256", {adapter.base_sha256()});
    m.set("hanzo_tokenizer_sha256", {adapter.tokenizer_sha256()});
    m.set("hanzo_forced", {adapter.forced()});
  }
  for (const Adapter::Target& t : adapter.targets()) {
    const float read = alpha / static_cast<float>(t.lora.rank());  // what a reader will multiply with
    Tensor b = t.lora.b.tensor();
    if (read != t.lora.scale) {
      b = b.clone();
      for (float& v : b.span<float>()) v *= t.lora.scale / read;
    }
    out.add(t.module + ".weight.lora_a", t.lora.a.tensor());
    out.add(t.module + ".weight.lora_b", b);
  }
  out.write(file);
}

std::vector<AdapterDifference> compare_adapters(const Adapter& a, const Adapter& b) {
  std::map<std::string, const nn::LoraAdapter*> of_b;
  for (const Adapter::Target& t : b.targets()) of_b[t.module] = &t.lora;
  std::vector<AdapterDifference> all;
  for (const Adapter::Target& t : a.targets()) {
    AdapterDifference d;
    d.module = t.module;
    const double aa = inner(t.lora, t.lora);
    d.change_a = std::sqrt(std::max(0.0, aa));
    d.relative = 1;
    if (const auto found = of_b.find(t.module); found != of_b.end()) {
      const nn::LoraAdapter& other = *found->second;
      if (!(t.lora.a.shape()[1] == other.a.shape()[1] && t.lora.b.shape()[0] == other.b.shape()[0]))
        throw Error(ErrorKind::usage, "the adapters' " + t.module + " are of different shapes", "", "compare adapters of one base");
      const double bb = inner(other, other), ab = inner(t.lora, other);
      d.change_b = std::sqrt(std::max(0.0, bb));
      d.same_bits = equal_bits(t.lora.a, other.a) && equal_bits(t.lora.b, other.b) && equal_bits(t.lora.magnitude, other.magnitude) &&
                    t.lora.scale == other.scale;
      d.relative = d.same_bits ? 0.0 : aa > 0 ? std::sqrt(std::max(0.0, aa - 2 * ab + bb) / aa) : bb > 0 ? 1.0 : 0.0;
      of_b.erase(found);
    }
    all.push_back(std::move(d));
  }
  for (const auto& [module, lora] : of_b) {
    AdapterDifference d;
    d.module = module;
    d.change_b = std::sqrt(std::max(0.0, inner(*lora, *lora)));
    d.relative = 1;
    all.push_back(std::move(d));
  }
  return all;
}

}  // namespace hz::train
