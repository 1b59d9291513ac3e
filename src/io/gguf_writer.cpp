// SPDX-License-Identifier: Apache-2.0
// Checks as strict as the reader's, then the header and the data in one pass.
#include "hanzo/io/gguf_writer.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <type_traits>

#include "hanzo/core/checked.hpp"
#include "hanzo/io/atomic_file.hpp"
#include "src/io/gguf_layout.hpp"
#include "src/io/message.hpp"

namespace hz::io {
namespace {

constexpr std::uint32_t kVersion = 3;
constexpr std::size_t kPiece = std::size_t{8} << 20;  // bytes; a stop is obeyed between pieces

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::usage, "[gguf write] " + what); }

template <class T>
void put(std::string& out, T v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof(T));  // little-endian hosts only: see gguf_header.cpp
}
void put_text(std::string& out, std::string_view s) {
  put(out, std::uint64_t{s.size()});
  out += s;
}

void put_value(std::string& out, const Value& value, std::uint64_t depth);

void put_array(std::string& out, const Array& array, std::uint64_t depth) {
  if (depth > layout::kMaxNesting) refuse("arrays nested deeper than " + std::to_string(layout::kMaxNesting));
  put(out, static_cast<std::uint32_t>(array.index()));
  std::visit(
      [&]<class T>(const std::vector<T>& v) {
        put(out, std::uint64_t{v.size()});
        if constexpr (std::is_same_v<T, std::string>) {
          for (const std::string& s : v) put_text(out, s);
        } else if constexpr (std::is_same_v<T, Value>) {
          for (const Value& e : v) {
            if (e.type() != ValueType::array) refuse("a nested array whose elements are no arrays");
            put_value(out, e, depth);
          }
        } else if constexpr (std::is_same_v<T, bool>) {
          for (const bool b : v) out += b ? '\1' : '\0';
        } else {
          out.append(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(T));
        }
      },
      array);
}

void put_value(std::string& out, const Value& value, std::uint64_t depth) {
  std::visit(
      [&]<class T>(const T& v) {
        if constexpr (std::is_same_v<T, std::string>) put_text(out, v);
        else if constexpr (std::is_same_v<T, Array>) put_array(out, v, depth + 1);
        else put(out, v);
      },
      value.data);
}

std::uint64_t padding(std::uint64_t at, std::uint32_t alignment) { return (alignment - at % alignment) % alignment; }

std::uint32_t type_of(DType dtype) {
  for (std::uint32_t id = 0; id < 64; ++id)
    if (const auto element = layout::element_layout(id); element && element->dtype == dtype) return id;
  refuse("a tensor of " + std::string(name_of(dtype)) + ": GGUF files have no such type");
}

}  // namespace

void GgufWriter::add(std::string name, const Shape& shape, std::uint32_t type, ByteSource source) {
  if (const std::string fault = layout::name_fault(name); !fault.empty()) refuse(printable(name) + ": " + fault);
  if (names_.contains(name)) refuse(printable(name) + ": added twice");
  const auto element = layout::element_layout(type);
  if (!element) refuse(name + ": tensor type " + std::to_string(type) + " is not known here");
  if (shape.rank() > static_cast<int>(layout::kMaxDims)) refuse(name + ": " + to_string(shape) + " has more than 4 dimensions");
  Entry e{std::move(name), {}, type, 0, std::move(source)};
  Checked bytes = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    e.dims.push_back(static_cast<std::uint64_t>(shape[d]));
    bytes = bytes * Checked(shape[d]);
  }
  const std::int64_t row = shape.back();
  if (row % static_cast<std::int64_t>(element->block_elems) != 0)
    refuse(e.name + ": a row of " + grouped(static_cast<std::uint64_t>(row)) + " does not divide into " + std::string(element->name) +
           " blocks of " + grouped(element->block_elems));
  bytes = Checked(bytes.or_max() / element->block_elems) * (bytes.ok() ? Checked(element->block_bytes) : Checked());
  if (!bytes.ok()) refuse(e.name + ": " + to_string(shape) + " is too large");
  e.nbytes = bytes.or_max();
  names_.insert(e.name);
  entries_.push_back(std::move(e));
}

void GgufWriter::add(std::string name, const Shape& shape, std::uint32_t type, std::span<const std::byte> bytes) {
  add(std::move(name), shape, type, [bytes](const ByteSink& sink) { sink(bytes); });
  if (const Entry& e = entries_.back(); e.nbytes != bytes.size()) {
    const std::string fault = e.name + ": " + to_string(shape) + " needs " + grouped(e.nbytes) + " bytes, got " + grouped(bytes.size());
    names_.erase(e.name);
    entries_.pop_back();
    refuse(fault);
  }
}

void GgufWriter::add(std::string name, const QTensor& tensor) {
  add(std::move(name), tensor.shape(), static_cast<std::uint32_t>(tensor.wtype()),
      [tensor](const ByteSink& sink) { sink(tensor.bytes()); });
}

void GgufWriter::add(std::string name, const Tensor& tensor) {
  add(std::move(name), tensor.shape(), type_of(tensor.dtype()), [tensor](const ByteSink& sink) {
    const Tensor dense = tensor.contiguous() ? tensor : tensor.clone();
    sink({dense.raw(), dense.nbytes()});
  });
}

std::uint32_t GgufWriter::alignment() const {
  const Value* value = metadata_.find(layout::kAlignmentKey);
  if (value == nullptr) return layout::kDefaultAlignment;
  const auto* a = std::get_if<std::uint32_t>(&value->data);
  if (a == nullptr || !layout::legal_alignment(*a)) refuse("general.alignment must be a u32, a power of two from 8 on");
  return *a;
}

std::string GgufWriter::header() const {
  std::string out(layout::kMagic);
  put(out, kVersion);
  put(out, std::uint64_t{entries_.size()});
  put(out, std::uint64_t{metadata_.entries().size()});
  for (const auto& [key, value] : metadata_.entries()) {
    if (const std::string fault = layout::key_fault(key); !fault.empty()) refuse(printable(key) + ": " + fault);
    put_text(out, key);
    put(out, static_cast<std::uint32_t>(value.type()));
    put_value(out, value, 0);
  }
  const std::uint32_t align = alignment();
  Checked offset = 0;
  for (const Entry& e : entries_) {
    put_text(out, e.name);
    put(out, static_cast<std::uint32_t>(e.dims.size()));
    for (const std::uint64_t d : e.dims) put(out, d);
    put(out, e.type);
    put(out, offset.or_max());
    offset = (offset + Checked(e.nbytes)).round_up(align);
  }
  if (!offset.ok()) refuse("the tensors together are too large");
  if (out.size() > layout::kMaxHeader || metadata_.entries().size() > layout::kMaxEntries || entries_.size() > layout::kMaxEntries)
    refuse("more metadata or tensors than a reader takes (" + grouped(layout::kMaxHeader) + " bytes, " + grouped(layout::kMaxEntries) +
           " entries)");
  return out;
}

std::uint64_t GgufWriter::file_bytes() const {
  const std::uint32_t align = alignment();
  std::uint64_t bytes = header().size();
  bytes += padding(bytes, align);
  for (const Entry& e : entries_) bytes += e.nbytes + padding(e.nbytes, align);
  return bytes;
}

void GgufWriter::write(const ByteSink& sink, const Progress& progress) const {
  const std::uint32_t align = alignment();
  const std::uint64_t total = file_bytes();
  std::uint64_t at = 0;
  const auto emit = [&](std::span<const std::byte> bytes) {
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), kPiece))) {
      progress.check("writing");
      sink(bytes.first(std::min(bytes.size(), kPiece)));
      at += std::min(bytes.size(), kPiece);
    }
  };
  const auto pad = [&] {
    static constexpr std::array<std::byte, 4096> kZeros{};
    for (std::uint64_t n = padding(at, align); n > 0;) {
      const std::uint64_t k = std::min<std::uint64_t>(n, kZeros.size());
      emit(std::span(kZeros).first(k));
      n -= k;
    }
  };
  const std::string head = header();
  emit(std::as_bytes(std::span(head.data(), head.size())));
  pad();
  for (const Entry& e : entries_) {
    const std::uint64_t begin = at;
    e.source(emit);
    if (at - begin != e.nbytes) refuse(e.name + ": the source gave " + grouped(at - begin) + " bytes instead of " + grouped(e.nbytes));
    pad();
    progress("writing", at, total);
  }
}

void GgufWriter::write(const std::filesystem::path& file, const Progress& progress) const {
  AtomicFile out(file);
  write([&](std::span<const std::byte> bytes) { out.write(bytes); }, progress);
  out.commit();
}

}  // namespace hz::io
