#pragma once
// A command that never outlives the program that started it.
//
// Between the two stands a guard, a process of its own: the head of the process group in which the command and all that it
// starts run. It holds a pipe whose other end only the program has; when that end is closed, even because the program was
// killed with SIGKILL, the guard kills the whole group.

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

struct child_plan {
  std::vector<std::string> argv;                                ///< the program is looked for in PATH
  std::vector<std::pair<std::string, std::string>> environment; ///< beside that of this process
  bool pass_stdin = false;                                      ///< else it reads nothing
  int stdin_fd = -1;                                            ///< if not negative: it reads from there
};

/// `words` as one line for $SHELL, or /bin/sh; without a shell as they are.
std::vector<std::string> command_line(const std::vector<std::string>& words, bool shell);

struct child_end {
  int code = 0;   ///< if it ended by itself
  int signal = 0; ///< else the one that ended it
  bool well() const { return code == 0 && signal == 0; }
  /// `exit status 3`, `signal: terminated`.
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
  /// To the command and all that it started. @returns errno, 0: it was sent
  int signal(int number);
  /// Once.
  boost::asio::awaitable<child_end> ended();

private:
  guarded_child(boost::asio::any_io_executor executor, pid_t guard, pid_t pid, int status_fd, int life_fd,
                bool has_tty);

  boost::asio::posix::stream_descriptor status_;
  pid_t guard_, pid_;
  int life_fd_;
  bool has_tty_;
};

} // namespace belay::cli
