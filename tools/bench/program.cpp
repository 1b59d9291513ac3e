// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <hanzo/core/error.hpp>

#include "tools/bench/stats.hpp"

extern char** environ;

namespace hz::tools {
namespace {

constexpr off_t kMostOutput = off_t{64} << 20;
constexpr double kGrace = 1;  // seconds from SIGTERM to SIGKILL

// What a program writes: a file in memory.
class Sink {
 public:
  explicit Sink(const char* name) : fd_(::memfd_create(name, MFD_CLOEXEC)) {
    if (fd_ < 0) throw Error(ErrorKind::io, "cannot make a file in memory: " + std::string(std::strerror(errno)));
  }
  ~Sink() { ::close(fd_); }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  int fd() const { return fd_; }
  off_t size() const {
    struct stat s {};
    return ::fstat(fd_, &s) == 0 ? s.st_size : 0;
  }
  std::string text() const {
    std::string s;
    char buffer[65536];
    for (ssize_t n; (n = ::pread(fd_, buffer, sizeof buffer, static_cast<off_t>(s.size()))) > 0;)
      s.append(buffer, static_cast<std::size_t>(n));
    return s;
  }

 private:
  int fd_;
};

// The process, leader of its group; signals that we ignore are as usual in it.
pid_t start(const std::vector<std::string>& words, const Sink& out, const Sink& err) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.fd(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, err.fd(), 2);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t usual;
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  sigaddset(&usual, SIGXFSZ);
  ::posix_spawnattr_setsigdefault(&attributes, &usual);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> argv;
  for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0)
    throw Error(ErrorKind::failed, "cannot run the program: " + std::string(std::strerror(failed)), words[0],
                "name a llama-bench that runs here");
  return pid;
}

// Its status, once it ended. `unwanted` is asked all the time; once true the group is ended.
template <class Unwanted>
int status_of(pid_t pid, Unwanted&& unwanted) {
  Clock::time_point asked{};
  bool ending = false;
  const auto ended = [&] {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
  };
  while (!ended()) {
    if (!ending && unwanted()) {
      ending = true;
      asked = Clock::now();
      ::kill(-pid, SIGTERM);
    }
    if (ending && since(asked) > kGrace) ::kill(-pid, SIGKILL);
    ::usleep(2000);
  }
  if (ending) ::kill(-pid, SIGKILL);  // what it left behind; its number is ours until waitpid
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

}  // namespace

Output run_program(const std::vector<std::string>& words, const std::stop_token& stop) {
  const Sink out("out"), err("err");
  const auto too_much = [&] { return out.size() + err.size() > kMostOutput; };
  const int status = status_of(start(words, out, err), [&] { return stop.stop_requested() || too_much(); });
  if (stop.stop_requested()) throw Error(ErrorKind::cancelled, "stopped while " + words[0] + " ran");
  if (too_much()) throw Error(ErrorKind::failed, fmt::format("the program wrote more than {} MiB", kMostOutput >> 20), words[0]);
  Output o{out.text(), err.text()};
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw Error(ErrorKind::failed,
                fmt::format("the program ended with status {}: {}", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                            o.err.substr(o.err.size() - std::min<std::size_t>(o.err.size(), 300))),
                words[0]);
  return o;
}

}  // namespace hz::tools
