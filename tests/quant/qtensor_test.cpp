// SPDX-License-Identifier: Apache-2.0
// QTensor: rows of blocks, experts, poison, and what is refused.
#include <cfenv>
#include <cstring>

#include "hanzo/quant/qtensor.hpp"
#include "tests/catch.hpp"

using namespace hz;

namespace {
Tensor ramp(std::int64_t rows, std::int64_t cols) {
  Tensor t = Tensor::empty({rows, cols});
  for (std::int64_t i = 0; i < t.numel(); ++i) t.data<float>()[i] = static_cast<float>(i % 97) - 48.0f;
  return t;
}
ErrorKind kind_of(auto f) {
  try {
    f();
  } catch (const Error& e) {
    return e.kind();
  }
  return ErrorKind::failed;
}
}  // namespace

TEST_CASE("a quantized matrix decodes row by row as a whole") {
  const QTensor q = quantize(ramp(5, 64), WType::q8_0);
  CHECK(q.row_bytes() == 68);
  CHECK(q.nbytes() == 340);
  const Tensor all = q.decode();
  std::vector<float> row(64);
  for (std::int64_t i = 0; i < 5; ++i) {
    q.decode_row(i, row.data());
    CHECK(std::memcmp(row.data(), all.data<float>() + i * 64, 256) == 0);
  }
}

TEST_CASE("an expert is a matrix that shares the bytes") {
  const QTensor flat = quantize(ramp(6, 32), WType::q4_0);
  auto storage = allocate_host(flat.nbytes() + 8);
  std::memcpy(storage->data + 8, flat.bytes().data(), flat.nbytes());
  const QTensor moe("exps", Shape{3, 2, 32}, WType::q4_0, storage, 8);
  CHECK(moe.rows() == 6);
  const QTensor one = moe.expert(2);
  CHECK(one.shape() == Shape{2, 32});
  CHECK(one.row(0) == moe.row(4));
  CHECK_THROWS_AS(moe.expert(3), Error);
  CHECK_THROWS_AS(moe.expert(-1), Error);
  CHECK_THROWS_AS(flat.expert(0), Error);
}

TEST_CASE("the first row with a poisoned block is found") {
  Tensor x = ramp(4, 64);
  x.data<float>()[2 * 64 + 40] = std::nanf("");
  const QTensor q = quantize(x, WType::q5_1);
  CHECK(q.first_bad_row(0, 4) == 2);
  CHECK(q.first_bad_row(0, 2) == -1);
  CHECK(q.first_bad_row(3, 4) == -1);
}

TEST_CASE("what does not fit is refused") {
  auto storage = allocate_host(100);
  CHECK(kind_of([&] { QTensor("t", Shape{3, 64}, WType::q4_0, storage, 0); }) == ErrorKind::bad_file);
  CHECK(kind_of([&] { QTensor("t", Shape{2, 64}, WType::q4_0, storage, 29); }) == ErrorKind::bad_file);
  CHECK(kind_of([&] { QTensor("t", Shape{2, 48}, WType::q4_0, storage, 0); }) == ErrorKind::usage);
  CHECK(kind_of([&] { QTensor("t", Shape{std::int64_t(1) << 56, 64}, WType::q4_0, storage, 0); }) == ErrorKind::bad_file);
  CHECK(kind_of([&] { QTensor("t", Shape{1, 64}, WType::q4_0, storage, ~std::size_t(0) - 8); }) == ErrorKind::bad_file);
  CHECK(kind_of([&] { quantize(ramp(1, 64), WType::q4_0, std::vector<float>(63)); }) == ErrorKind::usage);
}

TEST_CASE("encoding and decoding do not depend on the caller's rounding mode") {
  Tensor t = Tensor::empty({4, 64});
  for (std::int64_t i = 0; i < t.numel(); ++i) t.data<float>()[i] = 0.37f * static_cast<float>(i % 53) - 7.1f;
  for (const WType type : {WType::q8_0, WType::q4_1, WType::f16}) {
    const QTensor near = quantize(t, type);
    const Tensor values = near.decode();
    const int before = std::fegetround();
    std::fesetround(FE_UPWARD);
    const QTensor up = quantize(t, type);
    const Tensor up_values = near.decode();
    std::fesetround(before);
    CHECK(std::memcmp(near.bytes().data(), up.bytes().data(), near.nbytes()) == 0);
    CHECK(std::memcmp(values.raw(), up_values.raw(), values.nbytes()) == 0);
  }
}
