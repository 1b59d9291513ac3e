// SPDX-License-Identifier: Apache-2.0
// Grammars: what a model may write, as GBNF or JSON Schema, and the tokens that may come next.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "hanzo/engine/token_table.hpp"

namespace hz {

// Parsed and compiled; immutable, shared by threads and sequences.
class Grammar {
 public:
  // GBNF as llama.cpp writes it (its grammars/README.md): `name ::= body`, literals, [classes], ., ( ), |, * + ? {m,n},
  // # comments, escapes \n \r \t \\ \" \[ \] \- \^ \xHH \uHHHH \UHHHHHHHH. Terminals that are tokens are not built.
  // Throws Error(usage) with line and column: syntax, undefined rules, left recursion, rules that can never end,
  // parentheses over 200 deep, over 4 MiB or a million states.
  static std::shared_ptr<const Grammar> from_gbnf(std::string_view text, std::string_view root = "root");

  // The JSON texts that are valid under a JSON Schema (draft 2020-12; also `definitions` and tuple `items` of older
  // drafts). docs/structured-output.md lists the keywords and what is narrower than the standard. A keyword that
  // cannot be enforced is Error(unsupported) naming its path, a schema that nothing satisfies Error(usage).
  static std::shared_ptr<const Grammar> from_json_schema(std::string_view schema);

  // Any JSON object or array: what "answer in JSON" means without a schema.
  static std::shared_ptr<const Grammar> any_json();

  std::string gbnf() const;  // the rules, for people

  ~Grammar();
  Grammar(const Grammar&) = delete;
  Grammar& operator=(const Grammar&) = delete;

  struct Body;
  explicit Grammar(std::unique_ptr<const Body> body);  // made by the factories
  const Body& body() const { return *body_; }

 private:
  std::unique_ptr<const Body> body_;
};

// Where one sequence stands in a grammar. A copy is a branch of its own, costs little and shares the masks found so
// far: make one state per grammar and vocabulary, and copy it for each sequence. One thread per object.
class GrammarState {
 public:
  GrammarState(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTable> table);
  GrammarState(const GrammarState&);
  GrammarState& operator=(const GrammarState&);
  GrammarState(GrammarState&&) noexcept;
  GrammarState& operator=(GrammarState&&) noexcept;
  ~GrammarState();

  // Bit id % 64 of word id / 64: token id may come next. Text tokens by the grammar, even if they end inside a
  // character; tokens that end a turn exactly when the grammar is complete. Words beyond the table become 0.
  // Throws Error(failed) when no token is allowed, so that nothing unconstrained is ever drawn; Error(usage) when
  // bits has fewer than (table size + 63) / 64 words.
  void mask(std::span<std::uint64_t> bits) const;

  // Takes a token. False, and nothing changed, if it may not come here.
  [[nodiscard]] bool accept(std::int32_t id);
  // Takes text that is given rather than drawn, e.g. the begin of an answer.
  [[nodiscard]] bool accept_text(std::string_view text);

  bool is_complete() const;  // the text so far is a whole output
  bool is_final() const;     // and nothing can follow it
  bool ended() const;        // a token that ends a turn was accepted

  const TokenTable& table() const;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace hz
