// SPDX-License-Identifier: Apache-2.0
// Adapters: the first byte is 0 for a GGUF LoRA file, else for a folder in PEFT's layout, whose configuration ends at the
// first NUL and whose safetensors file follows. What loads is run, saved, and loaded again with the same bits.
#include "hanzo/model/adapter.hpp"

#include <cstring>
#include <fstream>

#include "tests/fuzz/gguf_mutator.hpp"
#include "tests/fuzz/json_mutator.hpp"
#include "tests/fuzz/tiny_base.hpp"

using namespace hz;
using namespace hz::fuzz;

namespace {

const Model& base() {
  static const Folder folder;
  static const Model model = [] {
    tiny_base().write(folder.path() / "base.gguf");
    return Model::load(folder.path() / "base.gguf", {.threads = 1, .context = 16, .read_mode = io::ReadMode::read});
  }();
  return model;
}

void put(const std::filesystem::path& file, std::string_view bytes) { std::ofstream(file, std::ios::binary) << bytes; }

// Its own logits, twice: refused only when they are not finite.
void use(const Adapter& adapter, const std::filesystem::path& again) {
  const std::vector<std::int32_t> ids{1, 2, 3};
  guarded([&] {
    const Model model = base().with_adapter(adapter);
    auto kv = model.new_sequence();
    const SequenceChunk chunk{&kv, ids};
    require(model.forward({&chunk, 1}).numel() == 24);
  });
  adapter.save(again);
  const Adapter copy = Adapter::load(again, base(), true);
  const auto before = adapter.parameters(), after = copy.parameters();
  require(before.size() == after.size());
  std::filesystem::remove_all(again);
}

void load_folder(const Folder& folder, Input in) {
  const std::string_view config = in.line();
  std::filesystem::create_directories(folder.path() / "a");
  put(folder.path() / "a" / "adapter_config.json", config);
  put(folder.path() / "a" / "adapter_model.safetensors", in.rest());
  for (const bool force : {false, true}) guarded([&] { use(Adapter::load(folder.path() / "a", base(), force), folder.path() / "again"); });
}

// The configuration, or the header of the safetensors file, which is counted anew.
std::optional<std::string> mutated_folder(std::string_view bytes, std::minstd_rand& random) {
  const std::size_t end = bytes.find('\0', 1);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view config = bytes.substr(1, end - 1), file = bytes.substr(end + 1);
  if (random() % 2 == 0) {
    const auto changed = mutated_json(config, random);
    return changed ? std::optional("\1" + *changed + std::string(bytes.substr(end))) : std::nullopt;
  }
  std::uint64_t n = 0;
  if (file.size() < 8) return std::nullopt;
  std::memcpy(&n, file.data(), 8);
  if (n > file.size() - 8) return std::nullopt;
  auto header = mutated_json(file.substr(8, n), random);
  if (!header) return std::nullopt;
  header->append((8 - header->size() % 8) % 8, ' ');
  const std::uint64_t length = header->size();
  std::string out(bytes.substr(0, end + 1));
  out.append(reinterpret_cast<const char*>(&length), 8);
  return out + *header + std::string(file.substr(8 + n));
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  if (size > 1 && data[0] == 0) return 1 + mutate_gguf(data + 1, size - 1, max_size - 1, seed);
  if (size > 1 && seed % 4 != 0) {
    std::minstd_rand random(seed);
    const auto out = mutated_folder({reinterpret_cast<const char*>(data), size}, random);
    if (out && out->size() <= max_size) {
      std::memcpy(data, out->data(), out->size());
      return out->size();
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  Input in(data, size);
  if (in.byte() != 0) {
    load_folder(folder, in);
    return 0;
  }
  const std::string_view rest = in.rest();
  const MemoryFile file({reinterpret_cast<const std::uint8_t*>(rest.data()), rest.size()});
  return guarded([&] { use(Adapter::load(file.path(), base()), folder.path() / "again"); });
}
