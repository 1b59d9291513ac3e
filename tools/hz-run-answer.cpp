// SPDX-License-Identifier: Apache-2.0
// hz-run's one answer: to a prompt, to ids, or from a saved state on.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/common/run.hpp"
#include "tools/hz-run-options.hpp"

namespace hz::tools {
namespace {

class Answer {
 public:
  Answer(const RunArgs& args, const Request& request, Generator& generator, Console& console)
      : args_(args), request_(request), gen_(generator), console_(console), options_(request.generate) {
    options_.stop = console.stop_token();
  }

  int run() { return !request_.ids.empty() || args_.raw ? raw() : turn(); }

 private:
  int raw() {
    std::optional<StreamState> before;
    if (!args_.load_state.empty()) before = gen_.load_state(args_.load_state, console_.progress());
    Generation g = begin(before);
    while (g.next()) show(g.piece());
    if (!args_.save_state.empty()) gen_.save_state(args_.save_state, g.state(), console_.progress());
    return finish(g);
  }

  Generation begin(const std::optional<StreamState>& before) {
    if (before && request_.ids.empty() && !request_.text) return gen_.resume(*before, options_);
    std::vector<std::int32_t> ids = request_.ids;
    if (ids.empty())
      ids = before ? gen_.tokenizer().encode(*request_.text, {.add_special = false, .parse_special = true})
                   : gen_.complete_ids(*request_.text);
    if (before) ids.insert(ids.begin(), before->ids.begin(), before->ids.end());
    return gen_.generate(std::move(ids), options_);
  }

  int turn() {
    ChatSession session(gen_);
    if (!args_.load_state.empty()) session.load_state(args_.load_state, console_.progress());
    if (is_given(args_.chat_template.system_given)) session.set_system(args_.chat_template.system);
    const auto on_piece = [this](const Piece& piece) { show(piece); };
    const Generation g = request_.text ? session.ask(*request_.text, options_, on_piece) : session.resume(options_, on_piece);
    if (!args_.save_state.empty()) session.save_state(args_.save_state, console_.progress());
    return finish(g);
  }

  void show(const Piece& piece) {
    if (args_.json) return;
    if (!gen_.has_tokenizer()) console_.stream(fmt::format("{} ", piece.id));
    else console_.stream(console_.out_is_terminal() ? printable(piece.text) : piece.text);
  }

  int finish(const Generation& g) {
    if (args_.json) print_json(g, gen_, console_);
    else if (!g.ids().empty()) console_.stream("\n");
    console_.note(summary(g));
    return g.finish_reason() == FinishReason::interrupted ? kInterrupted : kOk;
  }

  const RunArgs& args_;
  const Request& request_;
  Generator& gen_;
  Console& console_;
  GenerateOptions options_;
};

}  // namespace

std::string summary(const Generation& g) {
  const GenerationStats& s = g.stats();
  const auto rate = [](std::int64_t n, double t) { return t > 0 && n > 0 ? static_cast<double>(n) / t : 0.0; };
  return fmt::format("prompt {} tokens{}, {:.1f} tokens/s; answer {} tokens, {:.1f} tokens/s; seed {}; finish: {}", s.prompt_tokens,
                     s.reused_tokens > 0 ? fmt::format(" ({} of them known)", s.reused_tokens) : "",
                     rate(s.prompt_tokens - s.reused_tokens, s.prompt_seconds), s.generated_tokens,
                     rate(s.generated_tokens - 1, s.decode_seconds), g.seed(), name_of(g.finish_reason()));
}

void print_json(const Generation& g, const Generator& generator, Console& console) {
  console.json(to_json(g, generator.has_tokenizer() ? &generator.tokenizer() : nullptr));
}

int run_once(const RunArgs& args, const Request& request, Generator& generator, Console& console) {
  return Answer(args, request, generator, console).run();
}

}  // namespace hz::tools
