// SPDX-License-Identifier: Apache-2.0
// Keys and values as bytes, and what they depend on.
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "hanzo/core/progress.hpp"
#include "hanzo/model/model.hpp"

namespace hz::model {

// All that keys and values are a function of, beside the ids. Two models with equal bindings may share them.
struct KvBinding {
  std::string model;        // model_hash()
  std::string backend;      // it lays the pages out
  std::string kv;           // "f16" "f32" "q8_0"
  std::string activations;  // "int8" "f32"
  std::string adapters;     // SHA-256 of names, files and scales; empty: none
  friend bool operator==(const KvBinding&, const KvBinding&) = default;
};
KvBinding kv_binding(const Model& model, const Progress& progress = {});

// SHA-256, 64 hex digits, over metadata and tensors of the model's file: names, types, shapes and all bytes. Takes about a
// second per 2 GB and core.
std::string model_hash(const Model& model, const Progress& progress = {});

// The whole pages among the first `length` positions, one after another: write gets each. Returns their number.
std::size_t write_pages(const KvSequence& kv, std::int64_t length, const std::function<void(std::span<const std::byte>)>& write);
// A sequence of the whole pages that `bytes` holds; its length is 64 positions a page. Throws bad_file when they are no
// number of pages.
KvSequence read_pages(const Model& model, std::span<const std::byte> bytes);

}  // namespace hz::model
