// SPDX-License-Identifier: Apache-2.0
// The conformance runner: what it runs, what it skips, and that no failure or skip is lost.
#include "tests/conformance/report.hpp"

#include <filesystem>

#include "hanzo/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/temp_dir.hpp"

namespace hz::conformance {
namespace {

void passes_two_fails_one(const std::filesystem::path& dir, const Options&, Report& report) {
  CHECK(std::filesystem::is_directory(dir));
  report.pass("a1");
  report.pass("b1");
  report.fail("a2", "4", "5");
  report.skip("b2", "needs a model file");
}
void asks_first(const std::filesystem::path&, const Options&, Report& report) {
  for (const char* name : {"llama", "llama-rope3", "q-llama-mix", "gemma"})
    if (report.wants(name)) report.pass(name);
}
void throws(const std::filesystem::path&, const Options&, Report& report) {
  report.pass("first");
  throw Error(ErrorKind::bad_file, "no manifest", "manifest.json");
}

constexpr NamedGroup kFake[] = {{"mixed", &passes_two_fails_one}, {"throwing", &throws}, {"later", nullptr}, {"asking", &asks_first}};

test::TempDir data_with(std::initializer_list<const char*> folders) {
  test::TempDir t;
  for (const char* f : folders) std::filesystem::create_directory(t.path() / f);
  return t;
}

}  // namespace

TEST_CASE("conformance counts passes, failures and skips and names each failure") {
  const auto data = data_with({"mixed"});
  Account account("*");
  run_groups(data.path(), std::span(kFake, 1), "", {}, account);
  CHECK(account.passed() == 2);
  REQUIRE(account.failures().size() == 1);
  CHECK(account.skipped() == 1);
  const std::string text = account.text(9);
  CHECK(text.find("FAIL mixed/a2\n  expected: 4\n  got:      5\n") == 0);
  CHECK(text.find("mixed: 1 x needs a model file: b2") != std::string::npos);
  CHECK(text.ends_with("\n2 passed, 1 failed, 1 skipped\n"));
}

TEST_CASE("conformance skips unbuilt groups, unknown folders and absent folders by name") {
  const auto data = data_with({"later", "surprise"});
  Account account("*");
  run_groups(data.path(), kFake, "", {}, account);
  CHECK(account.skipped() == 5);
  CHECK(account.passed() == 0);
  const std::string text = account.text(9);
  CHECK(text.find("later: the group is not built yet") != std::string::npos);
  CHECK(text.find("surprise: no group of this name is known") != std::string::npos);
  CHECK(text.find("mixed: no such folder") != std::string::npos);
}

TEST_CASE("conformance turns an exception out of a group into a failure and goes on") {
  const auto data = data_with({"throwing", "asking"});
  Account account("*");
  run_groups(data.path(), kFake, "", {}, account);
  REQUIRE(account.failures().size() == 1);
  CHECK(account.failures()[0].name == "throwing/(whole group)");
  CHECK(account.failures()[0].got == "no manifest (manifest.json)");
  CHECK(account.passed() == 5);
}

TEST_CASE("conformance --case filters by glob, --only by group") {
  const auto data = data_with({"mixed", "asking"});
  Account by_case("llama*");
  run_groups(data.path(), kFake, "asking", {}, by_case);
  CHECK(by_case.passed() == 2);
  CHECK(by_case.skipped() == 0);
  Account by_path("asking/q-*");
  run_groups(data.path(), kFake, "asking", {}, by_path);
  CHECK(by_path.passed() == 1);
  Account by_folder("q-llama-mix");
  by_folder.begin_group("arch");
  CHECK(by_folder.wants("q-llama-mix"));
  CHECK(by_folder.wants("q-llama-mix/2"));
  CHECK_FALSE(by_folder.wants("q-llama-mix2/2"));
}

TEST_CASE("conformance refuses an unknown group and an unreadable folder") {
  const auto data = data_with({});
  Account account("*");
  CHECK_THROWS_AS(run_groups(data.path(), kFake, "quants", {}, account), Error);
  try {
    run_groups(data.path() / "absent", kFake, "", {}, account);
    FAIL("an absent folder was accepted");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::bad_file);
    CHECK(e.where().ends_with("absent"));
  }
}

}  // namespace hz::conformance
