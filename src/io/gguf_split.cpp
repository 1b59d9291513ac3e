// SPDX-License-Identifier: Apache-2.0
// Parts are written one by one, each atomically; a failure removes them all.
#include "hanzo/io/gguf_split.hpp"

#include <algorithm>
#include <limits>

#include "hanzo/io/atomic_file.hpp"
#include "hanzo/io/gguf.hpp"
#include "hanzo/io/gguf_writer.hpp"
#include "hanzo/io/map_guard.hpp"
#include "src/io/gguf_layout.hpp"
#include "src/io/input_file.hpp"
#include "src/io/message.hpp"
#include "src/io/split_name.hpp"
#include "src/io/sys.hpp"

namespace hz::io {
namespace {

constexpr std::string_view kSplitKeys[] = {"split.no", "split.count", "split.tensors.count"};
constexpr std::size_t kMaxParts = std::numeric_limits<std::uint16_t>::max();

void copy_tensor(const Gguf& from, const GgufTensor& t, GgufWriter& to) {
  to.add(t.name, t.shape, static_cast<std::uint32_t>(t.type), [&from, &t](const ByteSink& sink) {
    sink(from.bytes(t.name));
    check_intact();
  });
}

Metadata without_split(Metadata metadata) {
  for (const std::string_view key : kSplitKeys) metadata.erase(key);
  return metadata;
}

// Consecutive tensors, as many as the options allow in each part.
std::vector<std::vector<const GgufTensor*>> groups_of(const Gguf& model, const SplitOptions& options) {
  const auto limit = [](std::uint64_t n) { return n == 0 ? std::numeric_limits<std::uint64_t>::max() : n; };
  std::vector<std::vector<const GgufTensor*>> groups;
  if (options.metadata_first || model.tensors().empty()) groups.emplace_back();
  std::uint64_t bytes = 0;
  bool open = false;
  for (const GgufTensor& t : model.tensors()) {
    if (!open || groups.back().size() >= limit(options.max_tensors) || !(Checked(bytes) + Checked(t.nbytes) <= limit(options.max_bytes))) {
      groups.emplace_back();
      bytes = 0;
      open = true;
    }
    groups.back().push_back(&t);
    bytes += t.nbytes;
  }
  return groups;
}

// Removes the first `begun` parts unless it was told to keep them. A part counts from before it is written: a write
// can fail after its rename.
struct Parts {
  const std::vector<std::filesystem::path>& paths;
  std::size_t begun = 0;
  bool keep = false;
  ~Parts() {
    for (std::size_t i = 0; !keep && i < begun; ++i) sys().unlink(paths[i].c_str());
  }
};

GgufWriter part_writer(const Gguf& model, std::size_t index, std::size_t count) {
  Metadata metadata;
  if (index == 0) metadata = without_split(model.metadata());
  else if (const Value* alignment = model.metadata().find(layout::kAlignmentKey))
    metadata.set(std::string(layout::kAlignmentKey), *alignment);
  metadata.set("split.no", {static_cast<std::uint16_t>(index)});
  metadata.set("split.count", {static_cast<std::uint16_t>(count)});
  metadata.set("split.tensors.count", {static_cast<std::int32_t>(model.tensors().size())});
  return GgufWriter(std::move(metadata));
}

}  // namespace

std::vector<std::filesystem::path> split_gguf(const std::filesystem::path& in, const std::filesystem::path& stem,
                                              const SplitOptions& options, const Progress& progress) {
  if (stem.filename().empty())
    throw Error(ErrorKind::usage, "the parts have no name", shown(stem), "name them: STEM becomes STEM-00001-of-0000N.gguf");
  const Gguf model = Gguf::open(in);
  const auto groups = groups_of(model, options);
  if (groups.size() > kMaxParts)
    throw Error(ErrorKind::usage, "these limits make " + grouped(groups.size()) + " parts, at most " + grouped(kMaxParts) + " can be named",
                shown(in), "allow more bytes or tensors in a part");
  SplitName name{stem.filename().string(), 1, static_cast<std::uint32_t>(groups.size())};
  std::vector<std::filesystem::path> paths;
  for (; name.number <= groups.size(); ++name.number) {
    paths.push_back(split_path(stem.parent_path(), name));
    if (is_there(paths.back()))
      throw Error(ErrorKind::usage, "the part exists already and would be overwritten", shown(paths.back()),
                  "choose another name, or remove the old parts");
  }
  Parts parts{paths};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    GgufWriter writer = part_writer(model, i, groups.size());
    for (const GgufTensor* t : groups[i]) copy_tensor(model, *t, writer);
    parts.begun = i + 1;
    writer.write(paths[i], progress);
  }
  parts.keep = true;
  return paths;
}

void merge_gguf(const std::filesystem::path& first, const std::filesystem::path& out, const Progress& progress) {
  const Gguf model = Gguf::open(first);
  refuse_input(out, model.files());
  GgufWriter writer(without_split(model.metadata()));
  for (const GgufTensor& t : model.tensors()) copy_tensor(model, t, writer);
  writer.write(out, progress);
}

}  // namespace hz::io
