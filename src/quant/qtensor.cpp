// SPDX-License-Identifier: Apache-2.0
// QTensor: rows of blocks, decoded and checked through visit().
#include "hanzo/quant/qtensor.hpp"

#include <sys/mman.h>

#include "hanzo/core/checked.hpp"
#include "hanzo/core/parallel.hpp"
#include "hanzo/quant/format/decode.h"
#include "hanzo/quant/visit.hpp"

namespace hz {
namespace {

// A function for each format: in visit()'s own body, which holds all of them, the compiler inlines no more.
template <class W>
[[gnu::noinline]] void decode_blocks(const typename W::Block* b, std::int64_t n, float* out) {
  for (std::int64_t k = 0; k < n; k += W::kElems) quant::decode_block<W>(*b++, out + k);
}

}  // namespace

QTensor::QTensor(std::string name, const Shape& shape, WType type, std::shared_ptr<Storage> storage, std::size_t byte_offset)
    : body_(std::make_shared<Body>()) {
  body_->name = std::move(name);
  body_->shape = shape;
  body_->type = type;
  body_->row_bytes = quant::row_bytes(type, shape.back());
  body_->storage = std::move(storage);
  body_->offset = byte_offset;
  const Checked end = Checked(byte_offset) + Checked(body_->row_bytes) * Checked(shape.rows());
  if (!(end <= body_->storage->bytes))
    throw Error(ErrorKind::bad_file, body_->name + ": " + to_string(shape) + " " + std::string(name_of(type)) + " needs " +
                                         std::to_string(end.or_max()) + " bytes, the storage has " + std::to_string(body_->storage->bytes));
}

QTensor QTensor::with_shape(const Shape& shape) const {
  if (shape.back() != cols() || shape.numel() != body_->shape.numel())
    throw Error(ErrorKind::usage, name() + ": " + to_string(body_->shape) + " cannot be seen as " + to_string(shape));
  return {name(), shape, wtype(), body_->storage, body_->offset};
}

QTensor QTensor::expert(std::int64_t i) const {
  if (shape().rank() != 3 || i < 0 || i >= shape()[0])
    throw Error(ErrorKind::usage, name() + ": no expert " + std::to_string(i) + " in " + to_string(shape()));
  const std::size_t bytes = row_bytes() * static_cast<std::size_t>(shape()[1]);
  return {name() + "." + std::to_string(i), Shape{shape()[1], shape()[2]}, wtype(), body_->storage,
          body_->offset + bytes * static_cast<std::size_t>(i)};
}

void QTensor::decode_row(std::int64_t i, float* out) const {
  quant::visit(wtype(), [&]<class W>(quant::tag<W>) { decode_blocks<W>(reinterpret_cast<const typename W::Block*>(row(i)), cols(), out); });
}

Tensor QTensor::decode() const {
  const IeeeMode mode;
  Tensor t = Tensor::empty(shape());
  for (std::int64_t i = 0; i < rows(); ++i) decode_row(i, t.data<float>() + i * cols());
  return t;
}

std::int64_t QTensor::first_bad_row(std::int64_t begin, std::int64_t end) const {
  return quant::visit(wtype(), [&]<class W>(quant::tag<W>) -> std::int64_t {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto* b = reinterpret_cast<const typename W::Block*>(row(i));
      bool ok = true;
      for (std::int64_t k = 0; k < cols(); k += W::kElems) ok &= W::finite(*b++);
      if (!ok) return i;
    }
    return -1;
  });
}

void QTensor::release_pages() const {
  if (!body_->storage->mapped) return;
  constexpr std::uintptr_t kPage = 4096;
  const auto begin = (reinterpret_cast<std::uintptr_t>(bytes().data()) + kPage - 1) / kPage * kPage;
  const auto end = (reinterpret_cast<std::uintptr_t>(bytes().data()) + nbytes()) / kPage * kPage;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

QTensor quantize(const Tensor& weights, WType type, const QuantizeOptions& options) {
  const quant::FormatInfo& f = quant::info(type);
  if (f.encoder == nullptr) throw Error(ErrorKind::unsupported, "[quantize] no encoder for " + std::string(f.name) + " is built");
  const std::int64_t cols = weights.cols(), rows = weights.rows(), experts = weights.rank() == 3 ? weights.size(0) : 1;
  const auto given = static_cast<std::int64_t>(options.importance.size());
  if (given != 0 && given != cols && given != experts * cols)
    throw Error(ErrorKind::usage, "[quantize] " + std::to_string(given) + " importance values for " + to_string(weights.shape()));
  const std::size_t bytes = quant::row_bytes(type, cols);
  const auto values = weights.span<float>();
  auto storage = allocate_host(bytes * static_cast<std::size_t>(rows));
  const std::int64_t per_expert = given == cols || rows == 0 ? rows + 1 : rows / experts;
  parallel_for(options.threads, rows, 4, [&](std::int64_t begin, std::int64_t end) {
    const IeeeMode mode;
    for (std::int64_t i = begin; i < end; ++i)
      f.encoder(values.data() + i * cols, cols, {given == 0 ? nullptr : options.importance.data() + i / per_expert * cols, options.search},
                storage->data + bytes * static_cast<std::size_t>(i));
  });
  return {"", weights.shape(), type, storage, 0};
}

}  // namespace hz
