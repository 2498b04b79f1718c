#pragma once
// Processes that use the client library, beside the clients of a belay-sim run. They use the
// library's consumer (as `belay watch -changes -group`), queue, barrier and saga.
// The library itself runs, so its requests are the real ones. Shows nothing of the servers or of
// the library (ground.hpp).

#include "sim/kit/ground.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace belay_ground {

struct library_settings {
  std::size_t processes = 4;
  bool faults = false; ///< processes pause and crash, their requests are lost
  moment faults_end{0};
  /// Archives are restored: writes may be undone, and done again.
  bool goes_back = false;
  std::string own_prefix;   ///< prefix of all keys that they write, with its slash
  std::string session_name; ///< name of all their sessions
  std::string followed;     ///< prefix of the keys whose changes they process
};

class library_clients {
public:
  virtual ~library_clients() = default;
  virtual void begin() = 0;
  /// The faults are over: each process ends its work and its session.
  virtual void stop() = 0;
  /// Names of processes that have not ended; empty: none.
  virtual std::string unfinished() const = 0;
  /// The first rule of the library that was broken.
  virtual const std::optional<broken_rule>& complaint() const = 0;
  /// How often each kind of thing was done, by name.
  virtual const std::map<std::string, std::uint64_t>& done() const = 0;
};

/// @param on outlives it
std::unique_ptr<library_clients> make_library_clients(ground& on, library_settings settings);

} // namespace belay_ground
