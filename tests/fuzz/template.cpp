// SPDX-License-Identifier: Apache-2.0
// Chat templates: the text up to the first NUL is the template, what follows is put into the messages. Pieces cover
// the text, assistant turns lie inside it, and text of messages is never the template's.
#include "hanzo/text/chat_template.hpp"

#include <nlohmann/json.hpp>

#include "hanzo/text/tokenizer.hpp"
#include "hanzo/text/utf8.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace hz;
using namespace hz::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return guarded([&] {
    Input in(data, size);
    const std::string source(in.line()), said = text::repair_utf8(in.rest());
    const auto tmpl = text::ChatTemplate::parse(source);
    const nlohmann::ordered_json messages = {{{"role", "system"}, {"content", "be"}},
                                             {{"role", "user"}, {"content", said}},
                                             {{"role", "assistant"}, {"content", "yes " + said}}};
    const nlohmann::ordered_json tools =
        nlohmann::ordered_json::array({{{"type", "function"}, {"function", {{"name", "f"}, {"parameters", {{"type", "object"}}}}}}});
    const nlohmann::ordered_json variables = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
    text::ChatInput input{.messages = &messages, .tools = &tools, .variables = &variables};
    input.limits = {.steps = 20000, .steps_per_message = 100, .live_bytes = std::size_t{4} << 20, .output_bytes = std::size_t{1} << 20};
    const text::RenderedChat r = tmpl.render(input);
    std::size_t at = 0;
    for (const text::TextPiece& p : r.pieces) {
      require(p.begin == at && p.end >= p.begin && p.end <= r.text.size());
      at = p.end;
    }
    require(at == r.text.size());
    std::string joined;
    for (const text::Segment& s : text::segments_of(r)) joined += s.text;
    require(joined == r.text);
    const std::string ends[] = {"</s>"};
    for (const text::AssistantTurn& t : tmpl.assistant_turns(r, input, ends)) require(t.begin <= t.end && t.end <= r.text.size());
  });
}
