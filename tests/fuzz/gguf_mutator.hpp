// SPDX-License-Identifier: Apache-2.0
// A mutator of GGUF files: it changes fields of the parsed file and serialises it again, so that the checks behind the
// first ones are reached too.
#pragma once
#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "hanzo/io/gguf.hpp"
#include "hanzo/io/gguf_writer.hpp"
#include "tests/fuzz/fuzz.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace hz::fuzz {

// A number that checks like to get wrong.
inline std::uint64_t odd_number(std::minstd_rand& random) {
  constexpr std::uint64_t kNumbers[] = {0,
                                        1,
                                        2,
                                        3,
                                        7,
                                        31,
                                        32,
                                        33,
                                        64,
                                        127,
                                        255,
                                        256,
                                        1024,
                                        65535,
                                        1u << 20,
                                        0x7fffffff,
                                        0x80000000,
                                        0xffffffff,
                                        std::uint64_t{1} << 32,
                                        std::uint64_t{1} << 48,
                                        0x7fffffffffffffff,
                                        0x8000000000000000,
                                        0xffffffffffffffff};
  return kNumbers[random() % std::size(kNumbers)];
}

inline io::Value odd_value(std::minstd_rand& random) {
  const std::uint64_t n = odd_number(random);
  switch (random() % 10) {
    case 0: return {static_cast<std::uint8_t>(n)};
    case 1: return {static_cast<std::uint32_t>(n)};
    case 2: return {static_cast<std::int32_t>(n)};
    case 3: return {n};
    case 4: return {static_cast<std::int64_t>(n)};
    case 5: return {random() % 2 == 0 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(n)};
    case 6: return {random() % 2 == 0};
    case 7: return {std::string(random() % 40, static_cast<char>('a' + random() % 26))};
    case 8: return {io::Array{std::vector<std::string>(random() % 9, std::string(random() % 3, 'x'))}};
    default: return {io::Array{std::vector<std::int32_t>(random() % 9, static_cast<std::int32_t>(n))}};
  }
}

inline void mutate_metadata(io::Metadata& m, std::minstd_rand& random) {
  if (m.entries().empty()) return;
  const std::string key = m.entries()[random() % m.entries().size()].first;
  if (random() % 6 == 0) m.erase(key);
  else m.set(key, odd_value(random));
}

struct Entry {
  std::string name;
  Shape shape;
  std::uint32_t type;
  std::vector<std::byte> bytes;
};

inline void mutate_tensor(std::vector<Entry>& list, std::minstd_rand& random) {
  if (list.empty()) return;
  Entry& e = list[random() % list.size()];
  switch (random() % 5) {
    case 0: e.name = list[random() % list.size()].name + (random() % 2 == 0 ? "" : "x"); break;
    case 1: e.shape = e.shape.rank() > 1 ? Shape{e.shape[1], e.shape[0]} : Shape{e.shape[0], 1}; break;
    case 2: e.type = static_cast<std::uint32_t>(random() % 42); break;
    case 3: list.erase(list.begin() + static_cast<std::ptrdiff_t>(random() % list.size())); break;
    default:
      for (std::size_t i = 0; i < 1 + random() % 8 && !e.bytes.empty(); ++i)
        e.bytes[random() % e.bytes.size()] = static_cast<std::byte>(random());
  }
}

inline std::string mutated(const std::filesystem::path& path, unsigned seed) {
  const io::Gguf file = io::Gguf::open_part(path, io::ReadMode::read);
  std::minstd_rand random(seed);
  io::Metadata meta = file.metadata();
  std::vector<Entry> tensors;
  for (const io::GgufTensor& t : file.tensors()) {
    const auto bytes = file.bytes(t.name);
    tensors.push_back({t.name, t.shape, static_cast<std::uint32_t>(t.type), {bytes.begin(), bytes.end()}});
  }
  for (std::size_t i = 0; i < 1 + random() % 3; ++i) {
    if (random() % 2 == 0) mutate_metadata(meta, random);
    else mutate_tensor(tensors, random);
  }
  io::GgufWriter writer(std::move(meta));
  for (const Entry& e : tensors) writer.add(e.name, e.shape, e.type, [&e](const io::ByteSink& sink) { sink(e.bytes); });
  std::string out;
  writer.write([&](std::span<const std::byte> bytes) { out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size()); });
  return out;
}

// Two of three times by fields, where the file can be read; else the fuzzer's own changes of bytes.
inline std::size_t mutate_gguf(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  if (seed % 3 != 0) {
    try {
      const MemoryFile file({data, size});
      const std::string out = mutated(file.path(), seed);
      if (out.size() <= max_size) {
        std::copy(out.begin(), out.end(), data);
        return out.size();
      }
    } catch (const Error&) {  // no file that can be changed field by field, or a change that the writer refuses
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

}  // namespace hz::fuzz
