// SPDX-License-Identifier: Apache-2.0
// From the tree to the automaton (Thompson's construction, built from the end).
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "hanzo/core/error.hpp"
#include "src/engine/grammar/config.hpp"

namespace hz::engine {
namespace {

constexpr std::size_t kMostNodes = 1'000'000;
constexpr std::int32_t kMostCopies = 8;       // repetitions up to here are written out
constexpr std::size_t kMostUnitStates = 256;  // of a counted unit

class Compiler {
 public:
  explicit Compiler(const GrammarTree& tree) : tree_(tree) {
    a_.nodes.push_back({Automaton::Kind::end, 0, 0});
    a_.rule_start.assign(tree.rule_count(), -1);
  }

  Automaton run() {
    require(tree_.root);
    while (!rules_.empty()) {
      const RuleId rule = rules_.back();
      rules_.pop_back();
      a_.rule_start[static_cast<std::size_t>(rule)] = expr(tree_.rule_at(rule).body, Automaton::kEnd);
    }
    a_.start = a_.rule_start[static_cast<std::size_t>(tree_.root)];
    find_classes();
    for (std::size_t i = 0; i < counted_.size(); ++i) settle(i);  // settling one may add more
    return std::move(a_);
  }

 private:
  struct Counted {  // a repetition that may become a loop
    NodeId node;
    ExprId unit;
  };

  void require(RuleId rule) {
    NodeId& start = a_.rule_start[static_cast<std::size_t>(rule)];
    if (start != -1) return;
    start = -2;  // wanted
    rules_.push_back(rule);
  }

  NodeId node(Automaton::Kind kind, std::int32_t a, std::int32_t b) {
    if (a_.nodes.size() + a_.edges.size() >= kMostNodes)
      throw Error(ErrorKind::usage,
                  "the grammar is too large: over " + std::to_string(kMostNodes) + " states once its repetitions are written out",
                  "grammar", "use smaller bounds, or * and +");
    a_.nodes.push_back({kind, a, b});
    return static_cast<NodeId>(a_.nodes.size()) - 1;
  }
  NodeId bytes(const std::vector<Automaton::Edge>& edges) {
    const auto begin = static_cast<std::int32_t>(a_.edges.size());
    a_.edges.insert(a_.edges.end(), edges.begin(), edges.end());
    return node(Automaton::Kind::bytes, begin, static_cast<std::int32_t>(a_.edges.size()));
  }
  NodeId split(const std::vector<NodeId>& targets) {
    const auto begin = static_cast<std::int32_t>(a_.targets.size());
    a_.targets.insert(a_.targets.end(), targets.begin(), targets.end());
    return node(Automaton::Kind::split, begin, static_cast<std::int32_t>(a_.targets.size()));
  }

  NodeId chars(const CodePointSet& set, NodeId next) {
    std::map<std::pair<std::pair<int, int>, NodeId>, NodeId> tails;  // equal continuation bytes share a node
    std::vector<Automaton::Edge> first;
    for (const ByteSequence& s : utf8_sequences(set)) {
      NodeId to = next;
      for (int i = s.length - 1; i > 0; --i) {
        const auto& r = s.bytes[static_cast<std::size_t>(i)];
        const auto [at, added] = tails.try_emplace({{r.lo, r.hi}, to}, 0);
        if (added) at->second = bytes({{r.lo, r.hi, to}});
        to = at->second;
      }
      first.push_back({s.bytes[0].lo, s.bytes[0].hi, to});
    }
    return bytes(first);
  }

  NodeId expr(ExprId id, NodeId next) {
    const Expr& e = tree_.expr(id);
    switch (e.kind) {
      case Expr::Kind::literal:
        for (auto c = e.text.rbegin(); c != e.text.rend(); ++c)
          next = bytes({{static_cast<std::uint8_t>(*c), static_cast<std::uint8_t>(*c), next}});
        return next;
      case Expr::Kind::chars: return chars(e.set, next);
      case Expr::Kind::rule: require(e.rule); return node(Automaton::Kind::call, e.rule, next);
      case Expr::Kind::sequence:
        for (auto p = e.parts.rbegin(); p != e.parts.rend(); ++p) next = expr(*p, next);
        return next;
      case Expr::Kind::choice: return choice(e, next);
      case Expr::Kind::repeat:
        return (e.max == kUnlimited ? e.min : e.max) > kMostCopies ? counted(e, next) : copies(e.parts[0], e.min, e.max, next);
    }
    return next;
  }

  // Literals share what they begin with, so that an enumeration is one path at a time.
  NodeId choice(const Expr& e, NodeId next) {
    std::vector<std::string_view> literals;
    std::vector<NodeId> starts;
    for (const ExprId p : e.parts) {
      if (tree_.expr(p).kind == Expr::Kind::literal) literals.push_back(tree_.expr(p).text);
      else starts.push_back(expr(p, next));
    }
    std::sort(literals.begin(), literals.end());
    literals.erase(std::unique(literals.begin(), literals.end()), literals.end());
    if (!literals.empty()) starts.push_back(one_of(literals, 0, next));
    return starts.size() == 1 ? starts[0] : split(starts);
  }
  // Sorted literals that have `from` bytes in common.
  NodeId one_of(std::span<const std::string_view> literals, std::size_t from, NodeId next) {
    const std::string_view first = literals.front(), last = literals.back();
    std::size_t common = from;
    while (common < first.size() && common < last.size() && first[common] == last[common]) ++common;
    NodeId at = next;
    if (literals.size() > 1) {
      const bool ends = first.size() == common;
      std::vector<Automaton::Edge> edges;
      for (std::size_t i = ends ? 1 : 0, end = i; i < literals.size(); i = end) {
        const auto b = static_cast<std::uint8_t>(literals[i][common]);
        while (end < literals.size() && static_cast<std::uint8_t>(literals[end][common]) == b) ++end;
        edges.push_back({b, b, one_of(literals.subspan(i, end - i), common + 1, next)});
      }
      at = bytes(edges);
      if (ends) at = split({at, next});
    }
    for (std::size_t i = common; i > from; --i)
      at = bytes({{static_cast<std::uint8_t>(first[i - 1]), static_cast<std::uint8_t>(first[i - 1]), at}});
    return at;
  }

  NodeId copies(ExprId unit, std::int32_t min, std::int32_t max, NodeId next) {
    NodeId at = next;
    if (max == kUnlimited) {
      at = split({Automaton::kEnd, next});
      const NodeId body = expr(unit, at);
      a_.targets[static_cast<std::size_t>(a_.node(at).a)] = body;
    } else {
      for (std::int32_t i = min; i < max; ++i) at = split({expr(unit, at), next});
    }
    for (std::int32_t i = 0; i < min; ++i) at = expr(unit, at);
    return at;
  }

  NodeId counted(const Expr& e, NodeId next) {
    const ExprId unit = e.parts[0];
    // References to one rule are one unit, wherever they stand.
    const Expr& u = tree_.expr(unit);
    const std::int64_t key = u.kind == Expr::Kind::rule ? -1 - static_cast<std::int64_t>(u.rule) : static_cast<std::int64_t>(unit);
    const auto [at, added] = unit_ids_.try_emplace(key, static_cast<std::int32_t>(a_.units.size()));
    const std::int32_t id = at->second;
    if (added) {
      a_.units.push_back({-1, {}});
      unit_known_.push_back(std::nullopt);
      const NodeId start = expr(unit, Automaton::kEnd);
      a_.units[static_cast<std::size_t>(id)].start = start;
    }
    a_.loops.push_back({next, e.min, e.max, id});
    const NodeId n = node(Automaton::Kind::counted, static_cast<std::int32_t>(a_.loops.size()) - 1, 0);
    counted_.push_back({n, unit});
    return n;
  }

  // A counted node stays one if its unit is simple enough; else its copies are written out.
  void settle(std::size_t i) {
    const Counted c = counted_[i];
    const Automaton::Loop loop = a_.loop(a_.node(c.node).a);
    std::optional<bool>& known = unit_known_[static_cast<std::size_t>(loop.unit)];
    if (!known) known = find_unit_table(loop.unit);
    if (*known) return;
    const NodeId entry = copies(c.unit, loop.min, loop.max, loop.next);
    const auto begin = static_cast<std::int32_t>(a_.targets.size());
    a_.targets.push_back(entry);
    a_.nodes[static_cast<std::size_t>(c.node)] = {Automaton::Kind::split, begin, begin + 1};
  }

  // Subset construction of the unit. False when it has too many states, calls itself, counts inside, can be empty, or
  // one unit may begin another.
  bool find_unit_table(std::int32_t id) {
    Stepper stepper(a_);
    StackPool stacks;
    std::vector<Config> states(1);
    std::map<std::vector<Head>, std::int32_t> known;
    stepper.close({Head{a_.units[static_cast<std::size_t>(id)].start}}, stacks, states[0]);
    if (states[0].accept || counts(states[0])) return false;
    // The start is not entered in `known`: coming back to it inside a unit is another state than being between units.
    std::vector<std::int32_t> table;
    std::array<std::uint8_t, 256> example{};  // of each class
    for (int b = 255; b >= 0; --b) example[a_.class_of[static_cast<std::size_t>(b)]] = static_cast<std::uint8_t>(b);
    std::vector<Head> stepped;
    for (std::size_t s = 0; s < states.size(); ++s)
      for (int k = 0; k < a_.classes; ++k) {
        Config next;
        stepper.step(states[s], example[static_cast<std::size_t>(k)], stepped);
        stepper.close(stepped, stacks, next);
        if ((next.accept && !next.heads.empty()) || counts(next)) return false;
        if (next.heads.empty()) {
          table.push_back(next.accept ? Automaton::kUnitDone : Automaton::kNoWay);
          continue;
        }
        const auto [at, added] = known.try_emplace(next.heads, static_cast<std::int32_t>(states.size()));
        table.push_back(at->second);
        if (added) states.push_back(std::move(next));
        if (states.size() > kMostUnitStates) return false;
      }
    a_.units[static_cast<std::size_t>(id)].table = std::move(table);
    return true;
  }
  bool counts(const Config& c) const {
    return std::any_of(c.heads.begin(), c.heads.end(), [&](const Head& h) { return a_.node(h.node).kind == Automaton::Kind::counted; });
  }

  void find_classes() {
    std::array<bool, 257> border{};
    for (const Automaton::Edge& e : a_.edges) border[e.lo] = border[static_cast<std::size_t>(e.hi) + 1] = true;
    int k = 0;
    for (std::size_t b = 0; b < 256; ++b) {
      if (b > 0 && border[b]) ++k;
      a_.class_of[b] = static_cast<std::uint8_t>(k);
    }
    a_.classes = k + 1;
  }

  const GrammarTree& tree_;
  Automaton a_;
  std::vector<RuleId> rules_;  // referred to, not yet compiled
  std::vector<Counted> counted_;
  std::map<std::int64_t, std::int32_t> unit_ids_;
  std::vector<std::optional<bool>> unit_known_;
};

}  // namespace

Automaton compile(const GrammarTree& tree) {
  check_tree(tree);
  return Compiler(tree).run();
}

}  // namespace hz::engine
