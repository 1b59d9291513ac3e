// SPDX-License-Identifier: Apache-2.0
// Records of speed tests as text: md, csv, json, jsonl, sql, with llama-bench's columns.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hz::tools {

std::string format_records(const nlohmann::json& records, const std::string& format);

}  // namespace hz::tools
