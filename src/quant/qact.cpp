// SPDX-License-Identifier: Apache-2.0
// QAct: the scalar rule of the contract.
#include "hanzo/quant/qact.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace hz {

QAct QAct::empty(std::int64_t tokens, std::int64_t cols, Device device) {
  if (cols % 32 != 0) throw Error(ErrorKind::usage, "[quantize] rows of " + std::to_string(cols) + " do not divide into groups of 32");
  QAct q;
  q.codes = Tensor::empty({tokens, cols}, DType::i8, device);
  q.scales = Tensor::empty({tokens, cols / 32}, DType::f32, device);
  q.sums = Tensor::empty({tokens, cols / 16}, DType::i32, device);
  return q;
}

Tensor QAct::decode() const {
  Tensor out = Tensor::empty({tokens(), cols()});
  const auto c = codes.span<std::int8_t>();
  const auto s = scales.span<float>();
  float* y = out.data<float>();
  for (std::size_t i = 0; i < c.size(); ++i) y[i] = static_cast<float>(c[i]) * s[i / 32];
  return out;
}

float quantize_group(const float* x, std::int8_t* codes, std::int32_t* sums) {
  std::uint32_t top = 0;
  for (int i = 0; i < 32; ++i) top = std::max(top, std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffu);
  sums[0] = sums[1] = 0;
  const float amax = std::bit_cast<float>(top);
  const bool poison = top >= 0x7f800000u;
  if (poison || amax < 0x1p-64f) {
    for (int i = 0; i < 32; ++i) codes[i] = 0;
    return poison ? std::numeric_limits<float>::quiet_NaN() : 0.0f;
  }
  const float inv = 127.0f / amax;
  for (int i = 0; i < 32; ++i) {
    codes[i] = static_cast<std::int8_t>(std::nearbyint(x[i] * inv));
    sums[i / 16] += codes[i];
  }
  return amax / 127.0f;
}

}  // namespace hz
