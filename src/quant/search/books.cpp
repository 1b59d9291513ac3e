// SPDX-License-Identifier: Apache-2.0
#include "src/quant/search/books.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "hanzo/quant/format/iq_grid.h"

namespace hz::quant {
namespace {

// The level (0, 1, 2, ...) of byte k of a point of a codebook.
template <class Word>
int level_of(Word point, int k, Book which) {
  const int v = +static_cast<std::int8_t>(point >> (8 * k));  // its sign extended
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

// The nearest points to every combination of levels that is no point.
void find_neighbours(PairBook& b, const std::vector<std::array<int, 8>>& points, int count, int levels) {
  const int half = count / 2;
  std::array<int, 8> at{};
  std::vector<std::pair<int, std::uint16_t>> near(points.size());
  for (;;) {
    const int place = cell_of(at.data(), levels == 3) * b.cells + cell_of(at.data() + half, levels == 3);
    if (b.point[place] == PairBook::kNone) {
      for (std::size_t p = 0; p < points.size(); ++p) {
        int distance = 0;
        for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) distance += (points[p][k] - at[k]) * (points[p][k] - at[k]);
        near[p] = {distance, static_cast<std::uint16_t>(p)};
      }
      std::partial_sort(near.begin(), near.begin() + PairBook::kNeighbours, near.end());
      for (int i = 0; i < PairBook::kNeighbours; ++i)
        b.neighbours[PairBook::kNeighbours * place + i] = near[static_cast<std::size_t>(i)].second;
    }
    int k = 0;  // the next combination
    while (k < count && ++at[static_cast<std::size_t>(k)] == levels) at[static_cast<std::size_t>(k++)] = 0;
    if (k == count) return;
  }
}

template <class Word, int N>
std::unique_ptr<PairBook> make(const Table<Word, N>& grid, Book which) {
  constexpr bool kTernary = sizeof(Word) == 8;
  constexpr int kHalf = kTernary ? 4 : 2;
  auto b = std::make_unique<PairBook>();
  b->cells = kTernary ? 144 : 64;
  b->rows = b->cells / 16;
  std::fill_n(b->point, b->cells * b->cells, PairBook::kNone);
  std::vector<std::array<int, 8>> points(N);
  for (int p = 0; p < N; ++p) {
    int* levels = points[static_cast<std::size_t>(p)].data();
    for (int k = 0; k < 2 * kHalf; ++k) levels[k] = level_of(grid.at[p], k, which);
    b->point[cell_of(levels, kTernary) * b->cells + cell_of(levels + kHalf, kTernary)] = static_cast<std::uint16_t>(p);
    unsigned parts = 0;
    for (int i = 0; i < 4; ++i) parts |= static_cast<unsigned>(kTernary ? levels[2 * i] + 3 * levels[2 * i + 1] : levels[i]) << (4 * i);
    b->parts[p] = static_cast<std::uint16_t>(parts);
  }
  find_neighbours(*b, points, 2 * kHalf, kTernary ? 3 : 8);
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
  switch (which) {
    case Book::iq2_xxs: { static const auto b = make(iq2_xxs_grid(), Book::iq2_xxs); return *b; }
    case Book::iq2_xs: { static const auto b = make(iq2_xs_grid(), Book::iq2_xs); return *b; }
    case Book::iq2_s: { static const auto b = make(iq2_s_grid(), Book::iq2_s); return *b; }
    case Book::iq3_xxs: { static const auto b = make(iq3_xxs_grid(), Book::iq3_xxs); return *b; }
    case Book::iq3_s: { static const auto b = make(iq3_s_grid(), Book::iq3_s); return *b; }
    case Book::iq1: break;
  }
  static const auto b = make(iq1_grid(), Book::iq1);
  return *b;
}

}  // namespace hz::quant
