// SPDX-License-Identifier: Apache-2.0
#include "hanzo/nn/var_map.hpp"

#include <cstring>
#include <utility>

#include "hanzo/io/safetensors.hpp"

namespace hz::nn {
namespace {

bool is_float(DType t) { return t == DType::f32 || t == DType::f16 || t == DType::bf16; }

float read(const std::byte* p, DType dtype, std::int64_t i) {
  if (dtype == DType::f32) return reinterpret_cast<const float*>(p)[i];
  if (dtype == DType::f16) return to_float(reinterpret_cast<const Half*>(p)[i]);
  return to_float(reinterpret_cast<const BFloat16*>(p)[i]);
}

void write(std::byte* p, DType dtype, std::int64_t i, float v) {
  if (dtype == DType::f32) reinterpret_cast<float*>(p)[i] = v;
  else if (dtype == DType::f16) reinterpret_cast<Half*>(p)[i] = to_half(v);
  else reinterpret_cast<BFloat16*>(p)[i] = to_bfloat16(v);
}

void convert(const Tensor& from, const Tensor& to) {
  if (from.dtype() == to.dtype()) {
    std::memcpy(to.raw(), from.raw(), to.nbytes());
    return;
  }
  for (std::int64_t i = 0; i < from.numel(); ++i) write(to.raw(), to.dtype(), i, read(from.raw(), from.dtype(), i));
}

}  // namespace

Tensor cast(const Tensor& value, DType dtype) {
  if (!is_float(value.dtype()) || !is_float(dtype))
    throw Error(ErrorKind::usage,
                "[cast] " + std::string(name_of(value.dtype())) + " to " + std::string(name_of(dtype)) + ": only floats are cast");
  const Tensor from = value.contiguous() ? value : value.clone();
  Tensor to = Tensor::empty(value.shape(), dtype);
  convert(from, to);
  return to;
}

VarMap::VarMap(std::span<const Var> parameters) {
  for (const Var& p : parameters) add(p);
}

void VarMap::add(std::string name, const Tensor& value) { add(Var(value, std::move(name))); }

void VarMap::add(const Var& v) {
  if (v.name().empty()) throw Error(ErrorKind::usage, "[VarMap] a value without a name");
  if (!v.tensor().contiguous()) throw Error(ErrorKind::usage, "[VarMap] " + v.name() + " is not contiguous");
  const auto [at, fresh] = values_.try_emplace(v.name(), v);
  if (!fresh) throw Error(ErrorKind::usage, "[VarMap] two values are named " + at->first);
}

const Tensor* VarMap::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second.tensor();
}

std::vector<Var> VarMap::parameters() const {
  std::vector<Var> all;
  for (const auto& [name, value] : values_) all.push_back(value);
  return all;
}

VarMap VarMap::below(std::string_view prefix) const {
  const std::string head = std::string(prefix) + ".";
  VarMap part;
  for (const auto& [name, value] : values_)
    if (name.size() > head.size() && name.starts_with(head)) part.add(name.substr(head.size()), value.tensor());
  return part;
}

void VarMap::save(const std::filesystem::path& file, DType dtype, const std::map<std::string, std::string>& metadata) const {
  io::SafeTensorsWriter writer;
  writer.metadata() = metadata;
  for (const auto& [name, value] : values_) writer.add(name, cast(value.tensor(), dtype));
  writer.write(file);
}

VarMap VarMap::load(const std::filesystem::path& file) {
  const io::SafeTensors source = io::SafeTensors::open(file, io::ReadMode::read);
  VarMap map;
  for (const io::SafeTensor& t : source.tensors()) {
    if (!t.dtype || !is_float(*t.dtype))
      throw Error(ErrorKind::bad_file, "tensor " + t.name + " is " + std::string(t.type) + ", not F32, F16 or BF16", file.string());
    map.add(t.name, source.tensor(t.name).clone());
  }
  return map;
}

void VarMap::assign(const std::filesystem::path& file) {
  const VarMap source = load(file);
  for (const auto& [name, value] : source.values_)
    if (find(name) == nullptr) throw Error(ErrorKind::bad_file, "tensor " + name + " belongs to none of the parameters", file.string());
  for (const auto& [name, value] : values_) {
    const Tensor* from = source.find(name);
    if (from == nullptr) throw Error(ErrorKind::bad_file, "there is no tensor " + name, file.string());
    if (!(from->shape() == value.shape()))
      throw Error(ErrorKind::bad_file, "tensor " + name + " is " + to_string(from->shape()) + ", the parameter " + to_string(value.shape()),
                  file.string());
  }
  for (const auto& [name, value] : values_) {
    convert(*source.find(name), value.tensor());
    value.touch();
  }
}

}  // namespace hz::nn
