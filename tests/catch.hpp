// SPDX-License-Identifier: Apache-2.0
// Catch2 of either major version: 2 (one header) or 3. HZ_SKIP ends a test case that lacks what it needs.
#pragma once
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#define HZ_CATCH_MAJOR 3
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#define HZ_CATCH_MAJOR 2
#endif

#include <string>

namespace hz::test {
// Marks the running test case as skipped: counted and listed as such at the end, never as passed.
void note_skip(const std::string& reason);
}  // namespace hz::test

// Leaves the test case, e.g. HZ_SKIP("HANZO_CONFORMANCE is not set").
#define HZ_SKIP(reason)             \
  do {                              \
    ::hz::test::note_skip(reason);  \
    return;                         \
  } while (false)
