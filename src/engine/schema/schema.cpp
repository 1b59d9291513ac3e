// SPDX-License-Identifier: Apache-2.0
// The frame of the schema compiler: combinations, references, types.
#include "src/engine/schema/schema.hpp"

#include <algorithm>

#include "hanzo/core/error.hpp"
#include "src/engine/grammar/body.hpp"

namespace hz {

std::shared_ptr<const Grammar> Grammar::from_json_schema(std::string_view schema) {
  return engine::make_grammar(engine::SchemaCompiler(engine::parse_schema_text(schema)).run());
}

std::shared_ptr<const Grammar> Grammar::any_json() {
  engine::GrammarTree tree;
  engine::JsonRules json(tree);
  tree.root = tree.rule("root");
  tree.define(tree.root, tree.choice({json.any_object(), json.any_array()}));
  return engine::make_grammar(std::move(tree));
}

namespace engine {
namespace {

constexpr int kMostDepth = 200;

// The object without one keyword and without annotations.
Json without(const Json& schema, std::string_view key) {
  Json rest = Json::object();
  for (const auto& [name, value] : schema.items())
    if (name != key && !is_annotation(name)) rest[name] = value;
  return rest;
}

// Is it plain that every value of `narrow` is one of `wide`? Both are flat.
bool takes_in(const Json& wide, const Json& narrow) {
  if (wide == narrow) return true;
  if (!wide.is_object()) return wide == true;
  if (wide.empty()) return true;
  const std::vector<std::string> all = types_of(wide), some = narrow.is_object() ? types_of(narrow) : std::vector<std::string>{};
  const auto has = [&](const std::string& t) {
    return std::any_of(all.begin(), all.end(), [&](const std::string& a) { return a == t || (a == "number" && t == "integer"); });
  };
  return wide.size() == 1 && !some.empty() && std::all_of(some.begin(), some.end(), has);
}

// "%24defs" in a reference.
std::string percent_decoded(std::string_view s) {
  std::string out;
  const auto hex = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '%' && i + 2 < s.size() && hex(s[i + 1]) >= 0 && hex(s[i + 2]) >= 0)
      out += static_cast<char>(hex(s[i + 1]) * 16 + hex(s[i + 2])), i += 2;
    else out += s[i];
  }
  return out;
}

}  // namespace

GrammarTree SchemaCompiler::run() {
  tree_.root = tree_.rule("root", "schema #");
  references_["#"] = tree_.root;
  pending_.push_back("#");
  while (!pending_.empty()) {
    const std::string pointer = pending_.back();
    pending_.pop_back();
    const At at{pointer, 0, false};
    const ExprId body = visit(target(pointer, at), at);
    if (body == kNoExpr)
      fail_schema(false, pointer, "nothing is valid under this schema: it is false, or parts that have to hold at once exclude each other");
    tree_.define(references_[pointer], body);
  }
  return std::move(tree_);
}

ExprId SchemaCompiler::nothing(const At& at, const std::string& why) const {
  if (!at.soft) fail_schema(false, at.path, "nothing is valid under this schema: " + why);
  return kNoExpr;
}

ExprId SchemaCompiler::visit(const Json& schema, const At& at) {
  if (at.depth > kMostDepth)
    fail_schema(false, at.path, "the schema is nested more than " + std::to_string(kMostDepth) + " deep, or contains itself through allOf",
                "refer to inner parts by $ref");
  if (schema.is_boolean()) return schema.get<bool>() ? json_.any_value() : kNoExpr;
  if (!schema.is_object()) fail_schema(false, at.path, "a schema must be an object, true or false");
  check_keywords(schema, at.path);
  for (const char* key : {"$ref", "allOf", "anyOf", "oneOf"})
    if (schema.contains(key)) return combined(schema, at);
  return typed(schema, at);
}

ExprId SchemaCompiler::combined(const Json& schema, const At& at) {
  if (schema.contains("$ref") && without(schema, "$ref").empty()) return reference_to(schema["$ref"].get<std::string>(), at);
  if (schema.contains("allOf") && schema["allOf"].size() == 1 && without(schema, "allOf").empty())
    return visit(schema["allOf"][0], at.in("allOf", 0));
  if (schema.contains("$ref") || schema.contains("allOf") || (schema.contains("anyOf") && schema.contains("oneOf"))) {
    const Json all = flat(schema, at);
    return visit(all, {at.path, at.depth + 1, at.soft});
  }
  return alternatives(schema, schema.contains("anyOf") ? "anyOf" : "oneOf", at);
}

void SchemaCompiler::check_one_of(const Json& schema, const At& at) {
  std::vector<Json> ways;
  for (std::size_t i = 0; i < schema["oneOf"].size(); ++i) ways.push_back(flat(schema["oneOf"][i], at.in("oneOf", i)));
  for (std::size_t i = 0; i < ways.size(); ++i)
    for (std::size_t j = 0; j < ways.size(); ++j)
      if (i != j && ways[j] != false && takes_in(ways[i], ways[j]))
        fail_schema(
            false, at.in("oneOf", j).path,
            "nothing is valid under this alternative alone: all of it is valid under alternative " + std::to_string(i) + " of oneOf too",
            "take anyOf, or leave it out");
}

ExprId SchemaCompiler::alternatives(const Json& schema, const char* key, const At& at) {
  const Json rest = without(schema, key);
  if (schema.contains("oneOf")) check_one_of(schema, at);
  std::vector<ExprId> ways;
  for (std::size_t i = 0; i < schema[key].size(); ++i) {
    const At here = at.in(key, i);
    const ExprId way =
        rest.empty() ? visit(schema[key][i], here) : visit(merge_schemas(rest, flat(schema[key][i], here), here.path), here.softly());
    if (way != kNoExpr) ways.push_back(way);
  }
  if (ways.empty()) return nothing(at, std::string("no alternative of ") + key + " can hold");
  return tree_.choice(std::move(ways));
}

Json SchemaCompiler::flat(const Json& schema, const At& at) {
  if (at.depth > kMostDepth) fail_schema(false, at.path, "the schema contains itself through $ref and allOf");
  if (!schema.is_object()) return schema;
  check_keywords(schema, at.path);
  Json result = Json::object();
  for (const auto& [name, value] : schema.items())
    if (name != "$ref" && name != "allOf" && name != "oneOf" && !is_annotation(name)) result[name] = value;
  if (schema.contains("oneOf")) check_one_of(schema, at), result = merge_schemas(result, Json{{"anyOf", schema["oneOf"]}}, at.path);
  Json base = true;  // first, so that the properties of a base stand before those that are added to it
  if (schema.contains("$ref")) {
    const auto ref = schema["$ref"].get<std::string>();
    base = flat(target(ref, at), {ref, at.depth + 1, at.soft});
  }
  if (schema.contains("allOf"))
    for (std::size_t i = 0; i < schema["allOf"].size(); ++i)
      base = merge_schemas(base, flat(schema["allOf"][i], at.in("allOf", i)), at.path);
  return merge_schemas(base, result, at.path);
}

const Json& SchemaCompiler::target(const std::string& ref, const At& at) const {
  const auto fail = [&](const std::string& why) { fail_schema(false, at.path, "the reference '" + ref + "' " + why); };
  if (ref.empty() || ref[0] != '#')
    fail_schema(true, at.path, "the reference '" + ref + "' leads out of this document, which is not built",
                "copy what it means under $defs");
  const std::string pointer = percent_decoded(std::string_view(ref).substr(1));
  if (!pointer.empty() && pointer[0] != '/')
    fail_schema(true, at.path, "the reference '" + ref + "' uses an anchor, which is not built", "refer by path, e.g. #/$defs/name");
  const Json* here = &root_;
  for (std::size_t begin = 1; begin <= pointer.size() && !pointer.empty();) {
    const std::size_t end = std::min(pointer.find('/', begin), pointer.size());
    std::string name;
    for (std::size_t i = begin; i < end; ++i) {
      if (pointer[i] == '~' && i + 1 < end && (pointer[i + 1] == '0' || pointer[i + 1] == '1')) name += pointer[++i] == '0' ? '~' : '/';
      else name += pointer[i];
    }
    if (here->is_object() && here->contains(name)) {
      here = &(*here)[name];
    } else if (here->is_array() && !name.empty() && name.size() < 8 && name.find_first_not_of("0123456789") == name.npos &&
               std::stoul(name) < here->size()) {
      here = &(*here)[std::stoul(name)];
    } else {
      fail("leads nowhere: there is no '" + name + "'");
    }
    begin = end + 1;
  }
  return *here;
}

ExprId SchemaCompiler::reference_to(const std::string& ref, const At& at) {
  target(ref, at);  // it exists
  const std::string pointer = ref == "#/" ? "#" : ref;
  const auto found = references_.find(pointer);
  if (found != references_.end()) return tree_.reference(found->second);
  const RuleId rule = fresh_rule({pointer, 0, false}, "");
  references_[pointer] = rule;
  pending_.push_back(pointer);
  return tree_.reference(rule);
}

ExprId SchemaCompiler::typed(const Json& schema, const At& at) {
  if (schema.contains("enum") || schema.contains("const")) return values(schema, at);
  std::vector<std::string> types = types_of(schema);
  if (types.empty()) {  // keywords about some types mean those types
    for (const auto& [name, value] : schema.items())
      if (const std::string about(type_of_keyword(name)); !about.empty() && std::find(types.begin(), types.end(), about) == types.end())
        types.push_back(about);
    if (types.empty()) return json_.any_value();
  }
  std::vector<ExprId> ways;
  const bool any_number = std::find(types.begin(), types.end(), "number") != types.end();
  const At here = types.size() > 1 ? at.softly() : at;
  for (const std::string& type : types) {
    if (type == "integer" && any_number) continue;
    const ExprId way = of_type(type, schema, here);
    if (way != kNoExpr) ways.push_back(way);
  }
  return ways.empty() ? nothing(at, "no type is left") : tree_.choice(std::move(ways));
}

ExprId SchemaCompiler::of_type(const std::string& type, const Json& schema, const At& at) {
  if (type == "string") return string(schema, at);
  if (type == "integer") return number(schema, true, at);
  if (type == "number") return number(schema, false, at);
  if (type == "boolean") return json_.boolean();
  if (type == "null") return json_.null();
  if (type == "array") return array(schema, at);
  return object(schema, at);  // check_keywords knows the seven
}

RuleId SchemaCompiler::fresh_rule(const At& at, std::string_view suffix) {
  std::string base;
  const std::string_view path = at.path.size() > 48 ? std::string_view(at.path).substr(at.path.size() - 48) : std::string_view(at.path);
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (plain) base += c;
    else if (!base.empty() && base.back() != '-') base += '-';
  }
  if (base.empty()) base = "root";
  base += suffix;
  std::string name = base;
  for (std::size_t n = tree_.rule_count(); tree_.has_rule(name); ++n) name = base + "-" + std::to_string(n);
  return tree_.rule(name, "schema " + at.path);
}

ExprId SchemaCompiler::as_rule(ExprId expr, const At& at, std::string_view suffix) {
  const Expr::Kind kind = tree_.expr(expr).kind;
  if (kind == Expr::Kind::rule || kind == Expr::Kind::literal || kind == Expr::Kind::chars) return expr;
  const RuleId rule = fresh_rule(at, suffix);
  tree_.define(rule, expr);
  return tree_.reference(rule);
}

}  // namespace engine
}  // namespace hz
