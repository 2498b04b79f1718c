#pragma once
// What a process has once, whatever kind of node it runs.

#include <caf/actor_system_config.hpp>

#include <signal.h>

#include <chrono>
#include <string>

namespace belay::actors {

class system_config : public caf::actor_system_config {
public:
  system_config();
};

/// For answers on their way to clients, when a node stops.
constexpr std::chrono::seconds drain_limit{5};
/// The thread of the agent never waits; what takes longer is a machine that stands still.
constexpr std::chrono::seconds definitions_limit{30};

/// Exit code of a server whose data directory is gone (EX_NOINPUT of sysexits.h). The unit for systemd does not start it
/// again: what is under that name now is empty or another directory.
constexpr int data_directory_gone = 66;

/// Logs the reason. @returns the exit code of the process
int cannot_start(const std::string& why);

/// Opened files are connections and parked queries; the soft limit is often 1,024.
void raise_file_limit();
/// Those that end or change a node; SIGUSR1 is a request of a client (signalled_requests.hpp). They are blocked from now on, so that threads
/// that are made later leave them to whoever waits for them.
sigset_t blocked_signals();

/// Waits for one of `signals`, for a quarter of a second at most. If the process did not run for two seconds or more
/// meanwhile, the log says for how long.
/// @returns the signal; -1: none came
int wait_for_signal(const sigset_t& signals);

/// A directory that is gone when the process ends; empty name: none was made. In memory, if the machine has room there, else in /tmp,
/// and the log says so. What processes that were killed have left is removed first.
class temporary_directory {
public:
  /// @param in_memory the tmpfs to be used
  explicit temporary_directory(bool wanted, const std::string& in_memory = "/dev/shm");
  ~temporary_directory();
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;

  const std::string& path() const { return path_; }

private:
  std::string path_;
  int lock_ = -1; ///< held as long as the directory is in use
};

} // namespace belay::actors
