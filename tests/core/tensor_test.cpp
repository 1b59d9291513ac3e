// SPDX-License-Identifier: Apache-2.0
// Tensor: views share bytes, copies do not, and a wrong access is an error that says so.
#include "hanzo/core/tensor.hpp"

#include <numeric>
#include <vector>

#include "tests/catch.hpp"

namespace hz {
namespace {

// 0, 1, 2, ... in row-major order.
Tensor counting(const Shape& shape) {
  Tensor t = Tensor::empty(shape);
  const auto s = t.span<float>();
  std::iota(s.begin(), s.end(), 0.0f);
  return t;
}

std::vector<float> values(const Tensor& t) {
  const Tensor dense = t.clone();
  const auto s = dense.span<float>();
  return {s.begin(), s.end()};
}

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a tensor is row-major and 64-byte aligned") {
  const Tensor t = counting({2, 3, 4});
  CHECK(t.stride(0) == 12);
  CHECK(t.stride(1) == 4);
  CHECK(t.stride(2) == 1);
  CHECK(t.contiguous());
  CHECK(t.nbytes() == 96);
  CHECK(reinterpret_cast<std::uintptr_t>(t.raw()) % 64 == 0);
  CHECK(t.rows() == 6);
  CHECK(t.cols() == 4);
}

TEST_CASE("zeros are zero even in recycled memory, from takes values") {
  { Tensor dirty = counting({1000}); }
  const Tensor z = Tensor::zeros({1000});
  for (const float v : z.span<float>()) REQUIRE(v == 0.0f);
  const std::vector<std::int32_t> ids{3, 1, 2};
  CHECK(Tensor::from(ids, {3}).data<std::int32_t>()[1] == 1);
  CHECK_THROWS_AS(Tensor::from(ids, {4}), Error);
}

TEST_CASE("views share bytes and clones do not") {
  const Tensor t = counting({3, 4});
  const Tensor row = t.row(1), copy = row.clone();
  row.data<float>()[0] = 99.0f;
  CHECK(t.span<float>()[4] == 99.0f);
  CHECK(values(copy) == std::vector<float>{4, 5, 6, 7});
  CHECK(row.slice(1, 0, 1).item() == 99.0f);
}

TEST_CASE("slices, transposes and reshapes see the right elements") {
  const Tensor t = counting({2, 3, 4});
  CHECK(values(t.slice(1, 1, 3).slice(2, 3, 4)) == std::vector<float>{7, 11, 19, 23});
  CHECK(values(counting({2, 3}).transpose(0, 1)) == std::vector<float>{0, 3, 1, 4, 2, 5});
  CHECK(values(counting({2, 3}).transpose(-1, -2).slice(0, 1, 2)) == std::vector<float>{1, 4});
  CHECK(values(t.reshape({4, 6}).row(3)) == std::vector<float>{18, 19, 20, 21, 22, 23});
  CHECK(values(t.slice(-1, 2, 2)).empty());
}

TEST_CASE("a strided view is not dense memory") {
  const Tensor t = counting({4, 4});
  CHECK(t.slice(0, 1, 3).contiguous());
  const Tensor column = t.slice(1, 1, 2);
  CHECK_FALSE(column.contiguous());
  CHECK(message_of([&] { (void)column.span<float>(); }).find("clone()") != std::string::npos);
  CHECK_THROWS_AS(column.reshape({4}), Error);
  CHECK(t.slice(0, 1, 2).transpose(0, 1).contiguous());  // one row: strides of length-1 dimensions do not matter
}

TEST_CASE("impossible views are usage errors with the numbers in them") {
  const Tensor t = counting({2, 3});
  CHECK(message_of([&] { (void)t.reshape({7}); }) == "[reshape] 2 x 3 to 7");
  CHECK(message_of([&] { (void)t.slice(1, 2, 4); }).find("2:4 along dimension 1 of 2 x 3") != std::string::npos);
  CHECK_THROWS_AS(t.slice(2, 0, 1), Error);
  CHECK_THROWS_AS(t.slice(0, -1, 1), Error);
  CHECK_THROWS_AS(t.slice(0, 2, 1), Error);
  CHECK_THROWS_AS(t.transpose(0, 2), Error);
  CHECK_THROWS_AS(t.transpose(-3, 0), Error);
  CHECK_THROWS_AS(t.item(), Error);
  CHECK_THROWS_AS(Tensor(t.storage(), 4, {6}, DType::f32, {}), Error);
}

TEST_CASE("reading as another type or an undefined tensor is an error") {
  const Tensor t = counting({2});
  CHECK(message_of([&] { (void)t.data<Half>(); }) == "the tensor holds F32, read as F16");
  CHECK_THROWS_AS(Tensor().data<float>(), Error);
  CHECK_FALSE(Tensor().defined());
}

TEST_CASE("device memory is not readable as host memory") {
  auto storage = std::make_shared<Storage>(*counting({4}).storage());
  storage->host = false;
  const Tensor t(storage, 0, {4}, DType::f32, {});
  CHECK(message_of([&] { (void)t.data<float>(); }).find("copy it to the host") != std::string::npos);
}

TEST_CASE("a tensor too large for the address space is out of memory, not a crash") {
  try {
    Tensor::empty({INT64_MAX / 2}, DType::f32);
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::out_of_memory);
  }
}

TEST_CASE("the gradient identity travels with copies only when asked") {
  const Tensor t = counting({2});
  CHECK(t.grad_id() == 0);
  CHECK(t.with_grad_id(5).grad_id() == 5);
  CHECK(t.grad_id() == 0);
}

}  // namespace hz
