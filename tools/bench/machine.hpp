// SPDX-License-Identifier: Apache-2.0
// The machine that is measured on: its name and its limits, measured in the same minute as the results.
#pragma once
#include <cstdint>
#include <hanzo/model/model.hpp>
#include <string>

namespace hz::tools {

std::string cpu_name();
std::string utc_time();          // now, ISO 8601
std::uint64_t peak_memory();     // of this process, bytes
// Bytes per second that `threads` threads together read from memory: sums over 256 MiB, the best of five.
double read_bandwidth(int threads);
// Weight bytes that one decoded token reads: all tensors but rows that are only looked up and experts not chosen.
std::uint64_t token_bytes(const Model& model);
// Bytes of keys and values that a token at one of the positions [first, first + count) reads, their mean; sliding layers read no more
// than their window. 0 for no positions.
double cache_bytes(const Model& model, std::int64_t first, std::int64_t count);
// Multiply-adds with weights per token of a prompt.
double token_macs(const Model& model);

}  // namespace hz::tools
