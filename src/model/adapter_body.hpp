// SPDX-License-Identifier: Apache-2.0
// What an adapter holds, and what creating, loading and saving share.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hanzo/model/adapter.hpp"

namespace hz {

struct Adapter::Body {
  std::string name = "default";
  nn::AdapterMethod method = nn::AdapterMethod::lora;
  std::vector<Target> targets;
  std::string base_sha256, tokenizer_sha256;
  bool forced = false;
  float dropout = 0;
  std::string base_name;         // general.name of the base
  // Heads of q and k where the file's rows are reordered for adjacent rope pairs; 0: rows as Hugging Face has them.
  int q_heads = 0, k_heads = 0;
};

namespace model {

// "blk.3.attn_q" <-> "model.layers.3.self_attn.q_proj"; empty when there is no such layer.
std::string peft_name(std::string_view module);
std::string module_of_peft(std::string_view name);
// The layers that `targets` selects (see LoraOptions), in the model's order. Throws usage when a name selects none.
std::vector<std::string> select_modules(const std::vector<std::string>& all, const std::string& targets);
bool pattern_selects(const std::string& pattern, const std::string& module);

// The model's layers by name.
std::map<std::string, const nn::Linear*, std::less<>> linears_of(const Model& model);
// Name, heads, hashes of a base. The hash of the weights only when asked: it reads the whole file.
Adapter::Body body_for(const Model& model, bool hash);
float lora_scale(nn::AdapterMethod method, float alpha, std::int64_t rank);
// One layer's adapter over checked tensors; magnitude may be undefined. stream: of dropout, from the module's name.
Adapter::Target make_target(const std::string& module, const Tensor& a, const Tensor& b, const Tensor& magnitude, nn::AdapterMethod method,
                            float alpha, float dropout);
// Throws bad_file naming `where` and the tensor: shapes against the layer, finite values.
void check_target(const std::string& module, const Tensor& a, const Tensor& b, const Tensor& magnitude,
                  const std::map<std::string, const nn::Linear*, std::less<>>& linears, const std::string& where);
// Throws bad_file when `recorded` is another base than the model's and force is not set; true: it was forced.
bool check_base(const std::string& recorded, const Model& model, bool force, const std::string& where);

// Rows of a q or k factor [out, n] from Hugging Face's order (halves of a head apart) to that of adjacent pairs, or back.
Tensor permute_rows(const Tensor& t, int heads, bool to_adjacent);

Adapter load_peft(const std::filesystem::path& folder, const Model& model, bool force);
Adapter load_gguf_lora(const std::filesystem::path& file, const Model& model, bool force);
std::string tokenizer_sha256(const io::Metadata& metadata);

}  // namespace model
}  // namespace hz
