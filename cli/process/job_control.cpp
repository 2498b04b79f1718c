#include "cli/process/job_control.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <termios.h>
#include <unistd.h>
#include <vector>

namespace belay::cli {

namespace {

// The handler of SIGTSTP reads these. Commands beyond this number are not stopped with the job;
// `belay reconcile` runs at most as many.
constexpr std::size_t groups_max = 1024;
std::array<std::atomic<pid_t>, groups_max> groups; // zero: free
std::atomic<pid_t> holder{0};                      // has the terminal; zero: the job has it
std::vector<pid_t> wanting;                        // groups that are stopped until they have it
std::optional<termios> modes;                      // as they were before the first group had it
struct sigaction stop_before {
}, output_before{};
bool handles_stop = false;

struct sigaction disposition(void (*how)(int)) {
  struct sigaction a {};
  a.sa_handler = how;
  sigemptyset(&a.sa_mask);
  return a;
}

} // namespace

job_control& job_control::of_process() {
  static job_control one;
  return one;
}

/// Sends a signal to all groups except `but`. Async-signal-safe.
void job_control::signal_all(int number, pid_t but) {
  for (const auto& each : groups)
    if (const pid_t group = each.load(); group != 0 && group != but)
      ::kill(-group, number);
}

int job_control::open_terminal() {
  if (tty_ < 0)
    tty_ = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  return tty_;
}

void job_control::add(pid_t group) {
  const bool first = std::all_of(groups.begin(), groups.end(), [](const auto& each) { return each == 0; });
  const auto free = std::find_if(groups.begin(), groups.end(), [](const auto& each) { return each == 0; });
  if (free != groups.end())
    *free = group;
  if (!first)
    return;
  ::sigaction(SIGTSTP, nullptr, &stop_before);
  handles_stop = stop_before.sa_handler != SIG_IGN;
  if (!handles_stop)
    return;
  auto ours = disposition(on_stop);
  ours.sa_flags = SA_NODEFER | SA_RESTART; // the handler raises the same signal
  ::sigaction(SIGTSTP, &ours, nullptr);
}

void job_control::remove(pid_t group, bool killed) {
  for (auto& each : groups)
    if (each == group)
      each = 0;
  std::erase(wanting, group);
  if (holder == group) {
    take_back();
    if (killed && modes)
      ::tcsetattr(tty_, TCSADRAIN, &*modes);
    if (!wanting.empty()) {
      const pid_t next = wanting.front();
      wanting.erase(wanting.begin());
      stopped(next, SIGTTIN);
    }
  }
  if (std::any_of(groups.begin(), groups.end(), [](const auto& each) { return each != 0; }))
    return;
  if (std::exchange(handles_stop, false))
    ::sigaction(SIGTSTP, &stop_before, nullptr);
  if (tty_ >= 0)
    ::close(std::exchange(tty_, -1));
  modes.reset();
}

/// Gives the terminal to `group`. This process still writes to the terminal, and must not be
/// stopped for that where `stty tostop` is set.
void job_control::give(pid_t group) {
  if (!modes) {
    termios now{};
    if (::tcgetattr(tty_, &now) == 0)
      modes = now;
  }
  const auto ignored = disposition(SIG_IGN);
  ::sigaction(SIGTTOU, &ignored, &output_before);
  if (::tcsetpgrp(tty_, group) == 0)
    holder = group;
  else
    ::sigaction(SIGTTOU, &output_before, nullptr);
}

void job_control::take_back() {
  ::tcsetpgrp(tty_, ::getpgrp());
  holder = 0;
  ::sigaction(SIGTTOU, &output_before, nullptr);
}

void job_control::stopped(pid_t group, int signal) {
  if (tty_ < 0)
    return;
  const pid_t foreground = ::tcgetpgrp(tty_);
  if (signal != SIGTTIN && signal != SIGTTOU) {
    // The terminal's Ctrl-Z reached only this command. A command without the terminal was stopped
    // by another process, which meant only that command.
    if (holder == group && foreground == group)
      stop_job(SIGTSTP);
    return;
  }
  if (foreground == ::getpgrp() && holder == 0) {
    give(group);
    ::kill(-group, SIGCONT);
  } else if (foreground == group) {
    ::kill(-group, SIGCONT);
  } else if (holder != 0) {
    wanting.push_back(group);
  } else {
    wanting.push_back(group); // stop_job() clears the list; the group requests again
    stop_job(signal);
  }
}

/// Stops the whole job, as the terminal would. A job that no shell controls (an orphaned process
/// group) is not stopped by any of this, and continues at once.
void job_control::stop_job(int signal) {
  const pid_t had = holder;
  signal_all(SIGTSTP, had);
  if (had != 0)
    take_back();
  std::erase(wanting, had);
  const bool may_stop = handles_stop || signal != SIGTSTP;
  if (may_stop) {
    const auto ignored = disposition(SIG_IGN), usual = disposition(SIG_DFL);
    struct sigaction before {};
    ::sigaction(signal, &ignored, &before);
    ::kill(0, signal);
    ::sigaction(signal, &usual, nullptr);
    ::raise(signal); // returns when the shell continues the job
    ::sigaction(signal, &before, nullptr);
  }
  pid_t next = had;
  if (next == 0 && !wanting.empty())
    next = wanting.front();
  wanting.clear(); // they request the terminal again
  resume(next);
}

/// Gives the terminal to `needs_terminal` if the job has it, and continues all groups. The handler
/// of SIGTSTP calls it, too.
void job_control::resume(pid_t needs_terminal) {
  if (needs_terminal != 0 && tty_ >= 0 && ::tcgetpgrp(tty_) == ::getpgrp())
    give(needs_terminal);
  signal_all(SIGCONT);
}

/// Handles Ctrl-Z while the job has the terminal, and SIGTSTP from other processes.
void job_control::on_stop(int number) {
  const int error = errno;
  auto& self = of_process();
  const pid_t had = holder;
  self.signal_all(SIGTSTP);
  if (had != 0)
    self.take_back();
  struct sigaction ours {};
  const auto usual = disposition(SIG_DFL);
  ::sigaction(number, &usual, &ours);
  ::raise(number); // returns when the shell continues the job
  ::sigaction(number, &ours, nullptr);
  self.resume(had);
  errno = error;
}

void job_control::hung_up(pid_t group) {
  if (holder == group)
    ::raise(SIGHUP);
}

} // namespace belay::cli
