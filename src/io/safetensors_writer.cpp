// SPDX-License-Identifier: Apache-2.0
// The header's JSON by hand (names quoted by the JSON library), then the data.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "hanzo/io/atomic_file.hpp"
#include "hanzo/io/safetensors.hpp"
#include "src/io/message.hpp"
#include "src/io/safetensors_header.hpp"

namespace hz::io {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::usage, "[safetensors write] " + what); }

std::string quoted(const std::string& text) {
  if (!valid_utf8(text)) refuse(printable(text) + " is not UTF-8");
  if (text.size() > safetensors::kMaxString) refuse("a string of " + grouped(text.size()) + " bytes is longer than readers take");
  return nlohmann::json(text).dump();
}

}  // namespace

void SafeTensorsWriter::add(std::string name, const Tensor& tensor) {
  if (name == safetensors::kMetadataKey) refuse(name + " is no tensor's name");
  if (!valid_utf8(name)) refuse(printable(name) + ": the name is not UTF-8");
  if (!names_.insert(name).second) refuse(printable(name) + ": added twice");
  tensors_.emplace_back(std::move(name), tensor);
}

std::string SafeTensorsWriter::header(const std::vector<std::size_t>& order) const {
  std::string s = "{";
  if (!metadata_.empty()) {
    s += fmt::format("\"{}\":{{", safetensors::kMetadataKey);
    for (const auto& [key, value] : metadata_) s += quoted(key) + ":" + quoted(value) + ",";
    s.back() = '}';
    s += ",";
  }
  std::uint64_t at = 0;
  for (const std::size_t i : order) {
    const auto& [name, t] = tensors_[i];
    s += fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":[", quoted(name), safetensors::type_name(t.dtype()));
    for (int d = 0; d < t.rank(); ++d) s += fmt::format("{}{}", d == 0 ? "" : ",", t.size(d));
    s += fmt::format("],\"data_offsets\":[{},{}]}},", at, at + t.nbytes());
    at += t.nbytes();
  }
  if (s.size() > 1) s.back() = '}';
  else s += '}';
  s.resize((s.size() + 7) / 8 * 8, ' ');  // the data begin at a multiple of 8
  if (s.size() > safetensors::kMaxHeader || tensors_.size() > safetensors::kMaxEntries)
    refuse("more tensors or metadata than readers take");
  return s;
}

void SafeTensorsWriter::write(const std::filesystem::path& file, const Progress& progress) const {
  std::vector<std::size_t> order(tensors_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return size_of(tensors_[a].second.dtype()) > size_of(tensors_[b].second.dtype()); });
  const std::string head = header(order);
  const std::uint64_t length = head.size();
  std::uint64_t total = safetensors::kLengthBytes + length;
  for (const auto& [name, t] : tensors_) total += t.nbytes();
  AtomicFile out(file);
  out.write(std::as_bytes(std::span(&length, 1)));
  out.write(head);
  for (const std::size_t i : order) {
    progress.check("writing");
    const Tensor dense = tensors_[i].second.contiguous() ? tensors_[i].second : tensors_[i].second.clone();
    out.write(std::span<const std::byte>(dense.raw(), dense.nbytes()));
    progress("writing", out.position(), total);
  }
  out.commit();
}

}  // namespace hz::io
