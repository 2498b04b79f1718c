#pragma once
// A server process started by a test. It never outlives the test.

#include "tests/harness/http_client.hpp"

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace belay::harness {

/// How a process ended: its exit code, or the signal that ended it (then `code` is -1).
struct process_end {
  int code = -1;
  int signal = 0;
};

class child_process {
public:
  /// Starts `argv` (looked up in PATH) with stdout and stderr appended to `log_file`.
  /// The kernel kills it when the calling *thread* ends: start it from a thread that stays.
  /// @throws std::runtime_error if it cannot be forked; a missing program ends with code 127.
  child_process(const std::vector<std::string>& argv, const std::string& log_file);
  /// Kills it if it still runs.
  ~child_process();
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  pid_t pid() const { return pid_; }
  /// False once it has ended (and has been reaped).
  bool running();
  /// Sends the signal; does nothing if it has ended.
  void signal(int number);
  /// How it ended, or nullopt if it still runs after `limit`.
  std::optional<process_end> wait(milliseconds limit);

private:
  pid_t pid_ = -1;
  std::optional<process_end> end_;
};

} // namespace belay::harness
