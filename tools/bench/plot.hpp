// SPDX-License-Identifier: Apache-2.0
// Records as a picture: speed against depth, prompt length or number of sequences.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hz::tools {

// One line per model, threads and kind of test; x is what varies: depth, else tokens of the prompt.
void write_speed_plot(const nlohmann::json& records, const std::string& file);
// Tokens per second of prompt and generation against the number of sequences.
void write_batch_plot(const nlohmann::json& records, const std::string& file);

}  // namespace hz::tools
