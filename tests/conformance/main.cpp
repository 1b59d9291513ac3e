// SPDX-License-Identifier: Apache-2.0
// hz-conformance DIR: checks hanzo against a folder of reference data and accounts for every case.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "hanzo/core/error.hpp"
#include "tests/conformance/groups.hpp"
#include "tests/conformance/report.hpp"

int main(int argc, char** argv) {
  using namespace hz::conformance;
  CLI::App app{"Checks hanzo against a folder of reference data."};
  std::string dir, only;
  Options options;
  bool verbose = false;
  app.add_option("DIR", dir, "folder with quant/, tokenizer/, template/, arch/, loss/, badfiles/, pii/")->required();
  app.add_option("--only", only, "run one group");
  app.add_option("--case", options.case_glob, "run the cases whose name matches a glob, e.g. 'q-llama*'");
  app.add_option("--device", options.device, "backend that computes");
  app.add_flag("-v,--verbose", verbose, "name every skipped case");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    Account account(options.case_glob);
    run_groups(dir, kGroups, only, options, account);
    std::fputs(account.text(verbose ? std::size_t(-1) : 6).c_str(), stdout);
    return account.failures().empty() ? 0 : 5;
  } catch (const hz::Error& e) {
    std::fprintf(stderr, "error: %s\n  in: %s\n  try: %s\n", e.what(), e.where().c_str(), e.hint().c_str());
    return e.kind() == hz::ErrorKind::usage ? 2 : 3;
  }
}
