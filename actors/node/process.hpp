#pragma once
// What a process has once, for every kind of node.

#include <caf/actor_system_config.hpp>

#include <signal.h>

#include <chrono>
#include <string>

namespace belay::actors {

class system_config : public caf::actor_system_config {
public:
  system_config();
};

/// Time for sending responses when a node stops.
constexpr std::chrono::seconds drain_limit{5};

/// Exit code of a server whose data directory is gone (EX_NOINPUT of sysexits.h).
/// The systemd unit does not restart the server: the path has no directory now, or another one.
constexpr int data_directory_gone = 66;

/// Logs the reason. @returns the exit code of the process
int cannot_start(const std::string& why);

/// Open files are connections and parked queries; the soft limit is often 1,024.
void raise_file_limit();
/// Signals that end or change a node; SIGUSR1 is a client's request (signalled_requests.hpp).
/// Blocks them, so that later threads leave them to the one that waits for them.
sigset_t blocked_signals();

/// Waits for one of `signals`, for at most a quarter of a second.
/// If the process did not run for two seconds or more meanwhile, logs for how long.
/// @returns the signal; -1: there was none
int wait_for_signal(const sigset_t& signals);

/// A directory that is removed when the process ends; empty name: none. In memory, if there is
/// enough, otherwise in /tmp, as logged. Directories of killed processes are removed first.
class temporary_directory {
public:
  /// @param in_memory the tmpfs to use
  explicit temporary_directory(bool wanted, const std::string& in_memory = "/dev/shm");
  ~temporary_directory();
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;

  const std::string& path() const { return path_; }

private:
  std::string path_;
  int lock_ = -1; ///< held while the directory is in use
};

} // namespace belay::actors
