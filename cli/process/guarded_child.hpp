#pragma once
// A command that never outlives the program that started it, nor the time until which it may run.
//
// Between the two stands a guard, a process of its own. The command and all that it starts run in a process group, whose number the guard
// keeps from being used again. The guard has a pipe whose other end only the program has. When that end is closed, even because the program
// was killed with SIGKILL, the guard kills the whole group. Through the pipe the program says until when the command may run: a program that
// was stopped says nothing, and the guard ends the command in time.
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

/// When the guard ends the command by itself. The program asks before that.
struct guard_deadline {
  using time = actors::boot_clock::time_point;
  time terminate = time::max(); ///< SIGTERM, and SIGCONT, as the command may be stopped
  time kill = time::max();      ///< SIGKILL, also of what the command left behind
};

struct child_plan {
  std::vector<std::string> argv;                                ///< the program is looked for in PATH
  std::vector<std::pair<std::string, std::string>> environment; ///< beside that of this process
  bool pass_stdin = false;                                      ///< else it reads nothing
  int stdin_fd = -1;                                            ///< if not negative: it reads from there
  guard_deadline deadline{};                                    ///< until another one is said
};

/// `words` as one line for $SHELL, or /bin/sh; without a shell as they are.
std::vector<std::string> command_line(const std::vector<std::string>& words, bool shell);

struct child_end {
  int code = 0;         ///< if it ended by itself
  int signal = 0;       ///< else the one that ended it
  bool overdue = false; ///< the guard has asked it to end
  bool well() const { return code == 0 && signal == 0; }
  /// `exit status 3`, `signal: terminated`; says so if it was overdue.
  std::string text() const;
};

class guarded_child {
public:
  /// The failure reads like Go's: `exec: "x": executable file not found in $PATH`.
  static result<std::unique_ptr<guarded_child>> start(boost::asio::any_io_executor executor, const child_plan& plan);
  /// Kills all that is left of the group.
  ~guarded_child();
  guarded_child(const guarded_child&) = delete;
  guarded_child& operator=(const guarded_child&) = delete;

  pid_t pid() const { return pid_; }
  /// To the command and all that it started; behind SIGTERM also SIGCONT, as they may be stopped. @returns errno, 0: it was sent
  int signal(int number);
  /// In place of the deadline that was said before.
  void ends_at(const guard_deadline& d);
  /// Once.
  boost::asio::awaitable<child_end> ended();

private:
  guarded_child(boost::asio::any_io_executor executor, pid_t guard, pid_t pid, int status_fd, int life_fd);

  boost::asio::posix::stream_descriptor status_;
  pid_t guard_, pid_; ///< the command's is also that of its group
  int life_fd_;
  bool killed_ = false; ///< it was ended by a signal
};

} // namespace belay::cli
