// SPDX-License-Identifier: Apache-2.0
// Converting a Hugging Face model folder (config.json, safetensors, tokenizer.json, chat template) to GGUF.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "hanzo/core/progress.hpp"
#include "hanzo/model/quantize_file.hpp"

namespace hz::model {

struct ConvertSummary {
  std::string family;                 // general.architecture of the result
  std::size_t tensors = 0;
  std::uint64_t bytes = 0;            // of the file
  std::string tokenizer;              // "gpt2 (llama-bpe)", "llama", or "" where the folder has none
  std::vector<std::string> ignored;   // tensors of the folder that a model does not need (rotary_emb.inv_freq)
};

// Families: llama (and mistral), mixtral, qwen2, qwen3, gemma, gemma2, gemma3_text. Matrices keep the source's element
// type, vectors become F32. FP8 (E4M3 with scales) becomes BF16 or F32 where one is exact, affine groups (MLX) of up to
// 5 bits Q4_1 or Q5_1 where their scales are. Throws Error(unsupported) naming what is not built: family, tensor, option,
// pre-tokenizer, or quantized form that no GGUF type holds exactly; Error(bad_file) for a folder that contradicts itself.
// The file appears whole or not at all.
ConvertSummary convert_folder(const std::filesystem::path& folder, const std::filesystem::path& out, const Progress& progress = {});

// The same, quantized by a recipe on the way, through a temporary file beside `out`.
QuantizeSummary convert_and_quantize(const std::filesystem::path& folder, const std::filesystem::path& out,
                                     const QuantizeFileOptions& options, ConvertSummary& converted, const Progress& progress = {});

}  // namespace hz::model
