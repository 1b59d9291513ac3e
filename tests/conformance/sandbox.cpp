// SPDX-License-Identifier: Apache-2.0
// One child per check; its answer comes through a pipe, its death from waitpid.
#include "tests/conformance/sandbox.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>

#include "hanzo/core/error.hpp"
#include "tests/sanitized.hpp"

namespace hz::conformance {
namespace {

constexpr int kOk = 0, kRefused = 3, kUncaught = 70;

std::uint64_t peak_rss() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

void put(int fd, std::string s) {
  s += '\0';
  for (std::size_t at = 0; at < s.size();) {
    const ssize_t n = ::write(fd, s.data() + at, s.size() - at);
    if (n <= 0) return;
    at += static_cast<std::size_t>(n);
  }
}

// In the child: never returns. The parts of the answer are each ended by a NUL: memory at the start, what, where, at the end.
[[noreturn]] void child(const std::function<void()>& check, const Limits& limits, int fd) {
  if (memory_limits_apply()) {
    const rlimit space{limits.address_space, limits.address_space};
    ::setrlimit(RLIMIT_AS, &space);
  }
  for (const int s : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV}) ::signal(s, SIG_DFL);  // the parent's handlers are not for us
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  put(fd, std::to_string(peak_rss()));
  const auto finish = [&](int code, const std::string& what, const std::string& where) {
    const std::uint64_t peak = peak_rss();
    put(fd, what);
    put(fd, where);
    put(fd, std::to_string(peak));
    ::_exit(code);
  };
  try {
    check();
    finish(kOk, "", "");
  } catch (const Error& e) {
    finish(kRefused, e.what(), e.where());
  } catch (const std::exception& e) {
    finish(kUncaught, std::string("an exception other than hz::Error: ") + e.what(), "");
  } catch (...) {
    finish(kUncaught, "an exception of unknown type", "");
  }
  ::_exit(kUncaught);
}

// Reads until the child closes the pipe or the deadline passes; false at the deadline.
bool collect(int fd, int seconds, std::string& answer) {
  using clock = std::chrono::steady_clock;
  const auto deadline = clock::now() + std::chrono::seconds(seconds);
  for (char buffer[4096];;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock::now()).count();
    if (left <= 0) return false;
    pollfd p{fd, POLLIN, 0};
    const int ready = ::poll(&p, 1, static_cast<int>(left));
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n == 0) return true;
    if (n > 0) answer.append(buffer, static_cast<std::size_t>(n));
  }
}

std::string take_part(std::string& answer) {
  const std::size_t end = answer.find('\0');
  std::string part = answer.substr(0, end);
  answer.erase(0, end == std::string::npos ? end : end + 1);
  return part;
}
std::uint64_t beyond(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }
std::uint64_t take_bytes(std::string& answer) {
  const std::string part = take_part(answer);
  return part.empty() ? 0 : std::stoull(part);
}

}  // namespace

bool memory_limits_apply() {
  return !test::kSanitized;
}

std::string Outcome::text() const {
  if (kind == Kind::ok) return "ok";
  return kind == Kind::refused ? "error: " + what + (where.empty() ? "" : " (in " + where + ")") : what;
}

Outcome run_limited(const std::function<void()>& check, const Limits& limits) {
  Outcome outcome;
  int ends[2];
  if (::pipe(ends) != 0) throw Error(ErrorKind::io, std::string("cannot make a pipe: ") + std::strerror(errno));
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[0]);
    child(check, limits, ends[1]);
  }
  ::close(ends[1]);
  if (pid < 0) {
    ::close(ends[0]);
    throw Error(ErrorKind::io, std::string("cannot fork: ") + std::strerror(errno));
  }
  std::string answer;
  const bool in_time = collect(ends[0], limits.seconds, answer);
  if (!in_time) ::kill(pid, SIGKILL);
  ::close(ends[0]);
  int status = 0;
  rusage usage{};
  while (::wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) continue;
  const std::uint64_t started = take_bytes(answer);
  outcome.what = take_part(answer);
  outcome.where = take_part(answer);
  const std::uint64_t ended = take_bytes(answer);
  // A sanitizer's own limit does not reach a forked child, which also starts with the memory of all tests before it.
  const std::uint64_t grown = beyond(static_cast<std::uint64_t>(usage.ru_maxrss) * 1024, started);
  if (!in_time) outcome.what = "still running after " + std::to_string(limits.seconds) + " s";
  else if (!memory_limits_apply() && grown > limits.address_space) outcome.what = "took " + std::to_string(grown >> 20) + " MiB of memory";
  else if (WIFSIGNALED(status)) outcome.what = "killed by signal " + std::to_string(WTERMSIG(status));
  else if (WEXITSTATUS(status) == kOk) outcome.kind = Outcome::Kind::ok;
  else if (WEXITSTATUS(status) == kRefused) outcome.kind = Outcome::Kind::refused;
  else if (outcome.what.empty()) outcome.what = "exit code " + std::to_string(WEXITSTATUS(status));
  if (outcome.kind != Outcome::Kind::died) outcome.grown_rss = beyond(ended, started);
  return outcome;
}

}  // namespace hz::conformance
