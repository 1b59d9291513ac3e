// SPDX-License-Identifier: Apache-2.0
// Pages of keys and values as bytes, and the hash that names a model.
#include "hanzo/model/kv_state.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "hanzo/core/parallel.hpp"
#include "hanzo/io/sha256.hpp"
#include "src/model/metadata_hash.hpp"

namespace hz::model {
namespace {

constexpr std::size_t kChunk = std::size_t{8} << 20;  // bytes hashed by one thread at a time

// The digest of each 8 MiB, in order; a tensor's bytes are read by all threads at once.
std::vector<std::array<std::uint8_t, 32>> chunk_digests(std::span<const std::byte> bytes, int threads) {
  std::vector<std::array<std::uint8_t, 32>> digests((bytes.size() + kChunk - 1) / kChunk);
  parallel_for(threads, static_cast<std::int64_t>(digests.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
      digests[i] = io::Sha256().update(bytes.subspan(i * kChunk, std::min(kChunk, bytes.size() - i * kChunk))).digest();
  });
  return digests;
}

}  // namespace

std::string model_hash(const Model& model, const Progress& progress) {
  const io::Gguf& file = model.file();
  const int threads = model.options().threads > 0 ? model.options().threads : default_threads();
  io::Sha256 h;
  hash_number(h, file.metadata().entries().size());
  for (const auto& [key, value] : file.metadata().entries()) {
    hash_text(h, key);
    hash_value(h, value);
  }
  std::uint64_t total = 0, done = 0;
  for (const io::GgufTensor& t : file.tensors()) total += t.nbytes;
  for (const io::GgufTensor& t : file.tensors()) {
    progress.check("hashing the model");
    hash_text(h, t.name);
    hash_text(h, t.type_name());
    for (const std::int64_t d : t.shape) hash_number(h, static_cast<std::uint64_t>(d));
    for (const auto& digest : chunk_digests(file.bytes(t.name), threads)) h.update(std::as_bytes(std::span(digest)));
    if (t.is_weight() && t.nbytes > 0 && model.options().pack) file.tensor(t.name).release_pages();
    progress("hashing the model", done += t.nbytes, total);
  }
  return h.hex();
}

KvBinding kv_binding(const Model& model, const Progress& progress) {
  constexpr const char* kKinds[] = {"f16", "f32", "q8_0"};
  return {model_hash(model, progress),
          std::string(model.backend().name()),
          kKinds[static_cast<std::size_t>(model.options().kv)],
          model.options().activations == nn::Activations::f32 ? "f32" : "int8",
          model.adapters_sha256()};
}

std::size_t write_pages(const KvSequence& kv, std::int64_t length, const std::function<void(std::span<const std::byte>)>& write) {
  const auto whole = static_cast<std::size_t>(std::clamp<std::int64_t>(length, 0, kv.length()) / kKvPage);
  std::vector<std::byte> page(kv.layout().bytes);
  for (std::size_t i = 0; i < whole; ++i) {
    kv.read_page(i, page);
    write(page);
  }
  return whole;
}

KvSequence read_pages(const Model& model, std::span<const std::byte> bytes) {
  KvSequence kv = model.new_sequence();
  const std::size_t size = kv.layout().bytes;
  if (size == 0 || bytes.size() % size != 0)
    throw Error(ErrorKind::bad_file,
                std::to_string(bytes.size()) + " bytes of keys and values are no number of pages of " + std::to_string(size));
  const auto positions = static_cast<std::int64_t>(bytes.size() / size) * kKvPage;
  kv.reserve(positions);
  for (std::size_t i = 0; i * size < bytes.size(); ++i) kv.write_page(i, bytes.subspan(i * size, size));
  kv.advance(positions);
  return kv;
}

}  // namespace hz::model
