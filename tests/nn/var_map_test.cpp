// SPDX-License-Identifier: Apache-2.0
// VarMap: parameters by name, to a file and back.
#include "hanzo/nn/var_map.hpp"

#include "tests/catch.hpp"
#include "tests/random.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
using namespace hz::nn;
using namespace hz::test;

TEST_CASE("values go to a file and back in every float type", "[var_map]") {
  const TempDir dir;
  const Tensor w = random_tensor({3, 5}, 1), b = random_tensor({5}, 2);
  VarMap map;
  map.add("layer.0.weight", w);
  map.add("layer.0.bias", b);
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    map.save(dir.path() / "v.safetensors", type, {{"format", "hanzo"}});
    const VarMap back = VarMap::load(dir.path() / "v.safetensors");
    REQUIRE(back.size() == 2);
    CHECK(back.find("layer.0.weight")->dtype() == type);
    CHECK(same_bits(cast(*back.find("layer.0.weight"), DType::f32), cast(cast(w, type), DType::f32)));

    VarMap fresh;
    fresh.add("layer.0.weight", Tensor::zeros({3, 5}));
    fresh.add("layer.0.bias", Tensor::zeros({5}));
    fresh.assign(dir.path() / "v.safetensors");
    CHECK(same_bits(*fresh.find("layer.0.bias"), cast(cast(b, type), DType::f32)));
  }
}

TEST_CASE("names are dotted paths", "[var_map]") {
  VarMap map;
  map.add("a.b.c", Tensor::zeros({1}));
  map.add("a.bc", Tensor::zeros({1}));
  CHECK(map.below("a.b").size() == 1);
  CHECK(map.below("a.b").find("c") != nullptr);
  CHECK_THROWS_AS(map.add("a.bc", Tensor::zeros({1})), Error);
  CHECK_THROWS_AS(map.add("", Tensor::zeros({1})), Error);
  CHECK_THROWS_AS(map.add("ids", Tensor::zeros({1}, DType::i32)), Error);
}

TEST_CASE("a file that does not fit changes nothing", "[var_map]") {
  const TempDir dir;
  const auto file = dir.path() / "v.safetensors";
  const auto verdict = [&](std::initializer_list<std::pair<const char*, Shape>> saved) {
    VarMap out;
    for (const auto& [name, shape] : saved) out.add(name, random_tensor(shape, 3));
    out.save(file);
    const Tensor a = Tensor::zeros({2}), b = Tensor::zeros({2});
    VarMap map;
    map.add("a", a);
    map.add("b", b);
    std::string what = "accepted";
    try {
      map.assign(file);
    } catch (const Error& e) {
      what = e.what();
    }
    CHECK((what == "accepted") == (a.data<float>()[0] != 0.0f));
    return what;
  };
  CHECK(verdict({{"a", {2}}, {"b", {2}}}) == "accepted");
  CHECK(verdict({{"a", {2}}}).find("no tensor b") != std::string::npos);
  CHECK(verdict({{"a", {2}}, {"b", {3}}}).find("tensor b is 3") != std::string::npos);
  CHECK(verdict({{"a", {2}}, {"b", {2}}, {"c", {2}}}).find("tensor c") != std::string::npos);
}
