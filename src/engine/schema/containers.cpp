// SPDX-License-Identifier: Apache-2.0
// Arrays and objects of a schema.
#include <algorithm>
#include <map>
#include <set>

#include "hanzo/text/utf8.hpp"
#include "src/engine/schema/schema.hpp"

namespace hz::engine {

ExprId SchemaCompiler::array(const Json& schema, const At& at) {
  const int min = count_of(schema, "minItems", 0, at.path);
  int max = count_of(schema, "maxItems", kUnlimited, at.path);
  const auto [places, others, first_key, rest_key] = items_of(schema);
  const std::size_t named = places != nullptr ? places->size() : 0;
  std::vector<ExprId> prefix;
  for (std::size_t i = 0; i < named && (max == kUnlimited || i < static_cast<std::size_t>(max)); ++i) {
    const ExprId item = visit((*places)[i], at.in(first_key, i).softly());
    if (item == kNoExpr) {  // no array is longer than this
      max = static_cast<int>(i);
      break;
    }
    prefix.push_back(as_rule(item, at.in(first_key, i), ""));
  }
  const int k = static_cast<int>(prefix.size());
  ExprId rest = kNoExpr;
  if (max == kUnlimited || max > k) {
    if (others == nullptr) rest = json_.any_value();
    else if (others->is_object() || others->is_boolean()) rest = visit(*others, at.in(rest_key));
    else fail_schema(false, step(at.path, rest_key), std::string("'") + rest_key + "' must be a schema");
    if (rest == kNoExpr) max = k;
    else rest = as_rule(rest, at.in(rest_key), "");
  }
  if (max != kUnlimited && min > max)
    return nothing(at, "minItems " + std::to_string(min) + " is more than the " + std::to_string(max) + " items that are possible");
  if (max == 0) return tree_.literal("[]");

  // From the end: what may follow i items, each with its comma before it.
  ExprId tail = tree_.literal("");
  if (rest != kNoExpr && k > 0)
    tail = tree_.repeat(tree_.sequence({json_.comma(), rest}), std::max(min - k, 0), max == kUnlimited ? kUnlimited : max - k);
  for (int i = k - 1; i > 0; --i) {
    const ExprId item = tree_.sequence({json_.comma(), prefix[static_cast<std::size_t>(i)], tail});
    tail = as_rule(i < min ? item : tree_.optional(item), at.in(first_key, static_cast<std::size_t>(i)), "-on");
  }
  ExprId content = kNoExpr;
  if (k > 0) {
    content = tree_.sequence({prefix[0], tail});
  } else {
    const ExprId more = tree_.repeat(tree_.sequence({json_.comma(), rest}), std::max(min - 1, 0), max == kUnlimited ? kUnlimited : max - 1);
    content = tree_.sequence({rest, more});
  }
  const ExprId filled = json_.bracketed("[", content, "]");
  return min == 0 ? tree_.choice({tree_.literal("[]"), filled}) : filled;
}

ExprId SchemaCompiler::named_member(const std::string& name, ExprId value) {
  return tree_.sequence({tree_.literal(json_quoted(name) + ":"), tree_.optional(tree_.literal(" ")), value});
}

// A key of plain characters that is none of the names: a walk along the trie of the names, which it has to leave.
ExprId SchemaCompiler::key_beyond(const std::set<std::string>& names, const At& at) {
  struct Node {
    std::map<char32_t, std::size_t> children;
    bool is_name = false;
    RuleId rule = -1;
  };
  std::vector<Node> nodes(1);
  for (const std::string& name : names) {
    std::size_t here = 0;
    bool plain = true;  // a name with characters that need an escape cannot be spelled without
    for (std::size_t i = 0; i < name.size() && plain;) {
      const text::Utf8Char c = text::decode_utf8(name, i);
      i += c.length;
      plain = plain_string_chars().contains(c.cp);
      const auto [child, added] = nodes[here].children.try_emplace(c.cp, nodes.size());
      here = child->second;
      if (added) nodes.emplace_back();
    }
    if (plain) nodes[here].is_name = true;
  }
  const ExprId anything = tree_.sequence({tree_.repeat(tree_.chars(plain_string_chars()), 0, kUnlimited), tree_.literal("\"")});
  for (Node& n : nodes) n.rule = fresh_rule(at, "-key");
  for (const Node& n : nodes) {
    CodePointSet others = plain_string_chars();
    std::vector<ExprId> ways;
    if (!n.is_name) ways.push_back(tree_.literal("\""));
    std::vector<CodePointSet::Range> taken;
    for (const auto& [c, child] : n.children) {
      ways.push_back(tree_.sequence({tree_.chars({{c, c}}), tree_.reference(nodes[child].rule)}));
      taken.push_back({c, c});
    }
    others = others.without(CodePointSet::of(std::move(taken)));
    ways.push_back(tree_.sequence({tree_.chars(others), anything}));  // up to and with the closing quote
    tree_.define(n.rule, tree_.choice(std::move(ways)));
  }
  return tree_.sequence({tree_.literal("\""), tree_.reference(nodes[0].rule)});
}

ExprId SchemaCompiler::members(std::vector<Member> list, const Extras& extras, bool may_be_empty, const At& at) {
  const auto after_comma = [&](ExprId text) { return tree_.sequence({json_.comma(), text}); };
  const auto part = [&](const Member& m) { return m.required ? after_comma(m.text) : tree_.optional(after_comma(m.text)); };
  const bool has_extras = extras.text != kNoExpr && extras.max != 0;
  const std::size_t n = list.size();
  // `first`: the first member that must be there. One before it, or it, comes first; each may.
  std::size_t first = 0;
  while (first < n && !list[first].required) ++first;

  std::vector<ExprId> flat;  // what follows member `first`
  for (std::size_t i = first + 1; i < n; ++i) flat.push_back(part(list[i]));
  if (has_extras && n > 0) flat.push_back(tree_.repeat(after_comma(extras.text), extras.min, extras.max));
  const ExprId end = flat.empty() ? tree_.literal("") : tree_.sequence(flat);
  if (n > 0 && first == 0) return tree_.sequence({list[0].text, end});

  std::vector<ExprId> ways;
  std::vector<ExprId> following(std::min(first + 1, n), end);  // following[i]: after member i
  if (n > 0) {
    for (std::size_t i = 0; i < following.size(); ++i) list[i].text = as_rule(list[i].text, at, "-member");
    ExprId next = as_rule(end, at, "-on");
    following.back() = next;
    for (std::size_t i = following.size() - 1; i-- > 0;) {
      next = as_rule(tree_.sequence({part(list[i + 1]), next}), at, "-on");
      following[i] = next;
    }
    for (std::size_t i = 0; i < following.size(); ++i) ways.push_back(tree_.sequence({list[i].text, following[i]}));
  }
  if (first == n && has_extras) {  // no named member at all
    const std::int32_t more = extras.max == kUnlimited ? kUnlimited : extras.max - 1;
    ways.push_back(tree_.sequence({extras.text, tree_.repeat(after_comma(extras.text), std::max(extras.min - 1, 0), more)}));
  }
  if (ways.empty()) return may_be_empty ? tree_.literal("") : kNoExpr;
  return tree_.choice(std::move(ways));
}

ExprId SchemaCompiler::object(const Json& schema, const At& at) {
  const Json none = Json::object();
  const Json& properties = schema.contains("properties") ? schema["properties"] : none;
  const bool says_extra = schema.contains("additionalProperties");
  const bool open = says_extra || !schema.contains("properties");  // with properties alone, an object has no others
  const Json extra = says_extra ? schema["additionalProperties"] : Json(true);
  std::vector<std::string> required;
  if (schema.contains("required"))
    for (const Json& name : schema["required"]) required.push_back(name.get<std::string>());
  const std::set<std::string> needed_names(required.begin(), required.end());

  std::vector<Member> list;
  std::set<std::string> names;
  int must = 0;
  const auto add = [&](const std::string& name, const Json& value_schema, const At& here) -> bool {
    if (!names.insert(name).second) return true;
    const bool needed = needed_names.count(name) > 0;
    const ExprId value = visit(value_schema, here);
    if (value == kNoExpr) return !needed;
    must += needed ? 1 : 0;
    list.push_back({named_member(name, value), needed});
    return true;
  };
  for (const auto& [name, value] : properties.items())
    if (!add(name, value, at.in("properties").in(name))) return nothing(at, "the required property '" + name + "' can have no value");
  for (const std::string& name : required)
    if (!add(name, extra, at.in("additionalProperties")))
      return nothing(at, "the required property '" + name + "' is none of the properties, and no others are allowed");

  const int least = count_of(schema, "minProperties", 0, at.path), most = count_of(schema, "maxProperties", kUnlimited, at.path);
  const bool all_needed = must == static_cast<int>(list.size());
  if (most != kUnlimited && must > most)
    return nothing(at, std::to_string(must) + " properties are required, maxProperties is " + std::to_string(most));
  Extras extras;
  const ExprId extra_value = open ? visit(extra, at.in("additionalProperties")) : kNoExpr;
  if (extra_value != kNoExpr) {
    const ExprId key = names.empty() ? json_.any_string() : key_beyond(names, at);
    extras.text = as_rule(tree_.sequence({key, tree_.literal(":"), tree_.optional(tree_.literal(" ")), extra_value}), at, "-extra");
  }
  if (most != kUnlimited && (extras.text != kNoExpr || static_cast<int>(list.size()) > most)) {
    if (!all_needed) fail_schema(true, step(at.path, "maxProperties"), "maxProperties next to optional properties is not built");
    extras.max = most - must;
  }
  if (least > must) {
    // A model may write one key twice, which counts once: more than one extra member cannot be promised.
    if (least > static_cast<int>(list.size()) && extras.text == kNoExpr)
      return nothing(at, "minProperties is " + std::to_string(least) + ", " + std::to_string(list.size()) + " properties are possible");
    if (least > must + 1 || (must > 0 && !all_needed))
      fail_schema(true, step(at.path, "minProperties"), "minProperties above the number of required properties is built for one more only");
    if (all_needed) extras.min = 1;
  }
  const ExprId content = members(std::move(list), extras, least == 0, at);
  if (content == kNoExpr) return nothing(at, "no property is possible");
  const bool empty_content = tree_.expr(content).kind == Expr::Kind::literal && tree_.expr(content).text.empty();
  if (empty_content) return tree_.literal("{}");
  const ExprId filled = json_.bracketed("{", content, "}");
  return must == 0 && least == 0 ? tree_.choice({tree_.literal("{}"), filled}) : filled;
}

}  // namespace hz::engine
