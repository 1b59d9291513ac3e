// SPDX-License-Identifier: Apache-2.0
// The error that a call throws.
#pragma once
#include <string>

#include "hanzo/core/error.hpp"
#include "tests/catch.hpp"

namespace hz::test {

// Fails the test case when f() throws none.
template <class F>
Error error_of_call(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  FAIL("no error");
  return Error(ErrorKind::failed, "");
}

}  // namespace hz::test
