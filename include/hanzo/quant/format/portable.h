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
//   codes(b, j, out)    the kStep integer weight values of group j (of kElems / kStep), offset, sign and
//                       grid value included, sub-scale excluded
//   scales(b, j)        the float scale and minimum and the integer sub-scales of group j
//   finite(b)           false when a weight of the block is NaN or infinite, or a scale code is one that the
//                       format forbids
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
  HZ_FN const type& name() { return HZ_TABLE_HERE(name); }
#else
#define HZ_TABLE(type, name, ...)                  \
  static constexpr type name##_host = __VA_ARGS__; \
  HZ_FN const type& name() { return HZ_TABLE_HERE(name); }
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
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, man = h & 0x3ffu, exp = (h >> 10) & 31u;
  if (exp == 31) return bits_to_float(sign | 0x7f800000u | (man << 13));
  if (exp != 0) return bits_to_float(sign | ((exp + 112u) << 23) | (man << 13));
  const float v = (float)man * bits_to_float(0x33800000u);  // man * 2^-24, exact
  return sign ? -v : v;
#endif
}
HZ_FN bool half_finite(uint16_t h) { return (h & 0x7c00u) != 0x7c00u; }

}  // namespace HZ_UNIT
}  // namespace hz::quant
