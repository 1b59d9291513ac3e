// SPDX-License-Identifier: Apache-2.0
// QTensor: a weight matrix as the GGUF block bytes of the file. These bytes are the truth.
#pragma once
#include <memory>
#include <mutex>
#include <span>

#include "hanzo/core/tensor.hpp"
#include "hanzo/quant/wtype.hpp"

namespace hz {

// A form of the same weights that one backend prefers (panels, device memory). Invertible; made on first use.
struct PackedForm {
  virtual ~PackedForm() = default;
};

class QTensor {
 public:
  QTensor() = default;
  // shape [out, in] or [experts, out, in]; bytes hold the rows one after another.
  // Throws bad_file when the storage is too small or the rows do not divide into blocks.
  QTensor(std::string name, const Shape& shape, WType type, std::shared_ptr<Storage> storage, std::size_t byte_offset);

  bool defined() const { return body_ != nullptr; }
  explicit operator bool() const { return defined(); }
  const std::string& name() const { return body_->name; }
  const Shape& shape() const { return body_->shape; }
  WType wtype() const { return body_->type; }
  std::int64_t rows() const { return body_->shape.rows(); }  // of all experts together
  std::int64_t cols() const { return body_->shape.back(); }
  std::size_t row_bytes() const { return body_->row_bytes; }
  std::size_t nbytes() const { return body_->row_bytes * static_cast<std::size_t>(rows()); }
  std::span<const std::byte> bytes() const { return {body_->storage->data + body_->offset, nbytes()}; }
  const std::byte* row(std::int64_t i) const { return bytes().data() + static_cast<std::size_t>(i) * row_bytes(); }
  // The same rows under another shape of as many elements and the same row length; shares the bytes.
  QTensor with_shape(const Shape& shape) const;
  // One expert of a rank-3 tensor as [out, in]; shares the bytes but not the packed form.
  QTensor expert(std::int64_t i) const;

  // Decodes row i into out[cols].
  void decode_row(std::int64_t i, float* out) const;
  // The whole tensor as F32.
  Tensor decode() const;
  // Index of the first row with a NaN or infinite scale or weight, or -1. Reads every block.
  std::int64_t first_bad_row(std::int64_t begin, std::int64_t end) const;

  // Tells the system that mapped bytes of the file are not needed for now; they come back from it when read.
  void release_pages() const;

  // The packed form, made by `make` on the first call; later calls return the same one. Thread-safe.
  template <class Make>
  PackedForm* packed(Make&& make) const {
    std::call_once(body_->once, [&] { body_->packed = make(*this); });
    return body_->packed.get();
  }

 private:
  struct Body {
    std::string name;
    Shape shape;
    WType type{};
    std::size_t row_bytes = 0;
    std::shared_ptr<Storage> storage;
    std::size_t offset = 0;
    std::once_flag once;
    std::unique_ptr<PackedForm> packed;
  };
  std::shared_ptr<Body> body_;
};

struct QuantizeOptions {
  // One value a column, or, for [experts, out, in], one a column of each expert ([experts * in]); empty: all alike.
  std::span<const float> importance = {};
  quant::Search search = quant::Search::normal;
  int threads = 1;
};

// Encodes F32 rows, [out, in] or [experts, out, in], to `type`. The bytes do not depend on threads or machine.
// Throws unsupported when the format's encoder is not built, usage for rows that do not divide into blocks.
QTensor quantize(const Tensor& weights, WType type, const QuantizeOptions& options = {});
inline QTensor quantize(const Tensor& weights, WType type, std::span<const float> importance) {
  return quantize(weights, type, QuantizeOptions{.importance = importance});
}

}  // namespace hz
