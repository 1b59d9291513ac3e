// SPDX-License-Identifier: Apache-2.0
// The portable subset in which formats are described: plain structs, loops, integer and float arithmetic.
// Compiles as C++20, CUDA and HIP. No std:: calls, no allocation, no exceptions.
//
// A format is a struct W with
//   Block               the bytes as in a GGUF file (packed, little-endian), static_assert on its size
//   kElems              weights per block
//   kFloating           true for F32 F16 BF16: W then has only `static float value(Block)`
//   kWeight             false for the activation kinds Q8_1 and Q8_K
//   kStep               weights per fma of the numerics contract: 32 (16 for NVFP4)
//   kSub                16-wide integer sub-scales (Q2_K Q3_K Q6_K IQ2_XS IQ2_S IQ1_M)
//   kMin                which minimum follows the dot
//   kLow, kHigh         range of the integer weight values
//   kScaleLow, kScaleHigh  range of the sub-scales, where their products with weights are small (needed with Min::per_half)
//   codes(b, j, out)    the kStep integer weight values of group j (of kElems / kStep), offset, sign and
//                       grid value included, sub-scale excluded
//   scales(b, j)        the float scale and minimum and the integer sub-scales of group j
//                       (all but codebooks write scales_of<A>(a, j), which reads kHead: for one row or for lanes of rows)
//   finite(b)           false when a weight of the block is NaN or infinite, or a scale code is one that the
//                       format forbids
// Packable formats also say how a panel of sixteen rows keeps the same bits in another order:
//   kBits               bits of a raw code: 1, 2, 3, 4, 5, 6 or 8
//   kHead               the byte ranges of a Block that are not codes
//   raw codes are codes - kLow; where a table gives the value, indices(b, j, out) and values() instead
// Codebook formats, whose groups of 32 are points of kPoint (4 or 8) weights, say what their codes are made of:
//   grid()              the points, one byte a weight, lowest first
//   points(b, j, out)   the index of each of the kStep / kPoint points of group j
//   signs(b, j)         bit k set where weight k of group j is negative (kShifted: where its point is shifted down)
//   kShifted            the bytes of a point are signed values v and a weight 8 v + 1 or 8 v - 1
// and say what the expanded form (expanded.h) keeps of a block:
//   magnitudes()        the three or eight magnitudes of the weights, ascending
//   kUnit, half_bits(b) dw is the half times kUnit, times 2 s + 1 without kSub
//   scale_bits(b, j)    the four bits s of group j; with kSub those of its halves, the first half's low
// scales(b, j) is codebook_row_scales<W>(b, j) then.
// A Block's members are at most 2 bytes wide (4 where its size is a multiple of 4), so that blocks need no more
// alignment than a GGUF file gives them.
// A weight is (dw * s) * code + minimum, each product and the sum rounded to float32 on its own.
#pragma once
#include <stdint.h>
#if defined(__F16C__) && !defined(__CUDA_ARCH__)
#include <immintrin.h>
#endif

#if defined(__CUDACC__) || defined(__HIPCC__)
#define HZ_FN __host__ __device__ static inline
#else
#define HZ_FN static inline
#endif

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define HZ_TABLE_HERE(name) name##_device
#else
#define HZ_TABLE_HERE(name) name##_host
#endif
// HZ_TABLE(type, name, initializer): a constant that host and device code index alike, as name().
#if defined(__CUDACC__) || defined(__HIPCC__)
#define HZ_TABLE(type, name, ...)                      \
  static constexpr type name##_host = __VA_ARGS__;     \
  static __device__ const type name##_device = __VA_ARGS__; \
  HZ_FN constexpr const type& name() { return HZ_TABLE_HERE(name); }
#else
#define HZ_TABLE(type, name, ...)                  \
  static constexpr type name##_host = __VA_ARGS__; \
  HZ_FN constexpr const type& name() { return HZ_TABLE_HERE(name); }
#endif

// Every translation unit that is compiled for one instruction set names its own namespace here, so that
// the linker can never replace one unit's inline functions by another's.
#ifndef HZ_UNIT
#define HZ_UNIT generic
#endif

namespace hz::quant {
inline namespace HZ_UNIT {

enum class Min { none, per_group, per_half };  // per_half: one integer minimum for each 16 (Q2_K)

struct GroupScales {
  float dw = 0;           // float scale of the group, integer sub-scales excluded where kSub
  float mw = 0;           // minimum: added once per weight; with Min::per_half multiplied by m0 or m1
  int s0 = 1, s1 = 1;     // integer sub-scales of the two halves (kSub)
  int m0 = 0, m1 = 0;     // integer minimums of the two halves (Min::per_half)
};

// Scales of one row (float, int) or of lanes of rows (kernels/cpu/panel.hpp).
template <class F, class I>
struct ScalesOf {
  F dw{}, mw{};
  I s0{}, s1{}, m0{}, m1{};
};

// Bytes [at, at + bytes) of a Block, in units of `width` bytes.
struct HeadRange {
  int at, bytes, width;
};

HZ_FN float bits_to_float(uint32_t bits) {
  float f;
  __builtin_memcpy(&f, &bits, 4);
  return f;
}

HZ_FN uint32_t load32(const uint8_t* p) {
  uint32_t v;
  __builtin_memcpy(&v, p, 4);
  return v;
}
HZ_FN void store8(int8_t* out, uint64_t eight) { __builtin_memcpy(out, &eight, 8); }

// A fixed array that constexpr code can fill and return.
template <class T, int N>
struct Table {
  T at[N];
};

// IEEE binary16 to binary32, exact.
HZ_FN float half_value(uint16_t h) {
#if defined(__F16C__) && !defined(__CUDA_ARCH__)
  return _cvtsh_ss(h);
#else
  const uint32_t exp = h & 0x7c00u, bits = (uint32_t)(h & 0x7fffu) << 13;  // no branches, so that loops become vectors
  const uint32_t bias = exp == 0x7c00u ? 0x70000000u : exp != 0 ? 0x38000000u : 0x38800000u;
  const float excess = bits_to_float(exp == 0 ? 0x38800000u : 0u);  // a subnormal half has no leading one: exact
  const float magnitude = bits_to_float(bits + bias) - excess;
  return __builtin_copysignf(magnitude, bits_to_float((uint32_t)h << 16));
#endif
}
// One row's block as the argument of scales_of.
struct RowBytes {
  using I = int;
  using F = float;
  const uint8_t* bytes;
  I u8(int at) const { return bytes[at]; }
  I i8(int at) const { return (int8_t)bytes[at]; }
  I u16(int at) const { return bytes[at] | bytes[at + 1] << 8; }
  F half(int at) const { return half_value((uint16_t)u16(at)); }
  static F to_float(I i) { return (float)i; }
  static F from_bits(I i) { return bits_to_float((uint32_t)i); }
  static I negative(I i) { return i < 0 ? -1 : 0; }  // a mask
};

// scales(b, j) of a packable format.
template <class W>
HZ_FN GroupScales row_scales(const typename W::Block& b, int j) {
  const auto s = W::scales_of(RowBytes{(const uint8_t*)&b}, j);
  GroupScales g;
  g.dw = s.dw;
  g.mw = s.mw;
  if (W::kSub) {
    g.s0 = s.s0;
    g.s1 = s.s1;
  }
  g.m0 = s.m0;
  g.m1 = s.m1;
  return g;
}

HZ_FN bool half_finite(uint16_t h) { return (h & 0x7c00u) != 0x7c00u; }

}  // namespace HZ_UNIT
}  // namespace hz::quant
