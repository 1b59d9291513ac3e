// SPDX-License-Identifier: Apache-2.0
// The pool: each thread once, exceptions come back, nested and concurrent use work, results do not depend on size.
#include "hanzo/core/parallel.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cfenv>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "hanzo/core/error.hpp"
#include "hanzo/core/random.hpp"
#include "tests/catch.hpp"

namespace hz {

TEST_CASE("parallel runs every thread number exactly once") {
  for (const int threads : {1, 2, 3, 7, 16}) {
    std::vector<std::atomic<int>> runs(16);
    std::atomic<int> told{0};
    parallel(threads, [&](int thread, int count) {
      ++runs[static_cast<std::size_t>(thread)];
      told = count;
    });
    REQUIRE(told == threads);
    for (int i = 0; i < 16; ++i) REQUIRE(runs[static_cast<std::size_t>(i)] == (i < threads ? 1 : 0));
  }
}

TEST_CASE("the caller is thread 0, and fewer than two threads mean the caller alone") {
  const auto caller = std::this_thread::get_id();
  parallel(3, [&](int thread, int) {
    if (thread == 0 && std::this_thread::get_id() != caller) throw std::logic_error("thread 0 is not the caller");
  });
  for (const int threads : {1, 0, -5}) {
    int calls = 0;
    parallel(threads, [&](int thread, int count) { calls += thread == 0 && count == 1; });
    CHECK(calls == 1);
  }
}

TEST_CASE("far more parts than CPUs all run, each once, region after region") {
  for (const int threads : {64, 1000, 4095, 5000}) {
    const auto most = static_cast<std::size_t>(std::min(threads, 4095));
    std::vector<std::atomic<int>> runs(most);
    for (int region = 0; region < 20; ++region) parallel(threads, [&](int part, int) { ++runs[static_cast<std::size_t>(part)]; });
    CHECK(std::all_of(runs.begin(), runs.end(), [](const auto& n) { return n == 20; }));
  }
}

TEST_CASE("a stop request ends parallel_for within a chunk, in its own scope only") {
  for (const int threads : {1, 3}) {
    std::stop_source source;
    std::atomic<int> chunks{0};
    const auto run = [&] {
      parallel_for(threads, 1000000, 1, [&](std::int64_t, std::int64_t) {
        if (++chunks == 5) source.request_stop();
      });
    };
    {
      const StopScope scope(source.get_token());
      try {
        run();
        FAIL("the work went on");
      } catch (const Error& e) {
        CHECK(e.kind() == ErrorKind::cancelled);
      }
      CHECK(chunks < 5 + 2 * threads);
      const StopScope inner{std::stop_token()};  // work that the request does not concern
      parallel_for(threads, 10, 1, [&](std::int64_t, std::int64_t) { ++chunks; });
    }
    chunks = 100;
    run();
    CHECK(chunks == 1000100);
  }
}

TEST_CASE("thousands of short regions in a row lose no work") {
  std::atomic<int> sum{0};
  for (int i = 0; i < 3000; ++i) parallel(2 + i % 3, [&](int, int) { sum.fetch_add(1, std::memory_order_relaxed); });
  CHECK(sum == 3000 * 3);
}

TEST_CASE("an exception comes back after all threads have ended, and the pool works on") {
  for (const int thrower : {0, 1, 2}) {
    std::atomic<int> ended{0};
    try {
      parallel(3, [&](int thread, int) {
        if (thread == thrower) throw std::runtime_error("thread " + std::to_string(thread));
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        ++ended;
      });
      FAIL("the exception was lost");
    } catch (const std::runtime_error& e) {
      CHECK(std::string(e.what()) == "thread " + std::to_string(thrower));
      CHECK(ended == 2);
    }
  }
  CHECK_THROWS_AS(parallel(4, [](int, int) { throw std::runtime_error("all"); }), std::runtime_error);
  std::atomic<int> after{0};
  parallel(3, [&](int, int) { ++after; });
  CHECK(after == 3);
}

TEST_CASE("nested regions run in the calling thread") {
  std::atomic<int> inner{0};
  parallel(3, [&](int, int) {
    parallel(4, [&](int thread, int count) {
      if (thread == 0 && count == 1) ++inner;
    });
  });
  CHECK(inner == 3);
}

TEST_CASE("callers at the same time each get all of their work done") {
  std::atomic<std::int64_t> sum{0};
  {
    std::vector<std::jthread> callers;
    for (int c = 0; c < 4; ++c)
      callers.emplace_back([&] {
        for (int i = 0; i < 200; ++i)
          parallel_for(3, 100, 7, [&](std::int64_t begin, std::int64_t end) { sum.fetch_add(end - begin, std::memory_order_relaxed); });
      });
  }
  CHECK(sum == 4 * 200 * 100);
}

TEST_CASE("parallel_for covers the range once, in chunks of the grain") {
  for (const int threads : {1, 2, 5})
    for (const std::int64_t n : {0, 1, 9, 10, 11, 1000})
      for (const std::int64_t grain :
           {std::int64_t{0}, std::int64_t{1}, std::int64_t{10}, std::int64_t{5000}, std::numeric_limits<std::int64_t>::max()}) {
        std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
        std::atomic<bool> wrong{false};
        parallel_for(threads, n, grain, [&](std::int64_t begin, std::int64_t end) {
          if (begin < 0 || end > n || begin >= end || end - begin > std::max<std::int64_t>(grain, 1)) wrong = true;
          else
            for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
        });
        REQUIRE_FALSE(wrong);
        for (const auto& s : seen) REQUIRE(s == 1);
      }
}

TEST_CASE("results do not depend on the number of threads") {
  const auto run = [](int threads) {
    std::vector<float> out(5000);
    parallel_for(threads, 5000, 13, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        float sum = 0;
        for (std::uint64_t k = 0; k < 20; ++k) sum += uniform(1, static_cast<std::uint64_t>(i), k) / 3.0f;
        out[static_cast<std::size_t>(i)] = sum;
      }
    });
    return out;
  };
  const auto one = run(1);
  for (const int threads : {2, 3, 7}) CHECK(run(threads) == one);
}

TEST_CASE("pool threads compute in IEEE mode whatever the caller's mode, which stays the caller's") {
  const int before = std::fegetround();
  std::fesetround(FE_UPWARD);
  std::atomic<int> upward{0};
  parallel(3, [&](int thread, int) {
    volatile float one = 1.0f, small = 0x1p-30f;  // fegetround() tells of another unit's mode on x86-64
    if (thread != 0 && one + small != 1.0f) ++upward;
  });
  {
    const IeeeMode mode;
    volatile float tiny = std::numeric_limits<float>::min();
    CHECK(tiny / 2.0f > 0.0f);  // not flushed to zero
    volatile float one = 1.0f, small = 0x1p-30f;
    CHECK(one + small == 1.0f);
  }
  CHECK(std::fegetround() == FE_UPWARD);
  std::fesetround(before);
  CHECK(upward == 0);
}

TEST_CASE("a forked child has a pool of its own") {
  parallel(3, [](int, int) {});
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(20);  // a hang is a failure
    std::atomic<int> runs{0};
    parallel(3, [&](int, int) { ++runs; });
    ::_exit(runs == 3 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("the default thread count is at least one and at most the machine's") {
  CHECK(default_threads() >= 1);
  CHECK(default_threads() <= static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
}

}  // namespace hz
