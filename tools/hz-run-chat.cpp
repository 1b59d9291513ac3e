// SPDX-License-Identifier: Apache-2.0
// hz-run --chat: a conversation on a terminal or over pipes. stdout has the answers alone.
#include <fmt/format.h>
#include <signal.h>

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tools/common/interrupt.hpp"
#include "tools/common/line_reader.hpp"
#include "tools/common/meter.hpp"
#include "tools/common/run.hpp"
#include "tools/hz-run-options.hpp"

namespace hz::tools {
namespace {

constexpr const char* kHelp =
    "/system [TEXT]  show or set the system message; \"\" removes it\n"
    "/regen          another answer in place of the last one\n"
    "/reset          forget the conversation, but for the system message\n"
    "/save FILE      write the conversation as JSON\n"
    "/load FILE      read one\n"
    "/stats          tokens, speed, seed\n"
    "/exit           end (also Ctrl-D)\n"
    "A line that ends with \\ goes on in the next; \"\"\" begins and ends a block of lines; // begins a message with a slash.\n"
    "Ctrl-C ends an answer; at the prompt it ends the program.";

std::string trimmed(std::string_view s) {
  const std::size_t begin = s.find_first_not_of(" \t\n"), end = s.find_last_not_of(" \t\n");
  return begin == s.npos ? "" : std::string(s.substr(begin, end - begin + 1));
}

// "~/talk.json" is the shell's way; here nobody else would expand it.
std::string file_name(const std::string& given, std::string_view command) {
  if (given.empty()) throw Error(ErrorKind::usage, fmt::format("{} needs a file name", command), "", fmt::format("{} talk.json", command));
  const char* home = std::getenv("HOME");
  return given.starts_with("~/") && home != nullptr ? home + given.substr(1) : given;
}

class Repl {
 public:
  Repl(const RunArgs& args, const Request& request, Generator& generator, Console& console)
      : args_(args),
        gen_(generator),
        console_(console),
        options_(request.generate),
        session_(generator),
        reader_(history_file("hz-run-history")) {
    if (!options_.seed) options_.seed = fresh_sampling_seed();
    generator.chat_template();  // or says what is wrong with it
    if (!args.load_state.empty()) session_.load_state(args.load_state, console.progress());
    if (is_given(args.chat_template.system_given)) session_.set_system(args.chat_template.system);
  }

  int run(const std::optional<std::string>& first) {
    if (reader_.is_terminal()) console_.note("/help lists the commands; Ctrl-C ends an answer, Ctrl-D the conversation");
    if (first) attempt([&] { ask(*first); });
    while (!ended_) {
      const std::optional<Message> message = read_message(reader_, "> ");
      if (Interrupt::pending() != 0) return stopped();
      if (!message) break;
      if (!trimmed(message->text).empty()) attempt([&] { take(*message); });
      if (Interrupt::pending() == SIGTERM) return stopped();
      console_.reset_stop();
    }
    if (reader_.is_terminal() && !ended_) console_.note("");
    save_state();
    return kOk;
  }

 private:
  int stopped() {
    if (reader_.is_terminal()) console_.note("");
    save_state();
    return kInterrupted;
  }

  void save_state() {
    if (!args_.save_state.empty()) session_.save_state(args_.save_state);
  }

  // On a terminal an error is told and the conversation goes on; a script ends with it. So does a conversation whose
  // answers can no longer be read from the model's file, or be written.
  template <class F>
  void attempt(F&& f) {
    try {
      f();
    } catch (const Error& e) {
      if (!reader_.is_terminal() || lost_) throw;
      console_.error(e);
    }
  }

  void take(const Message& message) {
    const std::string& text = message.text;
    if (message.is_block || !text.starts_with("/")) return ask(text);
    if (text.starts_with("//")) return ask(text.substr(1));
    const std::size_t space = text.find_first_of(" \t\n");
    command(text.substr(0, space), space == std::string::npos ? "" : trimmed(std::string_view(text).substr(space)));
  }

  void command(const std::string& name, const std::string& rest) {
    static constexpr std::array<std::string_view, 10> kNames{"/system", "/regen", "/reset", "/save", "/load",
                                                             "/stats",  "/exit",  "/quit",  "/help", "/?"};
    if (name == "/system") return system(rest);
    if (name == "/regen") return tell([&](const GenerateOptions& o, const ChatSession::OnPiece& f) { return session_.regenerate(o, f); });
    if (name == "/save") return save(file_name(rest, name));
    if (name == "/load") return load(file_name(rest, name));
    if (name == "/stats") return stats();
    if (name == "/help" || name == "/?") return console_.note(kHelp);
    if (name == "/exit" || name == "/quit") {
      ended_ = true;
    } else if (name == "/reset") {
      session_.reset();
      forget_numbers();
    } else {
      const std::string_view near = meant(name, kNames);
      throw Error(ErrorKind::usage, "unknown command " + name, "",
                  near.empty() ? "/help lists them; // begins a message with a slash" : fmt::format("{}, or /help", near));
    }
  }

  void system(const std::string& text) {
    if (text.empty()) return console_.note(session_.system().empty() ? "no system message" : session_.system());
    session_.set_system(text == "\"\"" ? "" : text);
  }

  void save(const std::string& file) {
    session_.save(file);
    console_.note(fmt::format("{} messages written", session_.messages().size()));
  }

  void load(const std::string& file) {
    session_.load(file);
    forget_numbers();
    console_.note(fmt::format("{} messages", session_.messages().size()));
  }

  // /stats tells of the conversation that is.
  void forget_numbers() {
    context_ = 0;
    last_.clear();
  }

  void stats() {
    const std::size_t used = context_;
    console_.note(fmt::format("{} messages, {} of {} tokens of context, {} of keys and values, seed {}", session_.messages().size(), used,
                              gen_.model().context(),
                              bytes_text(static_cast<double>(gen_.model().kv_bytes(static_cast<std::int64_t>(used)))), *options_.seed));
    if (!last_.empty()) console_.note(last_);
  }

  void ask(const std::string& text) {
    check_utf8(text, "stdin");
    tell([&](const GenerateOptions& o, const ChatSession::OnPiece& f) { return session_.ask(text, o, f); });
  }

  template <class F>
  void tell(F&& answer) {
    GenerateOptions o = options_;
    o.stop = console_.stop_token();
    bool begun = false;
    const auto show = [&](const Piece& piece) {
      if (args_.json) return;
      begun = begun || !piece.text.empty();
      console_.stream(console_.out_is_terminal() ? printable(piece.text) : piece.text);
    };
    try {
      const Generation g = answer(o, show);
      context_ = static_cast<std::size_t>(g.stats().prompt_tokens + g.stats().generated_tokens);
      last_ = fmt::format("{}; first token after {:.2f} s", summary(g), g.stats().first_token_seconds);
      if (args_.json) print_json(g, gen_, console_);
      else console_.stream("\n");
      console_.flush();
      if (g.finish_reason() == FinishReason::interrupted) console_.note("(stopped)");
      else if (g.finish_reason() == FinishReason::length) console_.note("(cut: the context or --max-tokens is used up)");
      console_.detail(last_);
    } catch (const Error& e) {
      lost_ = e.kind() == ErrorKind::io || console_.out_is_closed();
      if (begun && !lost_) console_.stream("\n");
      throw;
    }
  }

  const RunArgs& args_;
  Generator& gen_;
  Console& console_;
  GenerateOptions options_;
  ChatSession session_;
  LineReader reader_;
  std::size_t context_ = 0;
  std::string last_;
  bool ended_ = false, lost_ = false;
};

}  // namespace

int run_chat(const RunArgs& args, const Request& request, Generator& generator, Console& console) {
  return Repl(args, request, generator, console).run(request.text);
}

}  // namespace hz::tools
