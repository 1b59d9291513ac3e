// SPDX-License-Identifier: Apache-2.0
// DType: element types of dense tensors, and the exact conversions between half and float.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hz {

enum class DType : std::uint8_t { f32, f16, bf16, i32, i8, u8, i64 };

constexpr std::size_t size_of(DType t) {
  switch (t) {
    case DType::f32:
    case DType::i32: return 4;
    case DType::f16:
    case DType::bf16: return 2;
    case DType::i64: return 8;
    case DType::i8:
    case DType::u8: return 1;
  }
  return 0;
}
constexpr std::string_view name_of(DType t) {
  constexpr std::string_view names[] = {"F32", "F16", "BF16", "I32", "I8", "U8", "I64"};
  return names[static_cast<std::size_t>(t)];
}

// IEEE binary16 and bfloat16 as bit patterns; conversions below are exact or round to nearest even.
struct Half {
  std::uint16_t bits = 0;
};
struct BFloat16 {
  std::uint16_t bits = 0;
};

constexpr float to_float(Half h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h.bits & 0x8000u) << 16;
  const std::uint32_t exp = (h.bits >> 10) & 31u, man = h.bits & 1023u;
  if (exp == 31) return std::bit_cast<float>(sign | 0x7f800000u | (man << 13));
  if (exp != 0) return std::bit_cast<float>(sign | ((exp + 112u) << 23) | (man << 13));
  if (man == 0) return std::bit_cast<float>(sign);
  const int top = static_cast<int>(std::bit_width(man)) - 1;  // subnormal: value = man * 2^-24
  return std::bit_cast<float>(sign | (static_cast<std::uint32_t>(top + 103) << 23) |
                              ((man << (23 - top)) & 0x7fffffu));
}
constexpr Half to_half(float f) {
  const auto x = std::bit_cast<std::uint32_t>(f);
  const auto sign = static_cast<std::uint16_t>((x >> 16) & 0x8000u);
  const std::uint32_t a = x & 0x7fffffffu;
  if (a > 0x7f800000u) return {static_cast<std::uint16_t>(sign | 0x7e00u | ((a >> 13) & 0x3ffu))};
  if (a >= 0x477ff000u) return {static_cast<std::uint16_t>(sign | 0x7c00u)};  // rounds to infinity
  if (a < 0x38800000u) {                                                      // subnormal or zero
    if (a < 0x33000000u) return {sign};                                       // below half the least: zero
    const int shift = 126 - static_cast<int>(a >> 23);                        // 14 .. 24
    const std::uint32_t m = (a & 0x7fffffu) | 0x800000u;
    const std::uint32_t q = m >> shift, rest = m & ((1u << shift) - 1), half = 1u << (shift - 1);
    return {static_cast<std::uint16_t>(sign | (q + ((rest > half || (rest == half && (q & 1))) ? 1u : 0u)))};
  }
  const std::uint32_t r = a + 0xfffu + ((a >> 13) & 1u) - 0x38000000u;
  return {static_cast<std::uint16_t>(sign | (r >> 13))};
}
constexpr float to_float(BFloat16 b) { return std::bit_cast<float>(static_cast<std::uint32_t>(b.bits) << 16); }
constexpr BFloat16 to_bfloat16(float f) {
  const auto x = std::bit_cast<std::uint32_t>(f);
  if ((x & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>((x >> 16) | 64u)};
  return {static_cast<std::uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16)};
}

// DType of a C++ element type.
template <class T>
struct dtype_of;
template <> struct dtype_of<float> { static constexpr DType value = DType::f32; };
template <> struct dtype_of<Half> { static constexpr DType value = DType::f16; };
template <> struct dtype_of<BFloat16> { static constexpr DType value = DType::bf16; };
template <> struct dtype_of<std::int32_t> { static constexpr DType value = DType::i32; };
template <> struct dtype_of<std::int8_t> { static constexpr DType value = DType::i8; };
template <> struct dtype_of<std::uint8_t> { static constexpr DType value = DType::u8; };
template <> struct dtype_of<std::int64_t> { static constexpr DType value = DType::i64; };

}  // namespace hz
