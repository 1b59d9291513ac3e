// SPDX-License-Identifier: Apache-2.0
#include "tools/hz-run-options.hpp"

#include <CLI/App.hpp>
#include <unistd.h>

#include "tools/common/run.hpp"

namespace hz::tools {

RunArgs::RunArgs(CLI::App& app) : model(app), adapters(app), prompt(app), generate(app), chat_template(app) {
  app.description("Answers a prompt with a model from a GGUF file.\n\n"
                  "  hz-run -m model.gguf -p \"Why is the sky blue?\"       one answer on stdout\n"
                  "  cat notes.txt | hz-run -m model.gguf -p \"Sum up:\"     prompt and pipe are joined\n"
                  "  hz-run -m model.gguf                                  a conversation\n"
                  "  hz-run -m model.gguf --info                           what the file holds");
  const std::string group = "Conversation";
  CLI::Option* chat_flag = app.add_flag("--chat", chat, "a conversation; the default when a terminal gives no prompt")->group(group);
  CLI::Option* raw_flag = app.add_flag("--raw", raw, "no chat template: the prompt is continued as it is")->group(group);
  add_path(app, "--save-state", save_state, "write the stream (tokens, keys and values, conversation) to this file at the end")
      ->group(group);
  add_path(app, "--load-state", load_state, "go on from a saved stream: with its answer, or with the prompt that is given")->group(group);
  app.add_flag("--json", json, "one JSON object on stdout, whatever is asked for");
  CLI::Option* inspect[] = {app.add_flag("--info", info, "print metadata, tensors, types, sizes, template and tokenizer"),
                            app.add_flag("--tokens", tokens, "print the final token ids and pieces"),
                            app.add_flag("--logits-hash", hash, "print the SHA-256 of the logits of all prompt positions"),
                            add_path(app, "--logits", logits_out, "write the logits of all prompt positions to this .npy file")};
  for (CLI::Option* o : inspect) chat_flag->excludes(o);
  chat_flag->excludes(raw_flag)->excludes(prompt.ids_given);
  for (CLI::Option* o : {chat_template.system_given, chat_template.file_given, chat_template.variables_given}) {
    raw_flag->excludes(o);
    prompt.ids_given->excludes(o);
  }
  app.add_flag("--list-devices", list_devices, "print the backends of this build");
}

namespace {

// A terminal that gives no prompt wants to talk.
bool wants_chat(const RunArgs& args) {
  if (args.chat) return true;
  const bool given = is_given(args.prompt.text_given) || is_given(args.prompt.file_given) || is_given(args.prompt.ids_given);
  return !given && !args.raw && !args.json && !args.only_inspects() && args.load_state.empty() && ::isatty(0) == 1;
}

std::optional<std::string> read_text(const RunArgs& args, bool chat, Console& console) {
  const bool given = is_given(args.prompt.text_given) || is_given(args.prompt.file_given);
  if (is_given(args.prompt.ids_given) || (chat && !given)) return std::nullopt;  // a conversation reads its stdin itself
  if (chat && args.prompt.text == "-")
    throw Error(ErrorKind::usage, "--chat reads stdin itself; -p - would take it away", "", "leave -p - out");
  std::optional<std::string> text;
  if (chat) text = is_given(args.prompt.file_given) ? read_text_file(args.prompt.file, console) : args.prompt.text;
  else if (args.load_state.empty()) text = read_prompt(args.prompt, console);
  else text = read_prompt_if_any(args.prompt, console);
  if (text && !args.raw) check_utf8(*text, args.prompt.file.empty() ? "the prompt" : args.prompt.file);
  return text;
}

}  // namespace

Request read_request(const RunArgs& args, Console& console) {
  Request r;
  r.chat = wants_chat(args);
  for (const std::string* out : {&args.save_state, &args.logits_out})  // said now, not after the answer
    if (!out->empty()) io::check_writable(*out);
  if (is_given(args.generate.logprobs_given) && !args.json)
    throw Error(ErrorKind::usage, "--logprobs are told in JSON alone", "", "add --json");
  if (is_given(args.prompt.ids_given)) r.ids = parse_ids(args.prompt.ids, console);
  r.generate = args.generate.build(console);
  r.generator = {.ubatch = args.model.ubatch,
                 .pre = args.model.pre,
                 .tokenizer = args.chat_template.tokenizer(),
                 .chat_template = args.chat_template.chat_template(console),
                 .template_args = args.chat_template.variables_json()};
  r.text = read_text(args, r.chat, console);
  return r;
}

}  // namespace hz::tools
