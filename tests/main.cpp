// SPDX-License-Identifier: Apache-2.0
// The unit tests' main: Catch2's own run, then the line `N passed, N failed, N skipped` that scripts/test.sh sums.
#define CATCH_CONFIG_RUNNER
#include "tests/catch.hpp"

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace {

struct Counts {
  std::size_t passed = 0, failed = 0, skipped = 0;
};
Counts counts;
bool case_skipped = false;
std::vector<std::string> skips;

#if HZ_CATCH_MAJOR >= 3
using ListenerBase = Catch::EventListenerBase;
#else
using ListenerBase = Catch::TestEventListenerBase;
#endif

class Counter : public ListenerBase {
 public:
  using ListenerBase::ListenerBase;
  void testCaseStarting(const Catch::TestCaseInfo&) override { case_skipped = false; }
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    const auto& cases = stats.totals.testCases;
    if (cases.failed > 0) counts.failed += 1;
    else if (case_skipped) counts.skipped += 1;
    else counts.passed += 1;
  }
};

}  // namespace

CATCH_REGISTER_LISTENER(Counter)

namespace hz::test {

void note_skip(const std::string& reason) {
  case_skipped = true;
  skips.push_back(Catch::getResultCapture().getCurrentTestName() + ": " + reason);
}

}  // namespace hz::test

int main(int argc, char** argv) {
  Catch::Session session;
  const int bad_usage = session.applyCommandLine(argc, argv);
  if (bad_usage != 0) return bad_usage;
  const int result = session.run();
  for (const std::string& s : skips) std::printf("skipped: %s\n", s.c_str());
  std::printf("%zu passed, %zu failed, %zu skipped\n", counts.passed, counts.failed, counts.skipped);
  return result;
}
