#pragma once
// Shares the terminal of this process with commands that run in process groups of their own.
//
// A shell sees one job: the process group of this process. Its commands have other groups, so that
// a signal reaches everything that they started. This class therefore passes on what a terminal
// does to the job:
// - Ctrl-Z stops the commands, then this process. When the shell continues it, it continues them.
// - The kernel stops a command that reads the terminal or sets its modes (SIGTTIN, SIGTTOU). The
//   command gets the terminal, as its foreground process group, if the job has it, and keeps it
//   until it ends or is stopped. While no command has the terminal, Ctrl-C and Ctrl-Z go to the
//   job, and `belay lock x CMD | less` works.
// - A job in the background that needs the terminal is stopped as a whole, as the shell expects.
// POSIX.1-2017, Base Definitions, 11.1.4; glibc manual, "Implementing a Job Control Shell".

#include <sys/types.h>

namespace belay::cli {

/// The process has one such object. It is not thread-safe, but safe against the handler of SIGTSTP,
/// which it installs while there are commands, unless SIGTSTP is ignored.
class job_control {
public:
  static job_control& of_process();

  /// Adds the group of a command.
  /// @pre open_terminal() was called, and no such group is there
  void add(pid_t group);
  /// Removes the group of a command that has ended, with everything that it started. The job has
  /// the terminal again.
  /// @param killed the command may have left the terminal in modes of its own: restore the earlier
  /// ones
  void remove(pid_t group, bool killed);
  /// Call this when `signal` has stopped the command. If that stops the job, it returns when the
  /// job continues.
  void stopped(pid_t group, int signal);
  /// Call this when the terminal has hung up. If the command was in the foreground, the kernel has
  /// not notified this process, so this raises SIGHUP.
  void hung_up(pid_t group);

  /// @returns a descriptor of the controlling terminal, or -1 if there is none. It is closed on
  /// exec, and belongs to this object until the command has ended
  int open_terminal();

private:
  job_control() = default;

  static void on_stop(int number);
  void give(pid_t group);
  void take_back();
  void stop_job(int signal);
  void resume(pid_t needs_terminal);
  void signal_all(int number, pid_t but = 0);

  int tty_ = -1;
};

} // namespace belay::cli
