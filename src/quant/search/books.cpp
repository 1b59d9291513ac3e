// SPDX-License-Identifier: Apache-2.0
#include "src/quant/search/books.hpp"

#include <algorithm>
#include <memory>

#include "hanzo/quant/format/iq_grid.h"

namespace hz::quant {
namespace {

// The level (0, 1, 2, ...) of byte k of a point of a codebook.
template <class Word>
int level_of(Word point, int k, Book which) {
  const int v = static_cast<std::int8_t>(point >> (8 * k));
  switch (which) {
    case Book::iq1: return v + 1;
    case Book::iq3_xxs: return std::min((v - 4) / 8, 7);
    case Book::iq3_s: return (v - 1) / 2;
    default: return v < 16 ? 0 : v < 34 ? 1 : 2;
  }
}

int cell_of(const int* levels, bool ternary) {
  return ternary ? 16 * (levels[2] + 3 * levels[3]) + levels[0] + 3 * levels[1] : levels[0] + 8 * levels[1];
}

template <class Word, int N>
std::unique_ptr<PairBook> make(const Table<Word, N>& grid, Book which) {
  constexpr bool kTernary = sizeof(Word) == 8;
  constexpr int kHalf = kTernary ? 4 : 2;
  auto b = std::make_unique<PairBook>();
  b->cells = kTernary ? 144 : 64;
  b->rows = b->cells / 16;
  std::fill_n(b->point, b->cells * b->cells, PairBook::kNone);
  for (int p = 0; p < N; ++p) {
    int levels[8];
    for (int k = 0; k < 2 * kHalf; ++k) levels[k] = level_of(grid.at[p], k, which);
    b->point[cell_of(levels, kTernary) * b->cells + cell_of(levels + kHalf, kTernary)] = static_cast<std::uint16_t>(p);
  }
  for (int side = 0; side < 2; ++side) {
    std::uint16_t n = 0;
    for (int c = 0; c < b->cells; ++c) {
      b->begin[side][c] = n;
      for (int o = 0; o < b->cells; ++o) {
        const std::uint16_t p = side == 0 ? b->point[c * b->cells + o] : b->point[o * b->cells + c];
        if (p != PairBook::kNone) b->partners[side][n++] = {static_cast<std::uint16_t>(o), p};
      }
    }
    b->begin[side][b->cells] = n;
  }
  return b;
}

}  // namespace

const PairBook& book(Book which) {
  static const std::unique_ptr<PairBook> books[] = {
      make(iq2_xxs_grid(), Book::iq2_xxs), make(iq2_xs_grid(), Book::iq2_xs),   make(iq2_s_grid(), Book::iq2_s),
      make(iq1_grid(), Book::iq1),         make(iq3_xxs_grid(), Book::iq3_xxs), make(iq3_s_grid(), Book::iq3_s),
  };
  return *books[static_cast<int>(which)];
}

}  // namespace hz::quant
