#include "cli/process/supervised_child.hpp"

#include "cli/output/json_text.hpp"
#include "cli/process/job_control.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace belay::cli {

namespace asio = boost::asio;

namespace {

/// Reports of the supervisor: that the command runs, or why not; that it was stopped; that the
/// terminal hung up; and how the command ended.
struct report {
  enum : int { started, not_started, stopped, hung_up, exited, killed } kind;
  int value;            ///< process ID, errno; signal, nothing; exit code, signal
  bool overdue = false; ///< the supervisor has asked it to end
};

/// What the program sends: a child_deadline in nanoseconds of the clock. It is smaller than a page,
/// so that it arrives as a whole.
struct order {
  std::int64_t terminate, kill;
};

order order_of(const child_deadline& d) {
  return {d.terminate.time_since_epoch().count(), d.kill.time_since_epoch().count()};
}

constexpr int descriptors_max = 4096; // an upper bound for this program, which has a handful
constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
static_assert(child_deadline::time::max().time_since_epoch().count() == never);
constexpr int signals_ignored[] = {SIGTERM, SIGINT,  SIGHUP,  SIGQUIT, SIGUSR1,
                                   SIGUSR2, SIGPIPE, SIGTTOU, SIGTTIN, SIGTSTP};

// ---- In the supervisor, which is a copy of this process, with whatever locks its other threads
// held. It calls only functions that POSIX lists as async-signal-safe.

void write_report(int fd, report r) {
  while (::write(fd, &r, sizeof r) < 0 && errno == EINTR) {
  }
}

/// The descriptors that the supervisor uses.
struct supervisor_fds {
  int status, life, terminal, input;
};

/// Closes everything else: sockets of the program would stay open in the command.
void close_all_but(const supervisor_fds& fds) {
  for (int fd = STDERR_FILENO + 1; fd < descriptors_max; ++fd)
    if (fd != fds.status && fd != fds.life && fd != fds.terminal && fd != fds.input)
      ::close(fd);
}

[[noreturn]] void be_command(char* const* argv, char* const* environment, int input, int failed_fd) {
  ::setpgid(0, 0);
  for (int number = 1; number < NSIG; ++number)
    ::signal(number, SIG_DFL);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL); // when the supervisor dies
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

/// The supervisor's loop.
class supervising {
public:
  supervising(pid_t child, const supervisor_fds& fds, order until) : child_(child), fds_(fds), until_(until) {}

  /// Runs until the program has ended, or has dropped the command.
  [[noreturn]] void run(int child_signals) {
    const int timer = ::timerfd_create(clock(), TFD_CLOEXEC | TFD_NONBLOCK);
    for (;;) {
      set(timer);
      pollfd waits[] = {{fds_.life, POLLIN, 0}, {child_signals, POLLIN, 0}, {timer, POLLIN, 0}, {fds_.terminal, 0, 0}};
      // Without a timer (no descriptor was left) it polls the clock.
      ::poll(waits, std::size(waits), timer >= 0 ? -1 : look_again_ms);
      signalfd_siginfo taken;
      while (::read(child_signals, &taken, sizeof taken) > 0) {
      }
      look_at_child();
      keep_to_deadline();
      if (waits[3].revents != 0) {
        fds_.terminal = -1;
        write_report(fds_.status, {report::hung_up, 0});
      }
      if (waits[0].revents != 0)
        take_orders();
    }
  }

private:
  static constexpr int look_again_ms = 100;

  static clockid_t clock() { return actors::boot_clock::counts_suspensions() ? CLOCK_BOOTTIME : CLOCK_MONOTONIC; }
  static std::int64_t now() {
    timespec t{};
    ::clock_gettime(clock(), &t);
    return t.tv_sec * 1'000'000'000 + t.tv_nsec;
  }

  void set(int timer) const {
    const auto next = std::min(until_.terminate, until_.kill);
    itimerspec at{};
    if (next != never) { // zero would disarm the timer
      at.it_value.tv_sec = std::max<std::int64_t>(next, 1) / 1'000'000'000;
      at.it_value.tv_nsec = std::max<std::int64_t>(next, 1) % 1'000'000'000;
    }
    ::timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, nullptr);
  }

  void signal(int number) const { ::kill(-child_, number); }

  void keep_to_deadline() {
    const auto t = now();
    if (t >= until_.terminate) {
      until_.terminate = never;
      overdue_ = true;
      signal(SIGTERM);
      signal(SIGCONT);
    }
    if (t >= until_.kill) {
      until_.kill = never;
      overdue_ = true;
      signal(SIGKILL);
    }
  }

  void look_at_child() {
    if (ended_)
      return;
    siginfo_t is{};
    while (::waitid(P_PID, static_cast<id_t>(child_), &is, WSTOPPED | WNOHANG) == 0 && is.si_pid == child_) {
      write_report(fds_.status, {report::stopped, is.si_status});
      is = {};
    }
    // The command stays a zombie until the program drops it, so that the number of its group is not
    // reused.
    is = {};
    if (::waitid(P_PID, static_cast<id_t>(child_), &is, WEXITED | WNOHANG | WNOWAIT) != 0 || is.si_pid != child_)
      return;
    ended_ = true;
    write_report(fds_.status, {is.si_code == CLD_EXITED ? report::exited : report::killed, is.si_status, overdue_});
  }

  void take_orders() {
    order o{};
    for (;;) {
      const auto n = ::read(fds_.life, &o, sizeof o);
      if (n == static_cast<ssize_t>(sizeof o)) {
        until_ = o;
      } else if (n == 0) { // end of file: the program has closed its end
        signal(SIGKILL);
        ::_exit(0);
      } else if (errno != EINTR) {
        return;
      }
    }
  }

  pid_t child_;
  supervisor_fds fds_;
  order until_;
  bool ended_ = false, overdue_ = false;
};

[[noreturn]] void supervise(char* const* argv, char* const* environment, const supervisor_fds& fds, order until) {
  ::setpgid(0, 0); // keeps signals to the program's group away
  for (const int number : signals_ignored)
    ::signal(number, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
  close_all_but(fds);
  ::fcntl(fds.life, F_SETFL, O_NONBLOCK);
  sigset_t of_child;
  sigemptyset(&of_child);
  sigaddset(&of_child, SIGCHLD);
  ::sigprocmask(SIG_SETMASK, &of_child, nullptr);
  const int child_signals = ::signalfd(-1, &of_child, SFD_CLOEXEC | SFD_NONBLOCK);
  int failed[2];
  if (child_signals < 0 || ::pipe2(failed, O_CLOEXEC) != 0) {
    write_report(fds.status, {report::not_started, errno});
    ::_exit(127);
  }
  const pid_t child = ::fork();
  if (child == 0)
    be_command(argv, environment, fds.input, failed[1]);
  const int fork_error = errno;
  ::close(failed[1]);
  if (fds.input > STDERR_FILENO)
    ::close(fds.input);
  int why = 0;
  ssize_t n = 0;
  while (child > 0 && (n = ::read(failed[0], &why, sizeof why)) < 0 && errno == EINTR) {
  }
  if (child < 0 || n == static_cast<ssize_t>(sizeof why)) {
    write_report(fds.status, {report::not_started, child < 0 ? fork_error : why});
    ::_exit(127);
  }
  ::close(failed[0]);
  write_report(fds.status, {report::started, child});
  supervising(child, fds, until).run(child_signals);
}

// ---- In the program

/// Blocks all signals while it exists.
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
  const std::string why =
      overdue ? " (this program was stopped, or got no CPU time, until the command had to end)" : "";
  if (signal == 0)
    return "exit status " + std::to_string(code) + why;
  std::string name = ::strsignal(signal);
  name[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0])));
  return "signal: " + name + why;
}

/// Builds arguments and environment before the fork, since the child may allocate nothing. The
/// supervisor gets two pipes: on one it reports the command's start and end, from the other it
/// reads orders; the end of that pipe means that this program has died.
result<std::unique_ptr<supervised_child>> supervised_child::start(asio::any_io_executor executor,
                                                                  const child_plan& plan) {
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
  ::fcntl(life[1], F_SETFL, O_NONBLOCK); // a supervisor that is stopped reads nothing
  const int tty = job_control::of_process().open_terminal();
  const int nothing = plan.pass_stdin || plan.stdin_fd >= 0 ? -1 : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  pid_t supervisor = -1;
  {
    const signals_blocked quiet; // until the supervisor has set its own dispositions
    supervisor = ::fork();
    if (supervisor == 0) {
      ::close(life[1]);
      supervise(argv.data(), environment.data(),
                {status[1], life[0], tty, plan.stdin_fd >= 0 ? plan.stdin_fd : nothing}, order_of(plan.deadline));
    }
    if (supervisor > 0)
      ::setpgid(supervisor, supervisor);
  }
  const int fork_error = errno;
  ::close(status[1]);
  ::close(life[0]);
  if (nothing >= 0)
    ::close(nothing);
  report r{report::not_started, fork_error};
  if (supervisor > 0 && !read_report(status[0], r))
    r = {report::not_started, ECHILD};
  if (r.kind != report::started) {
    ::close(status[0]);
    ::close(life[1]);
    if (supervisor > 0)
      ::waitpid(supervisor, nullptr, 0);
    return failure{start_failure(plan.argv[0], r.value)};
  }
  return std::unique_ptr<supervised_child>(new supervised_child(executor, supervisor, r.value, status[0], life[1]));
}

supervised_child::supervised_child(asio::any_io_executor executor, pid_t supervisor, pid_t pid, int status_fd,
                                   int life_fd)
    : status_(executor, status_fd), supervisor_(supervisor), pid_(pid), life_fd_(life_fd) {
  job_control::of_process().add(pid_);
}

supervised_child::~supervised_child() {
  ::kill(-pid_, SIGKILL);
  ::kill(supervisor_, SIGKILL); // it may be stopped
  ::close(life_fd_);
  ::waitpid(supervisor_, nullptr, 0);
  job_control::of_process().remove(pid_, killed_);
}

int supervised_child::signal(int number) {
  const int error = ::kill(-pid_, number) == 0 ? 0 : errno;
  if (number == SIGTERM)
    ::kill(-pid_, SIGCONT);
  return error;
}

void supervised_child::ends_at(const child_deadline& d) {
  const auto o = order_of(d);
  (void)!::write(life_fd_, &o, sizeof o); // if the supervisor is gone, so is the command
}

asio::awaitable<child_end> supervised_child::ended() {
  for (;;) {
    report r{};
    boost::system::error_code ec;
    co_await asio::async_read(status_, asio::buffer(&r, sizeof r), asio::redirect_error(asio::use_awaitable, ec));
    killed_ = ec || r.kind == report::killed;
    if (ec)
      co_return child_end{.signal = SIGKILL}; // the supervisor is gone, and so is the command
    if (r.kind == report::exited)
      co_return child_end{.code = r.value, .overdue = r.overdue};
    if (r.kind == report::killed)
      co_return child_end{.signal = r.value, .overdue = r.overdue};
    if (r.kind == report::stopped)
      job_control::of_process().stopped(pid_, r.value);
    else if (r.kind == report::hung_up)
      job_control::of_process().hung_up(pid_);
  }
}

} // namespace belay::cli
