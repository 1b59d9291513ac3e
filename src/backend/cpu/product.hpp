// SPDX-License-Identifier: Apache-2.0
// Product: rows of weights against rows of activations, sixteen weight rows at a time.
#pragma once
#include <vector>

#include "hanzo/backend/backend.hpp"
#include "src/backend/cpu/panels.hpp"

namespace hz::cpu {

// Weights of one product as rows of bytes of a listed format.
struct WeightRows {
  const FormatKernels* kernels;
  const std::byte* data;
  std::size_t stride;
  std::int64_t rows, cols;
  const Panels* panels = nullptr;  // the packed form, or null
  std::int64_t first_panel = 0;    // panel that holds row 0
};

class Product {
 public:
  // x rows: one of acts (int8) or floats; y[t] is where row t of the result begins.
  Product(const CpuKernels& set, const WeightRows& w, std::vector<ActRow> acts, std::vector<float*> y)
      : set_(&set), w_(w), acts_(std::move(acts)), y_(std::move(y)) {}
  Product(const CpuKernels& set, const WeightRows& w, std::vector<const float*> floats, std::vector<float*> y)
      : set_(&set), w_(w), floats_(std::move(floats)), y_(std::move(y)) {}

  // What the tile kernels read in place of the rows of x, 0 bytes where the rows are read: written by as many items, each by itself.
  std::size_t packed_bytes() const;
  std::int64_t pack_items() const { return (tokens() + tile_tokens() - 1) / tile_tokens(); }
  void pack(std::int64_t item, std::byte* packed) const;
  bool packs_as(const Product& other) const;  // into the same bytes

  // Work items: independent pieces of the result, numbered from 0.
  std::int64_t items() const { return (w_.rows + item_rows() - 1) / item_rows(); }
  void run(std::int64_t item, const std::byte* packed) const;

 private:
  bool integer() const { return !acts_.empty(); }
  int tokens() const { return static_cast<int>(y_.size()); }
  bool direct() const;  // few tokens: straight from the weights' bytes or panels, no expansion
  bool one_tile() const;     // a few more: panels are unpacked as they are used
  std::int64_t item_rows() const;
  void run_direct(std::int64_t row, int count) const;
  void run_tile(std::int64_t row, int count, const std::byte* packed) const;
  void int_tile(std::int64_t row, int count, const std::byte* packed, float* const* y) const;
  void float_tile(std::int64_t row, int count, const std::byte* packed, float* const* y) const;
  int tile_tokens() const { return integer() ? w_.kernels->act_tokens : set_->float_tokens; }
  std::size_t token_bytes() const;  // packed

  const CpuKernels* set_;
  WeightRows w_;
  std::vector<ActRow> acts_;
  std::vector<const float*> floats_;
  std::vector<float*> y_;
};

// Runs all items of all products over the pool.
void run_products(const std::vector<Product>& products, int threads);

}  // namespace hz::cpu
