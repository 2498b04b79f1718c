#pragma once
// A command that never outlives the program that started it, nor the time until which it may run.
//
// A supervisor process (`supervisor` in the code) runs between the two. The command and all that it
// starts run in one process group; the supervisor keeps the number of that group from being reused.
// The supervisor reads from a pipe whose other end only the program has. When that end is closed,
// even because the program was killed with SIGKILL, the supervisor kills the whole group. Through
// the pipe, the program sends until when the command may run. A program that was stopped sends
// nothing, and the supervisor ends the command in time.
//
// The terminal belongs to the job of the program; job_control.hpp lets the command use it.

#include "actors/node/boot_clock.hpp"
#include "protocol/base/result.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <memory>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace belay::cli {

/// When the supervisor ends the command by itself. The program asks the command to end before that.
struct child_deadline {
  using time = actors::boot_clock::time_point;
  time terminate = time::max(); ///< SIGTERM, and SIGCONT in case the command is stopped
  time kill = time::max();      ///< SIGKILL, also for what the command left behind
};

struct child_plan {
  std::vector<std::string> argv;                                ///< the program is looked up in PATH
  std::vector<std::pair<std::string, std::string>> environment; ///< added to that of this process
  bool pass_stdin = false;                                      ///< false: it reads nothing
  int stdin_fd = -1;                                            ///< if not negative: what it reads
  child_deadline deadline{};                                    ///< until ends_at() is called
};

/// Joins `words` into one line for $SHELL, or /bin/sh. Without a shell, returns them unchanged.
std::vector<std::string> command_line(const std::vector<std::string>& words, bool shell);

struct child_end {
  int code = 0;         ///< if it exited
  int signal = 0;       ///< otherwise the signal that killed it
  bool overdue = false; ///< the supervisor has asked it to end
  bool well() const { return code == 0 && signal == 0; }
  /// `exit status 3` or `signal: terminated`; adds a note if the command was overdue.
  std::string text() const;
};

class supervised_child {
public:
  /// The failure reads as in Go: `exec: "x": executable file not found in $PATH`.
  static result<std::unique_ptr<supervised_child>> start(boost::asio::any_io_executor executor, const child_plan& plan);
  /// Kills what is left of the group.
  ~supervised_child();
  supervised_child(const supervised_child&) = delete;
  supervised_child& operator=(const supervised_child&) = delete;

  pid_t pid() const { return pid_; }
  /// Sends a signal to the command and all that it started. SIGTERM is followed by SIGCONT, as they
  /// may be stopped.
  /// @returns an errno; 0: the signal was sent
  int signal(int number);
  /// Replaces the deadline.
  void ends_at(const child_deadline& d);
  /// Waits until the command has ended. Call it once.
  boost::asio::awaitable<child_end> ended();

private:
  supervised_child(boost::asio::any_io_executor executor, pid_t supervisor, pid_t pid, int status_fd, int life_fd);

  boost::asio::posix::stream_descriptor status_;
  pid_t supervisor_, pid_; ///< pid_ is also the number of the command's group
  int life_fd_;
  bool killed_ = false; ///< a signal ended it
};

} // namespace belay::cli
