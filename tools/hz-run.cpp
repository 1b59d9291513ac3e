// SPDX-License-Identifier: Apache-2.0
// hz-run: one good answer from a GGUF, or a conversation.
#include <fmt/format.h>
#include <hanzo/hanzo.hpp>
#include <nlohmann/json.hpp>

#include "tools/common/run.hpp"
#include "tools/hz-run-files.hpp"
#include "tools/hz-run-options.hpp"

namespace hz::tools {
namespace {

std::vector<std::int32_t> prompt_ids(const RunArgs& args, const Generator& gen, const Request& request) {
  if (!request.ids.empty()) return request.ids;
  if (!request.text) throw Error(ErrorKind::usage, "no prompt", "", "give one with -p TEXT, -f FILE or through a pipe");
  if (args.raw) return gen.complete_ids(*request.text);
  std::vector<ChatMessage> messages;
  if (is_given(args.chat_template.system_given)) messages.push_back({"system", args.chat_template.system});
  messages.push_back({"user", *request.text});
  return gen.chat_ids(messages);
}

std::string hex(std::string_view bytes) {
  std::string s;
  for (const char c : bytes) s += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return s;
}

// In quotes, with the escapes of C; bytes that are no whole character (a token may end inside one) as \xNN.
std::string quoted(std::string_view bytes) {
  std::string s = "\"";
  for (std::size_t at = 0; at < bytes.size();) {
    const text::Utf8Char c = text::decode_utf8(bytes, at);
    const std::string_view part = bytes.substr(at, c.length);
    if (part == "\"" || part == "\\") s += "\\" + std::string(part);
    else if (part == "\n") s += "\\n";
    else if (part == "\t") s += "\\t";
    else if (c.valid && c.cp >= 0x20 && (c.cp < 0x7f || c.cp >= 0xa0)) s += part;
    else
      for (const char b : part) s += fmt::format("\\x{:02x}", static_cast<unsigned char>(b));
    at += c.length;
  }
  return s + "\"";
}

void print_tokens(const Generator& gen, std::span<const std::int32_t> ids, bool as_json, Console& console) {
  nlohmann::json list = nlohmann::json::array();
  for (const std::int32_t id : ids) {
    const std::string_view piece = gen.has_tokenizer() ? gen.tokenizer().piece(id) : "";
    if (as_json) list.push_back({{"id", id}, {"piece", std::string(piece)}, {"bytes_hex", hex(piece)}});
    else console.print(fmt::format("{}\t{}\n", id, quoted(piece)));
  }
  if (as_json) console.json({{"tokens", list}});
}

int inspect(const RunArgs& args, const Request& request, const Generator& gen, Console& console) {
  const std::vector<std::int32_t> ids = prompt_ids(args, gen, request);
  if (!args.logits_out.empty()) write_logits(gen.model(), ids, args.model.ubatch, args.logits_out, console.progress());
  if (args.tokens) print_tokens(gen, ids, args.json, console);
  if (args.hash) {
    const std::string hash = logits_hash(gen.model(), ids, args.model.ubatch, console.progress());
    if (args.json) console.json({{"logits_hash", hash}});
    else console.print(hash + "\n");
  }
  return kOk;
}

int run_model(const RunArgs& args, Console& console) {
  if (args.info) return print_info(args.model.file, args.json, console);
  if (args.model.file.empty()) throw Error(ErrorKind::usage, "no model given", "", "name a GGUF file with -m");
  const Request request = read_request(args, console);
  Generator gen(load_model(args.model, console, args.adapters), request.generator);
  if (args.only_inspects()) return inspect(args, request, gen, console);
  return request.chat ? run_chat(args, request, gen, console) : run_once(args, request, gen, console);
}

int list_all_devices(bool as_json, Console& console) {
  nlohmann::json list = nlohmann::json::array();
  for (const BackendInfo& b : list_backends()) list.push_back({{"name", b.name}, {"description", b.description}});
  if (as_json) {
    console.json({{"devices", list}});
    return kOk;
  }
  for (const BackendInfo& b : list_backends()) console.print(fmt::format("{}\t{}\n", b.name, b.description));
  return kOk;
}

}  // namespace
}  // namespace hz::tools

int main(int argc, char** argv) {
  return hz::tools::run("hz-run", argc, argv, [](CLI::App& app) {
    auto args = std::make_shared<hz::tools::RunArgs>(app);
    return [args](hz::tools::Console& console) {
      return args->list_devices ? hz::tools::list_all_devices(args->json, console) : hz::tools::run_model(*args, console);
    };
  });
}
