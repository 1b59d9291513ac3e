// SPDX-License-Identifier: Apache-2.0
// hz-run: one good answer from a GGUF.
#include <fmt/format.h>
#include <hanzo/hanzo.hpp>
#include <nlohmann/json.hpp>

#include "tools/common/model_options.hpp"
#include "tools/common/prompt.hpp"
#include "tools/common/run.hpp"
#include "tools/hz-run-files.hpp"

namespace hz::tools {
namespace {

struct RunArgs {
  ModelArgs model;
  PromptArgs prompt;
  std::string system, logits_out;
  std::int64_t max_tokens = -1;
  SamplingOptions sampling;
  std::uint64_t seed = 0;
  CLI::Option* seed_given = nullptr;
  bool raw = false, json = false, info = false, tokens = false, hash = false, list_devices = false;

  explicit RunArgs(CLI::App& app) : model(app), prompt(app) {
    app.add_option("-n,--max-tokens", max_tokens, "tokens to generate; 0 evaluates only, -1 until the turn or the context ends")->check(CLI::Range(std::int64_t{-1}, std::int64_t{1} << 40));
    app.add_option("--temp", sampling.temperature, "temperature; 0 is greedy")->capture_default_str();
    app.add_option("--top-k", sampling.top_k, "keep the k most likely tokens; 0 is off")->capture_default_str();
    app.add_option("--top-p", sampling.top_p, "keep the most likely tokens up to this probability")->check(CLI::Range(0.0, 1.0))->capture_default_str();
    app.add_option("--min-p", sampling.min_p, "drop tokens below this share of the best one's probability")->check(CLI::Range(0.0, 1.0))->capture_default_str();
    seed_given = app.add_option("--seed", seed, "seed of the random numbers; printed when not given");
    app.add_option("--system", system, "system message");
    app.add_flag("--raw", raw, "no chat template: the prompt is continued as it is");
    app.add_flag("--json", json, "one JSON object on stdout, whatever is asked for");
    app.add_flag("--info", info, "print metadata, tensors, types, sizes, template and tokenizer");
    app.add_flag("--tokens", tokens, "print the final token ids and pieces");
    app.add_flag("--logits-hash", hash, "print the SHA-256 of the logits of all prompt positions");
    app.add_option("--logits", logits_out, "write the logits of all prompt positions to this .npy file");
    app.add_flag("--list-devices", list_devices, "print the backends of this build");
  }
};

// What is asked, read before the model is: a missing prompt costs nobody a load.
struct Question {
  std::vector<std::int32_t> ids;
  std::string text;
};
Question read_question(const RunArgs& args, Console& console) {
  if (args.prompt.ids_given->count() > 0) return {parse_ids(args.prompt.ids, console), {}};
  Question question{{}, read_prompt(args.prompt, console)};
  if (!args.raw) check_utf8(question.text, args.prompt.file.empty() ? "the prompt" : args.prompt.file);
  return question;
}

std::vector<std::int32_t> prompt_ids(const RunArgs& args, const Generator& gen, const Question& question) {
  if (!question.ids.empty()) return question.ids;
  const std::string& text = question.text;
  if (args.raw) return gen.complete_ids(text);
  std::vector<ChatMessage> messages;
  if (!args.system.empty()) messages.push_back({"system", args.system});
  messages.push_back({"user", text});
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

void summary(const Generation& g, Console& console) {
  const GenerationStats& s = g.stats();
  const auto rate = [](std::int64_t n, double t) { return t > 0 ? static_cast<double>(n) / t : 0.0; };
  console.note(fmt::format("prompt {} tokens, {:.1f} tokens/s; answer {} tokens, {:.1f} tokens/s; seed {}; finish: {}", s.prompt_tokens,
                           rate(s.prompt_tokens, s.prompt_seconds), s.generated_tokens, rate(s.generated_tokens - 1, s.decode_seconds), g.seed(), name_of(g.finish_reason())));
}

int answer(const RunArgs& args, Generator& gen, std::vector<std::int32_t> ids, Console& console) {
  GenerateOptions options;
  options.sampling = args.sampling;
  options.max_tokens = args.max_tokens;
  options.stop = console.stop_token();
  if (args.seed_given->count() > 0) options.seed = args.seed;
  Generation g = gen.generate(std::move(ids), options);
  std::string text;
  for (const Piece& piece : g) {
    if (args.json) text += piece.text;
    else console.stream(gen.has_tokenizer() ? piece.text : fmt::format("{} ", piece.id));
  }
  if (args.json)
    console.json({{"text", text}, {"ids", g.ids()}, {"finish_reason", name_of(g.finish_reason())}, {"seed", g.seed()},
                  {"usage", {{"prompt_tokens", g.stats().prompt_tokens}, {"completion_tokens", g.stats().generated_tokens}}},
                  {"timings", {{"prompt_seconds", g.stats().prompt_seconds}, {"decode_seconds", g.stats().decode_seconds}}}});
  else if (g.ids().size() > 0) console.stream("\n");
  summary(g, console);
  return g.finish_reason() == FinishReason::interrupted ? kInterrupted : kOk;
}

int run_model(const RunArgs& args, Console& console) {
  if (args.info) return print_info(args.model.file, args.json, console);
  if (args.model.file.empty()) throw Error(ErrorKind::usage, "no model given", "", "name a GGUF file with -m");
  const Question question = read_question(args, console);
  Model model = load_model(args.model, console);
  Generator gen(model, {.ubatch = args.model.ubatch, .pre = args.model.pre});
  std::vector<std::int32_t> ids = prompt_ids(args, gen, question);
  if (!args.logits_out.empty()) write_logits(model, ids, args.model.ubatch, args.logits_out, console.progress());
  if (args.tokens) print_tokens(gen, ids, args.json, console);
  if (args.hash) {
    const std::string hash = logits_hash(model, ids, args.model.ubatch, console.progress());
    if (args.json) console.json({{"logits_hash", hash}});
    else console.print(hash + "\n");
  }
  if (args.tokens || args.hash || !args.logits_out.empty()) return kOk;
  return answer(args, gen, std::move(ids), console);
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
    app.description("Answers a prompt with a model from a GGUF file.\n\n"
                    "  hz-run -m model.gguf -p \"Why is the sky blue?\"       one answer on stdout\n"
                    "  cat notes.txt | hz-run -m model.gguf -p \"Sum up:\"     prompt and pipe are joined\n"
                    "  hz-run -m model.gguf --info                           what the file holds");
    auto args = std::make_shared<hz::tools::RunArgs>(app);
    return [args](hz::tools::Console& console) { return args->list_devices ? hz::tools::list_all_devices(args->json, console) : hz::tools::run_model(*args, console); };
  });
}
