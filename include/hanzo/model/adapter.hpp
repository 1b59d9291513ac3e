// SPDX-License-Identifier: Apache-2.0
// Adapter: the low-rank additions to the layers of one model, trained, saved and loaded together. A Model is immutable:
// with_adapter() gives another model of the same weights that has it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hanzo/core/random.hpp"
#include "hanzo/model/model.hpp"

namespace hz {

namespace nn {

// lora: scale alpha / rank (Hu et al. 2021). rslora: alpha / sqrt(rank) (Kalajdzievski 2023). dora: lora with trained row
// norms (Liu et al. 2024).
enum class AdapterMethod { lora, rslora, dora };

struct LoraOptions {
  int rank = 16;
  float alpha = 32;
  // "all-linear": q, k, v, o, gate, up, down of every block. Or names separated by commas, each a whole layer
  // ("blk.0.attn_q") or its last part, ours or the Hugging Face one ("attn_q", "q_proj"). Or "re:" and a regular
  // expression that a whole layer name must match.
  std::string targets = "all-linear";
  AdapterMethod method = AdapterMethod::lora;
  float dropout = 0;                          // of the adapters' input, under a tape only
  std::string name = "default";
  std::map<std::string, int> rank_pattern = {};    // for layers that a key selects (as in `targets`), another rank
  std::map<std::string, float> alpha_pattern = {}; // and alpha
};

}  // namespace nn

class Adapter {
 public:
  // One layer's part. lora.scale is alpha / rank as the method has it.
  struct Target {
    std::string module;  // "blk.0.attn_q"
    nn::LoraAdapter lora;
    float alpha = 0;
  };
  // A new one for `model`: A uniform in +-1 / sqrt(in), B zero, so that the model is unchanged at first. Throws usage for a
  // target that no layer has, or rank, alpha, dropout out of range.
  static Adapter create(const Model& model, const nn::LoraOptions& options, Seed seed);

  // A PEFT folder (adapter_config.json, adapter_model.safetensors), one of ours (the same with hanzo_* keys), or a GGUF LoRA
  // file. Checks everything: shapes against the model's layers, finite values, the recorded base. Throws bad_file;
  // unsupported for methods and layers that are not built. force: another base than the recorded one is accepted, and the
  // adapter remembers that (save() writes hanzo_forced).
  static Adapter load(const std::filesystem::path& path, const Model& model, bool force = false);
  // A folder in PEFT layout, with the base's and the tokenizer's hashes. A new folder appears whole or not at all; in one that
  // is there each file does, and other files stay. Throws io.
  void save(const std::filesystem::path& folder) const;

  const std::string& name() const;
  nn::AdapterMethod method() const;
  const std::vector<Target>& targets() const;
  // Their names: "blk.0.attn_q.lora_a", ".lora_b", ".magnitude".
  std::vector<Var> parameters() const;
  const std::string& base_sha256() const;       // of the base it is for; empty where the file says nothing
  const std::string& tokenizer_sha256() const;
  bool forced() const;

  struct Body;
  explicit Adapter(std::shared_ptr<const Body> body) : body_(std::move(body)) {}
  const Body& body() const { return *body_; }

 private:
  std::shared_ptr<const Body> body_;
};

namespace nn {
// Makes an adapter and replaces `model` by the model that has it. Other handles of the model stay as they are.
Adapter attach_lora(Model& model, const LoraOptions& options, Seed seed);
}  // namespace nn

}  // namespace hz
