// SPDX-License-Identifier: Apache-2.0
// Checkpoints: state.json and tensors.safetensors in a folder that appears whole.
#include "hanzo/train/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "hanzo/io/atomic_file.hpp"
#include "hanzo/io/atomic_folder.hpp"
#include "hanzo/io/jsonl.hpp"
#include "hanzo/io/safetensors.hpp"
#include "src/io/input_file.hpp"
#include "src/train/files.hpp"

namespace hz::train {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

Json to_json(const RunState& s) {
  return {{"version", kVersion},      {"step", s.step},         {"micro", s.micro},         {"updates", s.updates},
          {"skipped", s.skipped},     {"loss_sum", s.loss_sum}, {"elapsed_s", s.elapsed_s}, {"best_loss", s.best_loss},
          {"best_step", s.best_step}, {"stale", s.stale},       {"tokens", s.tokens},       {"evaluated", s.evaluated},
          {"stopped", s.stopped}};
}

RunState from_json(const Json& j, const std::string& where) {
  try {
    if (j.at("version").get<int>() != kVersion)
      throw Error(ErrorKind::bad_file, "the checkpoint is of another version of the format", where, "start the run anew");
    RunState s;
    j.at("step").get_to(s.step);
    j.at("micro").get_to(s.micro);
    j.at("updates").get_to(s.updates);
    j.at("skipped").get_to(s.skipped);
    j.at("loss_sum").get_to(s.loss_sum);
    j.at("elapsed_s").get_to(s.elapsed_s);
    j.at("best_loss").get_to(s.best_loss);
    j.at("best_step").get_to(s.best_step);
    j.at("stale").get_to(s.stale);
    j.at("tokens").get_to(s.tokens);
    j.at("evaluated").get_to(s.evaluated);
    j.at("stopped").get_to(s.stopped);
    return s;
  } catch (const Json::exception& e) {
    throw Error(ErrorKind::bad_file, std::string("the checkpoint's state is damaged: ") + e.what(), where);
  }
}

using Place = std::pair<std::int64_t, std::int64_t>;  // step, micro

std::string name_of(const RunState& s) {
  return s.micro == 0 ? fmt::format("step-{:06}", s.step) : fmt::format("step-{:06}-m{}", s.step, s.micro);
}

std::optional<Place> place_of(const std::string& name) {
  Place p{};
  if (!name.starts_with("step-")) return std::nullopt;
  const char *at = name.data() + 5, *end = name.data() + name.size();
  auto r = std::from_chars(at, end, p.first);
  if (r.ec != std::errc() || p.first < 0) return std::nullopt;
  if (r.ptr == end) return p;
  if (end - r.ptr < 3 || r.ptr[0] != '-' || r.ptr[1] != 'm') return std::nullopt;
  r = std::from_chars(r.ptr + 2, end, p.second);
  return r.ec == std::errc() && r.ptr == end && p.second > 0 ? std::optional(p) : std::nullopt;
}

// Furthest first.
std::vector<std::pair<Place, fs::path>> all_in(const fs::path& folder) {
  std::vector<std::pair<Place, fs::path>> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (const auto place = place_of(entry.path().filename().string())) found.emplace_back(*place, entry.path());
  std::sort(found.rbegin(), found.rend());
  return found;
}

}  // namespace

const Tensor* Checkpoint::find(const std::string& name) const {
  const auto found = tensors.find(name);
  return found == tensors.end() ? nullptr : &found->second;
}

Checkpoints::Checkpoints(const fs::path& folder, std::int64_t keep)
    : folder_(folder / "checkpoints"), keep_(std::max<std::int64_t>(1, keep)) {}

void Checkpoints::save(const Checkpoint& checkpoint) const {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) throw Error(ErrorKind::io, "cannot make the folder: " + error.message(), folder_.string());
  io::AtomicFolder out(folder_ / name_of(checkpoint.state));
  io::SafeTensorsWriter writer;
  for (const auto& [name, tensor] : checkpoint.tensors) writer.add(name, tensor);
  writer.write(out.path() / "tensors.safetensors");
  io::write_file(out.path() / "state.json", to_json(checkpoint.state).dump(1) + "\n");
  out.commit();
  const auto all = all_in(folder_);
  for (std::size_t i = static_cast<std::size_t>(keep_); i < all.size(); ++i) io::remove_folder(all[i].second);
}

std::optional<Checkpoint> Checkpoints::latest() const {
  if (io::is_there(folder_)) io::remove_unfinished(folder_);
  const auto all = all_in(folder_);
  if (all.empty()) return std::nullopt;
  const fs::path& folder = all[0].second;
  Checkpoint c;
  c.state = from_json(io::parse_json(read_text(folder / "state.json")), folder.string());
  const io::SafeTensors file = io::SafeTensors::open(folder / "tensors.safetensors", io::ReadMode::read);
  for (const io::SafeTensor& t : file.tensors()) c.tensors.emplace(t.name, file.tensor(t.name).clone());
  return c;
}

void Checkpoints::remove_all() const {
  if (io::is_there(folder_)) io::remove_folder(folder_);
}

}  // namespace hz::train
