#include "cli/process/guarded_child.hpp"

#include "cli/output/json_text.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace belay::cli {

namespace asio = boost::asio;

namespace {

/// What the guard tells, in this order: that the command runs, or why not; how it ended.
struct report {
  enum : int { started, not_started, ended } kind;
  int value; ///< process ID, errno, status of waitpid()
};

constexpr int descriptors_max = 4096; // those of this program; it has a handful
constexpr int look_again_ms = 100;    // where the kernel has no pidfd_open (before Linux 5.3)
constexpr int signals_ignored[] = {SIGTERM, SIGINT,  SIGHUP,  SIGQUIT, SIGUSR1,
                                   SIGUSR2, SIGPIPE, SIGTTOU, SIGTTIN, SIGTSTP};

// ---- in the guard: a copy of this process, with whatever locks its other threads held. Only what POSIX calls
// async-signal-safe.

void tell(int fd, report r) {
  while (::write(fd, &r, sizeof r) < 0 && errno == EINTR) {
  }
}

/// Sockets of the program would stay open in the command.
void close_all_but(int a, int b, int c) {
  for (int fd = STDERR_FILENO + 1; fd < descriptors_max; ++fd)
    if (fd != a && fd != b && fd != c)
      ::close(fd);
}

[[noreturn]] void be_command(char* const* argv, char* const* environment, int input, int failed_fd) {
  for (int number = 1; number < NSIG; ++number)
    ::signal(number, SIG_DFL);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL); // of the guard
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (input >= 0) {
    ::dup2(input, STDIN_FILENO);
    if (input > STDERR_FILENO)
      ::close(input);
  }
  ::execvpe(argv[0], argv, environment);
  const int why = errno;
  (void)!::write(failed_fd, &why, sizeof why);
  ::_exit(127);
}

/// Waits for the command or for the end of the program. @returns the status of the command
int guard_command(pid_t child, int life_fd) {
  const int child_fd = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  for (;;) {
    pollfd waits[2] = {{life_fd, POLLIN, 0}, {child_fd, POLLIN, 0}};
    ::poll(waits, child_fd >= 0 ? 2 : 1, child_fd >= 0 ? -1 : look_again_ms);
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child)
      return status;
    if (waits[0].revents != 0) { // nobody writes there: the other end was closed
      ::kill(0, SIGKILL);
      ::_exit(127);
    }
  }
}

[[noreturn]] void be_guard(char* const* argv, char* const* environment, int input, int status_fd, int life_fd) {
  ::setpgid(0, 0);
  for (const int number : signals_ignored)
    ::signal(number, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
  close_all_but(status_fd, life_fd, input);
  int failed[2];
  if (::pipe2(failed, O_CLOEXEC) != 0) {
    tell(status_fd, {report::not_started, errno});
    ::_exit(127);
  }
  const pid_t child = ::fork();
  if (child == 0)
    be_command(argv, environment, input, failed[1]);
  const int fork_error = errno;
  ::close(failed[1]);
  if (input > STDERR_FILENO)
    ::close(input);
  int why = 0;
  ssize_t n = 0;
  while (child > 0 && (n = ::read(failed[0], &why, sizeof why)) < 0 && errno == EINTR) {
  }
  if (child < 0 || n == static_cast<ssize_t>(sizeof why)) {
    tell(status_fd, {report::not_started, child < 0 ? fork_error : why});
    ::_exit(127);
  }
  ::close(failed[0]);
  tell(status_fd, {report::started, child});
  tell(status_fd, {report::ended, guard_command(child, life_fd)});
  // The group keeps its head until the program has seen this, so that its number is nobody else's.
  char byte;
  while (::read(life_fd, &byte, 1) < 0 && errno == EINTR) {
  }
  ::_exit(0);
}

// ---- in the program

/// All signals wait while this exists.
class signals_blocked {
public:
  signals_blocked() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
  sigset_t before_;
};

bool read_report(int fd, report& r) {
  ssize_t n = 0;
  while ((n = ::read(fd, &r, sizeof r)) < 0 && errno == EINTR) {
  }
  return n == static_cast<ssize_t>(sizeof r);
}

void give_terminal(pid_t group) {
  const auto before = ::signal(SIGTTOU, SIG_IGN);
  ::tcsetpgrp(STDIN_FILENO, group);
  ::signal(SIGTTOU, before);
}

std::string start_failure(const std::string& program, int error) {
  if (error == ENOENT && program.find('/') == program.npos)
    return "exec: \"" + program + "\": executable file not found in $PATH";
  std::string why = std::strerror(error);
  why[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(why[0])));
  return "fork/exec " + program + ": " + why;
}

} // namespace

std::vector<std::string> command_line(const std::vector<std::string>& words, bool shell) {
  if (!shell)
    return words;
  const char* own = std::getenv("SHELL");
  return {own != nullptr && *own != '\0' ? own : "/bin/sh", "-c", joined(words, " ")};
}

std::string child_end::text() const {
  if (signal == 0)
    return "exit status " + std::to_string(code);
  std::string name = ::strsignal(signal);
  name[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0])));
  return "signal: " + name;
}

result<std::unique_ptr<guarded_child>> guarded_child::start(asio::any_io_executor executor, const child_plan& plan) {
  std::vector<char*> argv, environment;
  for (const auto& word : plan.argv)
    argv.push_back(const_cast<char*>(word.c_str()));
  std::vector<std::string> added;
  for (const auto& [name, value] : plan.environment)
    added.push_back(name + "=" + value);
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view name(*one, std::string_view(*one).find('='));
    bool replaced = false;
    for (const auto& [other, value] : plan.environment)
      replaced = replaced || name == other;
    if (!replaced)
      environment.push_back(*one);
  }
  for (auto& one : added)
    environment.push_back(one.data());
  argv.push_back(nullptr);
  environment.push_back(nullptr);

  int status[2], life[2];
  if (::pipe2(status, O_CLOEXEC) != 0)
    return failure{start_failure(plan.argv[0], errno)};
  if (::pipe2(life, O_CLOEXEC) != 0) {
    ::close(status[0]);
    ::close(status[1]);
    return failure{start_failure(plan.argv[0], errno)};
  }
  const int nothing = plan.pass_stdin || plan.stdin_fd >= 0 ? -1 : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  pid_t guard = -1;
  {
    const signals_blocked quiet; // until the guard has dispositions of its own
    guard = ::fork();
    if (guard == 0) {
      ::close(life[1]);
      be_guard(argv.data(), environment.data(), plan.stdin_fd >= 0 ? plan.stdin_fd : nothing, status[1], life[0]);
    }
    if (guard > 0)
      ::setpgid(guard, guard);
  }
  const int fork_error = errno;
  ::close(status[1]);
  ::close(life[0]);
  if (nothing >= 0)
    ::close(nothing);
  report r{report::not_started, fork_error};
  if (guard > 0 && !read_report(status[0], r))
    r = {report::not_started, ECHILD};
  if (r.kind != report::started) {
    ::close(status[0]);
    ::close(life[1]);
    if (guard > 0)
      ::waitpid(guard, nullptr, 0);
    return failure{start_failure(plan.argv[0], r.value)};
  }
  const bool tty = plan.pass_stdin && ::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
  if (tty)
    give_terminal(guard);
  return std::unique_ptr<guarded_child>(new guarded_child(executor, guard, r.value, status[0], life[1], tty));
}

guarded_child::guarded_child(asio::any_io_executor executor, pid_t guard, pid_t pid, int status_fd, int life_fd,
                             bool has_tty)
    : status_(executor, status_fd), guard_(guard), pid_(pid), life_fd_(life_fd), has_tty_(has_tty) {}

guarded_child::~guarded_child() {
  ::kill(-guard_, SIGKILL);
  ::close(life_fd_);
  ::waitpid(guard_, nullptr, 0);
  if (has_tty_)
    give_terminal(::getpgrp());
}

int guarded_child::signal(int number) {
  return ::kill(-guard_, number) == 0 ? 0 : errno;
}

asio::awaitable<child_end> guarded_child::ended() {
  report r{};
  boost::system::error_code ec;
  co_await asio::async_read(status_, asio::buffer(&r, sizeof r), asio::redirect_error(asio::use_awaitable, ec));
  if (ec || r.kind != report::ended)
    co_return child_end{.signal = SIGKILL}; // the guard is gone, and the command with it
  if (WIFSIGNALED(r.value))
    co_return child_end{.signal = WTERMSIG(r.value)};
  co_return child_end{.code = WEXITSTATUS(r.value)};
}

} // namespace belay::cli
