// SPDX-License-Identifier: Apache-2.0
// SafeTensors: the header is walked once to check it with a few bytes per entry, and again to keep it.
#include "hanzo/io/safetensors.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <new>
#include <numeric>

#include "src/io/input_file.hpp"
#include "src/io/message.hpp"
#include "src/io/safetensors_header.hpp"

namespace hz::io {
namespace {

using namespace safetensors;

[[noreturn]] void refuse(const std::string& what, const std::string& file,
                         std::string hint = "the file is damaged or incomplete: download it again") {
  throw Error(ErrorKind::bad_file, what, file, std::move(hint));
}

struct Span {
  std::uint64_t begin, end, hash;  // hash: of the name
};

struct Checker final : Visitor {
  std::vector<Span> spans;
  std::vector<std::uint64_t> keys;  // hashes of metadata keys
  const std::string& file;

  explicit Checker(const std::string& f) : file(f) {}
  static std::uint64_t hash(std::string_view s) { return std::hash<std::string_view>{}(s); }
  void tensor(const Entry& e) override {
    if (spans.size() == kMaxEntries) refuse("more than " + grouped(kMaxEntries) + " tensors", file);
    spans.push_back({e.begin, e.end, hash(e.name)});
  }
  void metadata(std::string_view key, std::string_view) override {
    if (keys.size() == kMaxEntries) refuse("more than " + grouped(kMaxEntries) + " entries in " + std::string(kMetadataKey), file);
    keys.push_back(hash(key));
  }
};

// Keeps the names with a hash that occurs twice, to tell a real duplicate from a collision.
struct Suspects final : Visitor {
  std::optional<std::uint64_t> tensor_hash, key_hash;
  std::vector<std::string> names, keys;

  void tensor(const Entry& e) override {
    if (tensor_hash == Checker::hash(e.name)) names.emplace_back(e.name);
  }
  void metadata(std::string_view key, std::string_view) override {
    if (key_hash == Checker::hash(key)) keys.emplace_back(key);
  }
};

std::optional<std::uint64_t> occurring_twice(std::vector<std::uint64_t> hashes) {
  std::sort(hashes.begin(), hashes.end());
  const auto it = std::adjacent_find(hashes.begin(), hashes.end());
  return it == hashes.end() ? std::nullopt : std::optional(*it);
}

void refuse_twice(std::vector<std::string>& names, const std::string& what, const std::string& file) {
  std::sort(names.begin(), names.end());
  if (const auto it = std::adjacent_find(names.begin(), names.end()); it != names.end())
    refuse(what + " " + printable(*it) + ": the name occurs twice", file, "report the file to its maker");
  if (!names.empty())
    refuse(what + " " + printable(names.back()) + ": made to collide with another name", file, "get this model from a source you trust");
}

void check_duplicates(std::string_view header, const Checker& checker, const std::string& file) {
  Suspects s;
  std::vector<std::uint64_t> hashes;
  hashes.reserve(checker.spans.size());
  for (const Span& span : checker.spans) hashes.push_back(span.hash);
  s.tensor_hash = occurring_twice(std::move(hashes));
  s.key_hash = occurring_twice(checker.keys);
  if (!s.tensor_hash && !s.key_hash) return;
  walk_header(header, file, s);
  refuse_twice(s.names, "tensor", file);
  refuse_twice(s.keys, std::string(kMetadataKey), file);
}

// Ranges must follow each other from 0 to the end of the file.
void check_ranges(std::vector<Span>& spans, std::uint64_t data_bytes, const std::string& file) {
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
  std::uint64_t at = 0;
  for (const Span& s : spans) {
    if (s.begin < at) refuse("two tensors overlap at byte " + grouped(s.begin) + " of the data", file);
    if (s.begin > at) refuse("no tensor owns the bytes " + grouped(at) + " to " + grouped(s.begin) + " of the data", file);
    at = s.end;
  }
  if (at > data_bytes) refuse("the tensors need " + grouped(at) + " bytes of data, the file has " + grouped(data_bytes), file);
  if (at < data_bytes) refuse("the file has " + grouped(data_bytes - at) + " bytes after the last tensor", file);
}

struct Keeper final : Visitor {
  std::vector<SafeTensor> tensors;
  std::map<std::string, std::string> entries;
  std::uint64_t data_at = 0;

  void tensor(const Entry& e) override {
    tensors.push_back(
        {std::string(e.name), e.type->name, e.type->dtype, {e.dims.begin(), e.dims.end()}, data_at + e.begin, e.end - e.begin});
  }
  void metadata(std::string_view key, std::string_view value) override { entries.emplace(key, value); }
};

std::shared_ptr<Storage> read_header(const InputFile& file, const std::string& name) {
  std::uint64_t length = 0;
  if (file.size() < kLengthBytes) refuse("a file of " + grouped(file.size()) + " bytes is too short for a safetensors file", name);
  file.read(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > kMaxHeader)
    refuse("a header of " + grouped(length) + " bytes, at most " + grouped(kMaxHeader) + " are allowed", name,
           "check that this is a safetensors file");
  if (length > file.size() - kLengthBytes)
    refuse("a header of " + grouped(length) + " bytes, the file has " + grouped(file.size() - kLengthBytes) + " left", name);
  auto pages = anonymous_pages(length, file.path());
  file.read(kLengthBytes, {pages->data, length});
  return pages;
}

}  // namespace

struct SafeTensors::Body {
  std::string file;  // as messages name it
  std::map<std::string, std::string> metadata;
  std::vector<SafeTensor> tensors;
  std::vector<std::uint32_t> by_name;
  std::shared_ptr<Storage> storage;
  std::uint64_t storage_at = 0;  // where in the file the storage begins

  void keep(Keeper&& keeper);
  void load(const InputFile& input, ReadMode mode, const Progress& progress, std::uint64_t data_at);
};

void SafeTensors::Body::keep(Keeper&& keeper) {
  metadata = std::move(keeper.entries);
  tensors = std::move(keeper.tensors);
  std::stable_sort(tensors.begin(), tensors.end(), [](const SafeTensor& a, const SafeTensor& b) { return a.offset < b.offset; });
  by_name.resize(tensors.size());
  std::iota(by_name.begin(), by_name.end(), 0u);
  std::sort(by_name.begin(), by_name.end(), [&](std::uint32_t a, std::uint32_t b) { return tensors[a].name < tensors[b].name; });
}

void SafeTensors::Body::load(const InputFile& input, ReadMode mode, const Progress& progress, std::uint64_t data_at) {
  if (mode == ReadMode::map) {
    storage = input.map();
  } else {
    storage_at = data_at;
    const std::uint64_t bytes = input.size() - data_at;
    storage = input.copy(data_at, bytes, progress, 0, bytes);
  }
  input.check_unchanged(input.identity());
}

SafeTensors SafeTensors::open(const std::filesystem::path& file, ReadMode mode, const Progress& progress) {
  auto body = std::make_shared<Body>();
  body->file = shown(file);
  try {
    const InputFile input(file);
    const auto pages = read_header(input, body->file);
    const std::string_view header(reinterpret_cast<const char*>(pages->data), pages->bytes);
    const std::uint64_t data_at = kLengthBytes + header.size();
    Checker checker(body->file);
    walk_header(header, body->file, checker);
    check_duplicates(header, checker, body->file);
    check_ranges(checker.spans, input.size() - data_at, body->file);
    Keeper keeper;
    keeper.data_at = data_at;
    walk_header(header, body->file, keeper);
    body->keep(std::move(keeper));
    body->load(input, mode, progress, data_at);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::out_of_memory, "not enough memory to read the file's header", body->file, "close other programs");
  }
  SafeTensors s;
  s.body_ = std::move(body);
  return s;
}

const std::map<std::string, std::string>& SafeTensors::metadata() const { return body_->metadata; }
const std::vector<SafeTensor>& SafeTensors::tensors() const { return body_->tensors; }

const SafeTensor* SafeTensors::find(std::string_view name) const {
  const auto& order = body_->by_name;
  const auto it =
      std::lower_bound(order.begin(), order.end(), name, [&](std::uint32_t i, std::string_view n) { return body_->tensors[i].name < n; });
  return it != order.end() && body_->tensors[*it].name == name ? &body_->tensors[*it] : nullptr;
}

const SafeTensor& SafeTensors::require(std::string_view name) const {
  if (const SafeTensor* t = find(name)) return *t;
  refuse("tensor " + printable(name) + " is missing", body_->file, "check that this is the right file");
}

std::span<const std::byte> SafeTensors::bytes(std::string_view name) const {
  const SafeTensor& t = require(name);
  return {body_->storage->data + (t.offset - body_->storage_at), t.nbytes};
}

Tensor SafeTensors::tensor(std::string_view name) const {
  const SafeTensor& t = require(name);
  const auto unsupported = [&](const std::string& what) {
    throw Error(ErrorKind::unsupported, printable(name) + ": " + what, body_->file);
  };
  if (!t.dtype) unsupported("tensors of type " + std::string(t.type) + " cannot be used here");
  if (t.shape.size() > static_cast<std::size_t>(Shape::kMaxRank))
    unsupported(std::to_string(t.shape.size()) + " dimensions, at most " + std::to_string(Shape::kMaxRank) + " can be used here");
  Shape shape;
  Checked count = 1;
  for (const std::uint64_t d : t.shape) {
    count = count * Checked(std::max<std::uint64_t>(d, 1));
    if (!(count <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))) unsupported("a shape that cannot be counted");
    shape.push_back(static_cast<std::int64_t>(d));
  }
  const std::uint64_t at = t.offset - body_->storage_at;
  if (reinterpret_cast<std::uintptr_t>(body_->storage->data + at) % size_of(*t.dtype) == 0)
    return {body_->storage, at, shape, *t.dtype, Device{}};
  Tensor copy = Tensor::empty(shape, *t.dtype);
  if (t.nbytes != 0) std::memcpy(copy.raw(), body_->storage->data + at, t.nbytes);
  return copy;
}

}  // namespace hz::io
