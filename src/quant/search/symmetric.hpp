// SPDX-License-Identifier: Apache-2.0
// Formats without a minimum, weight = scale * value(code): the scale of each group by least squares over candidates,
// then the block's half scale and the groups' integer scales together.
#pragma once
#include "hanzo/quant/format/iq4_nl.h"
#include "src/quant/search/block.hpp"

namespace hz::quant {
inline namespace HZ_UNIT {

// Values of evenly spaced codes: Low .. High.
template <int Low, int High>
struct EvenCodes {
  static constexpr float kLow = Low, kHigh = High, kStep = 1;
  static constexpr int kCodes = High - Low + 1;
  HZ_LANES Lanes nearest(const Lanes& v) { return round_even(clamp(v, kLow, kHigh)); }
  HZ_LANES Lanes codes(const Lanes& v) { return nearest(v) - kLow; }
  HZ_FN int code(float v) { return (int)round_even(!(v > kLow) ? kLow : v > kHigh ? kHigh : v) - Low; }  // NaN: Low
  HZ_FN float value(int code) { return (float)(code + Low); }
};

// The sixteen values of IQ4_NL and IQ4_XS.
struct Iq4Codes {
  static constexpr float kLow = -127, kHigh = 113, kStep = 16;
  static constexpr int kCodes = 16;
  HZ_FN float threshold(int k) { return 0.5f * (float)(iq4_values().at[k] + iq4_values().at[k + 1]); }
  HZ_LANES Lanes nearest(const Lanes& v) {
    Lanes y = all(kLow);
    for (int k = 0; k < 15; ++k) y = select(all(threshold(k)) < v, all((float)iq4_values().at[k + 1]), y);
    return y;
  }
  HZ_LANES Lanes codes(const Lanes& v) {
    Lanes c = all(0);
    for (int k = 0; k < 15; ++k) c = c + select(all(threshold(k)) < v, all(1), all(0));
    return c;
  }
  HZ_FN int code(float v) {
    int c = 0;
    for (int k = 0; k < 15; ++k) c += threshold(k) < v;
    return c;
  }
  HZ_FN float value(int code) { return (float)iq4_values().at[code]; }
};

// A group's best scale and its sums over the codes that go with it: lx = sum w x q, l2 = sum w q q.
struct GroupFit {
  float scale, lx, l2;
};

// For sixteen inverse scales: the sums over the nearest codes; with Groups = 2 those of two groups which stand one after the
// other, each for eight: lanes 0 .. 7 and 8 .. 15.
template <class C, int Groups = 1>
HZ_LANES void sums_at(const float* x, const float* w, int n, const Lanes& inverse, Lanes& lx, Lanes& l2) {
  lx = l2 = all(0);
  for (int i = 0; i < n; ++i) {
    const Lanes v = Groups == 1 ? all(x[i]) : halves(x[i], x[n + i]), weight = Groups == 1 ? all(w[i]) : halves(w[i], w[n + i]);
    const Lanes q = C::nearest(v * inverse);
    lx = lx + (weight * v) * q;
    l2 = l2 + (weight * q) * q;
  }
}
// An error as it can be compared: one that is not finite counts as very large.
HZ_LANES Lanes bounded(const Lanes& error) { return select(error < all(1e30f), error, all(1e30f)); }

// What the best scale for these codes takes off the squared error.
HZ_LANES Lanes gain(const Lanes& lx, const Lanes& l2) { return select(all(0) < l2, lx * lx / select(all(0) < l2, l2, all(1)), all(0)); }

// The first of the largest magnitude; n is a multiple of 16.
HZ_FN float extreme(const float* x, int n) {
  float top = 0;
  for (int i = 0; i < n; i += kLanes) {
    const float v = x[i + argmax(magnitude(load(x + i)))];
    if (__builtin_fabsf(v) > __builtin_fabsf(top)) top = v;
  }
  return top;
}

template <class C>
static inline GroupFit fit_group(const float* x, const float* w, int n) {
  const float top = extreme(x, n);
  if (top == 0) return {0, 0, 0};
  // The largest magnitude goes to the lowest or the highest code, or up to a step past or short of it.
  float ends[kLanes];
  for (int k = 0; k < 8; ++k) {
    const float shift = C::kStep * (0.26f * (float)k - 0.9f);
    ends[k] = (C::kLow - shift) / top;
    ends[8 + k] = (C::kHigh + shift) / top;
  }
  Lanes inverse = load(ends), lx, l2;
  sums_at<C>(x, w, n, inverse, lx, l2);
  int best = argmax(gain(lx, l2));
  // A finer comb about the best; its middle is the best itself, its last the least-squares scale.
  const float about = ends[best], refit = lane(lx, best) != 0 ? lane(l2, best) / lane(lx, best) : about;
  for (int k = 0; k < kLanes; ++k) ends[k] = about * (1.0f + (float)(k - 7) * (0.05f * C::kStep / C::kHigh));
  ends[15] = refit;
  inverse = load(ends);
  sums_at<C>(x, w, n, inverse, lx, l2);
  best = argmax(gain(lx, l2));
  const float a = lane(lx, best), b = lane(l2, best);
  return {b > 0 ? a / b : 0, a, b};
}

// Two groups which stand one after the other, from one comb of eight candidates each.
template <class C>
static inline void fit_two_groups(const float* x, const float* w, int n, GroupFit* fits) {
  float ends[kLanes], gains[kLanes], sx[kLanes], s2[kLanes];
  for (int side = 0; side < 2; ++side) {
    const float top = extreme(x + side * n, n), any = top != 0 ? top : 1;
    for (int k = 0; k < 4; ++k) {
      const float shift = C::kStep * (0.42f * (float)k - 0.7f);
      ends[8 * side + k] = (C::kLow - shift) / any;
      ends[8 * side + 4 + k] = (C::kHigh + shift) / any;
    }
  }
  Lanes lx, l2;
  sums_at<C, 2>(x, w, n, load(ends), lx, l2);
  store(gains, gain(lx, l2));
  store(sx, lx);
  store(s2, l2);
  for (int side = 0; side < 2; ++side) {
    int best = 8 * side;
    for (int k = best + 1; k < 8 * side + 8; ++k)
      if (gains[k] > gains[best]) best = k;
    fits[side] = {s2[best] > 0 ? sx[best] / s2[best] : 0, sx[best], s2[best]};
  }
}

// Squared error of the group at sixteen scales, each element at its nearest code; of two groups as above.
template <class C, int Groups = 1>
HZ_LANES Lanes errors_at(const float* x, const float* w, int n, const Lanes& scale) {
  const Lanes usable = select(all(0) < magnitude(scale), scale, all(1));
  const Lanes inverse = select(all(0) < magnitude(scale), all(1) / usable, all(0));
  Lanes error = all(0);
  for (int i = 0; i < n; ++i) {
    const Lanes v = Groups == 1 ? all(x[i]) : halves(x[i], x[n + i]), weight = Groups == 1 ? all(w[i]) : halves(w[i], w[n + i]);
    const Lanes e = v - scale * C::nearest(v * inverse);
    error = error + (weight * e) * e;
  }
  return bounded(error);
}
template <class C>
static inline GroupFit sums_of(const float* x, const float* w, int n, float scale) {
  const float inverse = scale != 0 ? 1.0f / scale : 0.0f;
  GroupFit f{scale, 0, 0};
  for (int i = 0; i < n; ++i) {
    const float q = C::value(C::code(x[i] * inverse));
    f.lx += (w[i] * x[i]) * q;
    f.l2 += (w[i] * q) * q;
  }
  return f;
}

// 256 weights in Groups groups, each with an integer scale Low .. High times one half.
template <class C, int Groups, int Low, int High>
struct SymmetricBlock {
  static constexpr int kSize = 256 / Groups;
  HalfScale d;
  int l[Groups];
  float error;

  static void fit(const ScaledBlock& b, GroupFit* fits) {
    for (int g = 0; g < Groups; ++g) fits[g] = fit_group<C>(b.x + g * kSize, b.w + g * kSize, kSize);
  }

  // The half scale of the sign that `end` has, of sixteen that put the largest group scale near that end of the range,
  // by the squared error that the groups' codes, kept as they are, would have.
  static HalfScale choose(const ScaledBlock& b, const GroupFit* fits, float end) {
    float top = 0;
    for (int g = 0; g < Groups; ++g)
      if (__builtin_fabsf(fits[g].scale) > __builtin_fabsf(top)) top = fits[g].scale;
    HalfScale halves[kLanes];
    float scales[kLanes];
    for (int k = 0; k < kLanes; ++k) {
      halves[k] = b.half(top / (end * (1.015f - 0.03f * (float)k)));
      scales[k] = halves[k].value;
    }
    return halves[argmax(all(0) - predicted(fits, load(scales)))];
  }
  static Lanes predicted(const GroupFit* fits, const Lanes& d) {
    const Lanes usable = select(all(0) < magnitude(d), d, all(1)), inverse = select(all(0) < magnitude(d), all(1) / usable, all(0));
    Lanes error = all(0);
    for (int g = 0; g < Groups; ++g) {
      const Lanes s = d * round_even(clamp(fits[g].scale * inverse, Low, High));
      error = error + s * (s * fits[g].l2 - 2.0f * fits[g].lx);
    }
    return bounded(error);
  }
  // The integer scales at d, of 16 / Together neighbours each by the true error, Together groups at a time.
  template <int Together = 1>
  void settle(const ScaledBlock& b, const GroupFit* fits, HalfScale half) {
    constexpr int kEach = kLanes / Together;
    d = half;
    error = 0;
    for (int g = 0; g < Groups; g += Together) {
      float codes[kLanes], errors[kLanes];
      for (int k = 0; k < kLanes; ++k) {
        const float about = d.value != 0 ? round_even(clamped(fits[g + k / kEach].scale / d.value)) : 0;
        const int step = k % kEach;
        codes[k] = clamped(about + (float)((step + 1) / 2 * (step % 2 ? 1 : -1)));  // 0, 1, -1, 2, -2 ...
      }
      store(errors, errors_at<C, Together>(b.x + g * kSize, b.w + g * kSize, kSize, d.value * load(codes)));
      for (int side = 0; side < Together; ++side) {
        int best = side * kEach;
        for (int k = best + 1; k < (side + 1) * kEach; ++k)
          if (errors[k] < errors[best]) best = k;
        l[g + side] = (int)codes[best];
        error += errors[best];
      }
    }
  }
  // The least-squares half for the codes that stand.
  HalfScale refit(const ScaledBlock& b) const {
    float lx = 0, l2 = 0;
    for (int g = 0; g < Groups; ++g) {
      const GroupFit f = sums_of<C>(b.x + g * kSize, b.w + g * kSize, kSize, d.value * (float)l[g]);
      lx += (float)l[g] * f.lx;
      l2 += (float)(l[g] * l[g]) * f.l2;
    }
    return l2 > 0 ? b.half(lx / l2) : d;
  }
  static float clamped(float v) { return v < (float)Low ? (float)Low : v > (float)High ? (float)High : v; }

  // All weights are alike: of all products of scale and code the one whose half comes nearest.
  static SymmetricBlock solve_alike(const ScaledBlock& b) {
    SymmetricBlock best;
    best.d = b.half(b.x[0] / ((float)Low * C::kLow));  // stays where every half is zero or infinite
    for (int g = 0; g < Groups; ++g) best.l[g] = Low;
    float least = 3e38f;
    for (int s = Low; s <= High; ++s)
      for (int code = 0; code < C::kCodes; ++code) {
        const float product = (float)s * C::value(code);
        if (product == 0) continue;
        const HalfScale d = b.half(b.x[0] / product);
        const float off = __builtin_fabsf(d.value * product - b.x[0]);
        if (!(off < least) || d.bits == 0) continue;
        least = off;
        best.d = d;
        for (int g = 0; g < Groups; ++g) best.l[g] = s;
      }
    return best;
  }

  // quick: where groups are alike in size, a short comb and one round of a few integer scales, for a thousandth more error.
  static SymmetricBlock solve(const ScaledBlock& b, Search search, bool quick = false) {
    if (b.alike) return solve_alike(b);
    GroupFit fits[Groups];
    SymmetricBlock best;
    if (quick) {
      for (int g = 0; g < Groups; g += 2) fit_two_groups<C>(b.x + g * kSize, b.w + g * kSize, kSize, fits + g);
      if (!uneven(fits)) {
        best.template settle<2>(b, fits, choose(b, fits, Low));
        return best;
      }
    }
    fit(b, fits);
    best.settle(b, fits, choose(b, fits, Low));
    SymmetricBlock other;
    other.settle(b, fits, choose(b, fits, High));
    if (other.error < best.error) best = other;
    const int rounds = search == Search::thorough ? 8 : 2;
    SymmetricBlock next = best;
    for (int round = 0; round < rounds; ++round) {
      const HalfScale d = next.refit(b);
      if (d.bits == next.d.bits) break;
      next.settle(b, fits, d);
      if (next.error < best.error) best = next;
    }
    if (search == Search::thorough) best.comb(b, fits, 12, 0.012f);
    else if (uneven(fits)) best.comb(b, fits, 5, 0.03f);
    return best;
  }
  // One group is much larger than another, so that the small one has few integer scales to choose from.
  static bool uneven(const GroupFit* fits) {
    float low = 3e38f, high = 0;
    for (int g = 0; g < Groups; ++g) {
      const float s = __builtin_fabsf(fits[g].scale);
      if (s < low) low = s;
      if (s > high) high = s;
    }
    return high > 8 * low;
  }
  // Halves on both sides of the best.
  void comb(const ScaledBlock& b, const GroupFit* fits, int reach, float width) {
    const SymmetricBlock start = *this;
    for (int k = -reach; k <= reach; ++k) {
      SymmetricBlock next;
      next.settle(b, fits, b.half(start.d.value * (1.0f + width * (float)k)));
      const HalfScale d = next.refit(b);
      if (d.bits != next.d.bits) {
        SymmetricBlock again;
        again.settle(b, fits, d);
        if (again.error < next.error) next = again;
      }
      if (next.error < error) *this = next;
    }
  }
  void codes(const ScaledBlock& b, uint8_t* out) const {
    for (int g = 0; g < Groups; ++g) {
      const float s = d.value * (float)l[g], inverse = s != 0 ? 1.0f / s : 0.0f;
      for (int i = g * kSize; i < (g + 1) * kSize; i += kLanes) {
        float codes[kLanes];
        store(codes, C::codes(load(b.x + i) * inverse));
        for (int k = 0; k < kLanes; ++k) out[i + k] = (uint8_t)(int)codes[k];
      }
    }
  }
};

// 32 weights with a half scale of their own.
template <class C>
static inline HalfScale solve_single(const ScaledBlock& b, uint8_t* codes) {
  const GroupFit fit = fit_group<C>(b.x, b.w, 32);
  const HalfScale about = b.half(fit.scale);
  if (!half_finite(about.bits)) return about;
  // The halves about the best scale, each by its true error; where all weights are alike, those that put them on a code.
  HalfScale halves[kLanes];
  float scales[kLanes];
  HalfScale best = about;
  float least = 3e38f;
  for (int round = 0; round < (b.alike ? 3 : 1); ++round) {
    for (int k = 0; k < kLanes; ++k) {
      const int offset = (k + 1) / 2 * (k % 2 ? 1 : -1), magnitude = (about.bits & 0x7fff) + offset, code = kLanes * (round - 1) + k;
      const int kept = magnitude < 0 ? 0 : magnitude > 0x7bff ? 0x7bff : magnitude;
      halves[k] = b.half_of((uint16_t)((about.bits & 0x8000) | kept));
      if (round > 0 && code < C::kCodes && C::value(code) != 0) halves[k] = b.half(b.x[0] / C::value(code));
      if (!half_finite(halves[k].bits)) halves[k] = about;
      scales[k] = halves[k].value;
    }
    float errors[kLanes];
    store(errors, errors_at<C>(b.x, b.w, 32, load(scales)));
    for (int k = 0; k < kLanes; ++k)
      if (errors[k] < least) {
        least = errors[k];
        best = halves[k];
      }
  }
  const float inverse = best.value != 0 ? 1.0f / best.value : 0.0f;
  for (int i = 0; i < 32; ++i) codes[i] = (uint8_t)C::code(b.x[i] * inverse);
  return best;
}

}  // namespace HZ_UNIT
}  // namespace hz::quant
