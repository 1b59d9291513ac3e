// SPDX-License-Identifier: Apache-2.0
#include "src/model/convert/source.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "hanzo/quant/format/q4_1.h"
#include "hanzo/quant/format/q5_1.h"
#include "src/io/input_file.hpp"

namespace hz::model::convert {
namespace {

constexpr std::size_t kMaxFiles = 4096;

[[noreturn]] void inexact(const std::string& name, const std::string& why) {
  throw Error(ErrorKind::unsupported, name + ": " + why + ", so that no GGUF type holds it exactly", "",
              "convert the unquantized model instead, and quantize that");
}

// The values of a small tensor of scales as F32.
std::vector<float> floats(const TensorSet& set, const std::string& name) {
  const Tensor t = set.tensor(name);
  std::vector<float> v(static_cast<std::size_t>(t.numel()));
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (t.dtype() == DType::f32) v[i] = t.data<float>()[i];
    else if (t.dtype() == DType::f16) v[i] = to_float(t.data<Half>()[i]);
    else if (t.dtype() == DType::bf16) v[i] = to_float(t.data<BFloat16>()[i]);
    else throw Error(ErrorKind::unsupported, name + " is " + std::string(name_of(t.dtype())) + ", scales must be F32, F16 or BF16");
    if (!std::isfinite(v[i])) throw Error(ErrorKind::bad_file, name + " holds a value that is not finite");
  }
  return v;
}
std::pair<std::int64_t, std::int64_t> matrix_shape(const io::SafeTensor& t) {
  if (t.shape.size() != 2 || t.shape[0] == 0 || t.shape[1] == 0 || t.shape[0] > (1u << 30) || t.shape[1] > (1u << 30))
    throw Error(ErrorKind::bad_file, t.name + " has " + std::to_string(t.shape.size()) + " dimensions, a matrix is needed");
  return {static_cast<std::int64_t>(t.shape[0]), static_cast<std::int64_t>(t.shape[1])};
}

// FP8 E4M3 (the "fn" kind: no infinities, 0x7f and 0xff are NaN), as Open Compute Project defines it.
float e4m3(std::uint8_t b) {
  const int exponent = (b >> 3) & 15, mantissa = b & 7;
  const float v =
      exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9) : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return b & 128 ? -v : v;
}

Matrix dense(const TensorSet& set, const std::string& name) {
  const io::SafeTensor& t = set.info(name);
  Matrix m;
  std::tie(m.rows, m.cols) = matrix_shape(t);
  if (t.type == "F32") m.type = WType::f32;
  else if (t.type == "F16") m.type = WType::f16;
  else if (t.type == "BF16") m.type = WType::bf16;
  else throw Error(ErrorKind::unsupported, name + " is " + std::string(t.type) + ", which config.json does not explain", set.where());
  const std::span<const std::byte> bytes = set.bytes(name);
  const std::size_t row = bytes.size() / static_cast<std::size_t>(m.rows);
  m.row = [bytes, row](std::int64_t i, std::vector<std::byte>& out) {
    const auto part = bytes.subspan(static_cast<std::size_t>(i) * row, row);
    out.assign(part.begin(), part.end());
  };
  return m;
}

// Scale of element (row, col): weight_scale_inv in blocks, or weight_scale, one or one a row.
struct Fp8Scales {
  std::vector<float> values;
  std::int64_t block_rows = 0, block_cols = 0, across = 1;
  float at(std::int64_t row, std::int64_t col) const {
    if (block_rows > 0) return values[static_cast<std::size_t>(row / block_rows * across + col / block_cols)];
    return values.size() == 1 ? values[0] : values[static_cast<std::size_t>(row)];
  }
};

Fp8Scales fp8_scales(const TensorSet& set, const StoredForm& form, const std::string& name, std::int64_t rows, std::int64_t cols) {
  Fp8Scales s;
  const bool blocks = form.block_rows > 0 && set.has(name + "_scale_inv");
  s.values = floats(set, name + (set.has(name + "_scale_inv") ? "_scale_inv" : "_scale"));
  std::size_t wanted = s.values.size() == 1 ? 1 : static_cast<std::size_t>(rows);
  if (blocks) {
    s.block_rows = form.block_rows;
    s.block_cols = form.block_cols;
    s.across = (cols + s.block_cols - 1) / s.block_cols;
    wanted = static_cast<std::size_t>((rows + s.block_rows - 1) / s.block_rows * s.across);
  }
  if (s.values.size() != wanted)
    throw Error(ErrorKind::bad_file,
                name + " has " + std::to_string(s.values.size()) + " scales, " + std::to_string(wanted) + " are needed");
  return s;
}

// BF16 where every product with a scale fits it (the scales are powers of two, or nearly), else F32, else none.
Matrix fp8(const TensorSet& set, const StoredForm& form, const std::string& name) {
  const io::SafeTensor& t = set.info(name);
  Matrix m;
  std::tie(m.rows, m.cols) = matrix_shape(t);
  const auto scales = std::make_shared<Fp8Scales>(fp8_scales(set, form, name, m.rows, m.cols));
  const std::span<const std::byte> bytes = set.bytes(name);
  m.type = WType::bf16;
  for (std::int64_t r = 0; r < m.rows; ++r)
    for (std::int64_t c = 0; c < m.cols; ++c) {
      const auto b = std::to_integer<std::uint8_t>(bytes[static_cast<std::size_t>(r * m.cols + c)]);
      if ((b & 127) == 127) throw Error(ErrorKind::bad_file, name + " row " + std::to_string(r) + " holds a NaN");
      const double exact = double(e4m3(b)) * double(scales->at(r, c));
      const auto single = static_cast<float>(exact);
      if (double(single) != exact) inexact(name, "a weight times its scale needs more digits than F32 has");
      if (m.type == WType::bf16 && to_float(to_bfloat16(single)) != single) m.type = WType::f32;
    }
  m.row = [bytes, scales, cols = m.cols, wide = m.type == WType::f32](std::int64_t r, std::vector<std::byte>& out) {
    out.resize(static_cast<std::size_t>(cols) * (wide ? 4 : 2));
    for (std::int64_t c = 0; c < cols; ++c) {
      const float v = e4m3(std::to_integer<std::uint8_t>(bytes[static_cast<std::size_t>(r * cols + c)])) * scales->at(r, c);
      const BFloat16 half = to_bfloat16(v);
      if (wide) std::memcpy(out.data() + 4 * c, &v, 4);
      else std::memcpy(out.data() + 2 * c, &half, 2);
    }
  };
  return m;
}

// Codes of `bits` bits packed in 32-bit words, lowest first, running on over the words of a row.
int code_at(const std::byte* row, std::int64_t i, std::int64_t bits) {
  const std::int64_t bit = i * bits;
  unsigned v = std::to_integer<unsigned>(row[bit / 8]);
  if (bit % 8 + bits > 8) v |= std::to_integer<unsigned>(row[bit / 8 + 1]) << 8;
  return static_cast<int>((v >> (bit % 8)) & ((1u << bits) - 1));
}

bool fits_half(float v) { return to_float(to_half(v)) == v; }

template <class Block>
void pack_codes(Block& b, const std::byte* row, std::int64_t at, std::int64_t bits) {
  std::uint32_t fifth = 0;
  for (int i = 0; i < 16; ++i) {
    const int a = code_at(row, at + i, bits), c = code_at(row, at + i + 16, bits);
    b.qs[i] = static_cast<std::uint8_t>((a & 15) | (c & 15) << 4);
    fifth |= static_cast<std::uint32_t>(a >> 4) << i | static_cast<std::uint32_t>(c >> 4) << (i + 16);
  }
  if constexpr (requires { b.qh; }) std::memcpy(b.qh, &fifth, sizeof fifth);
}

// Packed codes of `bits` bits with a scale and a bias for each `group` weights of a row: weight = scale * code + bias.
struct AffineCodes {
  std::int64_t group = 0, bits = 0, rows = 0, cols = 0, row_bytes = 0;
  std::span<const std::byte> bytes;
  std::vector<float> scales, biases;  // [rows, cols / group]

  const std::byte* row(std::int64_t r) const { return bytes.data() + r * row_bytes; }
  std::size_t group_of(std::int64_t r, std::int64_t c) const { return static_cast<std::size_t>(r * (cols / group) + c / group); }
  // In double; false where even that is not exact.
  bool value(std::int64_t r, std::int64_t c, double& v) const {
    const std::size_t g = group_of(r, c);
    const double product = double(scales[g]) * code_at(row(r), c, bits), bias = biases[g];
    v = product + bias;
    return v - bias == product && v - product == bias;
  }
};

AffineCodes affine_codes(const TensorSet& set, const StoredForm& form, const std::string& name) {
  const std::string stem = name.substr(0, name.size() - std::string_view(".weight").size());
  const auto at = form.modules.find(stem);
  const StoredForm::Affine& how = at == form.modules.end() ? form.usual : at->second;
  AffineCodes a{.group = how.group, .bits = how.bits, .bytes = set.bytes(name), .scales = floats(set, stem + ".scales"),
                .biases = floats(set, stem + ".biases")};
  const auto [rows, words] = matrix_shape(set.info(name));
  a.rows = rows;
  a.cols = words * 32 / a.bits;
  a.row_bytes = words * 4;
  if (words * 32 % a.bits != 0 || a.cols % a.group != 0 || a.scales.size() != static_cast<std::size_t>(rows * (a.cols / a.group)) ||
      a.biases.size() != a.scales.size())
    throw Error(ErrorKind::bad_file,
                name + ": groups of " + std::to_string(a.group) + " and codes of " + std::to_string(a.bits) + " bits do not fit rows of " +
                    std::to_string(words) + " words, or scales are missing",
                set.where());
  return a;
}

// Q4_1 for codes of up to 4 bits, Q5_1 for 5: their formula is the same.
Matrix affine_blocks(const std::shared_ptr<const AffineCodes>& a) {
  Matrix m{a->rows, a->cols, a->bits <= 4 ? WType::q4_1 : WType::q5_1, {}};
  m.row = [a, type = m.type](std::int64_t r, std::vector<std::byte>& out) {
    out.resize(quant::row_bytes(type, a->cols));
    for (std::int64_t at = 0; at < a->cols; at += 32) {
      const std::size_t g = a->group_of(r, at);
      const auto put = [&]<class W>() {
        typename W::Block b{};
        b.d = to_half(a->scales[g]).bits;
        b.m = to_half(a->biases[g]).bits;
        pack_codes(b, a->row(r), at, a->bits);
        std::memcpy(out.data() + static_cast<std::size_t>(at / 32) * sizeof b, &b, sizeof b);
      };
      if (type == WType::q4_1) put.template operator()<quant::q4_1>();
      else put.template operator()<quant::q5_1>();
    }
  };
  return m;
}

// The narrowest of F16, BF16 and F32 that holds every weight.
Matrix affine_floats(const std::shared_ptr<const AffineCodes>& a, const std::string& name) {
  bool half = true, brain = true;
  for (std::int64_t r = 0; r < a->rows; ++r)
    for (std::int64_t c = 0; c < a->cols; ++c) {
      double exact = 0;
      const bool known = a->value(r, c, exact);
      const auto single = static_cast<float>(exact);
      if (!known || double(single) != exact) inexact(name, "scale times code plus bias needs more digits than F32 has");
      half = half && fits_half(single);
      brain = brain && to_float(to_bfloat16(single)) == single;
    }
  Matrix m{a->rows, a->cols, half ? WType::f16 : brain ? WType::bf16 : WType::f32, {}};
  m.row = [a, type = m.type](std::int64_t r, std::vector<std::byte>& out) {
    const std::size_t size = type == WType::f32 ? 4 : 2;
    out.resize(static_cast<std::size_t>(a->cols) * size);
    for (std::int64_t c = 0; c < a->cols; ++c) {
      double exact = 0;
      a->value(r, c, exact);
      const auto v = static_cast<float>(exact);
      const std::uint16_t narrow = type == WType::f16 ? to_half(v).bits : to_bfloat16(v).bits;
      std::memcpy(out.data() + static_cast<std::size_t>(c) * size, type == WType::f32 ? static_cast<const void*>(&v) : &narrow, size);
    }
  };
  return m;
}

Matrix affine(const TensorSet& set, const StoredForm& form, const std::string& name) {
  const auto a = std::make_shared<const AffineCodes>(affine_codes(set, form, name));
  const bool blocks = a->bits <= 5 && a->group % 32 == 0 && std::all_of(a->scales.begin(), a->scales.end(), fits_half) &&
                      std::all_of(a->biases.begin(), a->biases.end(), fits_half);
  return blocks ? affine_blocks(a) : affine_floats(a, name);
}

}  // namespace

TensorSet::TensorSet(const std::filesystem::path& folder) : where_(folder.string()) {
  std::vector<std::string> names;
  const nlohmann::json index = read_json(folder / "model.safetensors.index.json", false);
  if (index.is_object()) {
    if (!index.contains("weight_map") || !index.at("weight_map").is_object())
      throw Error(ErrorKind::bad_file, "has no weight_map", (folder / "model.safetensors.index.json").string());
    for (const auto& [tensor, file] : index.at("weight_map").items()) {
      const std::string name = file.is_string() ? file.get<std::string>() : "";
      if (name.empty() || std::filesystem::path(name).filename() != name || !name.ends_with(".safetensors"))
        throw Error(ErrorKind::bad_file, "names '" + name + "' for " + tensor + ", which is no safetensors file of the folder",
                    (folder / "model.safetensors.index.json").string());
      names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
  } else if (io::is_there(folder / "model.safetensors")) {
    names.push_back("model.safetensors");
  } else {
    throw Error(ErrorKind::bad_file, "has neither model.safetensors nor model.safetensors.index.json", where_,
                "weights in files of other kinds are not read: save the model as safetensors");
  }
  if (names.size() > kMaxFiles) throw Error(ErrorKind::bad_file, "names " + std::to_string(names.size()) + " files", where_);
  for (const std::string& n : names) files_.push_back(io::SafeTensors::open(folder / n));
  for (std::size_t f = 0; f < files_.size(); ++f)
    for (const io::SafeTensor& t : files_[f].tensors())
      if (!at_.emplace(t.name, std::pair(f, &t)).second) throw Error(ErrorKind::bad_file, t.name + " stands in two files", where_);
}

const io::SafeTensor& TensorSet::info(const std::string& name) const {
  const auto at = at_.find(name);
  if (at == at_.end())
    throw Error(ErrorKind::bad_file, "tensor " + name + " is missing", where_,
                "the folder is incomplete, or of another family than config.json says");
  return *at->second.second;
}
Tensor TensorSet::tensor(const std::string& name) const {
  info(name);
  return files_[at_.at(name).first].tensor(name);
}
std::span<const std::byte> TensorSet::bytes(const std::string& name) const {
  info(name);
  return files_[at_.at(name).first].bytes(name);
}
std::vector<std::string> TensorSet::names() const {
  std::vector<std::string> list;
  for (const auto& [name, at] : at_) list.push_back(name);
  return list;
}

namespace {

StoredForm::Affine affine_of(const nlohmann::json& q, StoredForm::Affine usual, const Config& config) {
  if (q.value("mode", "affine") != "affine")
    config.unsupported("weights quantized in mode '" + q.value("mode", "") + "' are not converted");
  const StoredForm::Affine a{q.value("group_size", usual.group), q.value("bits", usual.bits)};
  if (a.group < 1 || a.group > (1 << 20) || a.bits < 2 || a.bits > 8)
    config.bad("quantization has groups of " + std::to_string(a.group) + " and " + std::to_string(a.bits) + " bits");
  return a;
}

}  // namespace

StoredForm stored_form(const Config& config) {
  StoredForm f;
  if (config.has("quantization_config")) {
    const nlohmann::json& q = config.at("quantization_config");
    const std::string method = q.is_object() ? q.value("quant_method", "") : "";
    if (method == "fp8") {
      f.kind = StoredForm::Kind::fp8;
      if (q.contains("weight_block_size") && q.at("weight_block_size").is_array() && q.at("weight_block_size").size() == 2) {
        f.block_rows = q.at("weight_block_size")[0].get<std::int64_t>();
        f.block_cols = q.at("weight_block_size")[1].get<std::int64_t>();
        if (f.block_rows < 1 || f.block_cols < 1) config.bad("weight_block_size is not positive");
      }
      return f;
    }
    if (method == "hqq")
      config.unsupported("weights quantized by 'hqq' have zero points between codes, so that no GGUF type holds them exactly",
                         "convert the unquantized model instead, and quantize that");
    if (!method.empty()) config.unsupported("weights quantized by '" + method + "' are not converted", "convert the unquantized model");
  }
  const char* key = config.has("quantization") ? "quantization" : "quantization_config";
  if (config.has(key) && config.at(key).is_object() && config.at(key).contains("group_size")) {
    const nlohmann::json& q = config.at(key);
    f.kind = StoredForm::Kind::affine;
    f.usual = affine_of(q, {64, 4}, config);
    for (const auto& [module, own] : q.items())
      if (own.is_object() && own.contains("group_size")) f.modules[module] = affine_of(own, f.usual, config);
  }
  return f;
}

Matrix read_matrix(const TensorSet& set, const StoredForm& form, const std::string& name) {
  const io::SafeTensor& t = set.info(name);
  if (form.kind == StoredForm::Kind::fp8 && t.type == "F8_E4M3") return fp8(set, form, name);
  if (form.kind == StoredForm::Kind::affine && t.type == "U32") return affine(set, form, name);
  return dense(set, name);
}

bool belongs_to_quantized(const StoredForm& form, const std::string& name) {
  if (form.kind == StoredForm::Kind::fp8)
    return name.ends_with(".weight_scale") || name.ends_with(".weight_scale_inv") || name.ends_with(".input_scale") ||
           name.ends_with(".activation_scale");
  return form.kind == StoredForm::Kind::affine && (name.ends_with(".scales") || name.ends_with(".biases"));
}

}  // namespace hz::model::convert
