// SPDX-License-Identifier: Apache-2.0
#include "tools/hz-run-files.hpp"

#include <fmt/format.h>

#include <hanzo/io/gguf.hpp>
#include <hanzo/text/tokenizer.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/common/meter.hpp"

namespace hz::tools {
namespace {

using nlohmann::json;

constexpr std::size_t kShown = 8;  // elements of an array that are printed

json scalar_json(const io::Value& v) {
  return std::visit(
      [](const auto& x) -> json {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, io::Array>) return "[...]";
        else return x;
      },
      v.data);
}

json array_json(const io::Array& a, std::size_t limit) {
  return std::visit(
      [&](const auto& list) {
        json out = json::array();
        for (std::size_t i = 0; i < std::min(limit, list.size()); ++i) {
          if constexpr (std::is_same_v<std::decay_t<decltype(list)>, io::ValueList>) out.push_back(scalar_json(list[i]));
          else if constexpr (std::is_same_v<std::decay_t<decltype(list)>, std::vector<bool>>) out.push_back(static_cast<bool>(list[i]));
          else out.push_back(list[i]);
        }
        return out;
      },
      a);
}
std::size_t length(const io::Array& a) {
  return std::visit([](const auto& list) { return list.size(); }, a);
}

std::string dump(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace); }

json metadata_json(const io::Metadata& meta) {
  json out = json::object();
  for (const auto& [key, value] : meta.entries()) {
    const io::Array* a = std::get_if<io::Array>(&value.data);
    if (a == nullptr) out[key] = scalar_json(value);
    else out[key] = {{"length", length(*a)}, {"first", array_json(*a, kShown)}};
  }
  return out;
}

void print_metadata(const io::Metadata& meta, Console& console) {
  console.print(fmt::format("metadata ({} keys)\n", meta.entries().size()));
  for (const auto& [key, value] : meta.entries()) {
    const io::Array* a = std::get_if<io::Array>(&value.data);
    std::string text =
        a ? fmt::format("{}{}", dump(array_json(*a, kShown)), length(*a) > kShown ? fmt::format(" and {} more", length(*a) - kShown) : "")
          : dump(scalar_json(value));
    if (key == "tokenizer.chat_template" && a == nullptr) text = fmt::format("{} bytes, printed below", meta.get<std::string>(key)->size());
    console.print(fmt::format("  {} {} = {}\n", printable(key), io::name_of(value.type()), text));
  }
}

void print_tensors(const io::Gguf& file, Console& console) {
  struct Sum {
    std::size_t tensors = 0;
    std::uint64_t bytes = 0;
    std::int64_t weights = 0;
  };
  std::map<std::string_view, Sum> sums;
  Sum all;
  console.print(fmt::format("tensors ({})\n", file.tensors().size()));
  for (const io::GgufTensor& t : file.tensors()) {
    console.print(fmt::format("  {:<32} {:<8} {:>20} {:>12}\n", printable(t.name), name_of(t.type), to_string(t.shape),
                              bytes_text(static_cast<double>(t.nbytes))));
    for (Sum* s : {&sums[name_of(t.type)], &all}) {
      ++s->tensors;
      s->bytes += t.nbytes;
      s->weights += t.shape.numel();
    }
  }
  console.print("types\n");
  for (const auto& [name, s] : sums)
    console.print(fmt::format("  {:<8} {:>5} tensors {:>12}\n", name, s.tensors, bytes_text(static_cast<double>(s.bytes))));
  console.print(fmt::format("total {} weights, {}, {:.2f} bits per weight\n", all.weights, bytes_text(static_cast<double>(all.bytes)),
                            all.weights > 0 ? 8.0 * static_cast<double>(all.bytes) / static_cast<double>(all.weights) : 0.0));
}

}  // namespace

namespace {

// One line for people; what is wrong with the tokenizer, where it cannot be built.
std::string tokenizer_text(const io::Metadata& meta) {
  try {
    const auto t = text::Tokenizer::from_gguf(meta);
    std::string s = fmt::format("tokenizer: {}, {} tokens", text::name_of(t->kind()), t->size());
    if (!t->pre().empty()) s += fmt::format(", pre-tokenizer {}", t->pre());
    const auto named = [&](std::string_view name, std::optional<text::TokenId> id) {
      if (id) s += fmt::format(", {} {} {}", name, *id, printable(t->text(*id)));
    };
    named("bos", t->bos());
    named("eos", t->eos());
    named("eot", t->eot());
    s += fmt::format("; BOS {} before a text; {} tokens end a turn", t->add_bos() ? "is put" : "is not put", t->end_of_turn_ids().size());
    return s;
  } catch (const Error& e) {
    return fmt::format("tokenizer: {}", printable(e.what()));
  }
}

}  // namespace

int print_info(const std::string& name, bool as_json, Console& console) {
  if (name.empty()) throw Error(ErrorKind::usage, "no model given", "", "name a GGUF file with -m");
  const io::Gguf file = io::Gguf::open(name, io::ReadMode::map, console.progress());
  if (as_json) {
    json tensors = json::array();
    for (const io::GgufTensor& t : file.tensors())
      tensors.push_back({{"name", t.name},
                         {"type", name_of(t.type)},
                         {"shape", std::vector<std::int64_t>(t.shape.begin(), t.shape.end())},
                         {"bytes", t.nbytes}});
    console.json({{"version", file.version()},
                  {"alignment", file.alignment()},
                  {"bytes", file.total_bytes()},
                  {"metadata", metadata_json(file.metadata())},
                  {"tensors", tensors}});
    return 0;
  }
  console.print(fmt::format("GGUF version {}, alignment {}, {} in {} file{}\n", file.version(), file.alignment(),
                            bytes_text(static_cast<double>(file.total_bytes())), file.files().size(), file.files().size() == 1 ? "" : "s"));
  print_metadata(file.metadata(), console);
  print_tensors(file, console);
  console.print(tokenizer_text(file.metadata()) + "\n");
  const io::Value* tmpl = file.metadata().find("tokenizer.chat_template");
  if (tmpl != nullptr && tmpl->type() == io::ValueType::string)
    console.print(fmt::format("chat template\n{}\n", printable(*file.metadata().get<std::string>("tokenizer.chat_template"))));
  else console.print("no chat template\n");
  console.flush();
  return 0;
}

}  // namespace hz::tools
