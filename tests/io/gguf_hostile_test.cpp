// SPDX-License-Identifier: Apache-2.0
// Gguf on hostile files: every malformed field is refused by name; no prefix and no flipped byte does harm.
#include <sys/resource.h>

#include <algorithm>

#include "hanzo/io/gguf.hpp"
#include "src/io/message.hpp"
#include "tests/catch.hpp"
#include "tests/io/raw_gguf.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
using namespace hz::io;
using namespace hz::test;

namespace {

// The error of opening `bytes`, "" when it opens.
std::string verdict(const std::string& bytes, ReadMode mode = ReadMode::map) {
  static const TempDir dir;
  const auto path = dir.path() / "h.gguf";
  put_file(path, bytes);
  return error_of([&] { Gguf::open(path, mode); });
}

RawGguf good() {
  RawGguf raw;
  raw.keys = {kv("general.architecture", 8, text("llama")), kv("llama.block_count", 4, le(2u)), kv("flag", 7, "\1"),
              kv("tokens", 9, array(8, 3, text("a") + text("") + text("ccc"))),
              kv("nest", 9, array(9, 2, array(5, 1, le(7)) + array(7, 2, "\1" + std::string(1, '\0'))))};
  raw.tensors = {{"a.weight", {32, 2}, 2, 0}, {"b", {4}, 0, 64}};
  raw.data = std::string(64 + 16, '\1');
  return raw;
}

bool starts(const std::string& s, const std::string& with) {
  if (s.find(with) == 0) return true;
  WARN("got: " << s << "\nwant: " << with);
  return false;
}

template <class Change>
std::string changed(Change&& change) {
  RawGguf raw = good();
  change(raw);
  return verdict(raw.bytes());
}

}  // namespace

TEST_CASE("gguf refuses other files by what they are") {
  REQUIRE(verdict(good().bytes()).empty());
  CHECK(starts(verdict(""), "magic: needs 4 bytes at byte 0, the file ends after 0 | h.gguf | the file is damaged or incomplete"));
  CHECK(starts(verdict("<!DOCTYPE html>"),
               "magic: the file begins with \"<!DO\", a GGUF file with \"GGUF\" | h.gguf | check that the download"));
  CHECK(starts(verdict("ggjt1234"), "magic: this is a GGML file from before GGUF"));
  CHECK(starts(changed([](RawGguf& r) { r.version = 1; }), "version: GGUF version 1 is not supported"));
  CHECK(starts(changed([](RawGguf& r) { r.version = 4; }), "version: GGUF version 4 is not supported"));
  CHECK(starts(changed([](RawGguf& r) { r.version = 0x03000000; }), "version: a big-endian GGUF file (version 3)"));
  const TempDir dir;
  CHECK(starts(error_of([&] { Gguf::open(dir.path()); }), "this is a folder, not a file"));
  CHECK(starts(error_of([&] { Gguf::open(dir.path() / "no.gguf"); }),
               "cannot open the file: No such file or directory | no.gguf | check the path"));
  CHECK(starts(error_of([&] { Gguf::open("/dev/zero"); }), "this is not a regular file"));
}

TEST_CASE("gguf counts are compared with the file before anything is reserved") {
  CHECK(starts(changed([](RawGguf& r) { r.n_tensors = 1ull << 63; }), "the number of tensors: 9,223,372,036,854,775,808, the file's"));
  CHECK(starts(changed([](RawGguf& r) { r.n_keys = 1ull << 40; }), "the number of metadata keys: 1,099,511,627,776, the file's"));
  CHECK(starts(changed([](RawGguf& r) {
                 r.n_tensors = 3;
                 r.data = std::string(200, '\0');
               }),
               "a tensor description: the tensor name is empty"));
  CHECK(starts(changed([](RawGguf& r) { r.keys[3] = kv("tokens", 9, array(8, 1ull << 32, "")); }),
               "key tokens: an array of 4,294,967,296 string values"));
  CHECK(starts(changed([](RawGguf& r) { r.keys[3] = kv("tokens", 9, array(6, 1ull << 62, "")); }),
               "key tokens: an array of 4,611,686,018,427,387,904 f32"));
  CHECK(starts(changed([](RawGguf& r) { r.keys[3] = kv("tokens", 9, array(9, 1ull << 20, "")); }),
               "key tokens: an array of 1,048,576 array values"));
  CHECK(starts(changed([](RawGguf& r) { r.keys[0] = kv("k", 8, le(~0ull)); }),
               "key k: a string of 18,446,744,073,709,551,615 bytes at byte"));
  CHECK(starts(changed([](RawGguf& r) { r.keys[0] = le(~0ull); }), "a metadata key: a string of 18,446"));
}

TEST_CASE("gguf keys and values are legal or refused by name") {
  CHECK(starts(changed([](RawGguf& r) { r.keys[1] = kv("", 4, le(2u)); }), "a metadata key: the key is empty"));
  CHECK(starts(changed([](RawGguf& r) { r.keys[1] = kv("flag", 4, le(2u)); }), "key flag: the key occurs twice | h.gguf"));
  CHECK(starts(changed([](RawGguf& r) { r.keys[1] = kv("x", 13, le(2u)); }), "key x: unknown value type 13"));
  CHECK(starts(changed([](RawGguf& r) { r.keys[1] = kv("x", ~0u, le(2u)); }), "key x: unknown value type 4294967295"));
  CHECK(starts(changed([](RawGguf& r) { r.keys[3] = kv("x", 9, array(13, 0, "")); }), "key x: unknown value type 13"));
  CHECK(starts(changed([](RawGguf& r) { r.keys[2] = kv("x", 7, "\2"); }), "key x: a bool of value 2"));
  CHECK(starts(changed([](RawGguf& r) { r.keys[2] = kv("x", 9, array(7, 3, "\1\1\3")); }), "key x: a bool of value 3"));
  CHECK(starts(changed([](RawGguf& r) { r.keys[1] = kv(std::string("a\0b", 3), 4, le(2u)); }),
               "a metadata key: the key contains a control character"));
  CHECK(starts(changed([](RawGguf& r) { r.keys[1] = kv("a\xff", 4, le(2u)); }), "a metadata key: the key is not UTF-8"));
  CHECK(changed([](RawGguf& r) { r.keys[1] = kv(std::string(65535, 'k'), 4, le(2u)); }).empty());
  CHECK(starts(changed([](RawGguf& r) { r.keys[1] = kv(std::string(65536, 'k'), 4, le(2u)); }),
               "a metadata key: the key is 65,536 bytes long"));
  const auto deep = [](int n) {
    std::string s;
    for (int i = 1; i < n; ++i) s += array(9, 1, "");
    return kv("deep", 9, s + array(5, 0, ""));
  };
  CHECK(changed([&](RawGguf& r) { r.keys[1] = deep(64); }).empty());
  CHECK(starts(changed([&](RawGguf& r) { r.keys[1] = deep(65); }), "key deep: arrays nested deeper than 64"));
  CHECK(starts(changed([&](RawGguf& r) { r.keys[1] = deep(100'000); }), "key deep: arrays nested deeper than 64"));
}

TEST_CASE("gguf alignment is a u32, a power of two from 8 on") {
  for (const std::uint32_t a : {0u, 1u, 3u, 4u, 48u, 0x80000001u})
    CHECK(starts(changed([&](RawGguf& r) { r.keys.push_back(kv("general.alignment", 4, le(a))); }),
                 "key general.alignment: " + grouped(a) + " is no legal alignment"));
  CHECK(starts(changed([](RawGguf& r) { r.keys.push_back(kv("general.alignment", 10, le(32ull))); }),
               "key general.alignment: this key must be u32, it is u64"));
  CHECK(starts(changed([](RawGguf& r) {
                 r.keys.push_back(kv("general.alignment", 4, le(1u << 31)));
                 r.tensors[1].offset = 0;
               }),
               "a.weight: 32 x 2 Q4_0 needs 36 bytes at offset 2,147,483,648"));
  CHECK(starts(changed([](RawGguf& r) { r.keys.push_back(kv("general.alignment", 4, le(64u))); r.tensors[1].offset = 96; }),
               "tensor b: offset 96 is no multiple of the alignment 64"));
}

TEST_CASE("gguf tensors are legal each and together, or refused by name") {
  const auto with = [](RawTensor t) { return changed([&](RawGguf& r) { r.tensors[0] = t; }); };
  CHECK(starts(with({"", {4}, 0, 0}), "a tensor description: the tensor name is empty"));
  CHECK(starts(with({std::string(65, 'n'), {4}, 0, 0}), "a tensor description: the tensor name is 65 bytes long"));
  CHECK(with({std::string(64, 'n'), {4}, 0, 0}).empty());
  CHECK(starts(with({std::string("b\0", 2), {4}, 0, 0}), "a tensor description: the tensor name contains a control character"));
  CHECK(starts(with({"b", {4}, 0, 0}), "tensor b: the name occurs twice"));
  CHECK(starts(with({"t", {1, 1, 1, 1, 1}, 0, 0}), "tensor t: 5 dimensions, at most 4"));
  CHECK(starts(with({"t", {4}, 0, 0, ~0u}), "tensor t: 4,294,967,295 dimensions"));
  CHECK(starts(with({"t", {1ull << 63}, 0, 0}), "tensor t: dimension 0 of 9,223,372,036,854,775,808 makes more elements"));
  CHECK(starts(with({"t", {1ull << 32, 1ull << 32}, 0, 0}), "tensor t: dimension 1"));
  CHECK(starts(with({"t", {(1ull << 32) + 1, 1ull << 32, 32}, 0, 0}), "tensor t: dimension 1"));
  CHECK(starts(with({"t", {1ull << 40, 1ull << 40, 0}, 0, 0}), "tensor t: dimension 1"));
  CHECK(starts(with({"t", {1ull << 62}, 0, 0}), "tensor t: 4,611,686,018,427,387,904 F32 is more bytes than can be counted"));
  CHECK(starts(with({"t", {31}, 2, 0}), "tensor t: a row of 31 does not divide into Q4_0 blocks of 32"));
  CHECK(starts(with({"t", {32}, 2147483647, 0}), "t: tensor type 2147483647 is not known here | h.gguf | update hanzo"));
  CHECK(starts(with({"t", {4}, 0, 8}), "tensor t: offset 8 is no multiple of the alignment 32"));
  CHECK(starts(with({"t", {4}, 0, 1ull << 40}), "t: 4 F32 needs 16 bytes at offset 1,099,511,"));
  CHECK(starts(with({"t", {4}, 0, ~0ull << 5}), "t: 4 F32 needs 16 bytes at offset"));
  CHECK(starts(with({"t", {1ull << 61}, 2, ~0ull << 5}), "tensor t: offset 18,446,744,073,709,551,584 and"));
  CHECK(starts(with({"t", {10}, 0, 32}), "b: its bytes from offset"));
  CHECK(starts(changed([](RawGguf& r) { r.data.resize(70); }), "b: 4 F32 needs 16 bytes at offset"));
}

TEST_CASE("a cut file says how much is missing and how long it should be") {
  std::string bytes = good().bytes();
  const std::size_t whole = bytes.size();
  bytes.resize(whole - 10);
  CHECK(starts(verdict(bytes), "b: 4 F32 needs 16 bytes at offset " + std::to_string(whole - 16) +
                                   ", the file ends 10 bytes earlier | h.gguf | download the file again (it has " +
                                   std::to_string(whole - 10) + " bytes, at least " + std::to_string(whole) + " are expected)"));
}

TEST_CASE("gguf: every proper prefix is an error, in both modes") {
  const std::string bytes = good().bytes();
  for (const ReadMode mode : {ReadMode::map, ReadMode::read})
    for (std::size_t n = 0; n <= bytes.size(); ++n) {
      const std::string error = verdict(bytes.substr(0, n), mode);
      if (error.empty() != (n == bytes.size())) FAIL("prefix of " << n << ": " << error);
    }
}

TEST_CASE("gguf: any byte set to 00, 7f, 80, ff gives a model or an error") {
  const std::string bytes = good().bytes();
  std::size_t refused = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const char c : {'\x00', '\x7f', '\x80', '\xff'}) {
      std::string b = bytes;
      b[i] = c;
      refused += verdict(b).empty() ? 0 : 1;
    }
  CHECK(refused > 100);  // the fields are checked at all
}

TEST_CASE("gguf: names from a file cannot drive the terminal") {
  const std::string error = changed([](RawGguf& r) { r.tensors[0].name = "\x1b[2Jx\xc2\x9b"; });
  CHECK(error.find('\x1b') == std::string::npos);
  CHECK(printable("a\x1b[0m\xff\xc3\xa9\xc2\x9b") == "a\\x1b[0m\\xff\xc3\xa9\\xc2\\x9b");
  CHECK(printable(std::string(500, 'x')).size() < 110);
}

TEST_CASE("gguf: a refused file costs little memory beyond its size") {
  // 24 MB of empty strings, which would take 96 MB as values, and a bad tensor after them.
  RawGguf raw = good();
  const std::uint64_t n = 3'000'000;
  raw.keys[3] = kv("tokens", 9, array(8, n, std::string(n * 8, '\0')));
  raw.tensors[0].type = 77;
  const std::string bytes = raw.bytes();
  const TempDir dir;
  put_file(dir.path() / "big.gguf", bytes);
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  CHECK(error_of([&] { Gguf::open(dir.path() / "big.gguf"); }).find("tensor type 77") != std::string::npos);
  getrusage(RUSAGE_SELF, &after);
  CHECK(static_cast<std::uint64_t>(after.ru_maxrss - before.ru_maxrss) * 1024 < bytes.size() + (16u << 20));
}
