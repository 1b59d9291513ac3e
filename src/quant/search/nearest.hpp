// SPDX-License-Identifier: Apache-2.0
// The point of a codebook that is nearest to a few weights at a given scale by weighted squared error: of all points, or of
// the sixteen that are nearest in levels; the first of equals in the order of the search.
#pragma once
#include "src/quant/search/block.hpp"
#include "src/quant/search/books.hpp"

namespace hz::quant {
inline namespace HZ_UNIT {

struct Found {
  uint16_t point;
  float cost;
};

// h[2]: the cost of each cell as first and as second half; `ideal` the cheapest cells, with the costs `least`, which make
// no point together. Branch and bound: a first half is looked at only if the cheapest second half could make it best.
HZ_FN Found search_pairs(const PairBook& book, const float (*h)[PairBook::kMaxCells], const int* ideal, const float* least) {
  Found best{0, 3e38f};
  const auto look = [&](int side, int cell, float cost) {
    for (int i = book.begin[side][cell]; i < book.begin[side][cell + 1]; ++i) {
      const float c = cost + h[1 - side][book.partners[side][i].cell];
      if (c < best.cost) best = {book.partners[side][i].point, c};
    }
  };
  look(0, ideal[0], least[0]);
  look(1, ideal[1], least[1]);
  for (int row = 0; row < book.rows; ++row) {
    unsigned bits = lanes_below(load(h[0] + 16 * row), best.cost - least[1]);
    for (; bits != 0; bits &= bits - 1) {
      const int cell = 16 * row + __builtin_ctz(bits);
      if (h[0][cell] < best.cost - least[1]) look(0, cell, h[0][cell]);
    }
  }
  return best;
}

// t[4][16]: the costs of the four parts of a point.
HZ_FN Found search_neighbours(const PairBook& book, int place, const float (*t)[kLanes]) {
  const uint16_t* near = book.neighbours + PairBook::kNeighbours * place;
  Found best{near[0], 3e38f};
  for (int i = 0; i < PairBook::kNeighbours; ++i) {
    const unsigned p = book.parts[near[i]];
    const float c = (t[0][p & 15] + t[1][p >> 4 & 15]) + (t[2][p >> 8 & 15] + t[3][p >> 12]);
    if (c < best.cost) best = {near[i], c};
  }
  return best;
}

// What a search found for a group: points, whose number the format fixes, and the signs of shifts (IQ1).
struct Points {
  uint16_t at[8];
  uint8_t shifted[8];  // 1: by -1/8
};

// Eight weights a point, three levels each.
struct TernarySearch {
  const PairBook& book;
  float values[3];
  bool exact;  // of all points

  // Points for n (a multiple of 16) weights; returns their cost. `each` gets (index of the point, Found).
  template <class Each>
  float run(const float* x, const float* w, int n, float scale, Each each) const {
    float cost[3][32], least[32], place[32], total = 0;
    static constexpr float kPlace[kLanes] = {1, 3, 16, 48, 1, 3, 16, 48, 1, 3, 16, 48, 1, 3, 16, 48};
    for (int i = 0; i < n; i += kLanes) {
      const Lanes xs = load(x + i), ws = load(w + i);
      Lanes c[3];
      for (int l = 0; l < 3; ++l) {
        const Lanes e = xs - scale * values[l];
        c[l] = (ws * e) * e;
        store(cost[l] + i, c[l]);
      }
      const Mask one = c[1] < c[0];
      Lanes m = select(one, c[1], c[0]), level = select(one, all(1), all(0));
      const Mask two = c[2] < m;
      m = select(two, c[2], m);
      level = select(two, all(2), level);
      store(least + i, m);
      store(place + i, level * load(kPlace));
    }
    for (int i = 0; i < n; i += 8) {
      const Found f = one(cost, least, place, i);
      total += f.cost;
      each(i / 8, f);
    }
    return total;
  }

 private:
  Found one(const float (*cost)[32], const float* least, const float* place, int at) const {
    int ideal[2];
    float cheapest[2];
    for (int side = 0; side < 2; ++side) {
      const float *p = place + at + 4 * side, *m = least + at + 4 * side;
      ideal[side] = (int)((p[0] + p[1]) + (p[2] + p[3]));
      cheapest[side] = (m[0] + m[1]) + (m[2] + m[3]);
    }
    const uint16_t point = book.point[ideal[0] * 144 + ideal[1]];
    if (point != PairBook::kNone) return {point, cheapest[0] + cheapest[1]};
    if (!exact) {
      float t[4][kLanes];
      for (int i = 0; i < 4; ++i)
        for (int k = 0; k < 9; ++k) t[i][k] = cost[k % 3][at + 2 * i] + cost[k / 3][at + 2 * i + 1];
      return search_neighbours(book, ideal[0] * 144 + ideal[1], t);
    }
    alignas(64) float h[2][PairBook::kMaxCells];
    for (int side = 0; side < 2; ++side) {
      const int e = at + 4 * side;
      float low[kLanes], high[9];
      for (int k = 0; k < 9; ++k) {
        low[k] = cost[k % 3][e] + cost[k / 3][e + 1];
        high[k] = cost[k % 3][e + 2] + cost[k / 3][e + 3];
      }
      for (int k = 9; k < kLanes; ++k) low[k] = 1e38f;  // no cell
      for (int row = 0; row < 9; ++row) store(h[side] + 16 * row, load(low) + high[row]);
    }
    return search_pairs(book, h, ideal, cheapest);
  }
};

// Four weights a point, eight levels each: first + step * level, the last one raised by `raise`.
struct OctalSearch {
  const PairBook& book;
  float first, step, raise;
  bool exact;

  template <class Each>
  float run(const float* x, const float* w, int n, float scale, Each each) const {
    float least[32], place[32], total = 0;
    static constexpr float kPlace[kLanes] = {1, 8, 1, 8, 1, 8, 1, 8, 1, 8, 1, 8, 1, 8, 1, 8};
    const float inverse = scale != 0 ? 1.0f / scale : 0.0f;
    for (int i = 0; i < n; i += kLanes) {
      const Lanes xs = load(x + i), level = nearest_level(xs * inverse);
      const Lanes e = xs - scale * value(level);
      store(least + i, (load(w + i) * e) * e);
      store(place + i, level * load(kPlace));
    }
    for (int i = 0; i < n; i += 4) {
      const Found f = one(x, w, scale, least, place, i);
      total += f.cost;
      each(i / 4, f);
    }
    return total;
  }
  Lanes nearest_level(const Lanes& v) const {
    const Lanes level = round_even(clamp((v - first) * (1.0f / step), 0, 7));
    const float last = first + 6.5f * step + 0.5f * raise;  // between the last two values
    return select(v < all(last), least_of(level, 6), level);
  }
  Lanes value(const Lanes& level) const { return first + step * level + select(all(6.5f) < level, all(raise), all(0)); }

 private:
  static Lanes least_of(const Lanes& a, float b) { return least(a, all(b)); }
  Found one(const float* x, const float* w, float scale, const float* least, const float* place, int at) const {
    const int ideal[2] = {(int)(place[at] + place[at + 1]), (int)(place[at + 2] + place[at + 3])};
    const float cheapest[2] = {least[at] + least[at + 1], least[at + 2] + least[at + 3]};
    const uint16_t point = book.point[ideal[0] * 64 + ideal[1]];
    if (point != PairBook::kNone) return {point, cheapest[0] + cheapest[1]};
    if (!exact) {
      float t[4][kLanes];
      for (int i = 0; i < 4; ++i)
        for (int l = 0; l < 8; ++l) {
          const float e = x[at + i] - scale * (first + step * (float)l + (l == 7 ? raise : 0.0f));
          t[i][l] = (w[at + i] * e) * e;
        }
      return search_neighbours(book, ideal[0] * 64 + ideal[1], t);
    }
    alignas(64) float h[2][PairBook::kMaxCells];
    for (int side = 0; side < 2; ++side) {
      float cost[2][8];
      for (int k = 0; k < 2; ++k) {
        const float xe = x[at + 2 * side + k], we = w[at + 2 * side + k];
        for (int l = 0; l < 8; ++l) {
          const float e = xe - scale * (first + step * (float)l + (l == 7 ? raise : 0.0f));
          cost[k][l] = (we * e) * e;
        }
      }
      for (int b = 0; b < 8; ++b)
        for (int a = 0; a < 8; ++a) h[side][8 * b + a] = cost[0][a] + cost[1][b];
    }
    return search_pairs(book, h, ideal, cheapest);
  }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
