// SPDX-License-Identifier: Apache-2.0
// A recogniser that is obviously right: it rewrites what is left to match, straight on the grammar's tree.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "src/engine/grammar/tree.hpp"

namespace hz::test {

class PlainGrammar {
 public:
  explicit PlainGrammar(const engine::GrammarTree& tree) : tree_(&tree) {
    const Rest start{{Item::Kind::expr, tree.rule_at(tree.root).body, 0, 0, {}}};
    expand({start});
  }

  // False if no text of the grammar goes on like this; then the recogniser is at an end.
  bool read(std::string_view bytes) {
    for (const char c : bytes) {
      std::set<Rest> next;
      for (const Rest& r : rests_) {
        if (r.empty()) continue;
        Rest after = r;
        Item& item = after.back();
        const auto& [lo, hi] = item.ranges.front();
        if (static_cast<unsigned char>(c) < lo || static_cast<unsigned char>(c) > hi) continue;
        item.ranges.erase(item.ranges.begin());
        if (item.ranges.empty()) after.pop_back();
        next.insert(std::move(after));
      }
      expand(next);
    }
    return !rests_.empty();
  }
  bool complete() const { return rests_.count({}) > 0; }

 private:
  struct Item {
    enum class Kind { expr, repeat, bytes } kind;
    engine::ExprId id = 0;           // expr, repeat
    std::int32_t min = 0, max = 0;   // repeat: still to do
    std::vector<std::pair<unsigned, unsigned>> ranges;  // bytes
    friend auto operator<=>(const Item&, const Item&) = default;
  };
  using Rest = std::vector<Item>;  // what is left to match, the next item last

  // Until each rest is empty or begins with bytes.
  void expand(const std::set<Rest>& from) {
    rests_.clear();
    std::set<Rest> seen(from);
    std::vector<Rest> todo(from.begin(), from.end());
    while (!todo.empty()) {
      const Rest r = std::move(todo.back());
      todo.pop_back();
      if (r.empty() || r.back().kind == Item::Kind::bytes) {
        rests_.insert(r);
        continue;
      }
      for (Rest& n : rewrite(r))
        if (seen.insert(n).second) todo.push_back(std::move(n));
    }
  }

  std::vector<Rest> rewrite(Rest r) const {
    using engine::Expr;
    const Item item = r.back();
    r.pop_back();
    std::vector<Rest> out;
    const auto with = [&](std::vector<Item> items) {
      Rest n = r;
      n.insert(n.end(), items.rbegin(), items.rend());
      out.push_back(std::move(n));
    };
    const auto expr_item = [](engine::ExprId id) { return Item{Item::Kind::expr, id, 0, 0, {}}; };
    const Expr& e = tree_->expr(item.id);
    if (item.kind == Item::Kind::repeat) {
      if (item.min <= 0) with({});
      if (item.max != 0) {
        const std::int32_t max = item.max < 0 ? item.max : item.max - 1;
        with({expr_item(e.parts[0]), {Item::Kind::repeat, item.id, item.min > 0 ? item.min - 1 : 0, max, {}}});
      }
      return out;
    }
    switch (e.kind) {
      case Expr::Kind::literal: {
        Item bytes{Item::Kind::bytes, 0, 0, 0, {}};
        for (const char c : e.text) bytes.ranges.emplace_back(static_cast<unsigned char>(c), static_cast<unsigned char>(c));
        e.text.empty() ? with({}) : with({bytes});
        break;
      }
      case Expr::Kind::chars:
        for (const auto& s : engine::utf8_sequences(e.set)) {
          Item bytes{Item::Kind::bytes, 0, 0, 0, {}};
          for (int i = 0; i < s.length; ++i)
            bytes.ranges.emplace_back(s.bytes[static_cast<std::size_t>(i)].lo, s.bytes[static_cast<std::size_t>(i)].hi);
          with({bytes});
        }
        break;
      case Expr::Kind::rule: with({expr_item(tree_->rule_at(e.rule).body)}); break;
      case Expr::Kind::sequence: {
        std::vector<Item> items;
        for (const auto p : e.parts) items.push_back(expr_item(p));
        with(items);
        break;
      }
      case Expr::Kind::choice:
        for (const auto p : e.parts) with({expr_item(p)});
        break;
      case Expr::Kind::repeat: with({{Item::Kind::repeat, item.id, e.min, e.max, {}}}); break;
    }
    return out;
  }

  const engine::GrammarTree* tree_;
  std::set<Rest> rests_;
};

}  // namespace hz::test
