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

using FloatTile = void (*)(const float* w, const float* const* x, std::int64_t k, int tokens, float* const* y, bool carry);

class Product {
 public:
  // x rows: one of acts (int8) or floats; y[t] is where row t of the result begins.
  Product(const WeightRows& w, std::vector<ActRow> acts, std::vector<float*> y) : w_(w), acts_(std::move(acts)), y_(std::move(y)) {}
  Product(const WeightRows& w, std::vector<const float*> floats, std::vector<float*> y, FloatTile tile)
      : w_(w), floats_(std::move(floats)), y_(std::move(y)), float_tile_(tile) {}

  // Work items: independent pieces of the result, numbered from 0.
  std::int64_t items() const { return (w_.rows + item_rows() - 1) / item_rows(); }
  void run(std::int64_t item) const;

 private:
  bool integer() const { return !acts_.empty(); }
  int tokens() const { return static_cast<int>(y_.size()); }
  bool direct() const;  // few tokens: straight from the weights' bytes or panels, no expansion
  std::int64_t item_rows() const { return direct() ? 64 : 16; }
  void run_direct(std::int64_t row, int count) const;
  void run_tile(std::int64_t row, int count) const;

  WeightRows w_;
  std::vector<ActRow> acts_;
  std::vector<const float*> floats_;
  std::vector<float*> y_;
  FloatTile float_tile_ = nullptr;
};

// Runs all items of all products over the pool.
void run_products(const std::vector<Product>& products, int threads);

}  // namespace hz::cpu
