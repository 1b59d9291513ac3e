// SPDX-License-Identifier: Apache-2.0
// Lane primitives, NEON of AArch64 with dot product: eight lanes as two vectors of four.
#pragma once
#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

#include "hanzo/quant/format/portable.h"

namespace hz::cpu {
inline namespace HZ_UNIT {

constexpr int kLanes = 8;
struct V {
  float32x4_t lo, hi;
  // What the formats write of their scales.
  friend V operator-(V a) { return {-a.lo, -a.hi}; }
  friend V operator+(V a, V b) { return {a.lo + b.lo, a.hi + b.hi}; }
  friend V operator*(V a, V b) { return {a.lo * b.lo, a.hi * b.hi}; }
  friend V operator*(V a, float b) { return {a.lo * b, a.hi * b}; }
};
struct VI {
  int32x4_t lo, hi;
};
struct Mask {
  uint32x4_t lo, hi;
};

HZ_FN V load(const float* p) { return {vld1q_f32(p), vld1q_f32(p + 4)}; }
HZ_FN void store(float* p, V v) {
  vst1q_f32(p, v.lo);
  vst1q_f32(p + 4, v.hi);
}
HZ_FN V load_first(const float* p, int n, float fill) {
  float all[kLanes];
  for (int i = 0; i < kLanes; ++i) all[i] = i < n ? p[i] : fill;
  return load(all);
}
HZ_FN void store_first(float* p, V v, int n) {
  float all[kLanes];
  store(all, v);
  for (int i = 0; i < kLanes && i < n; ++i) p[i] = all[i];
}
HZ_FN float32x4_t half_lanes(uint16x4_t h) { return vcvt_f32_f16(vreinterpret_f16_u16(h)); }
HZ_FN V load_half(const uint16_t* p) { return {half_lanes(vld1_u16(p)), half_lanes(vld1_u16(p + 4))}; }
HZ_FN VI load_u16(const uint16_t* p) {
  return {vreinterpretq_s32_u32(vmovl_u16(vld1_u16(p))), vreinterpretq_s32_u32(vmovl_u16(vld1_u16(p + 4)))};
}
HZ_FN void store_half(uint16_t* p, V v) {
  vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v.lo)));
  vst1_u16(p + 4, vreinterpret_u16_f16(vcvt_f16_f32(v.hi)));
}
HZ_FN V set1(float f) { return {vdupq_n_f32(f), vdupq_n_f32(f)}; }
HZ_FN V add(V a, V b) { return {vaddq_f32(a.lo, b.lo), vaddq_f32(a.hi, b.hi)}; }
HZ_FN V sub(V a, V b) { return {vsubq_f32(a.lo, b.lo), vsubq_f32(a.hi, b.hi)}; }
HZ_FN V mul(V a, V b) { return {vmulq_f32(a.lo, b.lo), vmulq_f32(a.hi, b.hi)}; }
HZ_FN V div(V a, V b) { return {vdivq_f32(a.lo, b.lo), vdivq_f32(a.hi, b.hi)}; }
HZ_FN V fma(V a, V b, V c) { return {vfmaq_f32(c.lo, a.lo, b.lo), vfmaq_f32(c.hi, a.hi, b.hi)}; }
HZ_FN V neg(V a) { return {vnegq_f32(a.lo), vnegq_f32(a.hi)}; }
HZ_FN V abs(V a) { return {vabsq_f32(a.lo), vabsq_f32(a.hi)}; }
HZ_FN V sqrt(V a) { return {vsqrtq_f32(a.lo), vsqrtq_f32(a.hi)}; }
HZ_FN V round_even(V a) { return {vrndnq_f32(a.lo), vrndnq_f32(a.hi)}; }
HZ_FN Mask less(V a, V b) { return {vcltq_f32(a.lo, b.lo), vcltq_f32(a.hi, b.hi)}; }
HZ_FN V select(Mask m, V yes, V no) { return {vbslq_f32(m.lo, yes.lo, no.lo), vbslq_f32(m.hi, yes.hi, no.hi)}; }
// b when either is NaN; fmax would give the NaN, fmaxnm the number.
HZ_FN V max(V a, V b) { return select(less(b, a), a, b); }

HZ_FN VI load_i(const int32_t* p) { return {vld1q_s32(p), vld1q_s32(p + 4)}; }
HZ_FN void store_i(int32_t* p, VI v) {
  vst1q_s32(p, v.lo);
  vst1q_s32(p + 4, v.hi);
}
HZ_FN VI set1_i(int32_t i) { return {vdupq_n_s32(i), vdupq_n_s32(i)}; }
HZ_FN VI add_i(VI a, VI b) { return {vaddq_s32(a.lo, b.lo), vaddq_s32(a.hi, b.hi)}; }
HZ_FN VI sub_i(VI a, VI b) { return {vsubq_s32(a.lo, b.lo), vsubq_s32(a.hi, b.hi)}; }
HZ_FN VI mul_i(VI a, VI b) { return {vmulq_s32(a.lo, b.lo), vmulq_s32(a.hi, b.hi)}; }
HZ_FN VI and_i(VI a, VI b) { return {vandq_s32(a.lo, b.lo), vandq_s32(a.hi, b.hi)}; }
HZ_FN VI or_i(VI a, VI b) { return {vorrq_s32(a.lo, b.lo), vorrq_s32(a.hi, b.hi)}; }
HZ_FN VI max_i(VI a, VI b) { return {vmaxq_s32(a.lo, b.lo), vmaxq_s32(a.hi, b.hi)}; }
HZ_FN int32x4_t shift_lanes(int32x4_t a, int n) {  // left; right, with zeros, where n is negative
  return vreinterpretq_s32_u32(vshlq_u32(vreinterpretq_u32_s32(a), vdupq_n_s32(n)));
}
HZ_FN VI shl_by(VI a, int n) { return {shift_lanes(a.lo, n), shift_lanes(a.hi, n)}; }
HZ_FN VI shr_by(VI a, int n) { return shl_by(a, -n); }
template <int N> HZ_FN VI shl_i(VI a) { return {vshlq_n_s32(a.lo, N), vshlq_n_s32(a.hi, N)}; }
template <int N> HZ_FN VI shr_i(VI a) { return shr_by(a, N); }
HZ_FN VI sign_i(VI a) { return {vshrq_n_s32(a.lo, 31), vshrq_n_s32(a.hi, 31)}; }
HZ_FN V to_float(VI a) { return {vcvtq_f32_s32(a.lo), vcvtq_f32_s32(a.hi)}; }
HZ_FN VI to_int(V a) { return {vcvtnq_s32_f32(a.lo), vcvtnq_s32_f32(a.hi)}; }
HZ_FN V bits(VI n) { return {vreinterpretq_f32_s32(n.lo), vreinterpretq_f32_s32(n.hi)}; }
HZ_FN VI bits_i(V v) { return {vreinterpretq_s32_f32(v.lo), vreinterpretq_s32_f32(v.hi)}; }
HZ_FN V pow2(VI n) { return bits(shl_i<23>(add_i(n, set1_i(127)))); }
HZ_FN V load_bf16(const uint16_t* p) { return bits(shl_i<16>(load_u16(p))); }
HZ_FN VI widen(int16x8_t v) { return {vmovl_s16(vget_low_s16(v)), vmovl_s16(vget_high_s16(v))}; }
HZ_FN VI load_u8(const uint8_t* p) { return widen(vreinterpretq_s16_u16(vmovl_u8(vld1_u8(p)))); }
HZ_FN VI load_i8(const int8_t* p) { return widen(vmovl_s8(vld1_s8(p))); }
HZ_FN void store_i8(int8_t* p, V v) {
  const VI i = to_int(v);
  vst1_s8(p, vqmovn_s16(vcombine_s16(vqmovn_s32(i.lo), vqmovn_s32(i.hi))));
}
HZ_FN int32_t sum_i(VI a) { return vaddvq_s32(vaddq_s32(a.lo, a.hi)); }
HZ_FN int32_t lane_max_i(VI a) { return vmaxvq_s32(vmaxq_s32(a.lo, a.hi)); }

HZ_FN float tree_add(const V* v) {
  const V h = add(v[0], v[1]);
  const float32x4_t q = vaddq_f32(h.lo, h.hi);
  const float32x2_t d = vadd_f32(vget_low_f32(q), vget_high_f32(q));
  return vget_lane_f32(d, 0) + vget_lane_f32(d, 1);
}
HZ_FN float lane_max(V v) {
  float a[kLanes];
  store(a, max(v, {v.hi, v.lo}));
  for (int w = 2; w > 0; w /= 2)
    for (int i = 0; i < w; ++i) a[i] = a[i] > a[i + w] ? a[i] : a[i + w];
  return a[0];
}

// Of eight rows, 4 sums each: p[2 r] of the first sixteen products, p[2 r + 1] of the second.
HZ_FN VI sum_rows(const int32x4_t* p) {
  return {vpaddq_s32(vpaddq_s32(p[0], p[2]), vpaddq_s32(p[4], p[6])), vpaddq_s32(vpaddq_s32(p[8], p[10]), vpaddq_s32(p[12], p[14]))};
}
HZ_FN int32x4_t dot16(int8x16_t a, int8x16_t b) { return vdotq_s32(vdupq_n_s32(0), a, b); }

HZ_FN void dot32_rows(const int8_t* w, size_t stride, const int8_t* x, VI& first, VI& second) {
  const int8x16_t x0 = vld1q_s8(x), x1 = vld1q_s8(x + 16);
  int32x4_t p[2 * kLanes];
  for (size_t r = 0; r < kLanes; ++r) {
    p[2 * r] = dot16(vld1q_s8(w + r * stride), x0);
    p[2 * r + 1] = dot16(vld1q_s8(w + r * stride + 16), x1);
  }
  first = sum_rows(p);
  second = sum_rows(p + 1);
}

// Byte k all ones where bit k of the low sixteen of `signs` is set.
HZ_FN int8x16_t minus_bytes(uint32_t signs) {
  const uint8x8_t bit = vcreate_u8(0x8040201008040201u);
  const uint8x16_t of = vcombine_u8(vdup_n_u8((uint8_t)signs), vdup_n_u8((uint8_t)(signs >> 8)));
  return vreinterpretq_s8_u8(vtstq_u8(of, vcombine_u8(bit, bit)));
}
// Sixteen weights of a codebook (quant/format/portable.h).
template <bool kShifted>
HZ_FN int8x16_t point_weights(const int8_t* points, uint32_t signs) {
  const int8x16_t v = vld1q_s8(points), minus = minus_bytes(signs);
  if constexpr (kShifted) return vaddq_s8(vshlq_n_s8(v, 3), vorrq_s8(minus, vdupq_n_s8(1)));  // + 1 or - 1
  else return vsubq_s8(veorq_s8(v, minus), minus);
}
template <bool kShifted>
HZ_FN void dot32_points_rows(const int8_t* points, size_t stride, const uint32_t* signs, size_t words, const int8_t* x, VI& first,
                             VI& second) {
  const int8x16_t x0 = vld1q_s8(x), x1 = vld1q_s8(x + 16);
  int32x4_t p[2 * kLanes];
  for (size_t r = 0; r < kLanes; ++r) {
    const uint32_t s = signs[r * words];
    p[2 * r] = dot16(point_weights<kShifted>(points + r * stride, s), x0);
    p[2 * r + 1] = dot16(point_weights<kShifted>(points + r * stride + 16, s >> 16), x1);
  }
  first = sum_rows(p);
  second = sum_rows(p + 1);
}

struct Codes {
  uint8x16_t lo, hi;
};
HZ_FN Codes load_codes(const uint8_t* p) { return {vld1q_u8(p), vld1q_u8(p + 16)}; }
HZ_FN void store_codes(uint8_t* p, Codes c) {
  vst1q_u8(p, c.lo);
  vst1q_u8(p + 16, c.hi);
}
template <int Shift> HZ_FN Codes shr_codes(Codes c) { return {vshrq_n_u8(c.lo, Shift), vshrq_n_u8(c.hi, Shift)}; }
template <int Shift> HZ_FN Codes shl_codes(Codes c) { return {vshlq_n_u8(c.lo, Shift), vshlq_n_u8(c.hi, Shift)}; }
HZ_FN Codes and_codes(Codes c, int byte) {
  const uint8x16_t m = vdupq_n_u8((uint8_t)byte);
  return {vandq_u8(c.lo, m), vandq_u8(c.hi, m)};
}
HZ_FN Codes or_codes(Codes a, Codes b) { return {vorrq_u8(a.lo, b.lo), vorrq_u8(a.hi, b.hi)}; }
HZ_FN Codes lookup_codes(Codes c, const uint8_t* table) {
  const uint8x16_t t = vld1q_u8(table);
  return {vqtbl1q_u8(t, c.lo), vqtbl1q_u8(t, c.hi)};
}
HZ_FN VI code_lanes(Codes c) { return {vreinterpretq_s32_u8(c.lo), vreinterpretq_s32_u8(c.hi)}; }
HZ_FN Codes lane_codes(VI v) { return {vreinterpretq_u8_s32(v.lo), vreinterpretq_u8_s32(v.hi)}; }
// Codes times a scale of their row and an offset added, which makes bytes of the products again: so the four codes may be taken as one
// integer or two, whose bytes borrow from one another only on the way.
HZ_FN VI code_factor(VI scale) { return scale; }
HZ_FN Codes scaled_codes(Codes c, VI factor, VI offset) { return lane_codes(add_i(mul_i(code_lanes(c), factor), offset)); }
HZ_FN void prefetch(const void* p) { __builtin_prefetch(p); }

// sdot takes signed bytes. Codes above 127 are moved down by 128, and 128 times the activations' sum joins at the end.
template <int Top>
struct Dot {
  static constexpr bool kMoved = Top > 127;
  VI acc;
  int32x4_t moved;  // -128 * the activations so far, of four lanes that are alike

  HZ_FN Dot start(int32_t v) { return {set1_i(v), vdupq_n_s32(0)}; }
  template <int Step> void step(Codes w, const int8_t* x) {
    int32_t four;
    memcpy(&four, x, 4);
    const int8x16_t xv = vreinterpretq_s8_s32(vdupq_n_s32(four));
    if constexpr (kMoved) {
      const uint8x16_t top = vdupq_n_u8(128);
      w = {veorq_u8(w.lo, top), veorq_u8(w.hi, top)};
      moved = vdotq_s32(moved, vreinterpretq_s8_u8(top), xv);
    }
    acc = {vdotq_s32(acc.lo, vreinterpretq_s8_u8(w.lo), xv), vdotq_s32(acc.hi, vreinterpretq_s8_u8(w.hi), xv)};
  }
  VI finish(int32_t) const {
    if constexpr (kMoved) return sub_i(acc, {moved, moved});
    else return acc;
  }
};

}  // namespace HZ_UNIT
}  // namespace hz::cpu

#include "kernels/cpu/sub_dot.hpp"
