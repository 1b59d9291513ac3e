// SPDX-License-Identifier: Apache-2.0
// The grammar of the header over the JSON parser's events.
#include "src/io/safetensors_header.hpp"

#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "hanzo/core/error.hpp"
#include "src/io/message.hpp"

namespace hz::io::safetensors {
namespace {

constexpr std::string_view kHint = "the file is damaged or was written by a faulty tool: get it again, or report it to its maker";

constexpr ElementType kTypes[] = {
    {"BOOL", 8, {}},     {"F4", 4, {}},       {"F6_E2M3", 6, {}},     {"F6_E3M2", 6, {}},     {"U8", 8, DType::u8},
    {"I8", 8, DType::i8}, {"F8_E5M2", 8, {}}, {"F8_E4M3", 8, {}},     {"F8_E8M0", 8, {}},     {"F8_E4M3FNUZ", 8, {}},
    {"F8_E5M2FNUZ", 8, {}}, {"I16", 16, {}},  {"U16", 16, {}},        {"F16", 16, DType::f16}, {"BF16", 16, DType::bf16},
    {"I32", 32, DType::i32}, {"U32", 32, {}}, {"F32", 32, DType::f32}, {"C64", 64, {}},       {"F64", 64, {}},
    {"I64", 64, DType::i64}, {"U64", 64, {}}};

[[noreturn]] void refuse(const std::string& what, const std::string& file) {
  throw Error(ErrorKind::bad_file, what, file, std::string(kHint));
}

// The JSON parser's events against the grammar of the header.
class Events final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Events(const std::string& file, Visitor& visitor) : file_(file), visitor_(visitor) {}

  bool null() override {
    if (at_ == At::metadata_open) return to(At::root);  // the reference takes null for an absent one
    return plain("null");
  }
  bool boolean(bool) override { return plain("a bool"); }
  bool number_integer(std::int64_t) override { return plain("a negative number"); }
  bool number_float(double, const std::string&) override { return plain("a fraction or a number beyond 64 bits"); }
  bool binary(binary_t&) override { return plain("binary"); }
  bool number_unsigned(std::uint64_t n) override {
    if (at_ == At::shape) {
      if (dims_.size() == kMaxDims) fail("more than " + std::to_string(kMaxDims) + " dimensions");
      dims_.push_back(n);
    } else if (at_ == At::offsets) {
      if (n_offsets_ == 2) fail("data_offsets has more than two numbers");
      offsets_[n_offsets_++] = n;
    } else {
      return plain("a number");
    }
    return true;
  }
  bool string(std::string& s) override;
  bool start_object(std::size_t) override;
  bool key(std::string& k) override;
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    refuse("the header is no valid JSON at its byte " + grouped(position), file_);
  }

 private:
  // Where the next event falls: inside an object or array, or (…_open) before the value of a key.
  enum class At {
    start,
    root,
    metadata_open,
    metadata,
    metadata_value,
    tensor_open,
    tensor,
    dtype,
    shape_open,
    shape,
    offsets_open,
    offsets,
    unknown
  };
  enum Field : unsigned { kDtype = 1, kShape = 2, kOffsets = 4 };

  bool to(At at) {
    at_ = at;
    return true;
  }
  [[noreturn]] void fail(const std::string& fault) const {
    const bool named = at_ >= At::tensor_open && at_ <= At::unknown;
    refuse((named                      ? "tensor " + printable(name_)
            : at_ >= At::metadata_open ? std::string(kMetadataKey)
                                       : std::string("header")) +
               ": " + fault,
           file_);
  }
  // A value without parts: legal only where it is ignored.
  bool plain(const char* kind) {
    if (at_ != At::unknown) unexpected(kind);
    if (depth_ == 0) at_ = At::tensor;
    return true;
  }
  [[noreturn]] void unexpected(const char* kind) const;
  void field(Field f, const char* name, At next) {
    if (fields_ & f) fail(std::string(name) + " is given twice");
    fields_ |= f;
    at_ = next;
  }
  void finish_tensor();

  const std::string& file_;
  Visitor& visitor_;
  At at_ = At::start;
  int depth_ = 0;  // of a value that is ignored
  std::string name_, key_;
  unsigned fields_ = 0;
  bool metadata_seen_ = false;
  const ElementType* type_ = nullptr;
  std::vector<std::uint64_t> dims_;
  std::uint64_t offsets_[2] = {};
  std::size_t n_offsets_ = 0;
};

void Events::unexpected(const char* kind) const {
  const char* want = "an object";
  switch (at_) {
    case At::metadata_value: want = "a string"; break;
    case At::dtype: want = "the name of a type for dtype"; break;
    case At::shape_open: want = "an array for shape"; break;
    case At::shape: want = "whole numbers in shape"; break;
    case At::offsets_open: want = "an array for data_offsets"; break;
    case At::offsets: want = "whole numbers in data_offsets"; break;
    default: break;
  }
  fail(std::string("expected ") + want + ", found " + kind);
}

bool Events::string(std::string& s) {
  if (at_ == At::metadata_value) {
    visitor_.metadata(key_, s);
    return to(At::metadata);
  }
  if (at_ != At::dtype) return plain("a string");
  type_ = element_type(s);
  if (type_ == nullptr) fail("unknown dtype " + printable(s));
  return to(At::tensor);
}

bool Events::start_object(std::size_t) {
  switch (at_) {
    case At::start: return to(At::root);
    case At::metadata_open: return to(At::metadata);
    case At::tensor_open: return to(At::tensor);
    case At::unknown: ++depth_; return true;
    default: unexpected("an object");
  }
}

bool Events::key(std::string& k) {
  if (at_ == At::metadata) {
    key_ = k;
    return to(At::metadata_value);
  }
  if (at_ == At::root) {
    name_ = k;
    fields_ = 0;
    dims_.clear();
    n_offsets_ = 0;
    if (k != kMetadataKey) return to(At::tensor_open);
    if (std::exchange(metadata_seen_, true)) refuse(std::string(kMetadataKey) + " is given twice", file_);
    return to(At::metadata_open);
  }
  if (at_ == At::tensor) {
    if (k == "dtype") field(kDtype, "dtype", At::dtype);
    else if (k == "shape") field(kShape, "shape", At::shape_open);
    else if (k == "data_offsets") field(kOffsets, "data_offsets", At::offsets_open);
    else at_ = At::unknown;
  }
  return true;  // keys inside ignored values are ignored
}

bool Events::end_object() {
  switch (at_) {
    case At::metadata: return to(At::root);
    case At::tensor: finish_tensor(); return to(At::root);
    case At::unknown:
      if (--depth_ == 0) at_ = At::tensor;
      return true;
    default: return true;  // the root
  }
}

bool Events::start_array(std::size_t) {
  switch (at_) {
    case At::shape_open: return to(At::shape);
    case At::offsets_open: return to(At::offsets);
    case At::unknown: ++depth_; return true;
    default: unexpected("an array");
  }
}

bool Events::end_array() {
  if (at_ == At::offsets && n_offsets_ != 2) fail("data_offsets has " + std::to_string(n_offsets_) + " numbers instead of two");
  if (at_ == At::unknown && --depth_ > 0) return true;
  return to(At::tensor);
}

void Events::finish_tensor() {
  if (!(fields_ & kDtype)) fail("dtype is missing");
  if (!(fields_ & kShape)) fail("shape is missing");
  if (!(fields_ & kOffsets)) fail("data_offsets is missing");
  Checked bits = type_->bits;
  for (const std::uint64_t d : dims_) bits = bits * Checked(d);
  if (!bits.ok()) fail("the shape makes more elements than can be counted");
  if (bits.or_max() % 8 != 0) fail("its " + std::string(type_->name) + " elements do not end at a whole byte");
  if (offsets_[1] < offsets_[0]) fail("data_offsets end at " + grouped(offsets_[1]) + ", before their begin at " + grouped(offsets_[0]));
  if (offsets_[1] - offsets_[0] != bits.or_max() / 8)
    fail("dtype and shape need " + grouped(bits.or_max() / 8) + " bytes, data_offsets span " + grouped(offsets_[1] - offsets_[0]));
  visitor_.tensor({name_, type_, dims_, offsets_[0], offsets_[1]});
}

// What the JSON parser does not bound or takes for the end of its input.
void check_bounds(std::string_view text, const std::string& file) {
  int depth = 0;
  std::uint64_t string_begin = 0;
  bool in_string = false;
  for (std::uint64_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\0') refuse("the header has a NUL at its byte " + grouped(i), file);
    if (in_string) {
      if (c == '\\') ++i;
      else if (c == '"') in_string = false;
      if (i - string_begin > kMaxString) refuse("a string in the header is longer than " + grouped(kMaxString) + " bytes", file);
    } else if (c == '"') {
      in_string = true;
      string_begin = i;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) refuse("the header is nested deeper than " + std::to_string(kMaxDepth), file);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
}

}  // namespace

const ElementType* element_type(std::string_view name) {
  for (const ElementType& t : kTypes)
    if (t.name == name) return &t;
  return nullptr;
}

std::string_view type_name(DType dtype) {
  for (const ElementType& t : kTypes)
    if (t.dtype == dtype) return t.name;
  return {};
}

void walk_header(std::string_view text, const std::string& file, Visitor& visitor) {
  if (!text.starts_with('{')) refuse("the header does not begin with '{'", file);
  check_bounds(text, file);
  Events events(file, visitor);
  nlohmann::json::sax_parse(text.begin(), text.end(), &events);
}

}  // namespace hz::io::safetensors
