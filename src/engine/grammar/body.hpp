// SPDX-License-Identifier: Apache-2.0
// What a Grammar holds, and how a tree becomes one.
#pragma once
#include "hanzo/engine/grammar.hpp"
#include "src/engine/grammar/automaton.hpp"

namespace hz {

struct Grammar::Body {
  engine::GrammarTree tree;
  engine::Automaton automaton;
};

namespace engine {

// Throws what compile() throws.
std::shared_ptr<const Grammar> make_grammar(GrammarTree tree);

}  // namespace engine
}  // namespace hz
