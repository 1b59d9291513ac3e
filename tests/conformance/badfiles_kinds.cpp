// SPDX-License-Identifier: Apache-2.0
// The checks of each kind of bad file. A kind or stage that gets built gets its function here.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "hanzo/engine/generator.hpp"
#include "hanzo/io/gguf.hpp"
#include "hanzo/io/safetensors.hpp"
#include "hanzo/model/adapter.hpp"
#include "hanzo/train/dataset.hpp"
#include "tests/conformance/badfiles.hpp"

namespace hz::conformance {
namespace {

void parse_gguf(const std::filesystem::path& dir, const BadFile& file) {
  for (const io::ReadMode mode : {io::ReadMode::map, io::ReadMode::read}) io::Gguf::open_part(dir / file.file, mode);
}

void read_safetensors(const std::filesystem::path& dir, const BadFile& file) {
  for (const io::ReadMode mode : {io::ReadMode::map, io::ReadMode::read}) {
    const auto s = io::SafeTensors::open(dir / file.file, mode);
    for (const io::SafeTensor& t : s.tensors())
      if (t.dtype) s.tensor(t.name).clone();
  }
}

[[noreturn]] void wrong_output(const BadFile& file, const std::string& what) {
  throw Error(ErrorKind::failed, "wrong output: " + what, file.file);
}

std::string joined(std::span<const std::int32_t> ids) {
  std::string s;
  for (const std::int32_t id : ids) s += std::to_string(id) + " ";
  return s;
}

// Tokenizes the prompt, continues it greedily by eight tokens.
void continue_prompt(const Model& model, const BadFile& file) {
  const Generator gen(model);
  const auto prompt = gen.tokenizer().encode(file.prompt, {.add_special = true, .parse_special = false});
  if (!file.ref_prompt.empty() && prompt != file.ref_prompt) wrong_output(file, "prompt ids " + joined(prompt));
  auto kv = model.new_sequence();
  std::vector<std::int32_t> next = prompt, out;
  for (int i = 0; i < 8; ++i) {
    const SequenceChunk chunk{&kv, next};
    const Tensor logits = model.forward({&chunk, 1});
    const auto row = logits.span<float>();
    next.assign(1, static_cast<std::int32_t>(std::max_element(row.begin(), row.end()) - row.begin()));
    out.push_back(next[0]);
  }
  if (!file.ref_tokens.empty() && out != file.ref_tokens)
    wrong_output(file, "greedy ids " + joined(out) + "in place of " + joined(file.ref_tokens));
}

void run_model(const std::filesystem::path& dir, const BadFile& file) { continue_prompt(Model::load(dir / file.file), file); }

void run_adapter(const std::filesystem::path& dir, const BadFile& file) {
  const Model base = Model::load(dir / "base" / file.base);
  continue_prompt(base.with_adapter(Adapter::load(dir / file.file, base)), file);
}

void render_template(const std::filesystem::path& dir, const BadFile& file) {
  std::ifstream in(dir / file.file, std::ios::binary);
  const std::string source(std::istreambuf_iterator<char>(in), {});
  const auto messages = nlohmann::ordered_json::parse(file.messages.empty() ? R"([{"role": "user", "content": "hi"}])" : file.messages);
  const auto text = text::ChatTemplate::parse(source, file.file).render({.messages = &messages}).text;
  if (file.output && text != *file.output) wrong_output(file, text);
}

// Rows as training takes them, without a model; the first bad one is an error.
void read_rows(const std::filesystem::path& dir, const BadFile& file) {
  const auto report = train::check_dataset(dir / file.file, {.strict = true});
  if (file.rows >= 0 && report.rows != file.rows)
    wrong_output(file, std::to_string(report.rows) + " rows in place of " + std::to_string(file.rows));
}

}  // namespace

const std::vector<FileKind>& file_kinds() {
  static const std::vector<FileKind> kinds{
      {"gguf", &parse_gguf, &run_model},
      {"adapter", &parse_gguf, &run_adapter},
      {"template", nullptr, &render_template},
      {"jsonl", nullptr, &read_rows},
      {"safetensors", &read_safetensors, &read_safetensors},
  };
  return kinds;
}

}  // namespace hz::conformance
