// SPDX-License-Identifier: Apache-2.0
// Conversations of a row: OpenAI's messages, and ShareGPT's from and value.
#include <algorithm>

#include "hanzo/core/near_names.hpp"
#include "src/train/row.hpp"

namespace hz::train {
namespace {

constexpr std::string_view kRoles[] = {"system", "developer", "user", "assistant", "tool", "function"};

std::string place(const std::string& where, std::size_t i) { return where + "[" + std::to_string(i) + "]"; }

// Content as text: a string, or text parts joined.
Json content_of(const Json& message, const std::string& at) {
  const auto found = message.find("content");
  const bool calls = message.contains("tool_calls") && !message["tool_calls"].is_null();
  if (found == message.end() || found->is_null()) {
    if (!calls) bad_row(at + " has no content");
    return found == message.end() ? Json("") : Json(nullptr);
  }
  if (found->is_string()) return *found;
  if (!found->is_array()) bad_row(at + ".content is a " + std::string(found->type_name()) + ", not a string");
  std::string joined;
  for (const Json& part : *found) {
    if (!part.is_object() || !part.contains("type") || part["type"] != "text" || !part.contains("text") || !part["text"].is_string())
      bad_row(at + ".content holds a part that is no text");
    joined += part["text"].get<std::string>();
  }
  return joined;
}

// Templates take arguments as objects; many files hold them as the text of one.
void open_arguments(Json& message, const std::string& at) {
  const auto calls = message.find("tool_calls");
  if (calls == message.end() || calls->is_null()) return;
  if (!calls->is_array()) bad_row(at + ".tool_calls is no array");
  for (Json& call : *calls) {
    if (!call.is_object()) bad_row(at + ".tool_calls holds something else than objects");
    Json& function = call.contains("function") ? call["function"] : call;
    if (!function.is_object() || !function.contains("name")) bad_row(at + ".tool_calls holds a call without a name");
    if (!function.contains("arguments") || !function["arguments"].is_string()) continue;
    Json opened = Json::parse(function["arguments"].get<std::string>(), nullptr, false);
    if (opened.is_object()) function["arguments"] = std::move(opened);
  }
}

// "weight": 0 or "train": false leave an answer unlearned.
bool learned(const Json& message, const std::string& at) {
  bool yes = true;
  if (const auto weight = message.find("weight"); weight != message.end() && !weight->is_null()) {
    if (!weight->is_number() || (*weight != 0 && *weight != 1)) bad_row(at + ".weight is neither 0 nor 1");
    yes = *weight == 1;
  }
  if (const auto train = message.find("train"); train != message.end() && !train->is_null()) {
    if (!train->is_boolean()) bad_row(at + ".train is neither true nor false");
    yes = yes && train->get<bool>();
  }
  return yes;
}

std::string role_of(const std::string& from, const std::string& at) {
  struct Name {
    std::string_view from, role;
  };
  constexpr Name names[] = {{"human", "user"},
                            {"user", "user"},
                            {"gpt", "assistant"},
                            {"assistant", "assistant"},
                            {"chatgpt", "assistant"},
                            {"bing", "assistant"},
                            {"bard", "assistant"},
                            {"model", "assistant"},
                            {"system", "system"},
                            {"tool", "tool"},
                            {"observation", "tool"},
                            {"function_response", "tool"},
                            {"function_call", "assistant"}};
  for (const Name& n : names)
    if (n.from == from) return std::string(n.role);
  bad_row(at + ".from is \"" + from.substr(0, 40) + "\", none of human, gpt, system, tool");
}

}  // namespace

void read_messages(const Json& list, const std::string& where, Row& row) {
  if (!list.is_array()) bad_row("\"" + where + "\" is no array");
  if (list.empty()) bad_row("\"" + where + "\" is empty");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string at = place(where, i);
    if (!list[i].is_object()) bad_row(at + " is no object");
    Json message = list[i];
    if (!message.contains("role") || !message["role"].is_string()) bad_row(at + " has no role");
    const auto role = message["role"].get<std::string>();
    if (std::find(std::begin(kRoles), std::end(kRoles), role) == std::end(kRoles)) {
      const std::string_view near = meant(role, kRoles);
      bad_row(
          at + ".role is \"" + role.substr(0, 40) + "\"" +
          (near.empty() ? ", none of system, developer, user, assistant, tool, function" : "; did you mean " + std::string(near) + "?"));
    }
    message["content"] = content_of(message, at);
    open_arguments(message, at);
    row.learned.push_back(learned(message, at));
    row.messages.push_back(std::move(message));
  }
}

void read_sharegpt(const Json& list, Row& row) {
  if (!list.is_array()) bad_row("\"conversations\" is no array");
  if (list.empty()) bad_row("\"conversations\" is empty");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string at = place("conversations", i);
    if (!list[i].is_object() || !list[i].contains("from") || !list[i].contains("value")) bad_row(at + " lacks \"from\" or \"value\"");
    const Json &from = list[i]["from"], &value = list[i]["value"];
    if (!from.is_string() || !value.is_string()) bad_row(at + ": \"from\" and \"value\" are not both strings");
    row.messages.push_back({{"role", role_of(from.get<std::string>(), at)}, {"content", value}});
    row.learned.push_back(learned(list[i], at));
  }
}

}  // namespace hz::train
