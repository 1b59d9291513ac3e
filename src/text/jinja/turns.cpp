// SPDX-License-Identifier: Apache-2.0
#include "src/text/jinja/turns.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

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

// What the template appends for add_generation_prompt, seen on the messages before the first answer. Empty when the
// template appends nothing or does not take that conversation.
std::string generation_prompt(const ChatTemplate& chat, const ChatInput& input) {
  Json before = Json::array();
  for (const auto& message : *input.messages) {
    if (is_assistant(message)) break;
    before.push_back(message);
  }
  ChatInput probe = input;
  probe.messages = before.empty() ? input.messages : &before;
  try {
    probe.add_generation_prompt = false;
    const std::string without = chat.render(probe).text;
    probe.add_generation_prompt = true;
    const std::string with = chat.render(probe).text;
    return with.starts_with(without) ? with.substr(without.size()) : std::string();
  } catch (const Error&) {
    return {};
  }
}

class Turns {
 public:
  Turns(const RenderedChat& rendered, std::span<const std::string> ends, std::string prompt)
      : text_(rendered.text), pieces_(rendered.pieces), ends_(ends), prompt_(std::move(prompt)) {}

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
  void add(const AssistantTurn& turn) {
    if (turn.end > turn.begin) turns_.push_back(turn);
  }

  void close_declared(AssistantTurn& turn) {
    std::size_t at = 0;
    const std::size_t trimmed = trim_right(text_, turn.begin, turn.end);
    for (const std::string& end : ends_) turn.closed = turn.closed || (!end.empty() && text_.substr(turn.begin, trimmed - turn.begin).ends_with(end));
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
    std::size_t data_begin = kNone;
    std::size_t data_end = pieces_[first].begin;
    for (std::size_t i = first; i <= last; ++i) {
      if (pieces_[i].from_template) continue;
      if (data_begin == kNone) data_begin = pieces_[i].begin;
      data_end = pieces_[i].end;
    }
    std::size_t left = first;  // the template's text before, back to data
    while (left > 0 && pieces_[left - 1].from_template) --left;
    const bool written_for = std::any_of(pieces_.begin() + static_cast<std::ptrdiff_t>(first), pieces_.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                                         [](const TextPiece& p) { return p.from_template; });
    const std::size_t own_end = pieces_[last].end;
    const std::size_t header_end = after_header(pieces_[left].begin, data_begin == kNone ? own_end : data_begin);
    if (data_begin == kNone && header_end == kNone) return;  // nothing said, and no header to start from
    AssistantTurn turn;
    turn.message = message;
    turn.begin = header_end == kNone ? data_begin : header_end;
    turn.end = data_begin == kNone ? turn.begin : data_end;
    if (overlaps(turn.begin)) return;
    close(turn, written_for ? own_end : turn.end, last);
    add(turn);
  }

  bool overlaps(std::size_t begin) const {
    return std::any_of(turns_.begin(), turns_.end(), [&](const AssistantTurn& t) { return begin >= t.begin && begin < t.end; });
  }

  // Extends an open turn over the template's text that ends it. `own_end`: where what was written for it ends.
  void close(AssistantTurn& turn, std::size_t own_end, std::size_t last) {
    std::size_t limit = own_end;
    for (std::size_t i = last + 1; i < pieces_.size() && pieces_[i].from_template; ++i) limit = pieces_[i].end;
    std::size_t at = 0;
    std::size_t stop = end_of_turn(text_, turn.end, own_end, ends_, at);
    if (stop == kNone) {
      // Not in its own text: only as the very next thing.
      stop = end_of_turn(text_, own_end, limit, ends_, at);
      if (stop != kNone && trim_right(text_, own_end, at) != own_end) stop = kNone;
    }
    turn.closed = stop != kNone;
    turn.end = turn.closed ? stop : trim_right(text_, turn.end, own_end);
  }

  // In template text [from, to), which precedes the answer: where the generation prompt ends, or npos. The prompt may
  // be cut short (a thinking switch in its tail), so its longest beginning counts, up to the last whole mark.
  std::size_t after_header(std::size_t from, std::size_t to) const {
    if (prompt_.empty()) return kNone;
    std::size_t best = 0, best_end = kNone;
    for (std::size_t p = from; p < to; ++p) {
      std::size_t n = 0;
      while (n < prompt_.size() && p + n < to && text_[p + n] == prompt_[n]) ++n;
      if (n < best || n == 0) continue;
      best = n;
      best_end = p + n;
    }
    if (best == prompt_.size() || best_end == to) return best_end;
    while (best > 0 && std::string_view(">\n]").find(prompt_[best - 1]) == kNone) {
      --best;
      --best_end;
    }
    return best >= 4 ? best_end : kNone;
  }

  std::string_view text_;
  const std::vector<TextPiece>& pieces_;
  std::span<const std::string> ends_;
  std::string prompt_;
  std::vector<AssistantTurn> turns_;
};

}  // namespace

std::vector<AssistantTurn> find_turns(const ChatTemplate& chat, const RenderedChat& rendered, const ChatInput& input,
                                      std::span<const std::string> turn_ends) {
  if (chat.has_generation_blocks()) return Turns(rendered, turn_ends, {}).declared();
  if (input.messages == nullptr || !input.messages->is_array()) return {};
  Turns turns(rendered, turn_ends, generation_prompt(chat, input));
  for (std::size_t i = 0; i < input.messages->size(); ++i) {
    if (is_assistant((*input.messages)[i])) turns.derive(i);
  }
  return turns.take();
}

}  // namespace hz::text::jinja
