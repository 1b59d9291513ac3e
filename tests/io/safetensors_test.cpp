// SPDX-License-Identifier: Apache-2.0
// SafeTensors: what is written is read back; everything else than the format is refused by name.
#include "hanzo/io/safetensors.hpp"

#include <cstring>

#include "tests/catch.hpp"
#include "tests/io/raw_gguf.hpp"
#include "tests/temp_dir.hpp"

using namespace hz;
using namespace hz::io;
using namespace hz::test;

namespace {

std::string raw(const std::string& header, const std::string& data) { return le(std::uint64_t{header.size()}) + header + data; }

// The error of opening these bytes, "" when they open.
std::string verdict(const std::string& bytes, ReadMode mode = ReadMode::map) {
  static const TempDir dir;
  const auto path = dir.path() / "h.safetensors";
  put_file(path, bytes);
  return error_of([&] { SafeTensors::open(path, mode); });
}
std::string header_verdict(const std::string& header, std::size_t data) { return verdict(raw(header, std::string(data, '\0'))); }
// One tensor "a" with these fields and 8 bytes of data.
std::string tensor_verdict(const std::string& fields) { return header_verdict("{\"a\":{" + fields + "}}", 8); }

bool starts(const std::string& s, const std::string& with) {
  if (s.find(with) == 0) return true;
  WARN("got: " << s << "\nwant: " << with);
  return false;
}

}  // namespace

TEST_CASE("safetensors reads back every type, shape, name and metadata entry it wrote, in both modes") {
  const TempDir dir;
  const auto path = dir.path() / "t.safetensors";
  SafeTensorsWriter w;
  w.metadata()["format"] = "pt";
  w.metadata()["quote \" slash \\ \xc3\xa9"] = "line\nnext";
  const Tensor bytes = Tensor::zeros(Shape{3}, DType::i8);
  bytes.data<std::int8_t>()[2] = -7;
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const Tensor floats = Tensor::from(values, Shape{2, 3});
  w.add("bytes", bytes);
  w.add("a.b \"x\"", floats);
  w.add("transposed", floats.transpose(0, 1));
  for (const DType t : {DType::f16, DType::bf16, DType::i32, DType::u8, DType::i64})
    w.add("zero " + std::string(name_of(t)), Tensor::zeros(Shape{1, 2, 1}, t));
  w.add("empty", Tensor::zeros(Shape{0, 4}));
  w.add("scalar", Tensor::zeros(Shape{}));
  w.write(path);
  for (const ReadMode mode : {ReadMode::map, ReadMode::read}) {
    const SafeTensors s = SafeTensors::open(path, mode);
    CHECK(s.metadata() == w.metadata());
    CHECK(s.tensors().size() == 10);
    CHECK(s.tensor("bytes").data<std::int8_t>()[2] == -7);
    const Tensor f = s.tensor("a.b \"x\"");
    CHECK(f.shape() == Shape{2, 3});
    CHECK(std::memcmp(f.raw(), floats.raw(), 24) == 0);
    CHECK(s.tensor("transposed").shape() == Shape{3, 2});
    CHECK(s.tensor("transposed").span<float>()[1] == 4.0f);
    CHECK(s.tensor("zero BF16").dtype() == DType::bf16);
    CHECK(s.tensor("zero I64").shape() == Shape{1, 2, 1});
    CHECK(s.tensor("empty").shape() == Shape{0, 4});
    CHECK(s.tensor("scalar").item() == 0.0f);
    for (const SafeTensor& t : s.tensors()) CHECK(t.offset % size_of(*t.dtype) == 0);
    CHECK(error_of([&] { s.tensor("absent"); }).find("tensor absent is missing | t.safetensors") == 0);
  }
  put_file(path, "");
  SafeTensorsWriter().write(path);
  CHECK(SafeTensors::open(path).tensors().empty());
}

TEST_CASE("safetensors gives aligned tensors from unaligned files, and says which types it cannot use") {
  const TempDir dir;
  const auto path = dir.path() / "t.safetensors";
  const std::string header =
      R"({"b":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},"f":{"dtype":"F32","shape":[1],"data_offsets":[1,5]},)"
      R"("o":{"dtype":"BOOL","shape":[2],"data_offsets":[5,7],"other":{"x":[1,{"y":null}]}},"r":{"dtype":"I8","shape":[1,1,1,1,1,1,1],"data_offsets":[7,8]}})";
  put_file(path, raw(header, "\1" + le(2.5f) + "\1\0\3"));
  put_file(path, raw(header, "\1" + le(2.5f) + std::string("\1\0\3", 3)));
  const SafeTensors s = SafeTensors::open(path);
  CHECK(s.tensor("f").item() == 2.5f);
  CHECK(s.bytes("o")[0] == std::byte{1});
  CHECK(error_of([&] { s.tensor("o"); }).find("o: tensors of type BOOL cannot be used here | t.safetensors") == 0);
  CHECK(error_of([&] { s.tensor("r"); }).find("r: 7 dimensions, at most 6 can be used here") == 0);
}

TEST_CASE("safetensors refuses headers by length, beginning, text and depth") {
  CHECK(starts(verdict("1234567"), "a file of 7 bytes is too short for a safetensors file | h.safetensors"));
  CHECK(starts(verdict(le(~0ull)), "a header of 18,446,744,073,709,551,615 bytes, at most 100,000,000 are allowed"));
  CHECK(starts(verdict(le(std::uint64_t{3}) + "{}"), "a header of 3 bytes, the file has 2 left"));
  CHECK(header_verdict("{}", 0).empty());
  CHECK(header_verdict("{} \n\t ", 0).empty());
  CHECK(starts(header_verdict("", 0), "the header does not begin with '{'"));
  CHECK(starts(header_verdict(" {}", 0), "the header does not begin with '{'"));
  CHECK(starts(header_verdict("\xef\xbb\xbf{}", 0), "the header does not begin with '{'"));
  CHECK(starts(header_verdict("[]", 0), "the header does not begin with '{'"));
  CHECK(starts(header_verdict("{}x", 0), "the header is no valid JSON at its byte 3"));
  CHECK(starts(header_verdict(std::string("{}\0", 3), 0), "the header has a NUL at its byte 2"));
  CHECK(starts(header_verdict("{\"a\xff\":{}}", 0), "the header is no valid JSON"));
  CHECK(starts(header_verdict("{\"\\ud800\":{}}", 0), "the header is no valid JSON"));
  CHECK(starts(header_verdict("{\"a\":1}", 0), "tensor a: expected an object, found a number"));
  CHECK(starts(header_verdict("{\"a\":[]}", 0), "tensor a: expected an object, found an array"));
  const auto deep = [](int n) {
    return R"("dtype":"F32","shape":[2],"data_offsets":[0,8],"x":)" + std::string(static_cast<std::size_t>(n), '[') +
           std::string(static_cast<std::size_t>(n), ']');
  };
  CHECK(tensor_verdict(deep(126)).empty());
  CHECK(starts(tensor_verdict(deep(127)), "the header is nested deeper than 128"));
  CHECK(starts(tensor_verdict(deep(100'000)), "the header is nested deeper than 128"));
  CHECK(starts(header_verdict("{\"" + std::string(5'000'000, 'n') + "\":{}}", 0), "a string in the header is longer than 4,194,304 bytes"));
}

TEST_CASE("safetensors refuses tensor fields by name") {
  const std::string ok = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
  CHECK(tensor_verdict(ok).empty());
  CHECK(starts(tensor_verdict(R"("shape":[2],"data_offsets":[0,8])"), "tensor a: dtype is missing"));
  CHECK(starts(tensor_verdict(R"("dtype":"F32","data_offsets":[0,8])"), "tensor a: shape is missing"));
  CHECK(starts(tensor_verdict(R"("dtype":"F32","shape":[2])"), "tensor a: data_offsets is missing"));
  CHECK(starts(tensor_verdict(ok + R"(,"dtype":"F32")"), "tensor a: dtype is given twice"));
  CHECK(starts(tensor_verdict(ok + R"(,"\u0073hape":[2])"), "tensor a: shape is given twice"));
  CHECK(starts(tensor_verdict(R"("dtype":"F7","shape":[2],"data_offsets":[0,8])"), "tensor a: unknown dtype F7"));
  CHECK(starts(tensor_verdict(R"("dtype":4,"shape":[2],"data_offsets":[0,8])"),
               "tensor a: expected the name of a type for dtype, found a number"));
  CHECK(
      starts(tensor_verdict(R"("dtype":"F32","shape":"2","data_offsets":[0,8])"), "tensor a: expected an array for shape, found a string"));
  CHECK(starts(tensor_verdict(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"),
               "tensor a: expected whole numbers in shape, found a negative number"));
  CHECK(starts(tensor_verdict(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])"),
               "tensor a: expected whole numbers in shape, found a fraction"));
  CHECK(starts(tensor_verdict(R"("dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,8])"),
               "tensor a: expected whole numbers in shape"));
  CHECK(starts(tensor_verdict(R"("dtype":"F32","shape":[[2]],"data_offsets":[0,8])"),
               "tensor a: expected whole numbers in shape, found an array"));
  CHECK(starts(tensor_verdict(R"("dtype":"F32","shape":[4294967296,4294967296,2],"data_offsets":[0,8])"),
               "tensor a: the shape makes more elements"));
  CHECK(starts(tensor_verdict(R"("dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,8])"),
               "tensor a: the shape makes more elements"));
  CHECK(starts(tensor_verdict(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"),
               "tensor a: dtype and shape need 12 bytes, data_offsets span 8"));
  CHECK(starts(tensor_verdict(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"),
               "tensor a: data_offsets end at 0, before their begin at 8"));
  CHECK(starts(tensor_verdict(R"("dtype":"F32","shape":[2],"data_offsets":[8])"), "tensor a: data_offsets has 1 numbers"));
  CHECK(starts(tensor_verdict(R"("dtype":"F32","shape":[2],"data_offsets":[0,8,8])"), "tensor a: data_offsets has more than two"));
  CHECK(
      starts(tensor_verdict(R"("dtype":"F4","shape":[17],"data_offsets":[0,8])"), "tensor a: its F4 elements do not end at a whole byte"));
  CHECK(tensor_verdict(R"("dtype":"F4","shape":[16],"data_offsets":[0,8])").empty());
}

TEST_CASE("safetensors refuses overlaps, holes, trailing bytes and anything given twice") {
  const auto two = [](const std::string& a, const std::string& b, std::size_t data) {
    return header_verdict(
        R"({"x":{"dtype":"I8","shape":[4],"data_offsets":)" + a + R"(},"y":{"dtype":"I8","shape":[4],"data_offsets":)" + b + "}}", data);
  };
  CHECK(two("[0,4]", "[4,8]", 8).empty());
  CHECK(two("[4,8]", "[0,4]", 8).empty());
  CHECK(starts(two("[0,4]", "[3,7]", 7), "two tensors overlap at byte 3 of the data"));
  CHECK(starts(two("[0,4]", "[0,4]", 4), "two tensors overlap at byte 0"));
  CHECK(starts(two("[0,4]", "[5,9]", 9), "no tensor owns the bytes 4 to 5 of the data"));
  CHECK(starts(two("[1,5]", "[5,9]", 9), "no tensor owns the bytes 0 to 1"));
  CHECK(starts(two("[0,4]", "[4,8]", 7), "the tensors need 8 bytes of data, the file has 7"));
  CHECK(starts(two("[0,4]", "[4,8]", 9), "the file has 1 bytes after the last tensor"));
  const std::string t = R"({"dtype":"I8","shape":[0],"data_offsets":[0,0]})";
  CHECK(header_verdict("{\"x\":" + t + ",\"y\":" + t + "}", 0).empty());
  CHECK(starts(header_verdict("{\"x\":" + t + ",\"\\u0078\":" + t + "}", 0), "tensor x: the name occurs twice"));
  CHECK(header_verdict(R"({"__metadata__":null})", 0).empty());
  CHECK(header_verdict(R"({"__metadata__":{"a":"b","c":"b"}})", 0).empty());
  CHECK(starts(header_verdict(R"({"__metadata__":{"a":"b","a":"c"}})", 0), "__metadata__ a: the name occurs twice"));
  CHECK(starts(header_verdict(R"({"__metadata__":{"a":1}})", 0), "__metadata__: expected a string, found a number"));
  CHECK(starts(header_verdict(R"({"__metadata__":["a"]})", 0), "__metadata__: expected an object, found an array"));
  CHECK(starts(header_verdict(R"({"__metadata__":{},"__metadata__":{}})", 0), "__metadata__ is given twice"));
}

TEST_CASE("safetensors: every proper prefix is an error, and no changed byte does harm") {
  const std::string bytes = raw(R"({"__metadata__":{"k":"v"},"x":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]}})", "12345678");
  for (const ReadMode mode : {ReadMode::map, ReadMode::read})
    for (std::size_t n = 0; n <= bytes.size(); ++n) {
      const std::string error = verdict(bytes.substr(0, n), mode);
      if (error.empty() != (n == bytes.size())) FAIL("prefix of " << n << ": " << error);
    }
  std::size_t refused = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const char c : {'\x00', '\x7f', '\x80', '\xff', '"', '{', '}', '9'}) {
      std::string b = bytes;
      b[i] = c;
      refused += verdict(b).empty() ? 0 : 1;
    }
  CHECK(refused > 300);
}

TEST_CASE("safetensors writing refuses what the format cannot hold") {
  SafeTensorsWriter w;
  const Tensor t = Tensor::zeros(Shape{1});
  w.add("a", t);
  CHECK(starts(error_of([&] { w.add("a", t); }), "[safetensors write] a: added twice"));
  CHECK(starts(error_of([&] { w.add("__metadata__", t); }), "[safetensors write] __metadata__ is no tensor's name"));
  CHECK(starts(error_of([&] { w.add("\xff", t); }), "[safetensors write] \\xff: the name is not UTF-8"));
}
