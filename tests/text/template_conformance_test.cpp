// SPDX-License-Identifier: Apache-2.0
// The template group of the conformance data: our own small set always, the reference set where it is.
#include <cstdlib>

#include "tests/catch.hpp"
#include "tests/conformance/report.hpp"

namespace hz::conformance {
void run_template(const std::filesystem::path& dir, const Options& options, Report& report);
}

namespace {
void check(const std::filesystem::path& folder, std::size_t at_least) {
  hz::conformance::Account account("*");
  hz::conformance::run_template(folder / "template", {}, account);
  INFO(account.text(0));
  CHECK(account.failures().empty());
  CHECK(account.passed() >= at_least);
}
}  // namespace

TEST_CASE("templates render what jinja2 rendered of our own set") { check(HZ_TEST_DATA, 200); }

TEST_CASE("templates render what the conformance data says") {
  const char* folder = std::getenv("HANZO_CONFORMANCE");
  if (folder == nullptr) HZ_SKIP("HANZO_CONFORMANCE is not set");
  check(folder, 1000);
}
