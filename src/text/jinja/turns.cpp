// SPDX-License-Identifier: Apache-2.0
#include "src/text/jinja/turns.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "hanzo/core/error.hpp"

namespace hz::text::jinja {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kNone = std::string_view::npos;

bool is_assistant(const Json& message) {
  const auto role = message.is_object() ? message.find("role") : message.end();
  return role != message.end() && role->is_string() && (*role == "assistant" || *role == "model");
}

// The first end-of-turn text in text[from, to): its end, or npos. `at` gets its begin.
std::size_t end_of_turn(std::string_view text, std::size_t from, std::size_t to, std::span<const std::string> ends, std::size_t& at) {
  at = kNone;
  std::size_t stop = kNone;
  for (const std::string& end : ends) {
    if (end.empty()) continue;
    const std::size_t found = text.substr(0, to).find(end, from);
    if (found == kNone || (at != kNone && (found > at || (found == at && found + end.size() <= stop)))) continue;
    at = found;
    stop = found + end.size();
  }
  return stop;
}

std::size_t trim_right(std::string_view text, std::size_t from, std::size_t to) {
  while (to > from && (text[to - 1] == '\n' || text[to - 1] == ' ' || text[to - 1] == '\t' || text[to - 1] == '\r')) --to;
  return to;
}

// The position after the last whole mark ("<|im_start|>", "[INST]", a line) in text[0, end).
std::size_t whole_marks(std::string_view text, std::size_t end) {
  while (end > 0 && std::string_view(">\n]").find(text[end - 1]) == kNone) --end;
  return end;
}

// What the template writes before an answer to the first `count` messages: its addition for add_generation_prompt or,
// when it takes no notice of that, all its text after the last data. Nothing when it does not take that conversation.
std::optional<std::string> generation_prompt(const ChatTemplate& chat, const ChatInput& input, std::size_t count) {
  const Json before(input.messages->begin(), input.messages->begin() + static_cast<std::ptrdiff_t>(count));
  ChatInput probe = input;
  probe.messages = &before;
  try {
    probe.add_generation_prompt = false;
    const std::string without = chat.render(probe).text;
    probe.add_generation_prompt = true;
    const RenderedChat with = chat.render(probe);
    std::size_t tail = with.text.size();
    for (auto piece = with.pieces.rbegin(); piece != with.pieces.rend() && piece->from_template; ++piece) tail = piece->begin;
    if (with.text == without) return with.text.substr(tail);
    auto same = static_cast<std::size_t>(std::mismatch(with.text.begin(), with.text.end(), without.begin(), without.end()).first -
                                         with.text.begin());
    if (same < without.size()) same = std::max(tail, whole_marks(with.text, same));
    return with.text.substr(same);
  } catch (const Error&) {
    return std::nullopt;
  }
}

class Turns {
 public:
  Turns(const ChatTemplate& chat, const RenderedChat& rendered, const ChatInput& input, std::span<const std::string> ends)
      : chat_(chat), input_(input), text_(rendered.text), pieces_(rendered.pieces), ends_(ends) {}

  // From the generation blocks. A turn that a block leaves open takes the end-of-turn text right behind it.
  std::vector<AssistantTurn> declared() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (!pieces_[i].generated) continue;
      AssistantTurn turn;
      turn.begin = pieces_[i].begin;
      bool known = false;
      for (; i < pieces_.size() && pieces_[i].generated; ++i) {
        if (known && pieces_[i].message && *pieces_[i].message != turn.message && pieces_[i].from_template) break;
        if (!known && pieces_[i].message) {
          turn.message = *pieces_[i].message;
          known = true;
        }
        turn.end = pieces_[i].end;
      }
      --i;
      close_declared(turn);
      add(turn);
    }
    return std::move(turns_);
  }

  // From the pieces of one assistant message.
  void derive(std::size_t message) {
    prompt_ = prompt_for(message);
    std::size_t i = 0;
    while (i < pieces_.size()) {
      // One stretch: pieces of this message, without data of others between.
      while (i < pieces_.size() && pieces_[i].message != message) ++i;
      const std::size_t first = i;
      std::size_t last = i;
      for (; i < pieces_.size() && (pieces_[i].from_template || pieces_[i].message == message); ++i) {
        if (pieces_[i].message == message) last = i;
        else if (pieces_[i].message) break;
      }
      if (first < pieces_.size()) stretch(message, first, last);
    }
  }

  std::vector<AssistantTurn> take() {
    std::sort(turns_.begin(), turns_.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    return std::move(turns_);
  }

 private:
  // The generation prompt depends on what comes before, which the role of the last message stands for.
  std::optional<std::string> prompt_for(std::size_t message) {
    std::string role;
    if (message != 0) {
      const Json& before = (*input_.messages)[message - 1];
      const auto at = before.is_object() ? before.find("role") : before.end();
      if (at != before.end() && at->is_string()) role = at->get<std::string>();
    }
    const auto [entry, fresh] = prompts_.try_emplace(role);
    if (fresh) entry->second = generation_prompt(chat_, input_, message);
    return entry->second;
  }

  void add(const AssistantTurn& turn) {
    if (turn.end > turn.begin) turns_.push_back(turn);
  }

  void close_declared(AssistantTurn& turn) {
    std::size_t at = 0;
    const std::size_t trimmed = trim_right(text_, turn.begin, turn.end);
    for (const std::string& end : ends_)
      turn.closed = turn.closed || (!end.empty() && text_.substr(turn.begin, trimmed - turn.begin).ends_with(end));
    if (turn.closed) return;
    std::size_t limit = turn.end;
    for (const TextPiece& p : pieces_) {
      if (p.begin == limit && p.from_template && !p.generated) limit = p.end;
    }
    const std::size_t stop = end_of_turn(text_, turn.end, limit, ends_, at);
    if (stop == kNone || trim_right(text_, turn.end, at) != turn.end) return;
    turn.end = stop;
    turn.closed = true;
  }

  // Data of the message in pieces [first, last]; the template's text around it up to other data.
  void stretch(std::size_t message, std::size_t first, std::size_t last) {
    std::size_t left = first;  // the template's text before, back to data
    while (left > 0 && pieces_[left - 1].from_template) --left;
    bool written_for = false;  // the template's text names the message, so its bounds are known
    for (std::size_t i = first; i <= last; ++i) written_for = written_for || pieces_[i].from_template;
    const std::size_t own_end = pieces_[last].end;
    std::size_t from = pieces_[left].begin;
    // Where it begins without a header: with what was written for it, if the template surely writes none, and if it is
    // not the rest of a message that others' data interrupts.
    std::size_t fallback = kNone;
    if (written_for && prompt_ && !interrupted(message, first)) fallback = pieces_[first].begin;
    // A turn may end inside, and another begin behind it.
    while (from < own_end) {
      const std::size_t data_begin = next_data(first, last, from);
      const std::size_t header_end = after_header(from, data_begin == kNone ? own_end : data_begin);
      if (header_end == kNone && (data_begin == kNone || (fallback == kNone && from != pieces_[left].begin))) return;
      AssistantTurn turn;
      turn.message = message;
      turn.begin = header_end != kNone ? header_end : fallback != kNone ? fallback : data_begin;
      if (overlaps(turn.begin)) return;
      close(turn, first, last, written_for);
      add(turn);
      if (turn.end <= from) return;
      from = turn.end;
      fallback = kNone;
    }
  }

  bool interrupted(std::size_t message, std::size_t first) const {
    return std::any_of(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(first),
                       [&](const TextPiece& p) { return p.message == message; });
  }

  // First byte of data in pieces [first, last] that is not before `from`; npos when there is none.
  std::size_t next_data(std::size_t first, std::size_t last, std::size_t from) const {
    for (std::size_t i = first; i <= last; ++i) {
      if (!pieces_[i].from_template && pieces_[i].begin >= from) return pieces_[i].begin;
    }
    return kNone;
  }

  bool overlaps(std::size_t begin) const {
    return std::any_of(turns_.begin(), turns_.end(), [&](const AssistantTurn& t) { return begin >= t.begin && begin < t.end; });
  }

  // Finds where an open turn ends: at the first end-of-turn text that the template wrote behind its begin.
  void close(AssistantTurn& turn, std::size_t first, std::size_t last, bool written_for) {
    std::size_t data_end = turn.begin;
    for (std::size_t i = first; i <= last; ++i) {
      const TextPiece& p = pieces_[i];
      if (!p.from_template) {
        data_end = std::max(data_end, p.end);
        continue;
      }
      std::size_t at = 0;
      const std::size_t stop = end_of_turn(text_, std::max(p.begin, turn.begin), p.end, ends_, at);
      if (stop == kNone) continue;
      turn.end = stop;
      turn.closed = true;
      return;
    }
    // Not in its own text: only as the very next thing.
    const std::size_t own_end = pieces_[last].end;
    std::size_t limit = own_end;
    for (std::size_t i = last + 1; i < pieces_.size() && pieces_[i].from_template; ++i) limit = pieces_[i].end;
    std::size_t at = 0;
    const std::size_t stop = end_of_turn(text_, own_end, limit, ends_, at);
    turn.closed = stop != kNone && trim_right(text_, own_end, at) == own_end;
    turn.end = turn.closed ? stop : written_for ? trim_right(text_, data_end, own_end) : data_end;
  }

  // In template text [from, to), which precedes the answer: where the generation prompt ends, or npos. The prompt may
  // be cut short (a thinking switch in its tail), so its longest beginning counts, up to the last whole mark.
  std::size_t after_header(std::size_t from, std::size_t to) const {
    if (!prompt_ || prompt_->empty()) return kNone;
    const std::string& prompt = *prompt_;
    std::size_t best = 0, best_end = kNone;
    for (std::size_t p = from; p < to; ++p) {
      std::size_t n = 0;
      while (n < prompt.size() && p + n < to && text_[p + n] == prompt[n]) ++n;
      if (n < best || n == 0) continue;
      best = n;
      best_end = p + n;
    }
    if (best == prompt.size() || best_end == to) return best_end;
    const std::size_t whole = whole_marks(prompt, best);
    return whole >= 2 ? best_end - (best - whole) : kNone;
  }

  const ChatTemplate& chat_;
  const ChatInput& input_;
  std::string_view text_;
  const std::vector<TextPiece>& pieces_;
  std::span<const std::string> ends_;
  std::optional<std::string> prompt_;                          // of the message at hand; nothing: not known
  std::map<std::string, std::optional<std::string>> prompts_;  // by the role before
  std::vector<AssistantTurn> turns_;
};

}  // namespace

std::vector<AssistantTurn> find_turns(const ChatTemplate& chat, const RenderedChat& rendered, const ChatInput& input,
                                      std::span<const std::string> turn_ends) {
  Turns turns(chat, rendered, input, turn_ends);
  if (chat.has_generation_blocks()) return turns.declared();
  if (input.messages == nullptr || !input.messages->is_array()) return {};
  for (std::size_t i = 0; i < input.messages->size(); ++i) {
    if (is_assistant((*input.messages)[i])) turns.derive(i);
  }
  return turns.take();
}

}  // namespace hz::text::jinja
