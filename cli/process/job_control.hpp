#pragma once
// The terminal of this process, for commands that run in process groups of their own.
//
// A shell sees one job: the process group of this process. Its commands have other groups, so that a signal reaches everything that they
// started. What a terminal does to the job is therefore passed on here:
// - Ctrl-Z stops the commands, then this process; when the shell continues it, they are continued.
// - A command that reads the terminal, or sets its modes, is stopped by the kernel (SIGTTIN, SIGTTOU). It gets the terminal, as its
//   foreground process group, if the job has it, and keeps it until it ends or is stopped. Until then Ctrl-C and Ctrl-Z go to the job, and
//   `belay lock x CMD | less` works.
// - A job in the background that wants the terminal is stopped as a whole, as the shell expects.
// POSIX.1-2017, Base Definitions, 11.1.4; glibc manual, "Implementing a Job Control Shell".

#include <sys/types.h>

namespace belay::cli {

/// One for the process. Not for several threads, but for the handler of SIGTSTP, which it installs while there are commands, unless
/// SIGTSTP is ignored.
class job_control {
public:
  static job_control& of_process();

  /// A command runs in that group. @pre open_terminal() was called, and none is there with that number
  void add(pid_t group);
  /// It has ended, with everything that it started: the terminal is the job's again.
  /// @param killed it may have left the terminal in modes of its own: those of before come back
  void remove(pid_t group, bool killed);
  /// The command was stopped by that signal. Returns when the job goes on, if that stops the job.
  void stopped(pid_t group, int signal);
  /// The terminal is gone. If the command had it, nobody has told this process: it gets SIGHUP now.
  void hung_up(pid_t group);

  /// @returns a descriptor of the controlling terminal, closed on exec, which stays this object's until there is no command any more; -1:
  /// there is no terminal
  int open_terminal();

private:
  job_control() = default;

  static void on_stop(int number);
  void give(pid_t group);
  void take_back();
  void stop_job(int signal);
  void resume(pid_t wants_terminal);
  void signal_all(int number, pid_t but = 0);

  int tty_ = -1;
};

} // namespace belay::cli
