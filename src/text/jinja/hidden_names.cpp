// SPDX-License-Identifier: Apache-2.0
// Jinja compiles each block's variables in advance. A name that a block assigns before it, or a block around it, reads
// it, is a variable of that block alone; the input's variable of the same name is not seen there, even by what runs
// before the assignment. Branches are an exception: what only a branch assigns may still come from the input.
#include <unordered_map>
#include <unordered_set>

#include "src/text/jinja/ast.hpp"

namespace hz::text::jinja {

namespace {

using Id = std::uint32_t;

// The names of one block. Its branches work on copies.
struct Symbols {
  const Symbols* parent = nullptr;
  std::unordered_map<Id, bool> refs;  // name: hides the input's
  std::unordered_set<Id> stores;

  bool known(Id name) const {
    for (const Symbols* s = this; s != nullptr; s = s->parent) {
      if (s->refs.count(name) != 0) return true;
    }
    return false;
  }
  bool known_around(Id name) const { return parent != nullptr && parent->known(name); }
  void load(Id name) {
    if (!known(name)) refs[name] = false;
  }
  void store(Id name) {
    stores.insert(name);
    if (refs.count(name) == 0) refs[name] = !known_around(name);
  }
  void parameter(Id name) {
    stores.insert(name);
    refs[name] = false;
  }
};

class Finder {
 public:
  explicit Finder(Template& tmpl) : template_(tmpl) { template_.hideable.assign(template_.names.size(), false); }

  void run() {
    Symbols root;
    visit(template_.body, root);
    finish(root, template_.hidden);
  }

 private:
  // Then the blocks inside, which see this one's names.
  void finish(const Symbols& symbols, HiddenNames& hidden) {
    for (const auto& [name, hides] : symbols.refs) {
      if (!hides) continue;
      hidden.push_back(name);
      template_.hideable[name] = true;
    }
    std::vector<Stmt*> inner = std::move(inner_);
    inner_.clear();
    for (Stmt* stmt : inner) descend(*stmt, symbols);
  }

  template <class Start>
  void block(const Symbols& around, const Body& body, HiddenNames& hidden, Start start) {
    Symbols own;
    own.parent = &around;
    start(own);
    visit(body, own);
    finish(own, hidden);
  }

  void descend(Stmt& stmt, const Symbols& around) {
    const auto nothing = [](Symbols&) {};
    switch (stmt.op) {
      case Stmt::Op::loop: {
        auto& s = static_cast<ForStmt&>(stmt);
        const auto start = [&](Symbols& own) {
          if (const Id* loop = template_.names.find("loop"); loop != nullptr && s.uses_loop) own.parameter(*loop);
          parameters(s.target, own);
        };
        block(around, s.body, s.hidden_body, start);
        block(around, s.otherwise, s.hidden_otherwise, nothing);
        if (!s.test) return;
        block(around, {}, s.hidden_test, [&](Symbols& own) {
          parameters(s.target, own);
          expr(*s.test, own);
        });
        return;
      }
      case Stmt::Op::macro: return macro(static_cast<MacroStmt&>(stmt).def, around);
      case Stmt::Op::call: return macro(static_cast<CallStmt&>(stmt).caller, around);
      case Stmt::Op::generation: return macro(static_cast<GenerationStmt&>(stmt).def, around);
      case Stmt::Op::filter: {
        auto& s = static_cast<FilterStmt&>(stmt);
        return block(around, s.body, s.hidden, nothing);
      }
      case Stmt::Op::set_block: {
        auto& s = static_cast<SetBlockStmt&>(stmt);
        return block(around, s.body, s.hidden, nothing);
      }
      case Stmt::Op::with: {
        auto& s = static_cast<WithStmt&>(stmt);
        return block(around, s.body, s.hidden, [&](Symbols& own) {
          for (const auto& [target, value] : s.values) parameters(target, own);
        });
      }
      case Stmt::Op::block: {
        auto& s = static_cast<BodyStmt&>(stmt);
        return block(around, s.body, s.hidden, nothing);
      }
      default: return;
    }
  }

  void macro(MacroDef& def, const Symbols& around) {
    block(around, def.body, def.hidden, [&](Symbols& own) {
      for (const Id name : def.parameters) own.parameter(name);
      for (const auto& e : def.defaults) expr(*e, own);
      const auto special = [&](const char* name, bool used) {
        if (used) own.parameter(*template_.names.find(name));
      };
      special("caller", def.uses_caller);
      special("kwargs", def.uses_kwargs);
      special("varargs", def.uses_varargs);
    });
  }

  void parameters(const Target& target, Symbols& own) {
    if (target.kind == Target::Kind::name) own.parameter(target.name);
    for (const Target& t : target.items) parameters(t, own);
  }
  void stores(const Target& target, Symbols& own) {
    if (target.kind == Target::Kind::name) own.store(target.name);
    if (target.kind == Target::Kind::attribute) own.load(target.name);
    for (const Target& t : target.items) stores(t, own);
  }

  void visit(const Body& body, Symbols& own) {
    for (const auto& stmt : body) visit(*stmt, own);
  }

  void visit(Stmt& stmt, Symbols& own) {
    switch (stmt.op) {
      case Stmt::Op::output:
        for (const auto& e : static_cast<Output&>(stmt).items) expr(*e, own);
        return;
      case Stmt::Op::branch: return branch(static_cast<IfStmt&>(stmt), own);
      case Stmt::Op::set: {
        auto& s = static_cast<SetStmt&>(stmt);
        expr(*s.value, own);
        return stores(s.target, own);
      }
      case Stmt::Op::loop: expr(*static_cast<ForStmt&>(stmt).over, own); break;
      case Stmt::Op::macro: own.store(static_cast<MacroStmt&>(stmt).id); break;
      case Stmt::Op::call: expr(*static_cast<CallStmt&>(stmt).call, own); break;
      case Stmt::Op::filter: expr(*static_cast<FilterStmt&>(stmt).filters, own); break;
      case Stmt::Op::set_block: stores(static_cast<SetBlockStmt&>(stmt).target, own); break;
      case Stmt::Op::with:
        for (const auto& [target, value] : static_cast<WithStmt&>(stmt).values) expr(*value, own);
        break;
      case Stmt::Op::generation:
      case Stmt::Op::block: break;
      default: return;
    }
    inner_.push_back(&stmt);
  }

  void branch(IfStmt& stmt, Symbols& own) {
    expr(*stmt.branches[0].first, own);
    std::vector<Symbols> copies;
    for (std::size_t i = 0; i < stmt.branches.size(); ++i) {
      copies.push_back(own);
      if (i != 0) expr(*stmt.branches[i].first, copies.back());
      visit(stmt.branches[i].second, copies.back());
    }
    copies.push_back(own);
    visit(stmt.otherwise, copies.back());
    std::unordered_set<Id> added;
    for (const Symbols& c : copies) {
      for (const Id name : c.stores) {
        if (own.stores.count(name) == 0) added.insert(name);
      }
    }
    for (const Symbols& c : copies) {
      for (const auto& [name, hides] : c.refs) own.refs[name] = hides;
      own.stores.insert(c.stores.begin(), c.stores.end());
    }
    for (const Id name : added) own.refs[name] = false;
  }

  void args(const CallArgs& a, Symbols& own) {
    for (const auto& e : a.positional) expr(*e, own);
    for (const auto& [name, e] : a.named) expr(*e, own);
    if (a.star) expr(*a.star, own);
    if (a.star_star) expr(*a.star_star, own);
  }

  void expr(const Expr& e, Symbols& own) {
    switch (e.op) {
      case Expr::Op::constant: return;
      case Expr::Op::name: return own.load(static_cast<const Name&>(e).id);
      case Expr::Op::list:
      case Expr::Op::tuple:
      case Expr::Op::concat:
      case Expr::Op::logic_and:
      case Expr::Op::logic_or:
        for (const auto& item : static_cast<const Items&>(e).items) expr(*item, own);
        return;
      case Expr::Op::dict:
        for (const auto& [key, value] : static_cast<const DictExpr&>(e).entries) {
          expr(*key, own);
          expr(*value, own);
        }
        return;
      case Expr::Op::compare:
        expr(*static_cast<const Compare&>(e).first, own);
        for (const auto& [op, operand] : static_cast<const Compare&>(e).rest) expr(*operand, own);
        return;
      case Expr::Op::chain:
        expr(*static_cast<const Chain&>(e).first, own);
        for (const auto& [op, operand] : static_cast<const Chain&>(e).rest) expr(*operand, own);
        return;
      case Expr::Op::unary: return expr(*static_cast<const Unary&>(e).operand, own);
      case Expr::Op::condition: {
        const auto& c = static_cast<const Condition&>(e);
        expr(*c.test, own);
        expr(*c.yes, own);
        if (c.no) expr(*c.no, own);
        return;
      }
      case Expr::Op::postfix: return postfix(static_cast<const Postfix&>(e), own);
    }
  }

  void postfix(const Postfix& e, Symbols& own) {
    if (e.base) expr(*e.base, own);
    for (const Step& step : e.steps) {
      for (const ExprPtr* part : {&step.index, &step.from, &step.to, &step.by}) {
        if (*part) expr(**part, own);
      }
      args(step.args, own);
    }
  }

  Template& template_;
  std::vector<Stmt*> inner_;  // blocks met in the current one
};

}  // namespace

void find_hidden_names(Template& tmpl) { Finder(tmpl).run(); }

}  // namespace hz::text::jinja
