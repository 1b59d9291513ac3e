// SPDX-License-Identifier: Apache-2.0
// Row: one row of a data file, checked and brought to one of three forms.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hanzo/train/dataset.hpp"

namespace hz::train {

using Json = nlohmann::ordered_json;

struct Row {
  enum class Form { text, chat, tokens };
  Form form = Form::text;
  // text: prompt (empty where all is learned) and what follows it
  std::string prompt, completion;
  // chat: messages as a template takes them, and which of them are learned if they are the assistant's
  Json messages = Json::array(), tools;
  std::vector<bool> learned;
  bool alpaca = false;  // a model without a chat template takes prompt and completion
  // tokens
  std::vector<std::int32_t> ids, labels;
};

// The format whose keys the row has. Throws Error(bad_file), without a place, naming the keys found.
DataFormat format_of(const Json& row);
// Throws Error(bad_file), without a place, saying what is missing or of the wrong kind.
Row read_row(const Json& row, DataFormat format);

// Pieces of read_row. `where` is the field's name for messages.
void read_messages(const Json& list, const std::string& where, Row& row);
void read_sharegpt(const Json& list, Row& row);
[[noreturn]] void bad_row(const std::string& what);

}  // namespace hz::train
