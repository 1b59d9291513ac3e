// SPDX-License-Identifier: Apache-2.0
// Formats whose weights are points of a codebook: the scale of each group, then the block's half scale and the groups'
// integer scales together, by searches of the nearest points.
#pragma once
#include "hanzo/quant/format/iq_grid.h"
#include "src/quant/search/nearest.hpp"
#include "src/quant/search/symmetric.hpp"

namespace hz::quant {
inline namespace HZ_UNIT {

// Magnitudes of a block, one sign bit a weight. With even_signs each eight signs have an even number of minus: where
// the weights do not, the one whose wrong sign costs least is given it, as a negative magnitude.
struct SignedBlock {
  float a[256];
  uint8_t signs[32];

  SignedBlock(const ScaledBlock& b, bool even_signs) {
    for (int i = 0; i < 256; i += 8) {
      unsigned bits = 0;
      int cheapest = 0;
      for (int k = 0; k < 8; ++k) {
        if (b.x[i + k] < 0) bits |= 1u << k;
        a[i + k] = __builtin_fabsf(b.x[i + k]);
        if (b.w[i + k] * a[i + k] < b.w[i + cheapest] * a[i + cheapest]) cheapest = k;
      }
      if (even_signs && __builtin_popcount(bits) % 2 != 0) {
        bits ^= 1u << cheapest;
        a[i + cheapest] = -a[i + cheapest];
      }
      signs[i / 8] = (uint8_t)bits;
    }
  }
};

// IQ2: eight magnitudes 8 25 43 a point.
struct Iq2Rule {
  static constexpr float kBottom = 8, kTop = 43;
  HZ_FN TernarySearch searcher(Book which, bool exact) { return {book(which), {8, 25, 43}, exact}; }
  HZ_LANES Lanes nearest(const TernarySearch&, const Lanes& v) {
    return select(v < all(16.5f), all(8), select(v < all(34.0f), all(25), all(43)));
  }
};
struct Iq3xxsRule {
  static constexpr float kBottom = 4, kTop = 62;
  HZ_FN OctalSearch searcher(Book which, bool exact) { return {book(which), 4, 8, 2, exact}; }
  HZ_LANES Lanes nearest(const OctalSearch& s, const Lanes& v) { return s.value(s.nearest_level(v)); }
};
struct Iq3sRule {
  static constexpr float kBottom = 1, kTop = 15;
  HZ_FN OctalSearch searcher(Book which, bool exact) { return {book(which), 1, 2, 0, exact}; }
  HZ_LANES Lanes nearest(const OctalSearch& s, const Lanes& v) { return s.value(s.nearest_level(v)); }
};

// Groups of magnitudes: what the solver below asks of a format.
template <class Rule, int Groups, class Word>
struct MagnitudeGroups {
  static constexpr int kGroups = Groups, kSize = 256 / Groups, kPoint = (int)sizeof(Word);
  static constexpr int kSteps = 5;         // of a normal search for the scale of a group
  static constexpr float kWidth = 0.085f;  // apart
  static constexpr bool kOneSide = false;  // a normal search tries one neighbour of an integer scale, not both
  const ScaledBlock& b;
  const SignedBlock& s;
  const Word* grid;
  decltype(Rule::searcher(Book::iq2_s, true)) search;

  void decide(int, float) {}
  // The scale that puts magnitudes which are much alike on the lowest level; 0 where they are not.
  float flat(int g) const {
    const float* x = s.a + g * kSize;
    float low = x[0], high = x[0];
    for (int i = 1; i < kSize; ++i) {
      if (x[i] < low) low = x[i];
      if (x[i] > high) high = x[i];
    }
    return low > 0.6f * high ? 0.5f * (low + high) / Rule::kBottom : 0;
  }
  // The best scale for levels without a codebook.
  float guess(int g) const {
    const float *x = s.a + g * kSize, *w = b.w + g * kSize;
    float top = 0;
    for (int i = 0; i < kSize; ++i)
      if (x[i] > top) top = x[i];
    if (top == 0) return 0;
    float ends[kLanes];
    for (int k = 0; k < kLanes; ++k) ends[k] = Rule::kTop * (0.55f + 0.06f * (float)k) / top;
    const Lanes inverse = load(ends);
    Lanes lx = all(0), l2 = all(0);
    for (int i = 0; i < kSize; ++i) {
      const Lanes q = Rule::nearest(search, x[i] * inverse);
      lx = lx + (w[i] * x[i]) * q;
      l2 = l2 + (w[i] * q) * q;
    }
    const int best = argmax(gain(most(lx, all(0)), l2));
    return lane(lx, best) > 0 ? lane(lx, best) / lane(l2, best) : 0;
  }
  float evaluate(int g, float scale, Points& p) const {
    return search.run(s.a + g * kSize, b.w + g * kSize, kSize, scale, [&](int i, const Found& f) { p.at[i] = f.point; });
  }
  void sums(int g, const Points& p, float& lx, float& l2) const {
    lx = l2 = 0;
    for (int i = 0; i < kSize; ++i) {
      const auto q = (float)((grid[p.at[i / kPoint]] >> (8 * (i % kPoint))) & 255);
      const float w = b.w[g * kSize + i];
      lx += (w * s.a[g * kSize + i]) * q;
      l2 += (w * q) * q;
    }
  }
};

// IQ1: eight values -1 0 1 a point, all shifted by 1/8 up or down; one shift for 32 weights or one for each 8.
template <int Groups, bool PerPoint>
struct TernaryGroups {
  static constexpr int kGroups = Groups, kSize = 256 / Groups;
  // With a shift a point, IQ1_M looks twice as often at every scale; a third of the work is 0.2 % of the error.
  static constexpr int kSteps = PerPoint ? 3 : 5;
  static constexpr float kWidth = PerPoint ? 0.12f : 0.085f;
  static constexpr bool kOneSide = PerPoint;
  const ScaledBlock& b;
  TernarySearch up, down;

  signed char shift[Groups];  // of a group, once decided: 0 up, 1 down; -1 before

  TernaryGroups(const ScaledBlock& block, bool exact)
      : b(block), up{book(Book::iq1), {-0.875f, 0.125f, 1.125f}, exact}, down{book(Book::iq1), {-1.125f, -0.125f, 0.875f}, exact} {
    for (signed char& s : shift) s = -1;
  }
  // Settles the shift of a group of one shift by what is better at `scale`.
  void decide(int g, float scale) {
    if (PerPoint) return;
    Points p;
    evaluate(g, scale, p);
    shift[g] = (signed char)p.shifted[0];
  }

  float flat(int) const { return 0; }
  float guess(int g) const {
    const float *x = b.x + g * kSize, *w = b.w + g * kSize;
    float top = 0;
    for (int i = 0; i < kSize; ++i)
      if (__builtin_fabsf(x[i]) > top) top = __builtin_fabsf(x[i]);
    if (top == 0) return 0;
    float ends[kLanes];
    for (int k = 0; k < kLanes; ++k) ends[k] = (0.75f + 0.125f * (float)k) / top;
    Lanes lx, l2;
    sums_at<EvenCodes<-1, 1>>(x, w, kSize, load(ends), lx, l2);
    const int best = argmax(gain(lx, l2));
    return lane(l2, best) > 0 ? lane(lx, best) / lane(l2, best) : 0;
  }
  float evaluate(int g, float scale, Points& p) const {
    const float *x = b.x + g * kSize, *w = b.w + g * kSize;
    Found plus[4], minus[4];
    if (!PerPoint && shift[g] >= 0) {
      for (int i = 0; i < kSize / 8; ++i) p.shifted[i] = (uint8_t)shift[g];
      return (shift[g] > 0 ? down : up).run(x, w, kSize, scale, [&](int i, const Found& f) { p.at[i] = f.point; });
    }
    const float a = up.run(x, w, kSize, scale, [&](int i, const Found& f) { plus[i] = f; });
    const float c = down.run(x, w, kSize, scale, [&](int i, const Found& f) { minus[i] = f; });
    float cost = 0;
    for (int i = 0; i < kSize / 8; ++i) {
      const bool lower = PerPoint ? minus[i].cost < plus[i].cost : c < a;
      p.at[i] = lower ? minus[i].point : plus[i].point;
      p.shifted[i] = lower;
      cost += lower ? minus[i].cost : plus[i].cost;
    }
    return cost;
  }
  void sums(int g, const Points& p, float& lx, float& l2) const {
    lx = l2 = 0;
    for (int i = 0; i < kSize; ++i) {
      const auto value = (int8_t)(iq1_grid().at[p.at[i / 8]] >> (8 * (i % 8)));
      const float q = (float)value + (p.shifted[i / 8] ? -0.125f : 0.125f), w = b.w[g * kSize + i];
      lx += (w * b.x[g * kSize + i]) * q;
      l2 += (w * q) * q;
    }
  }
};

// scale of a group = half * unit * (2 l + 1), l = 0 .. Limit.
template <class G, int Limit>
struct CodebookBlock {
  static constexpr int kGroups = G::kGroups;
  HalfScale d{};  // value: times unit
  int l[kGroups]{};
  Points points[kGroups]{};  // zeros where no cost is finite: weights beyond what float32 can square
  float error = 0;

  struct Fit {
    float scale, lx, l2;
  };

  static HalfScale half(const ScaledBlock& b, float unit, float scale) {
    HalfScale h = b.half(scale / unit);
    h.value *= unit;
    return h;
  }
  static constexpr int kFlatSteps = 7;
  // The best scale of a group, of some about the guess; where all magnitudes are much alike, also of some that put them on
  // the lowest level, whose points are the most regular.
  static Fit fit(G& groups, int g, Search search) {
    const float guess = groups.guess(g);
    Fit f{guess, 0, 0};
    if (guess == 0) return f;
    if (search == Search::normal) groups.decide(g, guess);
    Points p{};
    float least = 3e38f;
    const int steps = search == Search::thorough ? 15 : G::kSteps;
    const float width = search == Search::thorough ? 0.04f : G::kWidth;
    const float flat = groups.flat(g);
    for (int k = 0; k < steps + (flat > 0 ? kFlatSteps : 0); ++k) {
      Points q;
      const float s =
          k < steps ? guess * (1.0f + width * (float)(k - steps / 2)) : flat * (1.0f + 0.05f * (float)(k - steps - kFlatSteps / 2));
      const float cost = groups.evaluate(g, s, q);
      if (cost < least) {
        least = cost;
        p = q;
      }
    }
    groups.sums(g, p, f.lx, f.l2);
    f.scale = f.l2 > 0 && f.lx > 0 ? f.lx / f.l2 : 0;
    return f;
  }
  static HalfScale choose(const ScaledBlock& b, const Fit* fits, float unit) {
    float top = 0;
    for (int g = 0; g < kGroups; ++g)
      if (fits[g].scale > top) top = fits[g].scale;
    HalfScale halves[kLanes];
    float scales[kLanes];
    for (int k = 0; k < kLanes; ++k) {
      halves[k] = half(b, unit, top / ((2 * Limit + 1) * (1.06f - 0.02f * (float)k)));
      scales[k] = halves[k].value;
    }
    const Lanes d = load(scales);
    const Mask some = all(0) < d;
    const Lanes inverse = select(some, all(1) / select(some, d, all(1)), all(0));
    Lanes cost = all(0);
    for (int g = 0; g < kGroups; ++g) {
      const Lanes s = d * (2.0f * round_even(clamp(0.5f * (fits[g].scale * inverse - 1.0f), 0, Limit)) + 1.0f);
      cost = cost + s * (s * fits[g].l2 - 2.0f * fits[g].lx);
    }
    return halves[argmax(all(0) - bounded(cost))];
  }
  static int nearest_code(float scale, float d) {
    const float v = d > 0 ? 0.5f * (scale / d - 1.0f) : 0.0f;
    return (int)round_even(!(v > 0) ? 0 : v > Limit ? (float)Limit : v);
  }
  // Integer scales and points at half, of the nearest scales and `reach` on either side, or on that of the scale alone.
  void settle(const G& groups, const Fit* fits, HalfScale half, int reach, bool one_side = false) {
    d = half;
    error = 0;
    for (int g = 0; g < kGroups; ++g) {
      const int about = nearest_code(fits[g].scale, d.value);
      const bool above = fits[g].scale > d.value * (float)(2 * about + 1);
      const int low = one_side && above ? 0 : reach, high = one_side && !above ? 0 : reach;
      float least = 3e38f;
      for (int c = about - low; c <= about + high; ++c) {
        if (c < 0 || c > Limit) continue;
        Points p;
        const float cost = groups.evaluate(g, d.value * (float)(2 * c + 1), p);
        if (cost < least) {
          least = cost;
          l[g] = c;
          points[g] = p;
        }
      }
      error += least;
    }
  }
  HalfScale refit(const ScaledBlock& b, const G& groups, float unit) const {
    float lx = 0, l2 = 0;
    for (int g = 0; g < kGroups; ++g) {
      float gx, g2;
      groups.sums(g, points[g], gx, g2);
      const auto s = (float)(2 * l[g] + 1);
      lx += s * gx;
      l2 += (s * s) * g2;
    }
    return l2 > 0 && lx > 0 ? half(b, unit, lx / l2) : d;
  }

  static CodebookBlock solve(const ScaledBlock& b, G groups, float unit, Search search) {
    Fit fits[kGroups];
    for (int g = 0; g < kGroups; ++g) fits[g] = fit(groups, g, search);
    CodebookBlock best, next;
    const HalfScale first = choose(b, fits, unit);
    best.settle(groups, fits, first, 1, G::kOneSide && search == Search::normal);
    next = best;
    const int rounds = search == Search::thorough ? 6 : 1;
    for (int round = 0; round < rounds; ++round) {
      const HalfScale d = next.refit(b, groups, unit);
      if (d.bits == next.d.bits) break;
      next.settle(groups, fits, d, search == Search::thorough ? 1 : 0);
      if (next.error < best.error) best = next;
    }
    if (search == Search::thorough) best.comb(b, groups, fits, unit);
    return best;
  }
  void comb(const ScaledBlock& b, const G& groups, const Fit* fits, float unit) {
    const float start = d.value;
    for (int k = -5; k <= 5; ++k) {
      CodebookBlock next;
      next.settle(groups, fits, half(b, unit, start * (1.0f + 0.03f * (float)k)), 1);
      const HalfScale again = next.refit(b, groups, unit);
      if (again.bits != next.d.bits) {
        CodebookBlock other;
        other.settle(groups, fits, again, 0);
        if (other.error < next.error) next = other;
      }
      if (next.error < error) *this = next;
    }
  }
};

}  // namespace HZ_UNIT
}  // namespace hz::quant
