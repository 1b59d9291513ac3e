// SPDX-License-Identifier: Apache-2.0
// The names by which tokens with a role are known when a file does not say so itself.
#pragma once
#include <string_view>

namespace hz::text::detail {

enum class KnownAs { eot, eom, end, fim_prefix, fim_suffix, fim_middle, fim_pad, fim_repo, fim_file };

struct KnownName {
  std::string_view text;
  KnownAs as;
};

// The first name of a kind that a vocabulary has is the one that takes the role. All of eot, eom, end, fim_pad,
// fim_repo and fim_file end a turn.
inline constexpr KnownName kKnownNames[] = {
    {"<|eot_id|>", KnownAs::eot},              // Llama 3
    {"<|im_end|>", KnownAs::eot},              // ChatML
    {"<|end|>", KnownAs::eot},                 // Phi 3
    {"<end_of_turn>", KnownAs::eot},           // Gemma
    {"<|endoftext|>", KnownAs::eot},           // GPT-2 and many
    {"<|end_of_text|>", KnownAs::eot},         // Granite
    {"<EOT>", KnownAs::eot},                   // CodeLlama
    {"_<EOT>", KnownAs::eot},
    {"[EOT]", KnownAs::eot},                   // Kimi K2
    {"<｜end▁of▁sentence｜>", KnownAs::eot},   // DeepSeek
    {"<end_of_utterance>", KnownAs::eot},      // SmolVLM, SmolDocling
    {"<|eom_id|>", KnownAs::eom},              // Llama 3.1
    {"<|return|>", KnownAs::end},              // Harmony
    {"<|call|>", KnownAs::end},
    {"<|calls|>", KnownAs::end},               // Solar Open
    {"<|flush|>", KnownAs::end},
    {"</s>", KnownAs::end},                    // Llama 2, Mistral; see classify
    {"[EOS]", KnownAs::end},                   // Kimi K2
    {"<eos>", KnownAs::end},                   // Gemma
    {"<turn|>", KnownAs::end},                 // Gemma 4
    {"<|tool_response>", KnownAs::end},
    {"[e~[", KnownAs::end},                    // MiniMax M2
    {"<|fim_prefix|>", KnownAs::fim_prefix},   // Qwen
    {"<fim-prefix>", KnownAs::fim_prefix},
    {"<fim_prefix>", KnownAs::fim_prefix},     // StarCoder, Granite
    {"<｜fim▁begin｜>", KnownAs::fim_prefix},  // DeepSeek
    {"<PRE>", KnownAs::fim_prefix},
    {"▁<PRE>", KnownAs::fim_prefix},           // CodeLlama
    {"<|code_prefix|>", KnownAs::fim_prefix},  // GLM 4.5
    {"<|prefix|>", KnownAs::fim_prefix},       // Falcon H1
    {"<|fim_suffix|>", KnownAs::fim_suffix},
    {"<fim-suffix>", KnownAs::fim_suffix},
    {"<fim_suffix>", KnownAs::fim_suffix},
    {"<｜fim▁hole｜>", KnownAs::fim_suffix},
    {"<SUF>", KnownAs::fim_suffix},
    {"▁<SUF>", KnownAs::fim_suffix},
    {"<|code_suffix|>", KnownAs::fim_suffix},
    {"<|suffix|>", KnownAs::fim_suffix},
    {"<|fim_middle|>", KnownAs::fim_middle},
    {"<fim-middle>", KnownAs::fim_middle},
    {"<fim_middle>", KnownAs::fim_middle},
    {"<｜fim▁end｜>", KnownAs::fim_middle},
    {"<MID>", KnownAs::fim_middle},
    {"▁<MID>", KnownAs::fim_middle},
    {"<|code_middle|>", KnownAs::fim_middle},
    {"<|middle|>", KnownAs::fim_middle},
    {"<|fim_pad|>", KnownAs::fim_pad},
    {"<fim-pad>", KnownAs::fim_pad},
    {"<fim_pad>", KnownAs::fim_pad},
    {"<PAD>", KnownAs::fim_pad},
    {"[PAD]", KnownAs::fim_pad},               // Kimi K2, BERT
    {"<|fim_repo|>", KnownAs::fim_repo},
    {"<|repo_name|>", KnownAs::fim_repo},      // Qwen
    {"<fim-repo>", KnownAs::fim_repo},
    {"<REPO>", KnownAs::fim_repo},
    {"<reponame>", KnownAs::fim_repo},         // StarCoder, Granite
    {"<|file_sep|>", KnownAs::fim_file},       // Qwen
};

}  // namespace hz::text::detail
