// SPDX-License-Identifier: Apache-2.0
// Grammar and GrammarState.
#include "hanzo/engine/grammar.hpp"

#include <algorithm>
#include <utility>

#include "hanzo/core/error.hpp"
#include "src/engine/grammar/body.hpp"
#include "src/engine/grammar/masks.hpp"

namespace hz {

using engine::Config;
using engine::Head;

Grammar::Grammar(std::unique_ptr<const Body> body) : body_(std::move(body)) {}
Grammar::~Grammar() = default;

std::shared_ptr<const Grammar> engine::make_grammar(GrammarTree tree) {
  Automaton automaton = compile(tree);
  return std::make_shared<const Grammar>(std::make_unique<const Grammar::Body>(Grammar::Body{std::move(tree), std::move(automaton)}));
}

std::shared_ptr<const Grammar> Grammar::from_gbnf(std::string_view text, std::string_view root) {
  return engine::make_grammar(engine::parse_gbnf(text, root));
}

std::string Grammar::gbnf() const { return engine::to_gbnf(body_->tree); }

struct GrammarState::Body {
  // What states of one grammar and vocabulary share.
  struct Shared {
    std::shared_ptr<const Grammar> grammar;
    std::shared_ptr<const TokenTable> table;
    engine::GrammarMasks masks;
  };

  explicit Body(std::shared_ptr<Shared> s) : shared(std::move(s)), stepper(automaton()) { heads.push_back({automaton().start}); }
  Body(const Body& o)
      : shared(o.shared),
        stacks(o.stacks),
        heads(o.heads),
        ended(o.ended),
        last_heads(o.last_heads),
        last_mask(o.last_mask),
        stepper(automaton()) {}

  const engine::Automaton& automaton() const { return shared->grammar->body().automaton; }
  Config closed() {
    Config c;
    stepper.close(heads, stacks, c);
    return c;
  }
  bool read(std::string_view text);

  std::shared_ptr<Shared> shared;
  engine::StackPool stacks;
  std::vector<Head> heads;  // not closed: after a byte, before what takes none
  bool ended = false;
  std::vector<Head> last_heads;                                // of the last mask, which often holds for many tokens
  std::shared_ptr<const std::vector<std::uint64_t>> last_mask;
  engine::Stepper stepper;
};

bool GrammarState::Body::read(std::string_view text) {
  std::vector<Head> at = heads, next;
  Config config;
  for (const char c : text) {
    stepper.close(at, stacks, config);
    stepper.step(config, static_cast<std::uint8_t>(c), next);
    if (next.empty()) return false;
    std::swap(at, next);
  }
  std::sort(at.begin(), at.end());
  at.erase(std::unique(at.begin(), at.end()), at.end());
  // A rule's end has no tokens of its own: go on at its caller, where the masks are known.
  for (Head& h : at)
    while (h.node == engine::Automaton::kEnd && h.stack != 0) h = {stacks.ret(h.stack), stacks.below(h.stack)};
  heads = std::move(at);
  return true;
}

GrammarState::GrammarState(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTable> table) {
  if (grammar == nullptr || table == nullptr)
    throw Error(ErrorKind::usage, "GrammarState needs a grammar and a TokenTable", "GrammarState");
  const engine::Automaton& automaton = grammar->body().automaton;
  const engine::TokenTrie& trie = table->trie();
  auto shared = std::shared_ptr<Body::Shared>(new Body::Shared{std::move(grammar), std::move(table), {automaton, trie}});
  body_ = std::make_unique<Body>(std::move(shared));
}
GrammarState::GrammarState(const GrammarState& o) : body_(std::make_unique<Body>(*o.body_)) {}
GrammarState& GrammarState::operator=(const GrammarState& o) {
  if (this != &o) body_ = std::make_unique<Body>(*o.body_);
  return *this;
}
GrammarState::GrammarState(GrammarState&&) noexcept = default;
GrammarState& GrammarState::operator=(GrammarState&&) noexcept = default;
GrammarState::~GrammarState() = default;

const TokenTable& GrammarState::table() const { return *body_->shared->table; }
bool GrammarState::ended() const { return body_->ended; }
bool GrammarState::is_complete() const { return body_->ended || body_->closed().accept; }
bool GrammarState::is_final() const {
  if (body_->ended) return true;
  const Config c = body_->closed();
  return c.accept && c.heads.empty();
}

void GrammarState::mask(std::span<std::uint64_t> bits) const {
  Body& b = *body_;
  const TokenTable& table = *b.shared->table;
  const std::size_t words = (static_cast<std::size_t>(table.size()) + 63) / 64;
  if (bits.size() < words)
    throw Error(
        ErrorKind::usage,
        "the mask has " + std::to_string(bits.size()) + " words, " + std::to_string(table.size()) + " tokens need " + std::to_string(words),
        "GrammarState::mask");
  if (!b.ended && (b.last_mask == nullptr || b.heads != b.last_heads)) {
    auto fresh = std::make_shared<std::vector<std::uint64_t>>(words, 0);
    b.shared->masks.mask(b.heads, b.stacks, *fresh);
    b.last_mask = std::move(fresh);
    b.last_heads = b.heads;
  }
  std::fill(bits.begin(), bits.end(), 0);
  if (!b.ended) std::copy(b.last_mask->begin(), b.last_mask->end(), bits.begin());
  const bool complete = is_complete();
  if (complete)
    for (const std::int32_t id : table.end_ids()) bits[static_cast<std::size_t>(id) / 64] |= std::uint64_t{1} << (id % 64);
  if (std::all_of(bits.begin(), bits.end(), [](std::uint64_t w) { return w == 0; })) {
    if (complete)
      throw Error(ErrorKind::failed, "the grammar is complete, but the vocabulary has no token that ends a turn", "grammar",
                  "end the text when is_final() says so");
    throw Error(ErrorKind::failed, "no token of the vocabulary can follow under the grammar", "grammar",
                "the grammar asks for text that this model's tokens cannot spell");
  }
}

bool GrammarState::accept(std::int32_t id) {
  Body& b = *body_;
  if (b.ended || id < 0 || id >= b.shared->table->size()) return false;
  if (b.shared->table->is_end(id)) {
    b.ended = is_complete();
    return b.ended;
  }
  const std::string_view piece = b.shared->table->piece(id);
  return !piece.empty() && b.read(piece);
}

bool GrammarState::accept_text(std::string_view text) { return !body_->ended && body_->read(text); }

}  // namespace hz
