// SPDX-License-Identifier: Apache-2.0
// What is done with a trained adapter: merging it into its base, writing it for other engines, comparing two.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hanzo/core/progress.hpp"
#include "hanzo/model/adapter.hpp"

namespace hz::train {

struct MergeOptions {
  double least_survival = 0.9;  // refuse below
  bool force = false;
  Progress progress = {};
};

// How much of an adapter's change a rounding to the base's type leaves. survival = 1 - |D' - D|^2 / |D|^2, at least 0, for
// the change D that the adapter makes and D' that the merged weights make.
struct MergedTensor {
  std::string name;
  std::string type;
  double change = 0;  // |D| / |W|
  double survival = 1;
};
struct MergeReport {
  std::vector<MergedTensor> tensors;
  double survival = 1;  // over all together
};

// Writes the model with the adapter's change in its weights: exact up to the type's rounding where they are floats, else
// encoded anew. Throws Error(failed), before writing, when less than least_survival of the change would be left and force
// is not set; unsupported for a type without encoder.
MergeReport merge_adapter(const Model& model, const Adapter& adapter, const std::filesystem::path& out, const MergeOptions& options = {});

// A GGUF LoRA file, as llama.cpp loads it. Scales other than alpha / rank are folded into B. Throws unsupported for DoRA,
// which that format cannot say.
void save_gguf_lora(const Adapter& adapter, const Model& model, const std::filesystem::path& file);

// Two adapters of one base, layer by layer: the difference of their changes relative to the first's, without forming them.
struct AdapterDifference {
  std::string module;
  double change_a = 0, change_b = 0;  // |s B A|
  double relative = 0;                // |D_a - D_b| / |D_a|; 1 where the other has no such layer
  bool same_bits = false;             // of the factors
};
std::vector<AdapterDifference> compare_adapters(const Adapter& a, const Adapter& b);

}  // namespace hz::train
