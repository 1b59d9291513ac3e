// SPDX-License-Identifier: Apache-2.0
// Formats with a minimum, weight = scale * code - minimum: both of a group by least squares over candidates, then the
// block's two halves and the groups' integer scales and minimums together.
#pragma once
#include "src/quant/search/symmetric.hpp"

namespace hz::quant {
inline namespace HZ_UNIT {

// Weighted sums of a group over its codes.
struct MinSums {
  float wq = 0, wqq = 0, wxq = 0;
};
struct MinFit {
  float scale = 0, minimum = 0;  // weight = scale * code - minimum
  float w = 0, wx = 0;           // sums of the group, whatever its codes
  MinSums sums;
};

// Sixteen candidates (scale, minimum): codes, then the least-squares pair for them. Nonnegative: no minimum below 0.
template <int Top, bool Nonnegative>
struct MinCandidates {
  Lanes scale, minimum, gain, wq, wqq, wxq;

  MinCandidates(const float* x, const float* w, int n, float sw, float swx, const Lanes& from_scale, const Lanes& from_minimum) {
    const Lanes inverse = all(1) / from_scale, shift = from_minimum * inverse;
    wq = wqq = wxq = all(0);
    for (int i = 0; i < n; ++i) {
      const Lanes q = round_even(clamp(x[i] * inverse + shift, 0, Top));
      const Lanes weighted = w[i] * q;
      wq = wq + weighted;
      wqq = wqq + weighted * q;
      wxq = wxq + weighted * x[i];
    }
    const Lanes determinant = sw * wqq - wq * wq;
    const Mask regular = 1e-5f * (sw * wqq) < determinant, any = all(0) < wqq;
    const Lanes divisor = select(regular, determinant, all(1));
    scale = (sw * wxq - swx * wq) / divisor;
    minimum = (swx * wqq - wq * wxq) / divisor;
    minimum = all(0) - minimum;
    const Lanes alone = select(any, wxq / select(any, wqq, all(1)), all(0));
    scale = select(regular, scale, alone);
    minimum = select(regular, minimum, all(0));
    if constexpr (Nonnegative) {
      const Mask below = minimum < all(0);
      scale = select(below, alone, scale);
      minimum = select(below, all(0), minimum);
    }
    gain = scale * (2.0f * wxq - scale * wqq) + minimum * (2.0f * scale * wq - 2.0f * swx - minimum * sw);
    gain = select(all(0) < scale, gain, all(-1e30f));
  }
};

template <int Top, bool Nonnegative>
static inline MinFit fit_group_minimum(const float* x, const float* w, int n) {
  MinFit fit;
  float low = Nonnegative ? 0 : x[0], high = x[0];
  for (int i = 0; i < n; ++i) {
    if (x[i] < low) low = x[i];
    if (x[i] > high) high = x[i];
    fit.w += w[i];
    fit.wx += w[i] * x[i];
  }
  if (!(high > low)) {
    fit.minimum = -low;  // alike; code 0 throughout
    return fit;
  }
  // Both ends a little outside or inside of the extremes, in steps of a code.
  using Candidates = MinCandidates<Top, Nonnegative>;
  float gained = -1e30f;
  const auto consider = [&](const float* scales, const float* minimums) {
    const Candidates c(x, w, n, fit.w, fit.wx, load(scales), load(minimums));
    const int best = argmax(c.gain);
    if (!(lane(c.gain, best) > gained)) return;
    gained = lane(c.gain, best);
    fit.scale = lane(c.scale, best);
    fit.minimum = lane(c.minimum, best);
    fit.sums = {lane(c.wq, best), lane(c.wqq, best), lane(c.wxq, best)};
  };
  float scales[kLanes], minimums[kLanes];
  const float step = (high - low) / Top;
  const auto consider_ends = [&](const float* inside) {
    for (int k = 0; k < kLanes; ++k) {
      const float begin = low + inside[k % 4] * step, end = high - inside[k / 4] * step;
      scales[k] = (end - begin) / Top;
      minimums[k] = Nonnegative && begin > 0 ? 0 : -begin;
    }
    consider(scales, minimums);
  };
  constexpr float kInside[4] = {-0.1f, 0.15f, 0.4f, 0.75f}, kWide[4] = {-1.4f, -0.9f, -0.5f, 1.2f};
  consider_ends(kInside);
  // An outlier leaves the others few codes: it pays to look farther.
  float spread = 0;
  for (int i = 0; i < n; ++i) spread += (w[i] * (x[i] - fit.wx / fit.w)) * (x[i] - fit.wx / fit.w);
  if (Top > 3 && spread * 25 < fit.w * ((high - low) * (high - low))) consider_ends(kWide);
  if (!(fit.scale > 0)) return fit;
  constexpr float kAbout[4] = {-0.3f, -0.1f, 0.1f, 0.3f};
  const float s = fit.scale, m = fit.minimum;
  for (int k = 0; k < kLanes; ++k) {
    scales[k] = s * (1.0f + kAbout[k % 4] / Top);
    minimums[k] = m + kAbout[k / 4] * s;
    if (Nonnegative && minimums[k] < 0) minimums[k] = 0;
  }
  consider(scales, minimums);
  return fit;
}

// Squared error of the group for sixteen pairs, each element at its nearest code.
template <int Top>
HZ_LANES Lanes min_errors_at(const float* x, const float* w, int n, const Lanes& scale, const Lanes& minimum) {
  const Mask some = all(0) < magnitude(scale);
  const Lanes inverse = select(some, all(1) / select(some, scale, all(1)), all(0)), shift = minimum * inverse;
  Lanes error = all(0);
  for (int i = 0; i < n; ++i) {
    const Lanes e = x[i] - (scale * round_even(clamp(x[i] * inverse + shift, 0, Top)) - minimum);
    error = error + (w[i] * e) * e;
  }
  return bounded(error);
}
template <int Top>
HZ_FN int min_code(float x, float scale, float minimum) {
  const float inverse = scale != 0 ? 1.0f / scale : 0.0f, v = x * inverse + minimum * inverse;
  return (int)round_even(!(v > 0) ? 0 : v > Top ? Top : v);  // a subnormal scale has no inverse: NaN counts as 0
}
template <int Top>
static inline MinSums min_sums_of(const float* x, const float* w, int n, float scale, float minimum) {
  MinSums s;
  for (int i = 0; i < n; ++i) {
    const float q = (float)min_code<Top>(x[i], scale, minimum), weighted = w[i] * q;
    s.wq += weighted;
    s.wqq += weighted * q;
    s.wxq += weighted * x[i];
  }
  return s;
}

struct MinPair {
  float scale, minimum;
};
// The least-squares pair (d, dmin) of normal equations a d - b m = p, -b d + c m = -q.
HZ_FN MinPair solve_pair(float a, float b, float c, float p, float q, MinPair otherwise) {
  const float determinant = a * c - b * b;
  if (determinant > 1e-6f * (a * c)) return {(p * c - b * q) / determinant, (b * p - a * q) / determinant};
  if (a > 0) return {p / a, otherwise.minimum};
  if (c > 0) return {otherwise.scale, -q / c};
  return otherwise;
}

// 256 weights in Groups groups with integer scales and minimums 0 .. Limit.
template <int Top, int Groups, int Limit>
struct MinimumBlock {
  static constexpr int kSize = 256 / Groups;
  HalfScale d, dmin;
  int scale[Groups], minimum[Groups];
  float error;

  static float clamped(float v) { return !(v > 0) ? 0 : v > Limit ? (float)Limit : v; }

  // The two halves, by the error with the codes as they are: of four each that put the largest near the end of the
  // range, then of sixteen each over a wider span, since one large group leaves the others few steps.
  void choose(const ScaledBlock& b, const MinFit* fits) {
    float top = 0, deepest = 0;
    for (int g = 0; g < Groups; ++g) {
      if (fits[g].scale > top) top = fits[g].scale;
      if (fits[g].minimum > deepest) deepest = fits[g].minimum;
    }
    HalfScale ds[kLanes], mins[kLanes];
    for (int k = 0; k < kLanes; ++k) {
      ds[k] = b.half(top / ((float)Limit + 0.4f - 0.6f * (float)(k % 4)));
      mins[k] = b.half(deepest / ((float)Limit + 0.4f - 0.6f * (float)(k / 4)));
    }
    pick(fits, ds, mins);
    constexpr float kStep = Limit > 15 ? 1.25f : 0.5f;
    for (int k = 0; k < kLanes; ++k) {
      ds[k] = k == 0 ? d : b.half(top / ((float)Limit + 1.0f - kStep * (float)k));
      mins[k] = dmin;
    }
    pick(fits, ds, mins);
    for (int k = 0; k < kLanes; ++k) {
      ds[k] = d;
      mins[k] = k == 0 ? dmin : b.half(deepest / ((float)Limit + 1.0f - kStep * (float)k));
    }
    pick(fits, ds, mins);
  }
  void pick(const MinFit* fits, const HalfScale* ds, const HalfScale* mins) {
    float dv[kLanes], mv[kLanes];
    for (int k = 0; k < kLanes; ++k) {
      dv[k] = ds[k].value;
      mv[k] = mins[k].value;
    }
    const int best = argmax(all(0) - predicted(fits, load(dv), load(mv)));
    d = ds[best];
    dmin = mins[best];
  }
  static Lanes predicted(const MinFit* fits, const Lanes& d, const Lanes& dmin) {
    const Mask some = all(0) < d, deep = all(0) < dmin;
    const Lanes inverse = select(some, all(1) / select(some, d, all(1)), all(0)),
                inverse_min = select(deep, all(1) / select(deep, dmin, all(1)), all(0));
    Lanes error = all(0);
    for (int g = 0; g < Groups; ++g) {
      const MinFit& f = fits[g];
      const Lanes s = d * round_even(clamp(f.scale * inverse, 0, Limit)), m = dmin * round_even(clamp(f.minimum * inverse_min, 0, Limit));
      error = error + s * (s * f.sums.wqq - 2.0f * f.sums.wxq) + m * (2.0f * f.wx - 2.0f * s * f.sums.wq + m * f.w);
    }
    return bounded(error);
  }
  // Integer scales and minimums at d and dmin, of three by five neighbours each by the true error.
  void settle(const ScaledBlock& b, const MinFit* fits) {
    error = 0;
    for (int g = 0; g < Groups; ++g) {
      const float s = d.value > 0 ? round_even(clamped(fits[g].scale / d.value)) : 0,
                  m = dmin.value > 0 ? round_even(clamped(fits[g].minimum / dmin.value)) : 0;
      float scales[kLanes], minimums[kLanes], errors[kLanes];
      for (int k = 0; k < 15; ++k) {
        scales[k] = clamped(s + (float)(k % 3 == 0 ? 0 : k % 3 == 1 ? 1 : -1));
        minimums[k] = clamped(m + (float)((k / 3 + 1) / 2 * (k / 3 % 2 ? 1 : -1)));
      }
      scales[15] = clamped(s + 2);
      minimums[15] = clamped(m + 1);
      store(errors, min_errors_at<Top>(b.x + g * kSize, b.w + g * kSize, kSize, d.value * load(scales), dmin.value * load(minimums)));
      int best = 0;
      for (int k = 1; k < kLanes; ++k)
        if (errors[k] < errors[best]) best = k;
      scale[g] = (int)scales[best];
      minimum[g] = (int)minimums[best];
      error += errors[best];
    }
  }
  // Least-squares halves for the codes that stand; false when they are the same.
  bool refit(const ScaledBlock& b, const MinFit* fits) {
    float a = 0, bb = 0, c = 0, p = 0, q = 0;
    for (int g = 0; g < Groups; ++g) {
      const auto s = (float)scale[g], m = (float)minimum[g];
      const MinSums sums = min_sums_of<Top>(b.x + g * kSize, b.w + g * kSize, kSize, d.value * s, dmin.value * m);
      a += s * s * sums.wqq;
      bb += s * m * sums.wq;
      c += m * m * fits[g].w;
      p += s * sums.wxq;
      q += m * fits[g].wx;
    }
    const MinPair pair = solve_pair(a, bb, c, p, q, {d.value, dmin.value});
    if (!(pair.scale >= 0 && pair.minimum >= 0)) return false;
    const HalfScale next = b.half(pair.scale), next_min = b.half(pair.minimum);
    const bool changed = next.bits != d.bits || next_min.bits != dmin.bits;
    d = next;
    dmin = next_min;
    return changed;
  }

  static MinimumBlock solve(const ScaledBlock& b, Search search) {
    MinFit fits[Groups];
    for (int g = 0; g < Groups; ++g)
      fits[g] = g > 0 && b.alike ? fits[0] : fit_group_minimum<Top, true>(b.x + g * kSize, b.w + g * kSize, kSize);
    MinimumBlock best;
    best.choose(b, fits);
    best.settle(b, fits);
    best.improve(b, fits, search == Search::thorough ? 8 : 2);
    if (search == Search::thorough || uneven(fits)) best.comb(b, fits);
    return best;
  }
  static bool uneven(const MinFit* fits) {  // as SymmetricBlock's
    float low = 3e38f, high = 0;
    for (int g = 0; g < Groups; ++g) {
      if (fits[g].scale < low) low = fits[g].scale;
      if (fits[g].scale > high) high = fits[g].scale;
    }
    return high > 8 * low || high == low;
  }
  void improve(const ScaledBlock& b, const MinFit* fits, int rounds) {
    MinimumBlock next = *this;
    for (int round = 0; round < rounds && next.refit(b, fits); ++round) {
      next.settle(b, fits);
      if (next.error < error) *this = next;
    }
  }
  // Pairs of halves about the best.
  void comb(const ScaledBlock& b, const MinFit* fits) {
    const MinimumBlock start = *this;
    for (int k = 0; k < 25; ++k) {
      MinimumBlock next = start;
      constexpr float kWidth = Limit > 15 ? 0.012f : 0.03f;
      next.d = b.half(start.d.value * (1.0f + kWidth * (float)(k % 5 - 2)));
      next.dmin = b.half(start.dmin.value * (1.0f + kWidth * (float)(k / 5 - 2)));
      next.settle(b, fits);
      next.improve(b, fits, 1);
      if (next.error < error) *this = next;
    }
  }
  void codes(const ScaledBlock& b, uint8_t* out) const {
    for (int g = 0; g < Groups; ++g)
      for (int i = g * kSize; i < (g + 1) * kSize; ++i)
        out[i] = (uint8_t)min_code<Top>(b.x[i], d.value * (float)scale[g], dmin.value * (float)minimum[g]);
  }
};

// 32 weights with a half scale and a half minimum of their own; the minimum is added.
struct SinglePair {
  HalfScale d, m;
};
template <int Top>
static inline SinglePair solve_single_minimum(const ScaledBlock& b, uint8_t* codes) {
  const MinFit fit = fit_group_minimum<Top, false>(b.x, b.w, 32);
  HalfScale m = b.half(-fit.minimum), d = b.half(fit.scale);
  if (fit.scale == 0) d = b.half(-fit.minimum - m.value);  // all alike: one step from a half to the value
  if (!half_finite(d.bits) || !half_finite(m.bits)) return {d, m};
  SinglePair pairs[kLanes];
  float scales[kLanes], minimums[kLanes];
  const auto near = [&](const HalfScale& h, int offset) {
    const int magnitude = (h.bits & 0x7fff) + offset, kept = magnitude < 0 ? 0 : magnitude > 0x7bff ? 0x7bff : magnitude;
    return b.half_of((uint16_t)((h.bits & 0x8000) | kept));
  };
  for (int k = 0; k < kLanes; ++k) {
    constexpr int kOffsets[4] = {0, 1, -1, 2};
    pairs[k] = {near(d, kOffsets[k % 4]), near(m, kOffsets[k / 4])};
    scales[k] = pairs[k].d.value;
    minimums[k] = -pairs[k].m.value;
  }
  const SinglePair best = pairs[argmax(all(0) - min_errors_at<Top>(b.x, b.w, 32, load(scales), load(minimums)))];
  for (int i = 0; i < 32; ++i) codes[i] = (uint8_t)min_code<Top>(b.x[i], best.d.value, -best.m.value);
  return best;
}

}  // namespace HZ_UNIT
}  // namespace hz::quant
