// SPDX-License-Identifier: Apache-2.0
// The list of formats: the table made of it, names, ids, and the folder of headers.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "hanzo/quant/visit.hpp"
#include "tests/catch.hpp"

using namespace hz;
using namespace hz::quant;

TEST_CASE("the table of formats has what the headers say, in the order of the list") {
  std::size_t at = 0;
  std::uint32_t last = 0;
  for_each_wtype([&]<class W>(tag<W>, const char* name, int id) {
    INFO(name);
    const FormatInfo& f = formats()[at];
    CHECK(f.type == static_cast<WType>(id));
    CHECK(f.block_elems == W::kElems);
    CHECK(f.block_bytes == sizeof(typename W::Block));
    CHECK(f.floating == W::kFloating);
    CHECK(f.weight == W::kWeight);
    CHECK(f.bits() == bits<W>);
    CHECK(&info(f.type) == &f);
    CHECK((at == 0 || static_cast<std::uint32_t>(id) > last));
    // A tensor in a GGUF file starts at a multiple of 8 bytes at least, its blocks follow without gaps.
    CHECK(sizeof(typename W::Block) % alignof(typename W::Block) == 0);
    CHECK(alignof(typename W::Block) <= 4);
    if constexpr (!W::kFloating) CHECK(W::kElems % 32 == 0);
    last = static_cast<std::uint32_t>(id);
    ++at;
  });
  CHECK(at == formats().size());
  CHECK(formats().size() == 30);
}

TEST_CASE("a format is found by its number and by its name in any case") {
  for (const FormatInfo& f : formats()) {
    CHECK(from_id(static_cast<std::uint32_t>(f.type)) == f.type);
    CHECK(from_name(f.name) == f.type);
    std::string lower(f.name);
    for (char& c : lower) c = c == '_' ? '-' : static_cast<char>(std::tolower(c));
    CHECK(from_name(lower) == f.type);
    CHECK(name_of(f.type) == f.name);
  }
  CHECK(from_name("Q4_K") == WType::q4_k);
  CHECK(from_name("mxfp4") == WType::mxfp4);
  CHECK_FALSE(from_name(""));
  CHECK_FALSE(from_name("Q4_K_M"));
  CHECK_FALSE(from_id(4));   // Q4_2, withdrawn
  CHECK_FALSE(from_id(31));  // Q4_0_4_4, withdrawn
  CHECK_FALSE(from_id(0xffffffffu));
  CHECK_THROWS_AS(info(static_cast<WType>(5)), Error);
  CHECK_THROWS_AS(visit(static_cast<WType>(1000), [](auto) { return 0; }), Error);
}

TEST_CASE("a mistyped name lists near ones that may be chosen as weights") {
  CHECK(near_names("q4k").find("Q4_K") != std::string::npos);
  CHECK(near_names("iq3xxs").substr(0, 7) == "IQ3_XXS");
  CHECK(near_names("Q8_1").find("Q8_1") == std::string::npos);
  CHECK(near_names("").size() > 0);
  CHECK(near_names(std::string(5000, 'x')).size() > 0);
}

TEST_CASE("a row's bytes are counted in whole blocks") {
  CHECK(row_bytes(WType::q4_0, 64) == 36);
  CHECK(row_bytes(WType::q6_k, 512) == 420);
  CHECK(row_bytes(WType::f32, 3) == 12);
  CHECK(row_bytes(WType::q8_k, 0) == 0);
  CHECK_THROWS_AS(row_bytes(WType::q4_0, 48), Error);
  CHECK_THROWS_AS(row_bytes(WType::q4_0, -32), Error);
  CHECK(row_bytes(WType::f32, std::int64_t(1) << 61) == std::size_t(1) << 63);
  CHECK_THROWS_AS(row_bytes(WType::f32, std::int64_t(1) << 62), Error);
}

TEST_CASE("the list of formats names exactly the headers that describe a block") {
  std::set<std::string> described, listed;
  for (const auto& entry : std::filesystem::directory_iterator(HZ_FORMAT_FOLDER)) {
    std::ifstream in(entry.path());
    std::stringstream text;
    text << in.rdbuf();
    if (text.str().find("struct Block {") != std::string::npos) described.insert(entry.path().stem().string());
  }
  for_each_wtype([&](auto, const char* name, int) { listed.insert(name); });
  CHECK(described == listed);
}
