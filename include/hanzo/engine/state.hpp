// SPDX-License-Identifier: Apache-2.0
// State files: a stream of tokens that can go on later, in another process, as if it had never stopped.
//
// Format, little-endian: "HZSTATE\n", u32 version (1), u32 n, n bytes of JSON (what the state is bound to, counts, seed),
// zeros to a multiple of 64, I32 ids, zeros to a multiple of 64, KV pages as the backend lays them out (whole pages
// alone; the ids behind them are evaluated again), SHA-256 (32 bytes) of all before it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "hanzo/core/progress.hpp"
#include "hanzo/model/kv_state.hpp"

namespace hz {

// What a stream needs beside keys and values.
struct StreamState {
  std::vector<std::int32_t> ids;  // prompt and answer
  std::size_t answer_begin = 0;   // index in ids of the answer's first token
  std::uint64_t seed = 0, stream = 0;
  float mirostat_mu = 0;
  std::string conversation;  // ChatSession's JSON, or empty
};

// `kv` holds keys and values of a prefix of state.ids. Written atomically. Throws io.
void write_state(const std::filesystem::path& file, const Model& model, const model::KvSequence& kv, const StreamState& state,
                 const Progress& progress = {});

struct LoadedState {
  StreamState state;
  model::KvSequence kv;
};
// Throws Error(bad_file) when the file is no state, is cut or altered, or bound to another model, backend, KV kind,
// activation kind or adapter set; Error(usage) when its ids do not fit the context.
LoadedState read_state(const std::filesystem::path& file, const Model& model, const Progress& progress = {});

}  // namespace hz
