// SPDX-License-Identifier: Apache-2.0
// Rows of each format.
#include "src/train/row.hpp"

#include <array>
#include <limits>

#include "hanzo/core/near_names.hpp"

namespace hz::train {
namespace {

constexpr std::string_view kNames[] = {"automatic", "text", "prompt-completion", "alpaca", "sharegpt", "messages", "tokens", "plain"};

std::string keys_of(const Json& row) {
  std::string all;
  for (const auto& [key, value] : row.items()) all += (all.empty() ? "" : ", ") + key.substr(0, 40);
  return all.empty() ? "none" : all;
}

const Json& field(const Json& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end()) bad_row(std::string("there is no \"") + key + "\" (keys: " + keys_of(row) + ")");
  return *found;
}

std::string string_field(const Json& row, const char* key) {
  const Json& v = field(row, key);
  if (!v.is_string())
    bad_row(std::string("\"") + key + "\" is " + (v.is_null() ? "null" : std::string("a ") + v.type_name()) + ", not a string");
  return v.get<std::string>();
}

std::vector<std::int32_t> id_list(const Json& row, const char* key) {
  const Json& v = field(row, key);
  if (!v.is_array()) bad_row(std::string("\"") + key + "\" is no array of token ids");
  std::vector<std::int32_t> ids;
  ids.reserve(v.size());
  for (const Json& e : v) {
    if (!e.is_number_integer() ||
        (e.is_number_unsigned() && e.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max())) ||
        e.get<std::int64_t>() < std::numeric_limits<std::int32_t>::min())
      bad_row(std::string("\"") + key + "\" holds something else than token ids");
    ids.push_back(e.get<std::int32_t>());
  }
  return ids;
}

void read_prompt_completion(const Json& json, Row& row) {
  const Json &prompt = field(json, "prompt"), &completion = field(json, "completion");
  if (prompt.is_array() != completion.is_array()) bad_row("\"prompt\" and \"completion\" are not of one kind");
  if (!prompt.is_array()) {
    row.prompt = string_field(json, "prompt");
    row.completion = string_field(json, "completion");
    return;
  }
  row.form = Row::Form::chat;
  read_messages(prompt, "prompt", row);
  row.learned.assign(row.messages.size(), false);  // answers in the prompt are given, not learned
  read_messages(completion, "completion", row);
}

void read_alpaca(const Json& json, Row& row) {
  const std::string instruction = string_field(json, "instruction"), output = string_field(json, "output");
  const std::string input = json.contains("input") && !json["input"].is_null() ? string_field(json, "input") : "";
  row.form = Row::Form::chat;
  row.alpaca = true;
  row.messages.push_back({{"role", "user"}, {"content", input.empty() ? instruction : instruction + "\n\n" + input}});
  row.messages.push_back({{"role", "assistant"}, {"content", output}});
  row.learned = {true, true};
  row.prompt = "Below is an instruction that describes a task. Write a response that completes it.\n\n### Instruction:\n" + instruction +
               (input.empty() ? "" : "\n\n### Input:\n" + input) + "\n\n### Response:\n";
  row.completion = output;
}

void read_tokens(const Json& json, Row& row) {
  row.form = Row::Form::tokens;
  row.ids = id_list(json, "input_ids");
  row.labels = json.contains("labels") ? id_list(json, "labels") : row.ids;
  if (row.ids.empty()) bad_row("\"input_ids\" is empty");
  if (row.labels.size() != row.ids.size())
    bad_row("\"labels\" has " + std::to_string(row.labels.size()) + " entries, \"input_ids\" " + std::to_string(row.ids.size()));
}

// Tools: an array, or the text of one.
void read_tools(const Json& json, Row& row) {
  const auto found = json.find("tools");
  if (found == json.end() || found->is_null()) return;
  row.tools = found->is_string() ? Json::parse(found->get<std::string>(), nullptr, false) : *found;
  if (!row.tools.is_array()) bad_row("\"tools\" is no array");
  if (row.tools.empty()) row.tools = nullptr;
}

}  // namespace

void bad_row(const std::string& what) { throw Error(ErrorKind::bad_file, what); }

DataFormat data_format(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    if (kNames[i] == name) return static_cast<DataFormat>(i);
  const std::string_view near = meant(name, kNames);
  throw Error(ErrorKind::usage, "'" + std::string(name) + "' is no data format", "",
              near.empty() ? "automatic, text, prompt-completion, alpaca, sharegpt, messages, tokens or plain" : std::string(near));
}

std::string_view name_of(DataFormat format) { return kNames[static_cast<std::size_t>(format)]; }

DataFormat format_of(const Json& row) {
  if (!row.is_object())
    bad_row(std::string("a row is ") + (row.is_array() ? "an array" : std::string("a ") + row.type_name()) + ", not an object");
  constexpr std::array<std::pair<const char*, DataFormat>, 6> marks{{{"messages", DataFormat::messages},
                                                                     {"conversations", DataFormat::sharegpt},
                                                                     {"instruction", DataFormat::alpaca},
                                                                     {"input_ids", DataFormat::tokens},
                                                                     {"prompt", DataFormat::prompt_completion},
                                                                     {"text", DataFormat::text}}};
  for (const auto& [key, format] : marks)
    if (row.contains(key)) return format;
  bad_row("none of messages, conversations, instruction, prompt, text, input_ids is there (keys: " + keys_of(row) + ")");
}

Row read_row(const Json& json, DataFormat format) {
  if (!json.is_object()) format_of(json);  // throws
  Row row;
  switch (format) {
    case DataFormat::prompt_completion: read_prompt_completion(json, row); break;
    case DataFormat::alpaca: read_alpaca(json, row); break;
    case DataFormat::tokens: read_tokens(json, row); break;
    case DataFormat::sharegpt:
      row.form = Row::Form::chat;
      read_sharegpt(field(json, "conversations"), row);
      break;
    case DataFormat::messages:
      row.form = Row::Form::chat;
      read_messages(field(json, "messages"), "messages", row);
      break;
    default: row.completion = string_field(json, "text"); break;
  }
  if (row.form == Row::Form::chat) read_tools(json, row);
  return row;
}

}  // namespace hz::train
