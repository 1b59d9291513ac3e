// SPDX-License-Identifier: Apache-2.0
// hz-conformance DIR: checks hanzo against a folder of reference data and accounts for every case.
#include <CLI/App.hpp>
#include <cstddef>
#include <memory>

#include "tests/conformance/groups.hpp"
#include "tests/conformance/report.hpp"
#include "tools/common/run.hpp"

namespace {

struct Args {
  std::string dir, only;
  hz::conformance::Options options;
};

int check(const Args& args, hz::tools::Console& console) {
  hz::conformance::Account account(args.options.case_glob);
  hz::conformance::run_groups(args.dir, hz::conformance::kGroups, args.only, args.options, account);
  if (account.matched() == 0)
    throw hz::Error(hz::ErrorKind::usage, "no case was found", args.dir, args.options.case_glob == "*" ? "" : "another --case glob");
  console.print(account.text(console.verbose() ? static_cast<std::size_t>(-1) : 6));
  return account.failures().empty() ? hz::tools::kOk : hz::tools::kCheckFailed;
}

}  // namespace

int main(int argc, char** argv) {
  return hz::tools::run("hz-conformance", argc, argv, [](CLI::App& app) {
    app.description("Checks hanzo against a folder of reference data; -v names every skipped case.");
    auto args = std::make_shared<Args>();
    app.add_option("DIR", args->dir, "folder with quant/, tokenizer/, template/, arch/, loss/, badfiles/, pii/")->required();
    app.add_option("--only", args->only, "run one group");
    app.add_option("--case", args->options.case_glob, "run the cases whose name matches a glob, e.g. 'q-llama*'");
    app.add_option("--device", args->options.device, "backend that computes");
    return [args](hz::tools::Console& console) { return check(*args, console); };
  });
}
