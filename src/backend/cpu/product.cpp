// SPDX-License-Identifier: Apache-2.0
// Panels of sixteen rows are expanded once per thread and used by all tokens; few tokens read the weights directly.
#include "src/backend/cpu/product.hpp"

#include <algorithm>
#include <cstring>

#include "hanzo/core/parallel.hpp"

namespace hz::cpu {
namespace {

constexpr int kFewTokens = 3;  // up to here straight from the weights

// Per-thread working memory of the products; grows to the largest panel seen.
struct Scratch {
  std::vector<std::uint8_t> codes;
  std::vector<float> floats, scales, mins, edge;
  std::vector<std::int32_t> sub;
  std::vector<float*> y;
  std::vector<const float*> x;

  IntPanel panel() {
    constexpr std::size_t slab = kSlab;  // 16-wide steps: slab / 16 blocks of 16 rows
    codes.resize(slab * 16);
    scales.resize(slab);
    mins.resize(slab);
    sub.resize(slab * 4);
    return {codes.data(), scales.data(), mins.data(), sub.data(), 0, 0};
  }
  // Where sixteen results of each token go: the row itself, or an edge buffer where fewer are wanted.
  float* const* targets(const std::vector<float*>& rows, std::int64_t row, bool at_edge) {
    y.resize(rows.size());
    if (at_edge) edge.resize(rows.size() * 16);
    for (std::size_t t = 0; t < rows.size(); ++t) y[t] = at_edge ? edge.data() + 16 * t : rows[t] + row;
    return y.data();
  }
  void copy_edge(const std::vector<float*>& rows, std::int64_t row, int count) const {
    for (std::size_t t = 0; t < rows.size(); ++t)
      std::memcpy(rows[t] + row, edge.data() + 16 * t, static_cast<std::size_t>(count) * sizeof(float));
  }
};
Scratch& scratch() {
  thread_local Scratch s;
  return s;
}

}  // namespace

bool Product::direct() const {
  if (integer()) return tokens() <= kFewTokens;
  return tokens() == 1 && w_.kernels->floating && w_.panels != nullptr;
}

void Product::run(std::int64_t item) const {
  const std::int64_t row = item * item_rows();
  const int count = static_cast<int>(std::min(item_rows(), w_.rows - row));
  if (direct()) run_direct(row, count);
  else run_tile(row, count);
}

void Product::run_direct(std::int64_t row, int count) const {
  Scratch& s = scratch();
  if (w_.panels == nullptr) {
    float* const* y = s.targets(y_, row, false);
    w_.kernels->matvec_rows(w_.data + static_cast<std::size_t>(row) * w_.stride, w_.stride, count, w_.cols, acts_.data(), tokens(), y);
    return;
  }
  const std::int64_t panel = w_.first_panel + row / 16;
  const int whole = count / 16;
  if (!integer() && whole > 0)
    w_.kernels->float_matvec(w_.panels->at(panel), w_.panels->panel_bytes, whole, w_.cols, floats_[0], y_[0] + row);
  for (int i = integer() ? 0 : whole; 16 * i < count; ++i) {
    const bool edge = 16 * i + 16 > count;
    float* const* y = s.targets(y_, row + 16 * i, edge);
    if (integer()) w_.kernels->matvec_packed(w_.panels->at(panel + i), w_.cols, acts_.data(), tokens(), y);
    else w_.kernels->float_matvec(w_.panels->at(panel + i), w_.panels->panel_bytes, 1, w_.cols, floats_[0], y[0]);
    if (edge) s.copy_edge(y_, row + 16 * i, count - 16 * i);
  }
}

void Product::run_tile(std::int64_t row, int count) const {
  Scratch& s = scratch();
  const FormatKernels& f = *w_.kernels;
  const std::byte* rows = w_.data + static_cast<std::size_t>(row) * w_.stride;
  const std::byte* panel = w_.panels ? w_.panels->at(w_.first_panel + row / 16) : nullptr;
  float* const* y = s.targets(y_, row, count < 16);
  IntPanel ints = integer() ? s.panel() : IntPanel{};
  if (!integer()) s.floats.resize(static_cast<std::size_t>(kSlab) * 16);
  for (std::int64_t k = 0; k < w_.cols; k += kSlab) {
    const std::int64_t end = std::min(w_.cols, k + kSlab);
    if (integer()) {
      if (panel) f.expand_packed(panel, k, end, ints);
      else f.expand(rows, w_.stride, count, k, end, ints);
      f.tile(ints, acts_.data(), k / f.step, tokens(), y, k > 0);
    } else {
      if (panel) f.expand_float_packed(panel, k, end, s.floats.data());
      else f.expand_float(rows, w_.stride, count, k, end, s.floats.data());
      s.x.resize(floats_.size());
      for (std::size_t t = 0; t < floats_.size(); ++t) s.x[t] = floats_[t] + k;
      float_tile_(s.floats.data(), s.x.data(), end - k, tokens(), y, k > 0);
    }
  }
  if (count < 16) s.copy_edge(y_, row, count);
}

void run_products(const std::vector<Product>& products, int threads) {
  std::vector<std::int64_t> ends;
  std::int64_t total = 0;
  for (const Product& p : products) ends.push_back(total += p.items());
  parallel_for(threads, total, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const auto j = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), n) - ends.begin());
      products[j].run(n - (j == 0 ? 0 : ends[j - 1]));
    }
  });
}

}  // namespace hz::cpu
