// SPDX-License-Identifier: Apache-2.0
// Grammars: the first byte chooses GBNF or JSON Schema; the text up to the first NUL is compiled, the bytes behind it
// choose tokens among the allowed ones. A mask is never empty before the end, and what it allows is accepted.
#include "hanzo/engine/grammar.hpp"

#include "tests/fuzz/fuzz.hpp"
#include "tests/text/synthetic.hpp"

using namespace hz;
using namespace hz::fuzz;

namespace {

const std::shared_ptr<const TokenTable>& table() {
  static const std::shared_ptr<const TokenTable> t = TokenTable::from(*test::small_bpe_tokenizer());
  return t;
}

void walk(const std::shared_ptr<const Grammar>& grammar, Input& in) {
  GrammarState state(grammar, table());
  const auto size = static_cast<std::size_t>(table()->size());
  std::vector<std::uint64_t> bits((size + 63) / 64);
  for (int step = 0; step < 24 && !state.ended(); ++step) {
    state.mask(bits);
    std::size_t id = in.below(size), tried = 0;
    while ((bits[id / 64] >> (id % 64) & 1) == 0 && tried < size) {
      id = (id + 1) % size;
      ++tried;
    }
    require(tried < size);
    require(state.accept(static_cast<std::int32_t>(id)));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return guarded([&] {
    Input in(data, size);
    const bool schema = in.byte() % 2 == 1;
    const std::string text(in.line());
    walk(schema ? Grammar::from_json_schema(text) : Grammar::from_gbnf(text), in);
  });
}
