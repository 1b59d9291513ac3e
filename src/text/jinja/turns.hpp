// SPDX-License-Identifier: Apache-2.0
// The assistant's turns in a rendered conversation.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "hanzo/text/chat_template.hpp"

namespace hz::text::jinja {

std::vector<AssistantTurn> find_turns(const ChatTemplate& chat, const RenderedChat& rendered, const ChatInput& input,
                                      std::span<const std::string> turn_ends);

}  // namespace hz::text::jinja
