// SPDX-License-Identifier: Apache-2.0
// Data files: the first byte chooses format and strictness, the rest is the file. It is read in every layout, checked, and
// encoded with a small vocabulary; every example stays within its bounds.
#include "hanzo/io/jsonl.hpp"

#include <algorithm>
#include <cstring>

#include "hanzo/train/dataset.hpp"
#include "tests/fuzz/json_mutator.hpp"
#include "tests/train/text_side.hpp"

using namespace hz;
using namespace hz::fuzz;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

constexpr const char* kTemplate =
    "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{% if m.content is string "
    "%}{{ m.content }}{% endif %}"
    "{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}{{ '<|im_end|>\n' }}{% endfor %}";

const train::TextSide& text_side() {
  static const train::TextSide side = test::small_text_side(kTemplate);
  return side;
}

void read_rows(const std::filesystem::path& file, io::RowReader::Layout layout, std::size_t most) {
  io::RowReader rows(file, layout, most);
  std::int64_t line = 0;
  while (const auto row = rows.next()) {
    require(row->line >= line && row->text.size() <= most);
    line = row->line;
    guarded([&] { io::parse_json(row->text); });
  }
  require(rows.position() <= rows.size());
}

void load(const std::filesystem::path& file, const train::DataOptions& options) {
  const train::Dataset data = train::load_dataset(file, text_side(), options);
  require(!data.examples.empty());
  for (const train::Example& e : data.examples) {
    require(e.ids.size() == e.labels.size() && static_cast<std::int64_t>(e.ids.size()) <= options.max_tokens && e.trained() > 0);
    require(e.labels[0] == train::kIgnore);
    for (std::size_t i = 0; i < e.ids.size(); ++i) {
      require(e.ids[i] >= 0 && e.ids[i] < text_side().tokenizer->size());
      require(e.labels[i] == train::kIgnore || e.labels[i] == e.ids[i]);
    }
    require(!train::stretches(e, *text_side().tokenizer).empty());
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  if (size > 1 && seed % 3 != 0) {
    std::minstd_rand random(seed);
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const std::size_t begin = bytes.find('\n', random() % size);  // a line behind any place, else the first
    const std::size_t at = begin == std::string_view::npos ? 1 : begin + 1, end = std::min(bytes.find('\n', at), size);
    if (const auto line = mutated_json(bytes.substr(at, end - at), random)) {
      const std::string out = std::string(bytes.substr(0, at)) + *line + std::string(bytes.substr(end));
      if (out.size() <= max_size) {
        std::memcpy(data, out.data(), out.size());
        return out.size();
      }
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  const std::uint8_t choice = in.byte();
  const std::string_view rest = in.rest();
  const MemoryFile file({reinterpret_cast<const std::uint8_t*>(rest.data()), rest.size()});
  const train::DataOptions options{.format = static_cast<train::DataFormat>(choice % 8),
                                   .max_tokens = (choice & 8) != 0 ? 12 : 1024,
                                   .train_on_prompt = (choice & 16) != 0,
                                   .strict = (choice & 32) != 0,
                                   .max_row_bytes = (choice & 64) != 0 ? std::size_t{100} : std::size_t{64} << 20};
  for (const auto layout : {io::RowReader::Layout::automatic, io::RowReader::Layout::lines, io::RowReader::Layout::array})
    guarded([&] { read_rows(file.path(), layout, options.max_row_bytes); });
  guarded([&] { train::check_dataset(file.path(), options); });
  return guarded([&] { load(file.path(), options); });
}
