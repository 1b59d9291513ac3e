// SPDX-License-Identifier: Apache-2.0
// A program that uses an installed hanzo: quantizes a small matrix and shows what that costs. It is built here by
// a Makefile (pkg-config), by CMake and by Meson; each of the three build files can be copied as it is.
#include <cmath>
#include <cstdio>
#include <hanzo/hanzo.hpp>
#include <vector>

int main() {
  std::printf("hanzo %s\n", std::string(hz::build_info().version).c_str());
  std::vector<float> values(8 * 64);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  const hz::Tensor weights = hz::Tensor::from(values, {8, 64});
  try {
    const hz::QTensor q = hz::quantize(weights, hz::WType::q8_0);  // [8, 64], GGUF blocks
    const hz::Tensor back = q.decode();
    float worst = 0;
    for (std::size_t i = 0; i < values.size(); ++i) worst = std::max(worst, std::fabs(back.span<float>()[i] - values[i]));
    std::printf("Q8_0: %zu bytes for %zu, largest error %.4f\n", q.nbytes(), weights.nbytes(), static_cast<double>(worst));
    return worst < 0.01f ? 0 : 1;
  } catch (const hz::Error& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
