// SPDX-License-Identifier: Apache-2.0
// Gguf: the parts of one model, checked and put together.
#include "hanzo/io/gguf.hpp"

#include <algorithm>
#include <new>
#include <numeric>

#include "src/io/gguf_header.hpp"
#include "src/io/split_name.hpp"
#include "src/io/message.hpp"

namespace hz::io {

bool GgufTensor::is_weight() const { return quant::from_id(static_cast<std::uint32_t>(type)).has_value(); }

std::string_view GgufTensor::type_name() const {
  const auto element = layout::element_layout(static_cast<std::uint32_t>(type));
  return element ? element->name : "unknown";
}

namespace {

struct Part {
  std::filesystem::path path;
  FileIdentity identity;
  Header header;
  std::shared_ptr<Storage> storage;
  std::uint64_t storage_at = 0;  // where in the file the storage begins
};

}  // namespace

struct Gguf::Body {
  Metadata metadata;
  std::vector<GgufTensor> tensors;
  std::vector<std::uint32_t> by_name;  // indices of tensors
  std::vector<Part> parts;
  std::vector<std::filesystem::path> files;
  std::uint64_t total_bytes = 0;

  void index_names();
  void check_tensor_count() const;
};

namespace {

// Checks one file and appends its tensors; returns its metadata.
Metadata read_part(Part& part, std::uint32_t index, std::vector<GgufTensor>& tensors) {
  const InputFile file(part.path);
  part.identity = file.identity();
  HeaderBytes bytes(file);
  part.header = scan_header(bytes);
  Metadata metadata(read_metadata(bytes, part.header), shown(part.path));
  auto more = read_tensors(bytes, part.header, index);
  tensors.insert(tensors.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return metadata;
}

void load_part(Part& part, ReadMode mode, const Progress& progress, std::uint64_t& done, std::uint64_t total) {
  const InputFile file(part.path);
  file.check_unchanged(part.identity);
  if (mode == ReadMode::map) {
    part.storage = file.map();
    part.storage_at = 0;
    file.check_unchanged(part.identity);
    return;
  }
  const std::uint64_t bytes = part.header.data_end > part.header.data_at ? part.header.data_end - part.header.data_at : 0;
  part.storage = file.copy(part.header.data_at, bytes, progress, done, total);
  part.storage_at = part.header.data_at;
  done += bytes;
  file.check_unchanged(part.identity);
}

[[noreturn]] void not_enough_memory(const std::filesystem::path& file) {
  throw Error(ErrorKind::out_of_memory, "not enough memory to read the file's metadata", shown(file),
              "close other programs, or use a smaller model");
}

}  // namespace

void Gguf::Body::index_names() {
  by_name.resize(tensors.size());
  std::iota(by_name.begin(), by_name.end(), 0u);
  std::sort(by_name.begin(), by_name.end(), [&](std::uint32_t a, std::uint32_t b) { return tensors[a].name < tensors[b].name; });
  for (std::size_t i = 1; i < by_name.size(); ++i) {
    const GgufTensor &a = tensors[by_name[i - 1]], &b = tensors[by_name[i]];
    if (a.name == b.name)
      throw Error(ErrorKind::bad_file, "tensor " + printable(b.name) + " is in two parts of the model",
                  shown(files[std::max(a.file, b.file)]), "the parts do not belong together: download the model again");
  }
}

void Gguf::Body::check_tensor_count() const {
  const auto expected = metadata.get<std::uint64_t>("split.tensors.count");
  if (expected && *expected != tensors.size())
    throw Error(ErrorKind::bad_file, "the model has " + grouped(*expected) + " tensors, its parts hold " + grouped(tensors.size()),
                shown(files[0]), "the parts do not belong together: download the model again");
}

Gguf Gguf::assemble(std::vector<std::filesystem::path> files, ReadMode mode, const Progress& progress, bool whole_set) {
  auto body = std::make_shared<Body>();
  body->files = std::move(files);
  for (std::uint32_t i = 0; i < body->files.size(); ++i) {  // a split set grows the list after its first part
    progress.check("opening the model");
    Part part;
    part.path = body->files[i];
    Metadata metadata = read_part(part, i, body->tensors);
    if (i == 0) {
      body->metadata = std::move(metadata);
      if (whole_set) body->files = split_set(part.path, body->metadata);
    } else {
      check_split_part(part.path, metadata, i, body->files.size());
    }
    body->total_bytes += part.identity.size;
    body->parts.push_back(std::move(part));
  }
  body->index_names();
  if (body->files.size() > 1) body->check_tensor_count();
  std::uint64_t done = 0, total = 0;
  for (const Part& part : body->parts) total += part.header.data_end - std::min(part.header.data_at, part.header.data_end);
  for (Part& part : body->parts) load_part(part, mode, progress, done, total);
  Gguf gguf;
  gguf.body_ = std::move(body);
  return gguf;
}

Gguf Gguf::open(const std::filesystem::path& file, ReadMode mode, const Progress& progress) {
  try {
    return assemble({file}, mode, progress, true);
  } catch (const std::bad_alloc&) {
    not_enough_memory(file);
  }
}

Gguf Gguf::open_part(const std::filesystem::path& file, ReadMode mode, const Progress& progress) {
  try {
    return assemble({file}, mode, progress, false);
  } catch (const std::bad_alloc&) {
    not_enough_memory(file);
  }
}

const Metadata& Gguf::metadata() const { return body_->metadata; }
const std::vector<GgufTensor>& Gguf::tensors() const { return body_->tensors; }
const std::vector<std::filesystem::path>& Gguf::files() const { return body_->files; }
std::uint64_t Gguf::total_bytes() const { return body_->total_bytes; }
std::uint32_t Gguf::version() const { return body_->parts[0].header.version; }
std::uint32_t Gguf::alignment() const { return body_->parts[0].header.alignment; }

const GgufTensor* Gguf::find(std::string_view name) const {
  const auto& order = body_->by_name;
  const auto it =
      std::lower_bound(order.begin(), order.end(), name, [&](std::uint32_t i, std::string_view n) { return body_->tensors[i].name < n; });
  return it != order.end() && body_->tensors[*it].name == name ? &body_->tensors[*it] : nullptr;
}

const GgufTensor& Gguf::require(std::string_view name) const {
  if (const GgufTensor* t = find(name)) return *t;
  throw Error(ErrorKind::bad_file, "tensor " + printable(name) + " is missing", shown(body_->files[0]),
              "the file is no complete model of this kind: convert or download it again");
}

std::span<const std::byte> Gguf::bytes(std::string_view name) const {
  const GgufTensor& t = require(name);
  const Part& part = body_->parts[t.file];
  if (t.nbytes == 0) return {};
  return {part.storage->data + (t.offset - part.storage_at), t.nbytes};
}

QTensor Gguf::tensor(std::string_view name) const {
  const GgufTensor& t = require(name);
  const auto refuse = [&](const std::string& fault) {
    throw Error(ErrorKind::bad_file, printable(name) + ": " + fault, shown(body_->files[t.file]),
                "convert the model again, or get it in another quantization");
  };
  if (!t.is_weight()) refuse("stored as " + std::string(t.type_name()) + ", which is no weight format");
  if (t.shape.rank() == 0) refuse("a tensor without dimensions, weights have 1 to 4");
  if (t.shape.numel() == 0) refuse("a dimension is 0 in " + to_string(t.shape));
  const Part& part = body_->parts[t.file];
  return {t.name, t.shape, t.type, part.storage, t.offset - part.storage_at};
}

QTensor Gguf::tensor(std::string_view name, const Shape& expected) const {
  const QTensor q = tensor(name);
  const auto without_ones = [](const Shape& s) {
    Shape r;
    for (const std::int64_t d : s)
      if (r.rank() > 0 || d != 1) r.push_back(d);
    return r;
  };
  const GgufTensor& t = require(name);
  if (without_ones(t.shape) != without_ones(expected))
    throw Error(ErrorKind::bad_file, printable(name) + ": expected " + to_string(expected) + ", the file has " + to_string(t.shape),
                shown(body_->files[t.file]), "metadata and tensors do not belong together: convert or download the model again");
  if (t.shape == expected) return q;
  const Part& part = body_->parts[t.file];
  return {t.name, expected, t.type, part.storage, t.offset - part.storage_at};
}

Tensor Gguf::dense(std::string_view name) const {
  const GgufTensor& t = require(name);
  const auto element = layout::element_layout(static_cast<std::uint32_t>(t.type));
  if (!element || !element->dtype)
    throw Error(ErrorKind::bad_file,
                printable(name) + ": stored as " + std::string(t.type_name()) + ", expected F32, F16, BF16, I8, I32 or I64",
                shown(body_->files[t.file]));
  const Part& part = body_->parts[t.file];
  return {part.storage, t.offset - part.storage_at, t.shape, *element->dtype, Device{}};
}

}  // namespace hz::io
