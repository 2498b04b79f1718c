#include "cli/process/init_process.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace belay::cli {

namespace {

/// Signals that a fault of this process itself causes. They are not forwarded.
constexpr int faults[] = {SIGFPE, SIGILL, SIGSEGV, SIGBUS, SIGABRT, SIGTRAP, SIGSYS};

void become_foreground_job() {
  if (::isatty(STDIN_FILENO) != 1 || ::setpgid(0, 0) != 0)
    return;
  sigset_t of_terminal, before;
  sigemptyset(&of_terminal);
  sigaddset(&of_terminal, SIGTTOU);
  sigprocmask(SIG_BLOCK, &of_terminal, &before);
  ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

/// Waits for all processes that have ended.
/// @returns the exit code of `child` if it is one of them
std::optional<int> wait_for_all_ended(pid_t child) {
  std::optional<int> code;
  int how = 0;
  for (pid_t ended; (ended = ::waitpid(-1, &how, WNOHANG)) > 0 || (ended < 0 && errno == EINTR);)
    if (ended == child)
      code = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
  return code;
}

} // namespace

bool is_first_process() {
  return ::getpid() == 1;
}

std::optional<int> continue_in_child() {
  sigset_t all, before;
  sigfillset(&all);
  for (const int s : faults)
    sigdelset(&all, s);
  sigprocmask(SIG_SETMASK, &all, &before);
  const auto child = ::fork();
  if (child <= 0) {
    if (child == 0)
      become_foreground_job();
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return std::nullopt; // in the child; or fork() failed: then this process continues, and only does not reap orphans
  }
  for (;;) {
    const int signal = ::sigwaitinfo(&all, nullptr);
    if (signal == SIGCHLD) {
      if (const auto code = wait_for_all_ended(child))
        return code;
    } else if (signal > 0 && signal != SIGTTIN && signal != SIGTTOU && signal != SIGTSTP) {
      ::kill(child, signal);
    }
  }
}

} // namespace belay::cli
