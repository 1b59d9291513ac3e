// SPDX-License-Identifier: Apache-2.0
// Writes the tiny chat model that the tests of hz-run talk to: FILE [EOS [TEMPLATE or default [TYPE]]].
#include <string_view>

#include "tests/model/tiny_chat.hpp"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  hz::test::TinySpec spec{.type = hz::WType::q4_0, .tied = true};
  spec.context = 4096;
  if (argc > 4) spec.type = hz::quant::from_name(argv[4]).value();
  const bool own = argc > 3 && std::string_view(argv[3]) != "default";
  hz::test::write_tiny_chat(argv[1], argc > 2 ? static_cast<std::uint32_t>(std::stoul(argv[2])) : 1, own ? argv[3] : hz::test::kChatMl,
                            spec);
}
