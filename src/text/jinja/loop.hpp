// SPDX-License-Identifier: Apache-2.0
// Loop: the object behind the name `loop`. Scope: the variables of one block. Macro: a macro with the scope it closes over.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "src/text/jinja/objects.hpp"

namespace hz::text::jinja {

struct ForStmt;
struct MacroDef;

// Variables by interned name. A block's scope sees those of the scopes around it.
class Scope : public Object {
 public:
  explicit Scope(Value parent) : parent_(std::move(parent)) {}
  const Value& parent() const { return parent_; }
  const Value* find(Heap& heap, std::uint32_t name) const {
    if (vars_.size() > 32) heap.charge(vars_.size() / 32);
    for (const auto& [id, value] : vars_) {
      if (id == name) return &value;
    }
    return nullptr;
  }
  void set(Heap& heap, std::uint32_t name, Value value) {
    for (auto& [id, old] : vars_) {
      if (id != name) continue;
      old = std::move(value);
      return;
    }
    if (vars_.size() == vars_.capacity()) heap.grow(*this, (vars_.size() + 4) * sizeof(vars_[0]));
    vars_.emplace_back(name, std::move(value));
  }
  // Forgets the variables, for the next iteration of a loop.
  void reset() { vars_.clear(); }

 protected:
  void clear() override {
    vars_.clear();
    parent_ = Value();
  }
  bool can_cycle() const override { return true; }

 private:
  Value parent_;
  std::vector<std::pair<std::uint32_t, Value>> vars_;
};

struct Macro : Object {
  Macro(const MacroDef& def_, Value scope_) : def(def_), scope(std::move(scope_)) {}
  const MacroDef& def;
  Value scope;
};

class Loop : public Object {
 public:
  Loop(Value items_, int depth0_) : items(std::move(items_)), depth0(depth0_) {}
  const Values& values() const { return items.as<List>().items; }
  std::string describe() const { return "<LoopContext " + std::to_string(index0 + 1) + "/" + std::to_string(values().size()) + ">"; }

  Value items;  // list or tuple
  std::size_t index0 = 0;
  int depth0;
  const ForStmt* recursive = nullptr;  // the statement that loop(...) runs again
  Value scope;                         // around that statement
  Value changed;                       // last arguments of loop.changed

 protected:
  void clear() override {
    items = Value();
    scope = Value();
    changed = Value();
  }
  bool can_cycle() const override { return true; }
};

}  // namespace hz::text::jinja
