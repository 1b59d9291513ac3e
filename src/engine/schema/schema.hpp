// SPDX-License-Identifier: Apache-2.0
// SchemaCompiler: from a JSON Schema to the grammar of the texts that are valid under it.
#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/engine/schema/keywords.hpp"
#include "src/engine/schema/number_range.hpp"

namespace hz::engine {

class SchemaCompiler {
 public:
  explicit SchemaCompiler(Json schema) : root_(std::move(schema)), json_(tree_) {}
  GrammarTree run();

 private:
  // Where a schema stands: its path for errors, how deep, and whether it is one of several ways (then one that
  // nothing satisfies is left out instead of refused).
  struct At {
    std::string path = "#";
    int depth = 0;
    bool soft = false;
    At in(std::string_view key) const { return {step(path, key), depth + 1, soft}; }
    At in(std::string_view key, std::size_t i) const { return in(key).in(std::to_string(i)); }
    At softly() const { return {path, depth, true}; }
  };

  // The expression of a schema; kNoExpr when nothing is valid.
  ExprId visit(const Json& schema, const At& at);
  ExprId combined(const Json& schema, const At& at);  // with $ref, allOf, anyOf or oneOf
  ExprId alternatives(const Json& schema, const char* key, const At& at);
  // oneOf is taken as anyOf. Throws where that is never right: one alternative has no value but those of another.
  void check_one_of(const Json& schema, const At& at);
  ExprId typed(const Json& schema, const At& at);
  ExprId of_type(const std::string& type, const Json& schema, const At& at);
  ExprId nothing(const At& at, const std::string& why) const;  // throws unless soft

  // Without annotations, $ref, allOf and oneOf at its top: what merge_schemas takes.
  Json flat(const Json& schema, const At& at);
  const Json& target(const std::string& ref, const At& at) const;
  ExprId reference_to(const std::string& ref, const At& at);

  ExprId values(const Json& schema, const At& at);  // enum, const
  ExprId value_text(const Json& value);
  ExprId string(const Json& schema, const At& at);
  ExprId matching(const Json& schema, const char* key, int min, int max, const At& at);
  ExprId number(const Json& schema, bool whole, const At& at);
  ExprId array(const Json& schema, const At& at);
  ExprId object(const Json& schema, const At& at);

  struct Member {
    ExprId text;  // "name": value
    bool required;
  };
  struct Extras {  // members beyond the named ones
    ExprId text = kNoExpr;
    std::int32_t min = 0, max = kUnlimited;
  };
  ExprId named_member(const std::string& name, ExprId value);
  ExprId key_beyond(const std::set<std::string>& names, const At& at);
  ExprId members(std::vector<Member> members, const Extras& extras, bool may_be_empty, const At& at);

  RuleId fresh_rule(const At& at, std::string_view suffix);
  ExprId as_rule(ExprId expr, const At& at, std::string_view suffix);  // so that copies of it are small

  Json root_;
  GrammarTree tree_;
  JsonRules json_;
  std::map<std::string, RuleId> references_;
  std::vector<std::string> pending_;  // pointers that are referred to, not yet compiled
};

}  // namespace hz::engine
