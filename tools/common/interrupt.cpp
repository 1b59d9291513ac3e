// SPDX-License-Identifier: Apache-2.0
// Interrupt: the signal handler and the thread behind it.
#include "tools/common/interrupt.hpp"

#include <fcntl.h>
#include <hanzo/core/error.hpp>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

namespace hz::tools {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};
std::atomic<int> pending_signal{0};
std::atomic<int> wake_fd{-1};
struct sigaction former[std::size(kSignals)];
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int signal) {
  const int saved = errno;
  if (pending_signal.exchange(signal) != 0) ::_exit(128 + signal);
  const char byte = 's';
  if (::write(wake_fd.load(), &byte, 1) < 0) ::_exit(128 + signal);
  errno = saved;
}

}  // namespace

Interrupt::Interrupt() {
  if (::pipe2(pipe_, O_CLOEXEC) != 0)
    throw Error(ErrorKind::io, "cannot make a pipe for signals: " + std::string(std::strerror(errno)), "",
                "close other files or raise the limit (ulimit -n)");
  wake_fd = pipe_[1];
  pending_signal = 0;
  // Signals go to the main thread: the watcher blocks them, and so does every thread started while they are blocked.
  sigset_t ours, before;
  sigemptyset(&ours);
  for (const int s : kSignals) sigaddset(&ours, s);
  ::pthread_sigmask(SIG_BLOCK, &ours, &before);
  try {
    watcher_ = std::thread([this] { watch(); });
  } catch (const std::system_error& e) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    wake_fd = -1;
    for (const int fd : pipe_) ::close(fd);
    throw Error(ErrorKind::failed, "cannot start the thread that waits for Ctrl-C: " + e.code().message(), "",
                "end other processes or raise the limit (ulimit -u)");
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  struct sigaction action {};
  action.sa_handler = on_signal;  // without SA_RESTART: a read that waits for input ends
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    ::sigaction(kSignals[i], nullptr, &former[i]);
    if (former[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);  // nohup and & stay as they are
  }
}

Interrupt::~Interrupt() {
  for (std::size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &former[i], nullptr);
  ::close(pipe_[1]);  // the watcher reads the end of the pipe
  watcher_.join();
  ::close(pipe_[0]);
  wake_fd = -1;
}

std::stop_token Interrupt::token() const {
  const std::lock_guard lock(mutex_);
  return source_.get_token();
}

void Interrupt::reset() {
  const std::lock_guard lock(mutex_);
  source_ = std::stop_source();
  pending_signal = 0;
}

int Interrupt::pending() { return pending_signal.load(); }

void Interrupt::watch() {
  for (char byte = 0;;) {
    const ssize_t n = ::read(pipe_[0], &byte, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    std::stop_source asked;
    {
      const std::lock_guard lock(mutex_);
      asked = source_;
    }
    asked.request_stop();
  }
}

}  // namespace hz::tools
