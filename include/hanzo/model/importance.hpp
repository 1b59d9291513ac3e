// SPDX-License-Identifier: Apache-2.0
// Importance: how much each input column of each weight matrix matters, as mean squared activations; the file of it that
// llama.cpp reads and writes ("imatrix": a GGUF with NAME.in_sum2 and NAME.counts, or its older .dat form).
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hanzo/core/progress.hpp"

namespace hz::model {

// Of one weight matrix [out, in] or [experts, out, in].
struct ImportanceEntry {
  std::int64_t experts = 1, cols = 0;
  std::vector<float> sums;    // [experts * cols]: squared activations of each column, added up
  std::vector<float> counts;  // [experts]: activation rows added up; 0: none came by
};

class Importance {
 public:
  Importance() = default;
  // Either form, told apart by its first bytes. Throws Error(bad_file | io): every value must be finite and not negative.
  static Importance read(const std::filesystem::path& file);
  // The GGUF form, atomically.
  void write(const std::filesystem::path& file, const Progress& progress = {}) const;
  // Adds what another text gave; throws usage when a tensor has another shape there.
  void add(const Importance& other);

  const std::map<std::string, ImportanceEntry, std::less<>>& entries() const { return entries_; }
  std::map<std::string, ImportanceEntry, std::less<>>& entries() { return entries_; }
  // Mean squares [experts * cols] of tensor `name`, or empty when it has none. An expert that no row reached gets ones.
  // Throws usage when the entry does not fit the shape.
  std::vector<float> means(std::string_view name, std::int64_t experts, std::int64_t cols) const;

  std::vector<std::string> datasets;   // the texts, by file name
  std::uint32_t chunk_count = 0;       // windows evaluated
  std::uint32_t chunk_size = 0;        // tokens of a window

 private:
  std::map<std::string, ImportanceEntry, std::less<>> entries_;
};

}  // namespace hz::model
