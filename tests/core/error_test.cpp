// SPDX-License-Identifier: Apache-2.0
// Error: carries kind, fault, place and next step, and is a std::exception.
#include "hanzo/core/error.hpp"

#include "tests/catch.hpp"

namespace hz {

TEST_CASE("an error says what, where and what to do") {
  try {
    throw Error(ErrorKind::bad_file, "4 tensors expected, 3 found", "model.gguf", "download it again");
  } catch (const std::exception& caught) {
    const auto* e = dynamic_cast<const Error*>(&caught);
    REQUIRE(e != nullptr);
    CHECK(e->kind() == ErrorKind::bad_file);
    CHECK(std::string(e->what()) == "4 tensors expected, 3 found");
    CHECK(e->where() == "model.gguf");
    CHECK(e->hint() == "download it again");
  }
}

}  // namespace hz
